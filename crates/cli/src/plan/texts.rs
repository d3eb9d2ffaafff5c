//! The texts that stand in the fields of a plan.

use super::fields::{Field, Kind};
use super::source::Wrong;
use super::tree::{Key, Node, Value};
use super::{body, variables};
use std::ops::Range;

/// A value as it was written, and where.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub raw: String,
    pub at: Range<usize>,
}

/// The texts of `field` in `node`.
pub(super) fn values(field: &Field, node: Node) -> Result<Vec<Text>, Wrong> {
    match (field.kind, node.value) {
        // YAML knows three spellings (version 1.2, section 10.3.2).
        (Kind::Switch, Value::Scalar(text)) => match text.as_str() {
            "true" | "True" | "TRUE" => Ok(vec![Text { raw: "true".into(), at: node.at }]),
            "false" | "False" | "FALSE" => Ok(Vec::new()),
            _ => Err(Wrong::new(node.at, format!("{} is true or false", field.key()))),
        },
        (Kind::Table, value @ (Value::Table(_) | Value::List(_))) => {
            let node = Node { at: node.at, value, is_text: false };
            let raw = body::written(&field.name, &node)?;
            Ok(vec![Text { raw, at: node.at }])
        }
        (Kind::Pairs, Value::Table(entries)) => pairs("", entries),
        (Kind::Many | Kind::Pairs, Value::List(items)) => items.into_iter().map(text_of).collect(),
        (_, Value::List(_)) => Err(Wrong::new(node.at, format!("{} is one value, not a list", field.key()))),
        (_, value) => {
            let text = text_of(Node { value, ..node })?;
            variables::check(&field.name, &text.raw).map_err(|why| Wrong::new(text.at.clone(), why))?;
            Ok(vec![text])
        }
    }
}

/// The one value that `node` is.
pub(super) fn text_of(node: Node) -> Result<Text, Wrong> {
    match node.value {
        Value::Scalar(raw) if !raw.is_empty() && raw != "~" => Ok(Text { raw, at: node.at }),
        Value::Scalar(_) => Err(Wrong::new(node.at, "there is no value: give one, or leave the field out")),
        Value::List(_) => Err(Wrong::new(node.at, "one value is expected here, not a list")),
        Value::Table(_) => Err(Wrong::new(node.at, "one value is expected here, not a table")),
    }
}

/// The entries of the table that `node` is; `otherwise` says what is wrong if it is none.
pub(super) fn table(node: Node, otherwise: &str) -> Result<Vec<(Key, Node)>, Wrong> {
    match node.value {
        Value::Table(entries) => Ok(entries),
        // An empty section.
        Value::Scalar(text) if text.is_empty() || text == "~" => Ok(Vec::new()),
        _ => Err(Wrong::new(node.at, otherwise)),
    }
}

/// Names with their values as `NAME=VALUE`. What has a dot in its name is a table in a table where it stands without quotes.
fn pairs(before: &str, entries: Vec<(Key, Node)>) -> Result<Vec<Text>, Wrong> {
    let mut all = Vec::new();
    for (key, node) in entries {
        let name = format!("{before}{}", key.name);
        match node.value {
            Value::Table(inner) => all.extend(pairs(&format!("{name}."), inner)?),
            value => {
                let Text { raw, at } = text_of(Node { value, ..node })?;
                all.push(Text { raw: format!("{name}={raw}"), at });
            }
        }
    }
    Ok(all)
}
