//! Writes header fields (RFC 7541 §6) that the server need not keep: what is the same in every request is encoded once.

use super::fields::{put_number, put_plain, put_string};
use super::table::STATIC;

/// A table of no size. Said before the first block, it allows for any size that the server may ask for.
pub(in crate::http2) const NO_TABLE: u8 = 0x20;

/// Appends a field.
pub(in crate::http2) fn put_field(out: &mut Vec<u8>, name: &str, value: &str) {
    match STATIC.iter().position(|&field| field == (name, value)) {
        Some(place) => put_number(out, 0x80, 7, place + 1),
        None => {
            put_name(out, name);
            put_string(out, value.as_bytes());
        }
    }
}

/// Appends a field's name. [`put_value`] follows.
pub(in crate::http2) fn put_name(out: &mut Vec<u8>, name: &str) {
    // Credentials are never to be kept by anybody on the way (§7.1.3).
    let first = if matches!(name, "authorization" | "cookie") { 0x10 } else { 0 };
    match STATIC.iter().position(|&(known, _)| known == name) {
        Some(place) => put_number(out, first, 4, place + 1),
        None => {
            out.push(first);
            put_string(out, name.as_bytes());
        }
    }
}

/// Appends a field's value as it is: it is another each time, and not worth coding.
pub(in crate::http2) fn put_value(out: &mut Vec<u8>, value: &[u8]) {
    put_plain(out, value);
}
