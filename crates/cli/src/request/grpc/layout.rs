//! How fields lie on the wire ([encoding](https://protobuf.dev/programming-guides/encoding/)), and which messages JSON writes in
//! ways of their own.

use prost_reflect::{FieldDescriptor, Kind as Type, MessageDescriptor};
use unblink_wire::message::{Kind, MessagePart, put_varint};

/// Of what stands behind its length: the lower three bits of its tag.
pub(super) const LENGTH_DELIMITED: u64 = 2;

/// Messages that JSON does not write as objects of their fields.
pub(super) fn is_well_known(descriptor: &MessageDescriptor) -> bool {
    let name = descriptor.full_name().strip_prefix("google.protobuf.");
    let others =
        ["Any", "Timestamp", "Duration", "Struct", "FieldMask", "ListValue", "Value", "Empty", "NullValue"];
    is_wrapper(descriptor) || name.is_some_and(|name| others.contains(&name))
}

/// A message that JSON writes as its only field.
pub(super) fn is_wrapper(descriptor: &MessageDescriptor) -> bool {
    let name = descriptor.full_name().strip_prefix("google.protobuf.");
    name.and_then(|name| name.strip_suffix("Value")).is_some_and(|of| {
        ["Float", "Double", "Int32", "Int64", "UInt32", "UInt64", "Bool", "String", "Bytes"].contains(&of)
    })
}

pub(super) fn number_kind(of: &Type) -> Option<Kind> {
    Some(match of {
        Type::Int32 | Type::Int64 | Type::Uint32 | Type::Uint64 | Type::Enum(_) => Kind::Varint,
        Type::Sint32 | Type::Sint64 => Kind::Zigzag,
        Type::Bool => Kind::Bool,
        Type::Fixed32 | Type::Sfixed32 => Kind::Fixed32,
        Type::Fixed64 | Type::Sfixed64 => Kind::Fixed64,
        Type::Float => Kind::Float,
        Type::Double => Kind::Double,
        Type::String | Type::Bytes | Type::Message(_) => return None,
    })
}

pub(super) fn tag(number: u32, wire_type: u64) -> Box<[u8]> {
    let mut out = Vec::new();
    put_varint(u64::from(number) << 3 | wire_type, &mut out);
    out.into()
}

/// That of one value by itself.
pub(super) fn tag_of(field: &FieldDescriptor) -> Box<[u8]> {
    let wire_type = match field.kind() {
        Type::Double | Type::Fixed64 | Type::Sfixed64 => 1,
        Type::Float | Type::Fixed32 | Type::Sfixed32 => 5,
        Type::String | Type::Bytes | Type::Message(_) => LENGTH_DELIMITED,
        _ => 0,
    };
    tag(field.number(), wire_type)
}

/// A message in the message. One that is always the same has its length already.
pub(super) fn nested(field: &FieldDescriptor, parts: Vec<MessagePart>) -> MessagePart {
    let tag = tag(field.number(), LENGTH_DELIMITED);
    match &parts[..] {
        [] => MessagePart::Fixed([&tag[..], &[0]].concat().into()),
        [MessagePart::Fixed(inner)] => {
            let mut out = tag.into_vec();
            put_varint(inner.len() as u64, &mut out);
            out.extend_from_slice(inner);
            MessagePart::Fixed(out.into())
        }
        _ => MessagePart::Nested { tag, parts: parts.into() },
    }
}

/// The same with neighbours that are always the same in one part, and none that is empty.
pub(super) fn joined(parts: Vec<MessagePart>) -> Vec<MessagePart> {
    let mut all: Vec<MessagePart> = Vec::with_capacity(parts.len());
    for part in parts {
        match (all.last_mut(), part) {
            (_, MessagePart::Fixed(bytes)) if bytes.is_empty() => {}
            (Some(MessagePart::Fixed(last)), MessagePart::Fixed(bytes)) => {
                *last = [&last[..], &bytes].concat().into()
            }
            (_, part) => all.push(part),
        }
    }
    all
}
