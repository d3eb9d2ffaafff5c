//! Writes blocks of header fields (RFC 7541 §6) for one connection. What stays the same from one request to the next is put into
//! the server's table once, and referred to from then on.
//!
//! The table is only ever added to: what has no room is written out each time. So it soon comes to rest, and with it the block of
//! each request, which is kept then. Only a new limit of the server empties it.

use super::fields::put_number;
use super::literal::{Field, Part, put_value};
use super::table::{ENTRY_BYTES, STATIC};
use std::sync::Arc;

/// How large the table may be, whatever the server allows: what it is unless somebody speaks (§6.5.2 of RFC 9113).
const TABLE_BYTES: usize = 4096;

/// Twice the entries that a table has room for.
const SLOTS: usize = 2 * TABLE_BYTES / ENTRY_BYTES;

/// Requests whose blocks a connection keeps.
const KEPT_MAX: usize = 32;
/// Longer blocks, and those with more values, are put together each time.
const KEPT_BYTES: usize = 96;
const KEPT_VALUES: usize = 4;

/// A field that the server knows.
#[derive(Debug)]
struct Entry {
    hash: u64,
    field: Arc<Field>,
}

/// The block of a request, without its values. It is right while nothing is added to the table.
#[derive(Clone, Copy, Debug)]
struct Kept {
    request: u32,
    generation: u64,
    length: u8,
    /// Where the values stand.
    cuts: [u8; KEPT_VALUES],
    bytes: [u8; KEPT_BYTES],
}

const NOTHING_KEPT: Kept =
    Kept { request: 0, generation: 0, length: 0, cuts: [0; KEPT_VALUES], bytes: [0; KEPT_BYTES] };

/// The writing side of a connection's header compression.
#[derive(Debug)]
pub(in crate::http2) struct Encoder {
    /// How large the table may be.
    limit: usize,
    /// The server's limit has changed since the last block, which it must be told.
    has_new_limit: bool,
    size: usize,
    /// What the server knows, the latest last.
    entries: Vec<Entry>,
    /// Where an entry is, by its hash; its number from 1 on, or 0. Of each two slots, one is free at least.
    slots: [u8; SLOTS],
    /// Counts the changes of the table; never zero, so that nothing is kept at the beginning.
    generation: u64,
    kept: Vec<Kept>,
}

impl Encoder {
    pub(in crate::http2) fn new() -> Encoder {
        Encoder {
            limit: TABLE_BYTES,
            has_new_limit: false,
            size: 0,
            // As many as there can be, so that nothing is allocated later. What is not used takes no memory.
            entries: Vec::with_capacity(TABLE_BYTES / ENTRY_BYTES),
            slots: [0; SLOTS],
            generation: 1,
            kept: Vec::with_capacity(KEPT_MAX),
        }
    }

    /// The server keeps a table of so many bytes at the most (`SETTINGS_HEADER_TABLE_SIZE`).
    pub(in crate::http2) fn set_limit(&mut self, bytes: u32) {
        let limit = TABLE_BYTES.min(bytes as usize);
        // Also if it goes back to what it was: the smallest one counts (§4.2).
        self.has_new_limit |= limit != self.limit;
        self.limit = limit;
    }

