//! A plan written down again, in any form that it may have.

use super::fields::{self, Field, Kind, TOP};
use super::file::LET;
use super::file::{Given, PlanFile, Table, Text};
use super::lists::{LISTS, List};
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
        let tables = tables(list, plan.tables(list), value);
        if !tables.is_empty() {
            root.insert(list.name.into(), tables.into());
        }
    }
    root.into()
}

/// The tables of a list, and of the list in each of them.
fn tables(list: &List, tables_of: &[Table], value: &mut impl FnMut(&Field, &Text) -> String) -> Vec<Value> {
    let mut all = Vec::new();
    for one in tables_of {
        let mut fields = table(&one.given, list.name, value);
        if let Some(inner) = list.inner {
            fields.insert(inner.name.into(), tables(inner, &one.inner, value).into());
        }
        all.push(fields.into());
    }
    all
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
            Kind::One => texts.next().unwrap_or_default(),
            Kind::Table => texts.next().map(as_table).unwrap_or_default(),
            Kind::Many => texts.collect(),
            Kind::Pairs => pairs(values.iter().map(|text| value(field, text))),
        };
        (field.key().to_string(), shown)
    })
    .collect()
}

/// Texts `NAME=VALUE` as the table that they are.
pub(crate) fn pairs(texts: impl Iterator<Item = String>) -> Value {
    let pair = |text: String| {
        let (name, value) = text.split_once('=').unwrap_or((text.as_str(), ""));
        (name.trim().to_string(), Value::from(value.trim()))
    };
    Value::Object(texts.map(pair).collect())
}

/// A table as one, where it was not masked.
fn as_table(text: Value) -> Value {
    let table = text.as_str().and_then(|text| serde_json::from_str(text).ok()).filter(Value::is_object);
    table.unwrap_or(text)
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
            let fields = || table.as_object().into_iter().flatten();
            for (name, value) in fields().filter(|(_, value)| inner_tables(value).is_none()) {
                tables += &format!("{name} = {}\n", inline(value));
            }
            for (inner, value) in fields() {
                for one in inner_tables(value).into_iter().flatten() {
                    tables += &format!("\n[[{name}.{inner}]]\n");
                    for (name, value) in one.as_object().into_iter().flatten() {
                        tables += &format!("{name} = {}\n", inline(value));
                    }
                }
            }
        }
    }
    (own + &tables).trim_start().to_string()
}

/// The tables that a value is a list of.
fn inner_tables(value: &Value) -> Option<&[Value]> {
    value.as_array().filter(|items| items.iter().any(Value::is_object)).map(Vec::as_slice)
}

/// A value as TOML: as JSON, but for tables. What TOML has no word for stands in a text, as JSON.
pub(crate) fn inline(value: &Value) -> String {
    let Value::Object(fields) = value else { return quoted(value) };
    if has_null(value) {
        return quoted(&value.to_string().into());
    }
    let fields =
        fields.iter().map(|(name, value)| format!("{} = {}", quoted(&name.as_str().into()), inline(value)));
    format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(|item| item.is_object() || has_null(item)),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
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
                yaml_tables(tables, "  ", &mut out);
            }
            value => out += &format!("{name}: {}\n", quoted(value)),
        }
    }
    out
}

/// The items of a list of tables, and of the lists in them, further in by as much as `margin` is long.
fn yaml_tables(tables: &[Value], margin: &str, out: &mut String) {
    for table in tables {
        for (i, (name, value)) in table.as_object().into_iter().flatten().enumerate() {
            let mark = if i == 0 { "-" } else { " " };
            match inner_tables(value) {
                Some(inner) => {
                    *out += &format!("{margin}{mark} {name}:\n");
                    yaml_tables(inner, &format!("{margin}    "), out);
                }
                None => *out += &format!("{margin}{mark} {name}: {}\n", quoted(value)),
            }
        }
    }
}

/// A text as a reader may see it.
pub(crate) fn shown(field: &Field, text: &Text) -> String {
    field.holds.shown(&text.raw)
}
