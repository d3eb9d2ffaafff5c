//! JSON Lines, by a map from parts of a request to fields. A field within an object is named with points: `http.method`.

use super::error::FormatError;
use super::field::Field;
use super::map::Map;
use super::{Edge, Got};
use crate::Unreadable;
use crate::entry::Entry;
use crate::time::Times;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Which fields are read.
#[derive(Clone, Debug)]
pub struct JsonLines {
    fields: Vec<(String, Field)>,
    edge: Edge,
    times: Times,
}

impl JsonLines {
    /// Reads these fields.
    ///
    /// # Errors
    /// The map lacks the time, or what was asked.
    pub fn new(map: &Map, keep: &[String]) -> Result<JsonLines, FormatError> {
        if !map.has(&["time", "start", "end"]) {
            return Err(FormatError::new(
                "which field has the time? Say --map start=FIELD if it is the start of the request, --map end=FIELD if it is its end",
            ));
        }
        if !map.has(&["path", "request"]) {
            return Err(FormatError::new(
                "which field says what was asked? Say --map path=FIELD,method=FIELD, or --map request=FIELD for a whole request line",
            ));
        }
        if let Some(header) = keep.first() {
            return Err(FormatError::new(format!(
                "--keep header.{header}: it isn't known which field of the JSON that is; only path, query and user can be kept"
            )));
        }
        let fields: Vec<(String, Field)> =
            map.fields()?.into_iter().map(|(name, field)| (name.to_string(), field)).collect();
        let edges = fields.iter().filter_map(|(_, field)| match field {
            Field::Time(_, edge) => Some(*edge),
            _ => None,
        });
        let edge = edges.max().unwrap_or(Edge::Unknown);
        let fields = fields
            .into_iter()
            .filter(|(_, field)| !matches!(field, Field::Time(_, other) if *other != edge))
            .collect();
        Ok(JsonLines { fields, edge, times: Times::default() })
    }

    pub(super) fn edge(&self) -> Edge {
        self.edge
    }

    /// Reads a line.
    pub(crate) fn read(&mut self, line: &[u8], entry: &mut Entry) -> Result<Got, Unreadable> {
        let mut reading = Reading { entry, times: &mut self.times, result: Ok(Got::Request) };
        let wanted: Vec<(&str, &Field)> = self.fields.iter().map(|(name, field)| (&**name, field)).collect();
        let mut json = serde_json::Deserializer::from_slice(line);
        Object { wanted: &wanted, reading: &mut reading }
            .deserialize(&mut json)
            .and_then(|()| json.end())
            .map_err(|_| Unreadable::Format)?;
        let got = reading.result?;
        if entry.stamp.is_none() {
            return Err(Unreadable::Time);
        }
        if entry.method.is_empty() {
            entry.method.extend_from_slice(b"GET");
        }
        if entry.target.is_empty() { Ok(Got::NoRequest) } else { Ok(got) }
    }
}

struct Reading<'a> {
    entry: &'a mut Entry,
    times: &'a mut Times,
    result: Result<Got, Unreadable>,
}

impl Reading<'_> {
    fn fill(&mut self, field: &Field, text: &[u8]) {
        if self.result == Ok(Got::Request) {
            self.result = field.fill(text, self.entry, self.times);
        }
    }
}

/// An object, of which some fields are wanted: each by what is left of its name.
struct Object<'a, 'b> {
    wanted: &'a [(&'a str, &'a Field)],
    reading: &'a mut Reading<'b>,
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> DeserializeSeed<'de> for Object<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            let own = self.wanted.iter().find(|(wanted, _)| *wanted == name).map(|(_, field)| *field);
            let is_above =
                |wanted: &str| wanted.strip_prefix(&*name).is_some_and(|rest| rest.starts_with('.'));
            if own.is_none() && !self.wanted.iter().any(|(wanted, _)| is_above(wanted)) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let below: Vec<(&str, &Field)> = self
                .wanted
                .iter()
                .filter(|(wanted, _)| is_above(wanted))
                .map(|(wanted, field)| (&wanted[name.len() + 1..], *field))
                .collect();
            map.next_value_seed(Value { own, below: &below, reading: self.reading })?;
        }
        Ok(())
    }
}

/// A value that is wanted itself, or fields of it.
struct Value<'a, 'b> {
    own: Option<&'a Field>,
    below: &'a [(&'a str, &'a Field)],
    reading: &'a mut Reading<'b>,
}

impl Value<'_, '_> {
    fn take(self, text: &[u8]) {
        if let Some(field) = self.own {
            self.reading.fill(field, text);
        }
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.take(text.as_bytes());
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.take(number.to_string().as_bytes());
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.take(number.to_string().as_bytes());
        Ok(())
    }

    // The shortest text that is this number: that of the log, up to 15 digits.
    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.take(number.to_string().as_bytes());
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        Object { wanted: self.below, reading: self.reading }.visit_map(map)
    }
}