    /// Appends the block of request `number`, which is the same each time but for the `values` that `fill` writes.
    #[inline]
    pub(in crate::http2) fn put_block<V>(
        &mut self,
        number: u32,
        (parts, values): (&[Part], &[V]),
        scratch: &mut Vec<u8>,
        mut fill: impl FnMut(&V, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        if self.has_new_limit {
            self.tell_limit(out);
        }
        let mut put = |value: &V, out: &mut Vec<u8>| {
            scratch.clear();
            fill(value, scratch);
            put_value(out, scratch);
        };
        let place = number as usize % KEPT_MAX;
        if let Some(kept) = self.kept.get(place)
            && kept.generation == self.generation
            && kept.request == number
        {
            let mut from = 0;
            for (value, &cut) in values.iter().zip(&kept.cuts) {
                out.extend_from_slice(&kept.bytes[from..usize::from(cut)]);
                put(value, out);
                from = usize::from(cut);
            }
            return out.extend_from_slice(&kept.bytes[from..usize::from(kept.length)]);
        }
        let generation = self.generation;
        // What stands between the values.
        let (mut pieces, mut from, mut count) = ([(0, 0); KEPT_VALUES + 1], out.len(), 0);
        let mut values = values.iter();
        for part in parts {
            match part {
                Part::Fixed(bytes) => out.extend_from_slice(bytes),
                Part::Field(field) => self.put_field(field, out),
                Part::Value => {
                    let Some(value) = values.next() else { continue };
                    if let Some(piece) = pieces.get_mut(count) {
                        *piece = (from, out.len());
                    }
                    put(value, out);
                    (from, count) = (out.len(), count + 1);
                }
            }
        }
        if let Some(piece) = pieces.get_mut(count)
            && generation == self.generation
        {
            *piece = (from, out.len());
            self.keep(number, pieces[..=count].iter().map(|&(from, to)| &out[from..to]));
        }
    }

    /// Keeps the block of a request for as long as it is right, if it is short and no other one has its place. One that has added to the
    /// table means something else the next time.
    fn keep<'a>(&mut self, number: u32, pieces: impl Iterator<Item = &'a [u8]> + Clone) {
        if pieces.clone().map(<[u8]>::len).sum::<usize>() > KEPT_BYTES {
            return;
        }
        let place = number as usize % KEPT_MAX;
        while self.kept.len() <= place {
            self.kept.push(NOTHING_KEPT);
        }
        let kept = &mut self.kept[place];
        // Where there are more requests than places, each would drive out the next, and none would be found.
        if kept.generation == self.generation {
            return;
        }
        (kept.request, kept.generation) = (number, self.generation);
        let mut length = 0;
        for (i, piece) in pieces.enumerate() {
            kept.bytes[length..length + piece.len()].copy_from_slice(piece);
            length += piece.len();
            // Behind the last one there is no value.
            if let Some(cut) = kept.cuts.get_mut(i) {
                *cut = length as u8;
            }
        }
        kept.length = length as u8;
    }

    /// Empties the table, which is the smallest that it can have been in between, and says how large it is now.
    #[cold]
    fn tell_limit(&mut self, out: &mut Vec<u8>) {
        self.has_new_limit = false;
        self.entries.clear();
        self.slots.fill(0);
        self.size = 0;
        self.generation += 1;
        put_number(out, 0x20, 5, 0);
        if self.limit > 0 {
            put_number(out, 0x20, 5, self.limit);
        }
    }

