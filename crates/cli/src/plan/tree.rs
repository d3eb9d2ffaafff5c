//! A plan as a tree, whatever it was written in. Values are kept as they were written: what `30s` or `1k` mean is
//! decided by the flag of the same name.

use super::fields;
use super::source::Wrong;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// A value and where it stands, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub at: Range<usize>,
    pub value: Value,
    /// Of a scalar: it is a text whatever it looks like.
    pub is_text: bool,
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

impl Node {
    /// Where in it something stands that may be a secret: the value of any field that is not known to hold none. `field`
    /// is what the node is the value of.
    pub(crate) fn secrets(&self, field: &str, found: &mut Vec<Range<usize>>) {
        match &self.value {
            Value::Table(entries) => {
                // What is drawn is told in the report.
                let told = |key: &Key| field.is_empty() && key.name == "let";
                let entries = entries.iter().filter(|(key, _)| !told(key));
                entries.for_each(|(key, node)| node.secrets(&key.name, found));
            }
            Value::List(items) => items.iter().for_each(|item| item.secrets(field, found)),
            Value::Scalar(text) => {
                if !fields::called(field).is_some_and(|field| field.holds.is_seen(text)) {
                    found.push(self.at.clone());
                }
            }
        }
    }
}

/// TOML, or all that is wrong with it.
pub(crate) fn of_toml(text: &str) -> Result<Node, Vec<Wrong>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let end = text.len();
        let wrong = |error: &toml::de::Error| Wrong::new(error.span().unwrap_or(end..end), error.message());
        return Err(errors.iter().map(wrong).collect());
    }
    let at = table.span();
    Ok(Node { at, value: of_table(table.get_ref()).map_err(|wrong| vec![wrong])?, is_text: false })
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
    let is_text = matches!(value.get_ref(), DeValue::String(_));
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Scalar(text.to_string()),
        DeValue::Integer(number) => Value::Scalar(decimal(number, &at)?),
        DeValue::Float(number) => Value::Scalar(number.as_str().to_string()),
        DeValue::Boolean(yes) => Value::Scalar(yes.to_string()),
        DeValue::Datetime(_) => return Err(Wrong::new(at, "no field of a plan is a date or a time of day")),
        DeValue::Array(items) => Value::List(items.iter().map(of_value).collect::<Result<_, _>>()?),
        DeValue::Table(table) => of_table(table)?,
    };
    Ok(Node { at, value, is_text })
}

/// A whole number as the flags read it: `0x10` is 16.
fn decimal(number: &DeInteger<'_>, at: &Range<usize>) -> Result<String, Wrong> {
    if number.radix() == 10 {
        return Ok(number.as_str().to_string());
    }
    let value = i64::from_str_radix(number.as_str(), number.radix());
    value.map(|value| value.to_string()).map_err(|_| Wrong::new(at.clone(), "this number is too large"))
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
        let Value::Table(entries) = of_toml("a = 0xff\nb = 0o1_7\nc = 0b101").unwrap().value else {
            panic!()
        };
        for ((_, node), text) in entries.iter().zip(["255", "15", "5"]) {
            assert!(matches!(&node.value, Value::Scalar(value) if value == text), "{node:?}");
        }
        assert!(of_toml("a = 0xffff_ffff_ffff_ffff").is_err());
        assert_eq!(of_toml("a = ").unwrap_err()[0].at.start, 4);
    }
}
