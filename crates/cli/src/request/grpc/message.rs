//! A message that is written as JSON ([ProtoJSON](https://protobuf.dev/programming-guides/json/)), laid out for the wire.

use super::layout::{LENGTH_DELIMITED, is_well_known, is_wrapper, joined, nested, number_kind, tag, tag_of};
use super::types::instead;
use crate::errors::{refuse, refused};
use anyhow::{Error, Result};
use prost_reflect::prost::Message as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind as Type, MessageDescriptor};
use serde_json::{Map, Value};
use unblink_wire::blank::Blank;
use unblink_wire::message::{Message, MessagePart};

/// Fields of a plan, and flags, that a message is written in.
const FIELDS: [&str; 4] = ["body", "json", "body-file", "url"];

/// Lays `text` out as a message of `descriptor`. Its places are numbered; `is_number` tells those that are always filled with
/// a whole number.
pub(super) fn compile(
    descriptor: &MessageDescriptor,
    text: &str,
    is_number: impl Fn(u32) -> bool,
) -> Result<Message> {
    if text.contains("{{") && text.to_ascii_lowercase().contains("\\u007b") {
        refuse!(
            FIELDS,
            "its message has \\u007b beside templates: write a brace that is meant as it is {{{{'{{'}}}}"
        );
    }
    let is_filled = text.contains("{{");
    let value: Value = serde_json::from_str(&quoted(text))
        .map_err(|error| refused(&FIELDS, format!("its message is not JSON: {error}")))?;
    let compiler = Compiler { is_filled, is_number };
    let name = descriptor.full_name();
    let parts = match &value {
        Value::Object(fields) if !is_well_known(descriptor) => compiler.object(descriptor, fields, name)?,
        value if compiler.has_place(value) => return Err(no_place(name, name)),
        value => {
            let fitting = encoded(descriptor, value).ok_or_else(|| misfit(name, &as_written(descriptor)));
            vec![MessagePart::Fixed(fitting?.into())]
        }
    };
    Ok(Message { parts: joined(parts).into() })
}

/// JSON has no place for `{{0}}` but in a text.
fn quoted(text: &str) -> String {
    let (mut out, mut is_inside, mut rest) = (String::with_capacity(text.len()), false, text);
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '\\' if is_inside => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '{' if !is_inside && rest.starts_with("{{") => match rest.find("}}") {
                Some(end) => end + 2,
                None => 1,
            },
            next => next.len_utf8(),
        };
        let piece = &rest[..length];
        if length > 1 && next == '{' {
            out.extend(['"'].into_iter().chain(piece.chars()).chain(['"']));
        } else {
            out.push_str(piece);
        }
        is_inside ^= next == '"';
        rest = &rest[length..];
    }
    out
}

struct Compiler<F> {
    /// Some text of the message has places.
    is_filled: bool,
    is_number: F,
}

impl<F: Fn(u32) -> bool> Compiler<F> {
    fn object(
        &self,
        descriptor: &MessageDescriptor,
        fields: &Map<String, Value>,
        path: &str,
    ) -> Result<Vec<MessagePart>> {
        let (mut all, mut known) = (Vec::new(), Vec::new());
        for (name, value) in fields {
            let path = format!("{path}.{name}");
            let Some(field) = field(descriptor, name) else {
                if name.starts_with('[') {
                    all.push((u32::MAX, self.fixed(descriptor, name, value, &path)?));
                    continue;
                }
                let names: Vec<String> =
                    descriptor.fields().map(|field| field.json_name().to_string()).collect();
                refuse!(
                    FIELDS,
                    "{path}: {} has no such field{}",
                    descriptor.full_name(),
                    instead(name, &names)
                );
            };
            let group = field.containing_oneof().map(|group| group.full_name().to_string());
            let whole = group.clone().unwrap_or_else(|| field.full_name().to_string());
            if !value.is_null() && known.contains(&whole) {
                let what =
                    if group.is_some() { "only one of its fields can be there" } else { "it is there twice" };
                refuse!(FIELDS, "{path}: {whole}: {what}");
            }
            if !value.is_null() {
                known.push(whole);
            }
            all.push((field.number(), self.field(descriptor, &field, name, value, &path)?));
        }
        // As other programs write them.
        all.sort_by_key(|(number, _)| *number);
        Ok(all.into_iter().flat_map(|(_, parts)| parts).collect())
    }

