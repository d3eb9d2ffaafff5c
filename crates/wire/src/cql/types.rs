//! Types of values (native_protocol_v4.spec, §4.2.5.2).

use super::fault::Fault;
use super::fields::{Fields, Stop};

/// Types inside types: nobody nests deeper.
const NESTING_MAX: u32 = 32;

/// A type, as far as values of it are read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Ascii,
    BigInt,
    Blob,
    Boolean,
    Counter,
    Decimal,
    Double,
    Float,
    Int,
    Timestamp,
    Uuid,
    Text,
    VarInt,
    TimeUuid,
    Inet,
    Date,
    Time,
    SmallInt,
    TinyInt,
    /// A collection, a tuple, or a type of somebody's own.
    Other,
}

impl Type {
    /// The next field.
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Type, Stop> {
        Type::read_nested(fields, 0)
    }

    fn read_nested(fields: &mut Fields<'_>, depth: u32) -> Result<Type, Stop> {
        if depth > NESTING_MAX {
            return Err(Fault::BadMessage.into());
        }
        let inside = |fields: &mut Fields<'_>| Type::read_nested(fields, depth + 1);
        Ok(match fields.short()? {
            0x0001 => Type::Ascii,
            0x0002 => Type::BigInt,
            0x0003 => Type::Blob,
            0x0004 => Type::Boolean,
            0x0005 => Type::Counter,
            0x0006 => Type::Decimal,
            0x0007 => Type::Double,
            0x0008 => Type::Float,
            0x0009 => Type::Int,
            0x000b => Type::Timestamp,
            0x000c => Type::Uuid,
            0x000d => Type::Text,
            0x000e => Type::VarInt,
            0x000f => Type::TimeUuid,
            0x0010 => Type::Inet,
            0x0011 => Type::Date,
            0x0012 => Type::Time,
            0x0013 => Type::SmallInt,
            0x0014 => Type::TinyInt,
            // Of its own: its class.
            0x0000 => {
                fields.string()?;
                Type::Other
            }
            // Lists and sets, maps.
            0x0020 | 0x0022 => {
                inside(fields)?;
                Type::Other
            }
            0x0021 => {
                inside(fields)?;
                inside(fields)?;
                Type::Other
            }
            // A user's: keyspace, name, and fields by name.
            0x0030 => {
                fields.string()?;
                fields.string()?;
                for _ in 0..fields.short()? {
                    fields.string()?;
                    inside(fields)?;
                }
                Type::Other
            }
            0x0031 => {
                for _ in 0..fields.short()? {
                    inside(fields)?;
                }
                Type::Other
            }
            // Of a later version.
            _ => Type::Other,
        })
    }

    /// Texts can be read as values of it.
    pub(super) fn can_be_bound(self) -> bool {
        !matches!(self, Type::Decimal | Type::Time | Type::Other)
    }

    /// As CQL calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Type::Ascii => "ascii",
            Type::BigInt => "bigint",
            Type::Blob => "blob",
            Type::Boolean => "boolean",
            Type::Counter => "counter",
            Type::Decimal => "decimal",
            Type::Double => "double",
            Type::Float => "float",
            Type::Int => "int",
            Type::Timestamp => "timestamp",
            Type::Uuid => "uuid",
            Type::Text => "text",
            Type::VarInt => "varint",
            Type::TimeUuid => "timeuuid",
            Type::Inet => "inet",
            Type::Date => "date",
            Type::Time => "time",
            Type::SmallInt => "smallint",
            Type::TinyInt => "tinyint",
            Type::Other => "a type of another kind",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_with_all_that_is_in_them() {
        // map<int, frozen<tuple<text, set<uuid>>>>, then bigint
        let bytes = b"\0\x21\0\x09\0\x31\0\x02\0\x0d\0\x22\0\x0c\0\x02";
        let mut fields = Fields(bytes);
        assert_eq!(Type::read(&mut fields), Ok(Type::Other));
        assert_eq!(Type::read(&mut fields), Ok(Type::BigInt));
        for cut in 0..bytes.len() - 2 {
            assert_eq!(Type::read(&mut Fields(&bytes[..cut])), Err(Stop::Lacking), "cut at {cut}");
        }
        let user = b"\0\x30\0\x02ks\0\x01t\0\x01\0\x01f\0\x09\0\0\0\x03a.B";
        let mut fields = Fields(user);
        assert_eq!(Type::read(&mut fields), Ok(Type::Other));
        assert_eq!(Type::read(&mut fields), Ok(Type::Other));
        assert!(fields.0.is_empty());
        let deep = b"\0\x20".repeat(100_000);
        assert_eq!(Type::read(&mut Fields(&deep)), Err(Stop::Wrong(Fault::BadMessage)));
    }
}
