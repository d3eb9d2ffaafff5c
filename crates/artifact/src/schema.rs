//! The JSON Schema of the run document, as committed in `schema/`.

use crate::document::RunDocument;

/// The schema's own address is its name: nothing is fetched.
const ID: &str = "unblink.run-1.schema.json";

/// The JSON Schema (draft 2020-12) of [`RunDocument`], generated from its types.
pub fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(RunDocument).to_value();
    schema["$id"] = ID.into();
    schema
}

/// The schema as text, as it is committed.
pub fn json_schema_text() -> String {
    let mut text = serde_json::to_string_pretty(&json_schema()).expect("a JSON value has string keys");
    text.push('\n');
    text
}