    fn field(
        &self,
        descriptor: &MessageDescriptor,
        field: &FieldDescriptor,
        name: &str,
        value: &Value,
        path: &str,
    ) -> Result<Vec<MessagePart>> {
        let is_plain = matches!(field.kind(), Type::Message(of) if !is_well_known(&of)) && !field.is_group();
        match value {
            Value::Array(items) if field.is_list() && is_plain => {
                let each = items.iter().enumerate();
                let each = each.map(|(i, item)| self.one(field, item, &format!("{path}[{i}]"), false));
                Ok(each.collect::<Result<Vec<_>>>()?)
            }
            Value::Object(_) if is_plain && !field.is_map() && !field.is_list() => {
                Ok(vec![self.one(field, value, path, false)?])
            }
            value if !self.has_place(value) => self.fixed(descriptor, name, value, path),
            Value::Object(entries) if field.is_map() => {
                entries.iter().map(|(key, value)| self.entry(field, key, value, path)).collect()
            }
            Value::Array(items) if field.is_list() => self.list(descriptor, field, name, items, path),
            value => Ok(vec![self.one(field, value, path, !field.supports_presence())?]),
        }
    }

    /// A list that has places.
    fn list(
        &self,
        descriptor: &MessageDescriptor,
        field: &FieldDescriptor,
        name: &str,
        items: &[Value],
        path: &str,
    ) -> Result<Vec<MessagePart>> {
        let each = items.iter().enumerate().map(|(i, item)| {
            let path = format!("{path}[{i}]");
            match self.has_place(item) {
                true => self.one(field, item, &path, false),
                false => {
                    let whole = encoded_field(descriptor, name, &Value::Array(vec![item.clone()]));
                    let whole = whole.ok_or_else(|| misfit(&path, &in_words(field)))?;
                    // The list that has it alone begins with a tag and a length.
                    let from = if field.is_packed() { tag_of(field).len() + 1 } else { 0 };
                    Ok(MessagePart::Fixed(whole[from..].into()))
                }
            }
        });
        let each = each.collect::<Result<Vec<MessagePart>>>()?;
        match field.is_packed() {
            true => Ok(vec![MessagePart::Nested {
                tag: tag(field.number(), LENGTH_DELIMITED),
                parts: joined(each).into(),
            }]),
            false => Ok(each),
        }
    }

    /// An entry of a map.
    fn entry(&self, field: &FieldDescriptor, key: &str, value: &Value, path: &str) -> Result<MessagePart> {
        let path = format!("{path}[{key:?}]");
        let Type::Message(entry) = field.kind() else { return Err(no_place(&path, "a map")) };
        if self.is_place(key) {
            return Err(no_place(&path, "the key of a map"));
        }
        let key = self.fixed(&entry, "key", &Value::String(key.into()), &path)?;
        let value = self.field(&entry, &entry.map_entry_value_field(), "value", value, &path)?;
        let parts = joined(key.into_iter().chain(value).collect());
        Ok(nested(field, parts))
    }

    /// A single value, which has places or is a message.
    fn one(
        &self,
        field: &FieldDescriptor,
        value: &Value,
        path: &str,
        is_optional: bool,
    ) -> Result<MessagePart> {
        // In a packed list, a number has no tag of its own.
        let own = if field.is_list() && field.is_packed() { Box::default() } else { tag_of(field) };
        let kind = match (field.kind(), value) {
            (Type::Message(of), Value::Object(fields)) if !is_well_known(&of) && !field.is_group() => {
                return Ok(nested(field, joined(self.object(&of, fields, path)?)));
            }
            (Type::Message(of), value) if is_wrapper(&of) => {
                let inner = of.get_field(1).ok_or_else(|| no_place(path, of.full_name()))?;
                return Ok(nested(field, vec![self.one(&inner, value, path, true)?]));
            }
            (Type::Message(of), value) if self.has_place(value) => {
                return Err(no_place(path, of.full_name()));
            }
            (Type::Message(of), _) => {
                return Err(misfit(path, &format!("an object of {}", of.full_name())));
            }
            (Type::String | Type::Bytes, Value::String(text)) => {
                return Ok(MessagePart::Text { tag: own, text: Blank::new(text.as_bytes()), is_optional });
            }
            (of, _) => number_kind(&of).ok_or_else(|| misfit(path, &in_words(field)))?,
        };
        let place = match value {
            Value::String(text) => Blank::new(text.as_bytes()).only_place(),
            _ => None,
        };
        match place.filter(|&place| (self.is_number)(place)) {
            Some(place) => Ok(MessagePart::Number { tag: own, place, kind, is_optional }),
            None => refuse!(
                FIELDS,
                "{path} is a number ({}): a template must be all of it, and a value that is always a whole number, such as \
                 {{{{index}}}} or int(1,100); rows of files and values of answers are texts",
                in_words(field)
            ),
        }
    }

