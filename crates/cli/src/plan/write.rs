//! A plan written down again, in any form that it may have.

use super::fields::{self, CANDIDATE, Kind, REQUESTS, TARGET};
use super::file::{PlanFile, Request, Text};
use crate::secrets;
use serde_json::{Map, Value};
use unblink_artifact::harmless;

/// As JSON, which the schema describes; YAML takes it as it is. `value` says how each text is shown.
pub(crate) fn json(plan: &PlanFile, value: &mut impl FnMut(&str, &Text) -> String) -> Value {
    let mut root = Map::new();
    for (name, url) in [(TARGET, &plan.target), (CANDIDATE, &plan.candidate)] {
        if let Some(url) = url {
            root.insert(name.into(), value(name, url).into());
        }
    }
    for section in fields::sections() {
        let mut table = Map::new();
        for given in plan.given.iter().filter(|given| given.field.section == section) {
            let name = given.field.name.as_str();
            let mut texts = given.values.iter().map(|text| Value::from(value(name, text)));
            let shown = match given.field.kind {
                Kind::Switch => true.into(),
                Kind::One => texts.next().unwrap_or_default(),
                Kind::Many => texts.collect(),
            };
            table.insert(name.into(), shown);
        }
        if !table.is_empty() {
            root.insert(section.into(), table.into());
        }
    }
    if !plan.requests.is_empty() {
        let requests: Vec<Value> = plan.requests.iter().map(|r| request(r, value)).collect();
        root.insert(REQUESTS.into(), requests.into());
    }
    root.into()
}

fn request(request: &Request, value: &mut impl FnMut(&str, &Text) -> String) -> Value {
    let mut table = Map::new();
    let one = [
        ("name", &request.name),
        ("url", &Some(request.url.clone())),
        ("method", &request.method),
        ("body", &request.body),
        ("body-file", &request.body_file),
    ];
    for (name, text) in one {
        if let Some(text) = text {
            table.insert(name.into(), value(name, text).into());
        }
    }
    if !request.headers.is_empty() {
        let headers = request.headers.iter().map(|text| Value::from(value("header", text)));
        table.insert("header".into(), headers.collect());
    }
    table.into()
}

/// As TOML: the target, the sections, the requests. What could act on a terminal is escaped, as TOML's basic strings
/// have it in common with JSON.
pub(crate) fn toml(json: &Value) -> String {
    let text = toml::to_string(json).unwrap_or_default();
    if !text.contains(|c| harmless::is_harmful(c) && c != '\n') {
        return text;
    }
    let (mut own, mut tables) = (String::new(), String::new());
    for (name, value) in json.as_object().into_iter().flatten() {
        let entries: Vec<(String, &Value)> = match value {
            Value::Object(table) => {
                vec![(format!("[{name}]"), value)].into_iter().filter(|_| !table.is_empty()).collect()
            }
            Value::Array(requests) => {
                requests.iter().map(|request| (format!("[[{name}]]"), request)).collect()
            }
            value => {
                own += &format!("{name} = {}\n", quoted(value));
                Vec::new()
            }
        };
        for (head, table) in entries {
            tables += &format!("\n{head}\n");
            for (name, value) in table.as_object().into_iter().flatten() {
                tables += &format!("{name} = {}\n", quoted(value));
            }
        }
    }
    own + &tables
}

/// A value as JSON, which no character of it can leave.
fn quoted(value: &Value) -> String {
    harmless::json(value).unwrap_or_default()
}

/// As YAML in its block style. Every value stands between quotes, which JSON and YAML share, and so do their escapes.
pub(crate) fn yaml(json: &Value) -> String {
    let mut out = String::new();
    for (name, value) in json.as_object().into_iter().flatten() {
        match value {
            Value::Object(table) => {
                out += &format!("{name}:\n");
                table.iter().for_each(|(name, value)| out += &format!("  {name}: {}\n", quoted(value)));
            }
            Value::Array(requests) => {
                out += &format!("{name}:\n");
                for request in requests {
                    for (i, (name, value)) in request.as_object().into_iter().flatten().enumerate() {
                        let mark = if i == 0 { "-" } else { " " };
                        out += &format!("  {mark} {name}: {}\n", quoted(value));
                    }
                }
            }
            value => out += &format!("{name}: {}\n", quoted(value)),
        }
    }
    out
}

/// A text as a reader may see it: variables by their names, what else may be secret masked.
pub(crate) fn shown(name: &str, text: &Text) -> String {
    let raw = &text.raw;
    match name {
        // A variable's name tells nothing; a value that stands beside one may.
        "header" if is_seen_header(raw) => raw.clone(),
        "header" => secrets::mask_header(raw),
        "body" => secrets::MASK.to_string(),
        TARGET | CANDIDATE | "url" => secrets::mask_url(raw),
        "slo" | "abort-on" => secrets::mask_objective(raw),
        "expect" => secrets::mask_expectation(raw),
        _ => raw.clone(),
    }
}

/// A header that may be seen as it is: a harmless one, or one whose value is a variable, at most behind the name of a
/// scheme, as `Bearer ${TOKEN}`.
pub(super) fn is_seen_header(line: &str) -> bool {
    let is_variable = |value: &str| {
        let value = value.trim();
        secrets::is_one_variable(value.rsplit_once(' ').map_or(value, |(scheme, rest)| match scheme {
            "Bearer" | "Basic" | "Token" => rest,
            _ => "",
        }))
    };
    secrets::mask_header(line) == line || line.split_once(':').is_some_and(|(_, value)| is_variable(value))
}
