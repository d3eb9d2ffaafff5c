//! A protobuf message whose bytes are known ahead but for some values, which differ from one arrival to the next
//! ([protobuf.dev/programming-guides/encoding](https://protobuf.dev/programming-guides/encoding/)).

use crate::blank::{Blank, Filler};

/// A part of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MessagePart {
    /// As it is.
    Fixed(Box<[u8]>),
    /// A text, or bytes, behind its tag and its length.
    Text {
        /// The field's tag.
        tag: Box<[u8]>,
        /// The text.
        text: Blank,
        /// An empty one is left out, tag and all.
        is_optional: bool,
    },
    /// A number that stands in one place.
    Number {
        /// The field's tag; nothing in a packed list.
        tag: Box<[u8]>,
        /// The place it is written in, in decimal.
        place: u32,
        /// How it is encoded.
        kind: Kind,
        /// Zero is left out, tag and all.
        is_optional: bool,
    },
    /// A message in the message, or a packed list, behind its tag and its length.
    Nested {
        /// The field's tag.
        tag: Box<[u8]>,
        /// What it is made of.
        parts: Box<[MessagePart]>,
    },
}

/// How a number is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `int32`, `int64`, `uint32`, `uint64`, and the numbers of an enumeration.
    Varint,
    /// `sint32`, `sint64`.
    Zigzag,
    /// `bool`: everything but 0 is true.
    Bool,
    /// `fixed32`, `sfixed32`.
    Fixed32,
    /// `fixed64`, `sfixed64`.
    Fixed64,
    /// `float`.
    Float,
    /// `double`.
    Double,
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// What it is made of.
    pub parts: Box<[MessagePart]>,
}

impl Message {
    /// Appends its bytes. Nothing is allocated beside what `out` may need.
    pub fn write(&self, filler: &mut impl Filler, out: &mut Vec<u8>) {
        self.parts.iter().for_each(|part| write(part, filler, out));
    }

    /// The same behind the prefix of gRPC: that it is not compressed, and its length.
    pub(crate) fn write_framed(&self, filler: &mut impl Filler, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0; 5]);
        let begin = out.len();
        self.write(filler, out);
        let length = (out.len() - begin) as u32;
        out[begin - 4..begin].copy_from_slice(&length.to_be_bytes());
    }

    /// It is the same for each arrival.
    pub fn is_fixed(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, MessagePart::Fixed(_)))
    }
}

fn write(part: &MessagePart, filler: &mut impl Filler, out: &mut Vec<u8>) {
    match part {
        MessagePart::Fixed(bytes) => out.extend_from_slice(bytes),
        MessagePart::Text { tag, text, is_optional } => {
            behind_length(tag, *is_optional, out, |out| {
                text.write(|place, out| filler.fill(place, out), out)
            });
        }
        MessagePart::Number { tag, place, kind, is_optional } => {
            // The digits stand where the number is going to.
            let at = out.len();
            filler.fill(*place, out);
            let number = decimal(&out[at..]);
            out.truncate(at);
            if number != 0 || !is_optional {
                out.extend_from_slice(tag);
                put(number, *kind, out);
            }
        }
        MessagePart::Nested { tag, parts } => {
            behind_length(tag, false, out, |out| parts.iter().for_each(|part| write(part, filler, out)));
        }
    }
}

/// Appends what `content` appends, behind its tag and its length.
fn behind_length(tag: &[u8], is_optional: bool, out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(tag);
    let begin = out.len();
    content(out);
    let length = out.len() - begin;
    if length == 0 && is_optional {
        out.truncate(at);
        return;
    }
    // The length is known last and stands first.
    put_varint(length as u64, out);
    let prefix = out.len() - begin - length;
    out[begin..].rotate_right(prefix);
}

/// A whole number in decimal; whoever compiles a message sees to it that its places have nothing else.
fn decimal(text: &[u8]) -> i128 {
    std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Appends a number. Of one that its type has no room for, the lower bits are kept, as readers of protobuf do.
pub fn put(number: i128, kind: Kind, out: &mut Vec<u8>) {
    match kind {
        Kind::Varint => put_varint(number as u64, out),
        Kind::Zigzag => put_varint(((number as i64) << 1 ^ (number as i64) >> 63) as u64, out),
        Kind::Bool => out.push(u8::from(number != 0)),
        Kind::Fixed32 => out.extend_from_slice(&(number as u32).to_le_bytes()),
        Kind::Fixed64 => out.extend_from_slice(&(number as u64).to_le_bytes()),
        Kind::Float => out.extend_from_slice(&(number as f32).to_le_bytes()),
        Kind::Double => out.extend_from_slice(&(number as f64).to_le_bytes()),
    }
}

/// Appends a number in groups of seven bits, the lowest first.
pub fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the same in each place.
    struct Same(&'static str);

    impl Filler for Same {
        fn fill(&mut self, _: u32, out: &mut Vec<u8>) {
            out.extend_from_slice(self.0.as_bytes());
        }
    }

    fn written(parts: &[MessagePart], value: &'static str) -> Vec<u8> {
        let mut out = b"before".to_vec();
        Message { parts: parts.into() }.write(&mut Same(value), &mut out);
        out.split_off(6)
    }

    fn number(kind: Kind, is_optional: bool) -> MessagePart {
        MessagePart::Number { tag: [0x08].into(), place: 0, kind, is_optional }
    }

    #[test]
    fn numbers_of_each_kind() {
        for (kind, value, bytes) in [
            (Kind::Varint, "150", &[8, 0x96, 0x01][..]),
            (Kind::Varint, "-1", &[8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            (
                Kind::Varint,
                "18446744073709551615",
                &[8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            ),
            (Kind::Zigzag, "-2", &[8, 3]),
            (Kind::Zigzag, "2", &[8, 4]),
            (Kind::Bool, "7", &[8, 1]),
            (Kind::Fixed32, "-1", &[8, 0xff, 0xff, 0xff, 0xff]),
            (Kind::Fixed64, "1", &[8, 1, 0, 0, 0, 0, 0, 0, 0]),
            (Kind::Float, "1", &[8, 0, 0, 0x80, 0x3f]),
            (Kind::Double, "1", &[8, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
        ] {
            assert_eq!(written(&[number(kind, false)], value), bytes, "{kind:?} {value}");
        }
        assert_eq!(written(&[number(Kind::Varint, false)], "0"), [8, 0]);
        assert_eq!(written(&[number(Kind::Varint, true)], "0"), []);
    }

    #[test]
    fn lengths_stand_before_what_they_are_of() {
        let text =
            |is_optional| MessagePart::Text { tag: [0x0a].into(), text: Blank::new(b"{{0}}"), is_optional };
        assert_eq!(written(&[text(false)], "ab"), [0x0a, 2, b'a', b'b']);
        assert_eq!((written(&[text(false)], ""), written(&[text(true)], "")), (vec![0x0a, 0], vec![]));
        let long: &'static str = "x".repeat(300).leak();
        let nested = MessagePart::Nested {
            tag: [0x12].into(),
            parts: [text(true), number(Kind::Varint, true)].into(),
        };
        let bytes = written(&[MessagePart::Fixed([1, 2].into()), nested], long);
        // 300 is no number, so that the second field has none; its length and its tag take 3 bytes.
        assert_eq!(bytes[..2], [1, 2]);
        assert_eq!(bytes[2..8], [0x12, 0xaf, 0x02, 0x0a, 0xac, 0x02]);
        assert_eq!((bytes.len(), &bytes[8..]), (308, long.as_bytes()));
    }
}
