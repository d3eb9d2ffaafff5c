//! The JSON Schema of plans, from the flags.

use super::fields::{self, CANDIDATE, Field, For, Kind, REQUESTS, TARGET};
use serde_json::{Map, Value, json};

/// Draft 2020-12, as editors read it.
pub(crate) fn schema() -> Value {
    let mut properties = Map::new();
    properties.insert(
        TARGET.into(),
        json!({"type": "string", "description": "URL of what is tested; ${NAME} is taken from the environment"}),
    );
    properties.insert(
        CANDIDATE.into(),
        json!({"type": "string", "description": "URL that `unblink compare` holds against target"}),
    );
    properties.insert(REQUESTS.into(), requests());
    for section in fields::sections() {
        let own = fields::all().iter().filter(|field| field.section == section);
        let fields: Map<String, Value> = own.map(|field| (field.name.clone(), of(field))).collect();
        properties.insert(
            section.into(),
            json!({"type": "object", "additionalProperties": false, "properties": fields}),
        );
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "unblink.plan.schema.json",
        "title": "A plan of unblink",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

fn of(field: &Field) -> Value {
    let help = &field.help;
    match field.kind {
        Kind::Switch => json!({"type": "boolean", "description": help}),
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

fn requests() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "type": "array",
        "description": "Requests that are sent in turn",
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["url"],
            "properties": {
                "name": text("How the report and the objectives call it"),
                "url": text("A path at the target, or a whole URL"),
                "method": text("GET, or POST with a body"),
                "header": {"description": "Headers of this request", "anyOf": [
                    {"type": "string"}, {"type": "array", "items": {"type": "string"}}
                ]},
                "body": text("Its body"),
                "body-file": text("A file with its body, beside the plan"),
            },
        },
    })
}
