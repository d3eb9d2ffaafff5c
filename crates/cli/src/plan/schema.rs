//! The JSON Schema of plans, from the flags.

use super::fields::{self, Field, For, Kind, TOP};
use super::file::LET;
use super::lists::{LISTS, List};
use serde_json::{Map, Value, json};

/// Draft 2020-12, as editors read it.
pub(crate) fn schema() -> Value {
    let mut root = table(TOP);
    for section in fields::sections() {
        root["properties"][section] = table(section);
    }
    root["properties"][LET] = json!({
        "type": "object",
        "description": "Values that requests draw, by name: {{item}} is filled in with what is drawn for item",
        "additionalProperties": {"type": "string"},
    });
    for list in &LISTS {
        root["properties"][list.name] = tables(list);
    }
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["$id"] = "unblink.plan.schema.json".into();
    root["title"] = "A plan of unblink".into();
    root
}

/// The tables of a list, and of the list in each of them.
fn tables(list: &List) -> Value {
    let mut item = table(list.name);
    if let Some(inner) = list.inner {
        item["properties"][inner.name] = tables(inner);
        item["required"] = json!([inner.name]);
    }
    let mut tables = json!({"type": "array", "description": list.help, "items": item});
    if let Some(max) = list.tables_max {
        tables["maxItems"] = max.into();
    }
    tables
}

/// A table of the fields of this section.
fn table(section: &str) -> Value {
    let properties: Map<String, Value> =
        fields::of(section).map(|field| (field.key().to_string(), of(field))).collect();
    let mut table = json!({"type": "object", "additionalProperties": false, "properties": properties});
    let required: Vec<&str> = fields::of(section).filter(|field| field.is_required).map(Field::key).collect();
    if !required.is_empty() {
        table["required"] = required.into();
    }
    table
}

fn of(field: &Field) -> Value {
    let help = &field.help;
    match field.kind {
        Kind::Switch => json!({"type": "boolean", "description": help}),
        Kind::Table if field.name == "json" => {
            json!({"type": ["object", "array", "string"], "description": help})
        }
        Kind::Table if field.name == "multipart" => json!({
            "description": help,
            "anyOf": [{"type": "string"}, {"type": "array", "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "description": "Name of the field"},
                    "value": {"type": ["string", "number", "boolean"], "description": "What it says; templates may stand in it"},
                    "file": {"type": "string", "description": "Or the file that is sent, as it is"},
                    "filename": {"type": "string", "description": "How the file is called [default: its own name]"},
                    "type": {"type": "string", "description": "Its media type [default: application/octet-stream for a file]"},
                },
            }}],
        }),
        Kind::Table => json!({"type": ["object", "string"], "description": help}),
        Kind::Pairs => json!({
            "description": help,
            "anyOf": [
                {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "object"]}},
                {"type": "array", "items": {"type": "string"}},
            ],
        }),
        Kind::Many => json!({
            "description": help,
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        }),
        Kind::One if !field.possible.is_empty() => json!({"enum": field.possible, "description": help}),
        Kind::One => {
            let mut one = json!({"type": ["string", "number"], "description": help});
            if let Some(default) = field.default_for(&For::ALL) {
                one["default"] = default.into();
            }
            one
        }
    }
}