    fn put_field(&mut self, field: &Arc<Field>, out: &mut Vec<u8>) {
        let mut slot = field.hash as usize % SLOTS;
        while let Some(number) = usize::from(self.slots[slot]).checked_sub(1) {
            let entry = &self.entries[number];
            if entry.hash == field.hash && entry.field.says(field) {
                return put_number(out, 0x80, 7, STATIC.len() + self.entries.len() - number);
            }
            slot = (slot + 1) % SLOTS;
        }
        if self.size + field.size() > self.limit {
            return field.put(0, 4, out);
        }
        field.put(0x40, 6, out);
        self.size += field.size();
        self.entries.push(Entry { hash: field.hash, field: field.clone() });
        self.slots[slot] = self.entries.len() as u8;
        self.generation += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::literal::Parts;
    use super::*;

    /// A request as `put_block` takes it. `None` is a value that is another each time.
    fn request(fields: &[(&str, Option<&str>)]) -> Box<[Part]> {
        let mut parts = Parts::default();
        for (name, value) in fields {
            match value {
                Some(value) => parts.put(name, value),
                None => parts.put_open(name),
            }
        }
        parts.done()
    }

    fn block(encoder: &mut Encoder, number: u32, parts: &[Part], values: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        let fill = |value: &&str, out: &mut Vec<u8>| out.extend_from_slice(value.as_bytes());
        encoder.put_block(number, (parts, values), &mut Vec::new(), fill, &mut out);
        out
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 7541 C.4, byte by byte; a third time, nothing but references is left.
    #[test]
    fn requests_of_appendix_c() {
        let begin = [(":method", Some("GET")), (":scheme", Some("http")), (":path", Some("/"))];
        let authority = [(":authority", Some("www.example.com"))];
        let first = request(&[&begin[..], &authority].concat());
        let second = request(&[&begin[..], &authority, &[("cache-control", Some("no-cache"))]].concat());
        let third = request(&[
            (":method", Some("GET")),
            (":scheme", Some("https")),
            (":path", Some("/index.html")),
            authority[0],
            ("custom-key", Some("custom-value")),
        ]);
        let mut encoder = Encoder::new();
        let mut hex_of = |number, parts: &[Part]| hex(&block(&mut encoder, number, parts, &[]));
        assert_eq!(hex_of(0, &first), "828684418cf1e3c2e5f23a6ba0ab90f4ff");
        assert_eq!(hex_of(1, &second), "828684be5886a8eb10649cbf");
        assert_eq!(hex_of(2, &third), "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf");
        for _ in 0..2 {
            assert_eq!(hex_of(2, &third), "828785c0be");
            assert_eq!(hex_of(0, &first), "828684c0");
        }
        assert_eq!(encoder.size, 57 + 53 + 54, "as the appendix counts");
    }

    #[test]
    fn secrets_are_never_indexed_and_open_values_are_not_kept() {
        let parts = request(&[("authorization", Some("Bearer 1")), ("cookie", Some("a=b")), ("x-id", None)]);
        let secret = request(&[("authorization", None)]);
        let mut encoder = Encoder::new();
        for _ in 0..3 {
            let out = block(&mut encoder, 0, &parts, &["7"]);
            // Names 23 and 32 of the static table behind the bits 0001.
            assert_eq!(out[..2], [0x1f, 23 - 15]);
            assert!(hex(&out).contains("1f11"), "{}", hex(&out));
            assert_eq!(out[out.len() - 2..], [1, b'7']);
            assert_eq!(block(&mut encoder, 1, &secret, &["x"]), [0x1f, 23 - 15, 1, b'x']);
        }
        assert_eq!((encoder.entries.len(), encoder.size), (0, 0));
    }

    #[test]
    fn a_new_limit_is_told_once_and_at_the_beginning() {
        let parts = request(&[("x-a", Some("1"))]);
        let mut encoder = Encoder::new();
        let all = block(&mut encoder, 0, &parts, &[]);
        assert_eq!(block(&mut encoder, 0, &parts, &[]), [0xbe]);
        // As before, as far as we use it.
        encoder.set_limit(65_536);
        assert_eq!(block(&mut encoder, 0, &parts, &[]), [0xbe]);
        // It may have been emptied in between.
        encoder.set_limit(0);
        encoder.set_limit(4096);
        assert_eq!(block(&mut encoder, 0, &parts, &[]), [&[0x20, 0x3f, 0xe1, 0x1f], &all[..]].concat());
        assert_eq!(block(&mut encoder, 0, &parts, &[]), [0xbe]);
        encoder.set_limit(0);
        let literal = [&[0x20, 0][..], &all[1..]].concat();
        assert_eq!(block(&mut encoder, 0, &parts, &[]), literal);
        assert_eq!(block(&mut encoder, 0, &parts, &[]), literal[1..]);
        encoder.set_limit(36);
        assert_eq!(block(&mut encoder, 0, &parts, &[]), [&[0x20, 0x3f, 5], &all[..]].concat());
    }

    #[test]
    fn paths_and_what_has_no_room_are_written_out() {
        let mut encoder = Encoder::new();
        let path = |i: u32| request(&[(":path", Some(&format!("/{i}"))), ("content-length", Some("7"))]);
        for i in (0..1000).chain([999]) {
            // Names 4 and 28 of the static table behind the bits 0000.
            let out = block(&mut encoder, i, &path(i), &[]);
            assert!(out[0] == 0x04 && hex(&out).contains("0f0d0137"), "{}", hex(&out));
        }
        assert_eq!(encoder.size, 0);
        let other = request(&[("x-a", Some("1"))]);
        block(&mut encoder, 1000, &other, &[]);
        assert_eq!(block(&mut encoder, 1000, &other, &[]), [0xbe]);
        let name = |i: u32| request(&[(&format!("x-{i}"), Some("1"))]);
        (2000..3000).for_each(|i| drop(block(&mut encoder, i, &name(i), &[])));
        assert!(encoder.size <= TABLE_BYTES && encoder.entries.capacity() == TABLE_BYTES / ENTRY_BYTES);
        assert!(encoder.kept.len() <= KEPT_MAX);
    }

    #[test]
    fn requests_beyond_the_places_drive_no_kept_block_out() {
        let mut encoder = Encoder::new();
        let all: Vec<_> =
            (0..200).map(|i| request(&[(":path", Some(&format!("/{i}"))), ("x-a", Some("1"))])).collect();
        let blocks = |encoder: &mut Encoder| -> Vec<_> {
            (0..).zip(&all).map(|(i, parts)| hex(&block(encoder, i, parts, &[]))).collect()
        };
        blocks(&mut encoder);
        let (second, kept) = (blocks(&mut encoder), encoder.kept.clone());
        assert_eq!(blocks(&mut encoder), second);
        let requests = |kept: &[Kept]| kept.iter().map(|kept| kept.request).collect::<Vec<_>>();
        assert_eq!((requests(&encoder.kept), kept.len()), (requests(&kept), KEPT_MAX));
        // A new limit makes room for others.
        encoder.set_limit(0);
        assert_ne!(blocks(&mut encoder), second);
    }
}
