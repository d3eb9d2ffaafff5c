//! A plan as a tree, whatever it was written in. Values are kept as they were written: what `30s` or `1k` mean is
//! decided by the flag of the same name.

use super::source::Wrong;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it stands, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub at: Range<usize>,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Scalar(String),
    List(Vec<Node>),
    Table(Vec<(Key, Node)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub at: Range<usize>,
    pub name: String,
}

/// TOML.
pub(crate) fn of_toml(text: &str) -> Result<Node, Wrong> {
    let table = DeTable::parse(text).map_err(|error| {
        let end = text.len();
        Wrong::new(error.span().unwrap_or(end..end), error.message())
    })?;
    let at = table.span();
    Ok(Node { at, value: of_table(table.get_ref())? })
}

fn of_table(table: &DeTable<'_>) -> Result<Value, Wrong> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let name = key.get_ref().to_string();
        entries.push((Key { at: key.span(), name }, of_value(value)?));
    }
    // In the order of the text.
    entries.sort_by_key(|(key, _)| key.at.start);
    Ok(Value::Table(entries))
}

fn of_value(value: &Spanned<DeValue<'_>>) -> Result<Node, Wrong> {
    let at = value.span();
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Scalar(text.to_string()),
        DeValue::Integer(number) => Value::Scalar(number.as_str().to_string()),
        DeValue::Float(number) => Value::Scalar(number.as_str().to_string()),
        DeValue::Boolean(yes) => Value::Scalar(yes.to_string()),
        DeValue::Datetime(_) => return Err(Wrong::new(at, "no field of a plan is a date or a time of day")),
        DeValue::Array(items) => Value::List(items.iter().map(of_value).collect::<Result<_, _>>()?),
        DeValue::Table(table) => of_table(table)?,
    };
    Ok(Node { at, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_keeps_text_and_place() {
        let text = "b = 1_000\n[a]\nlist = [\"x\", 2.50, true]\n";
        let Value::Table(entries) = of_toml(text).unwrap().value else { panic!("a table") };
        let (key, value) = &entries[0];
        assert_eq!((key.name.as_str(), &text[key.at.clone()]), ("b", "b"));
        assert_eq!(&text[value.at.clone()], "1_000");
        let Value::Table(inner) = &entries[1].1.value else { panic!("a table") };
        let Value::List(items) = &inner[0].1.value else { panic!("a list") };
        let shown: Vec<&str> = items.iter().map(|item| &text[item.at.clone()]).collect();
        assert_eq!(shown, ["\"x\"", "2.50", "true"]);
        assert_eq!(of_toml("a = ").unwrap_err().at.start, 4);
    }
}