    /// A field that is the same for each arrival; nothing where it has its default.
    fn fixed(
        &self,
        descriptor: &MessageDescriptor,
        name: &str,
        value: &Value,
        path: &str,
    ) -> Result<Vec<MessagePart>> {
        match encoded_field(descriptor, name, value) {
            Some(bytes) => Ok(vec![MessagePart::Fixed(bytes.into())]),
            None => match field(descriptor, name) {
                Some(field) => Err(wrong(descriptor, &field, name, value, path)),
                None => refuse!(FIELDS, "{path}: this does not fit {}", descriptor.full_name()),
            },
        }
    }

    fn is_place(&self, text: &str) -> bool {
        self.is_filled && Blank::new(text.as_bytes()).has_gaps()
    }

    fn has_place(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.is_place(text),
            Value::Array(items) => items.iter().any(|item| self.has_place(item)),
            Value::Object(fields) => {
                fields.iter().any(|(key, value)| self.is_place(key) || self.has_place(value))
            }
            _ => false,
        }
    }
}

/// A field by its name in JSON, or in the file of types.
fn field(descriptor: &MessageDescriptor, name: &str) -> Option<FieldDescriptor> {
    descriptor.get_field_by_json_name(name).or_else(|| descriptor.get_field_by_name(name))
}

/// What is wrong with a field, or with one item of a list or one entry of a map. The value is not quoted: it may be a secret.
fn wrong(
    descriptor: &MessageDescriptor,
    field: &FieldDescriptor,
    name: &str,
    value: &Value,
    path: &str,
) -> Error {
    let alone: Vec<(String, Value)> = match value {
        Value::Array(items) if field.is_list() => items
            .iter()
            .enumerate()
            .map(|(i, item)| (i.to_string(), Value::Array(vec![item.clone()])))
            .collect(),
        Value::Object(entries) if field.is_map() => {
            let one = |(key, value): (&String, &Value)| Map::from_iter([(key.clone(), value.clone())]);
            entries.iter().map(|entry| (format!("{:?}", entry.0), Value::Object(one(entry)))).collect()
        }
        _ => Vec::new(),
    };
    let first = alone.iter().find(|(_, one)| encoded_field(descriptor, name, one).is_none());
    let place = first.map(|(place, _)| format!("[{place}]")).unwrap_or_default();
    misfit(&format!("{path}{place}"), &in_words(field))
}

fn misfit(path: &str, expected: &str) -> Error {
    refused(&FIELDS, format!("{path}: this does not fit; {expected} is expected"))
}

/// What a field takes.
fn in_words(field: &FieldDescriptor) -> String {
    let kind = |field: &FieldDescriptor| match field.kind() {
        Type::Message(of) => of.full_name().to_string(),
        Type::Enum(of) => of.full_name().to_string(),
        other => format!("{other:?}"),
    };
    match field.kind() {
        Type::Message(entry) if field.is_map() => {
            format!("a map to {}", kind(&entry.map_entry_value_field()))
        }
        _ if field.is_list() => format!("a list of {}", kind(field)),
        _ => kind(field),
    }
}

/// What JSON writes for a message of a type that has a form of its own.
fn as_written(descriptor: &MessageDescriptor) -> String {
    let name = descriptor.full_name();
    match descriptor.get_field_by_name("value").filter(|_| is_wrapper(descriptor)) {
        Some(value) => format!("{} alone, without an object around it ({name}),", in_words(&value)),
        None => format!("{name} as ProtoJSON writes it"),
    }
}

fn no_place(path: &str, what: &str) -> Error {
    refused(
        &FIELDS,
        format!("{path}: {{{{…}}}} can't stand in {what}: it can in texts, bytes and whole numbers"),
    )
}

/// Nothing where it does not fit.
fn encoded(descriptor: &MessageDescriptor, value: &Value) -> Option<Vec<u8>> {
    Some(DynamicMessage::deserialize(descriptor.clone(), value).ok()?.encode_to_vec())
}

fn encoded_field(descriptor: &MessageDescriptor, name: &str, value: &Value) -> Option<Vec<u8>> {
    encoded(descriptor, &Value::Object(Map::from_iter([(name.to_string(), value.clone())])))
}

#[cfg(test)]
mod tests;
