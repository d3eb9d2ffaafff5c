//! stub
use unblink_artifact::document::RunDocument;
/// Stub.
pub fn all(_doc: &RunDocument) -> Vec<(String, String)> { Vec::new() }
