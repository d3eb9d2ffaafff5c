//! A plan written down again, in any form that it may have.

use super::fields::{self, Field, Kind, TOP};
use super::file::{Given, PlanFile, Text};
use super::lists::LISTS;
use super::values::LET;
use serde_json::{Map, Value};
use unblink_artifact::harmless;

/// As JSON, which the schema describes; YAML takes it as it is. `value` says how each text is shown.
pub(crate) fn json(plan: &PlanFile, value: &mut impl FnMut(&Field, &Text) -> String) -> Value {
    let mut root = table(&plan.given, TOP, value);
    for section in fields::sections() {
        let table = table(&plan.given, section, value);
        if !table.is_empty() {
            root.insert(section.into(), table.into());
        }
    }
    if !plan.lets.is_empty() {
        let own = plan.lets.iter().map(|one| (one.name.raw.clone(), Value::from(one.value.raw.clone())));
        root.insert(LET.into(), Value::Object(own.collect()));
    }
    for list in &LISTS {
        let tables = plan.tables(list).iter().map(|one| table(&one.given, list.name, value).into());
        let tables: Vec<Value> = tables.collect();
        if !tables.is_empty() {
            root.insert(list.name.into(), tables.into());
        }
    }
    root.into()
}

/// Those of the fields that belong to `section`.
fn table(
    given: &[Given],
    section: &str,
    value: &mut impl FnMut(&Field, &Text) -> String,
) -> Map<String, Value> {
    let own = given.iter().filter(|given| given.field.section == section);
    own.map(|Given { field, values }| {
        let mut texts = values.iter().map(|text| Value::from(value(field, text)));
        let shown = match field.kind {
            Kind::Switch => true.into(),
            Kind::One | Kind::Table => texts.next().unwrap_or_default(),
            Kind::Many => texts.collect(),
        };
        (field.name.clone(), shown)
    })
    .collect()
}

/// As TOML: the target, the sections, the lists. TOML's basic strings have their escapes in common with JSON.
pub(crate) fn toml(json: &Value) -> String {
    let (mut own, mut tables) = (String::new(), String::new());
    for (name, value) in json.as_object().into_iter().flatten() {
        let (head, of_name) = match value {
            Value::Object(_) => (format!("[{name}]"), std::slice::from_ref(value)),
            Value::Array(tables) => (format!("[[{name}]]"), tables.as_slice()),
            value => {
                own += &format!("{name} = {}\n", quoted(value));
                continue;
            }
        };
        for table in of_name {
            tables += &format!("\n{head}\n");
            for (name, value) in table.as_object().into_iter().flatten() {
                tables += &format!("{name} = {}\n", quoted(value));
            }
        }
    }
    (own + &tables).trim_start().to_string()
}

/// A value as JSON, which no character of it can leave.
fn quoted(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(quoted).collect::<Vec<_>>().join(", ")),
        value => harmless::json(value).unwrap_or_default(),
    }
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
            Value::Array(tables) => {
                out += &format!("{name}:\n");
                for table in tables {
                    for (i, (name, value)) in table.as_object().into_iter().flatten().enumerate() {
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

/// A text as a reader may see it.
pub(crate) fn shown(field: &Field, text: &Text) -> String {
    field.holds.shown(&text.raw)
}
