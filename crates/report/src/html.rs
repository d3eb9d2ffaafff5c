//! stub
use unblink_artifact::document::RunDocument;
/// Stub.
pub fn render(_doc: &RunDocument) -> String { String::new() }
/// Stub.
pub fn render_with_truth(_doc: &RunDocument, _truth: Option<&[(f64, u64)]>) -> String { String::new() }
