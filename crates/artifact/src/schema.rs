//! The JSON Schemas of the documents, as committed in `schema/`.

use crate::compare::CompareDocument;
use crate::document::RunDocument;
use schemars::JsonSchema;

/// Name of the run document's schema.
pub const RUN_SCHEMA_FILE: &str = "unblink.run-1.schema.json";
/// Name of the comparison's schema.
pub const COMPARE_SCHEMA_FILE: &str = "unblink.compare-1.schema.json";

/// The JSON Schema (draft 2020-12) of [`RunDocument`], generated from its types.
pub fn json_schema() -> serde_json::Value {
    schema_of::<RunDocument>(RUN_SCHEMA_FILE)
}

/// That of [`CompareDocument`].
pub fn compare_schema() -> serde_json::Value {
    schema_of::<CompareDocument>(COMPARE_SCHEMA_FILE)
}

/// A schema as text, as it is committed.
pub fn schema_text(schema: &serde_json::Value) -> String {
    let mut text = serde_json::to_string_pretty(schema).expect("a JSON value has string keys");
    text.push('\n');
    text
}

/// The schema's own address is its name: nothing is fetched.
fn schema_of<T: JsonSchema>(name: &str) -> serde_json::Value {
    let mut schema = schemars::schema_for!(T).to_value();
    schema["$id"] = name.into();
    schema
}
