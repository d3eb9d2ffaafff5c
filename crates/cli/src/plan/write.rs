//! A plan written down again, in any form that it may have.

use super::fields::{self, Kind};
use super::file::{CANDIDATE, PlanFile, REQUESTS, Request, TARGET, Text};
use crate::secrets;
use serde_json::{Map, Value};

/// As JSON, which the schema describes; YAML takes it as it is. `value` says how each text is shown.
pub(crate) fn json(plan: &PlanFile, value: &impl Fn(&str, &Text) -> String) -> Value {
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
        root.insert(REQUESTS.into(), plan.requests.iter().map(|r| request(r, value)).collect());
    }
    root.into()
}

fn request(request: &Request, value: &impl Fn(&str, &Text) -> String) -> Value {
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

/// As TOML: the target, the sections, the requests.
pub(crate) fn toml(json: &Value) -> String {
    toml::to_string(json).unwrap_or_default()
}

/// As YAML in its block style. Every value stands between quotes, which JSON and YAML share.
pub(crate) fn yaml(json: &Value) -> String {
    let mut out = String::new();
    for (name, value) in json.as_object().into_iter().flatten() {
        match value {
            Value::Object(table) => {
                out += &format!("{name}:\n");
                table.iter().for_each(|(name, value)| out += &format!("  {name}: {value}\n"));
            }
            Value::Array(requests) => {
                out += &format!("{name}:\n");
                for request in requests {
                    for (i, (name, value)) in request.as_object().into_iter().flatten().enumerate() {
                        out += &format!("  {} {name}: {value}\n", if i == 0 { "-" } else { " " });
                    }
                }
            }
            value => out += &format!("{name}: {value}\n"),
        }
    }
    out
}

/// A text as a reader may see it: variables by their names, what else may be secret masked.
pub(crate) fn shown(name: &str, text: &Text) -> String {
    let raw = &text.raw;
    match name {
        // A variable's name tells nothing; a value that stands beside one may.
        "header" => match raw.split_once(':') {
            Some((_, value)) if is_one_variable(value) => raw.clone(),
            _ => secrets::mask_header(raw),
        },
        "body" => secrets::MASK.to_string(),
        TARGET | CANDIDATE | "url" => secrets::mask_url(raw),
        _ => raw.clone(),
    }
}

/// `Bearer ${TOKEN}`: a variable, at most behind the name of a scheme.
fn is_one_variable(value: &str) -> bool {
    let value = value.trim();
    let variable = value.rsplit_once(' ').map_or(value, |(scheme, rest)| match scheme {
        "Bearer" | "Basic" | "Token" => rest,
        _ => "",
    });
    variable
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}
