//! A request's fields, written ahead of their time as far as no connection matters.

use super::fields::{put_number, put_plain, put_string};
use super::table::{ENTRY_BYTES, STATIC};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Credentials, which nobody on the way is to keep (§7.1.3).
const SECRET: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];
/// Fields that a run may have as many of as it has requests: written out each time, as browsers do with paths. In the table they would
/// take the place of what all requests share, and each would be looked for.
const MANY: [&str; 2] = [":path", "content-length"];

/// A part of a request's block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::http2) enum Part {
    /// Written as it is: a reference to the static table, or what is not put into the other one.
    Fixed(Box<[u8]>),
    /// The same in each request.
    Field(Arc<Field>),
    /// A field's value, which is another each time. Its name stands before it.
    Value,
}

/// A field that is the same in each request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::http2) struct Field {
    /// Of name and value.
    pub(super) hash: u64,
    name: Box<str>,
    value: Box<str>,
    /// The name's index in the static table, or 0.
    name_index: usize,
    /// What follows the index: the name, if it has none, and the value.
    rest: Box<[u8]>,
}

impl Field {
    fn new(name: &str, value: &str) -> Field {
        let mut hasher = DefaultHasher::new();
        (name, value).hash(&mut hasher);
        let (name_index, mut rest) = (index_of(name), Vec::new());
        if name_index == 0 {
            put_string(&mut rest, name.as_bytes());
        }
        put_string(&mut rest, value.as_bytes());
        let hash = hasher.finish();
        Field { hash, name: name.into(), value: value.into(), name_index, rest: rest.into() }
    }

    /// It says the same as another.
    pub(super) fn says(self: &Arc<Field>, other: &Arc<Field>) -> bool {
        Arc::ptr_eq(self, other) || (self.name == other.name && self.value == other.value)
    }

    /// What it counts for in a table (§4.1).
    pub(super) fn size(&self) -> usize {
        ENTRY_BYTES + self.name.len() + self.value.len()
    }

    /// Appends it in full: behind `first`, whose last `prefix` bits are the name's index.
    pub(super) fn put(&self, first: u8, prefix: u32, out: &mut Vec<u8>) {
        put_number(out, first, prefix, self.name_index);
        out.extend_from_slice(&self.rest);
    }
}

/// The first place of the name in the static table, from 1 on; 0 if it has none.
fn index_of(name: &str) -> usize {
    STATIC.iter().position(|&(known, _)| known == name).map_or(0, |place| place + 1)
}

/// Appends a field's value as it is: it is another each time, and not worth coding.
pub(super) fn put_value(out: &mut Vec<u8>, value: &[u8]) {
    put_plain(out, value);
}

/// The parts of a block as they are put together.
#[derive(Default)]
pub(in crate::http2) struct Parts {
    done: Vec<Part>,
    fixed: Vec<u8>,
}

impl Parts {
    /// Adds a field.
    pub(in crate::http2) fn put(&mut self, name: &str, value: &str) {
        if let Some(place) = STATIC.iter().position(|&field| field == (name, value)) {
            put_number(&mut self.fixed, 0x80, 7, place + 1);
        } else if SECRET.contains(&name) {
            Field::new(name, value).put(0x10, 4, &mut self.fixed);
        } else if MANY.contains(&name) {
            Field::new(name, value).put(0, 4, &mut self.fixed);
        } else {
            self.flush();
            self.done.push(Part::Field(Arc::new(Field::new(name, value))));
        }
    }

    /// Adds a field whose value is another each time.
    pub(in crate::http2) fn put_open(&mut self, name: &str) {
        let first = if SECRET.contains(&name) { 0x10 } else { 0 };
        let index = index_of(name);
        put_number(&mut self.fixed, first, 4, index);
        if index == 0 {
            put_string(&mut self.fixed, name.as_bytes());
        }
        self.flush();
        self.done.push(Part::Value);
    }

    fn flush(&mut self) {
        if !self.fixed.is_empty() {
            self.done.push(Part::Fixed(std::mem::take(&mut self.fixed).into()));
        }
    }

    pub(in crate::http2) fn done(mut self) -> Box<[Part]> {
        self.flush();
        self.done.into()
    }
}
