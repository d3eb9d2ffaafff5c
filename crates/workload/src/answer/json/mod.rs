//! JSON in the bytes of a body: a value is found where it stands, without a tree and without allocating.

mod path;
mod scan;
mod step;
mod text;

pub use path::{Path, PathError};
pub use scan::NotJson;
pub(super) use text::{equals, quoted, unescape_into};

/// What a value is, by its first byte. `raw` is a value as [`Path::first`] gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `{…}`.
    Object,
    /// `[…]`.
    Array,
    /// `"…"`, with its escapes.
    Text,
    /// Digits.
    Number,
    /// `true`, `false` or `null`.
    Word,
}

/// The kind of a raw value.
pub fn kind_of(raw: &[u8]) -> Kind {
    match raw.first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::Text,
        Some(b'-' | b'0'..=b'9') => Kind::Number,
        _ => Kind::Word,
    }
}

/// What stands between the quotes of a raw text.
pub(super) fn inside(raw: &[u8]) -> &[u8] {
    &raw[1..raw.len() - 1]
}

/// A value into `out`: a text without its quotes and escapes, anything else as it stands.
pub fn value_into(raw: &[u8], out: &mut Vec<u8>) {
    match kind_of(raw) {
        Kind::Text => unescape_into(inside(raw), out),
        _ => out.extend_from_slice(raw),
    }
}

/// The number that `raw` is.
pub(super) fn number(raw: &[u8]) -> Option<&str> {
    std::str::from_utf8(raw).ok().filter(|_| kind_of(raw) == Kind::Number)
}
