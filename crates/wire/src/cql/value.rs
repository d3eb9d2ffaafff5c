//! Texts as values of a type (native_protocol_v4.spec, §6).

use super::frame::put_bytes;
use super::text::{DATE_ORIGIN, EPOCH};
use super::types::Type;
use core::net::IpAddr;
use jiff::Timestamp;
use jiff::civil::Date;
use std::str::FromStr;

/// Appends what `text` means as a value of this type, behind its length. False if it means nothing.
#[inline]
pub(super) fn put(kind: Type, text: &[u8], out: &mut Vec<u8>) -> bool {
    let from = out.len();
    let mut is_put = false;
    put_bytes(out, |out| is_put = put_read(kind, text, out).is_some());
    if !is_put {
        out.truncate(from);
    }
    is_put
}

fn put_read(kind: Type, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match kind {
        Type::Text => out.extend_from_slice(str::from_utf8(text).ok()?.as_bytes()),
        Type::Ascii => out.extend_from_slice(Some(text).filter(|text| text.is_ascii())?),
        Type::Blob => put_blob(text, out),
        Type::BigInt | Type::Counter => out.extend_from_slice(&read::<i64>(text)?.to_be_bytes()),
        Type::Int => out.extend_from_slice(&read::<i32>(text)?.to_be_bytes()),
        Type::SmallInt => out.extend_from_slice(&read::<i16>(text)?.to_be_bytes()),
        Type::TinyInt => out.extend_from_slice(&read::<i8>(text)?.to_be_bytes()),
        Type::VarInt => put_number(read(text)?, out),
        Type::Boolean => out.push(match text {
            b"true" | b"1" => 1,
            b"false" | b"0" => 0,
            text if text.eq_ignore_ascii_case(b"true") => 1,
            text if text.eq_ignore_ascii_case(b"false") => 0,
            _ => return None,
        }),
        Type::Double => out.extend_from_slice(&read::<f64>(text)?.to_be_bytes()),
        Type::Float => out.extend_from_slice(&read::<f32>(text)?.to_be_bytes()),
        Type::Uuid => out.extend_from_slice(&uuid(text)?),
        // The version stands in the seventh byte.
        Type::TimeUuid => out.extend_from_slice(&uuid(text).filter(|uuid| uuid[6] >> 4 == 1)?),
        Type::Timestamp => {
            let ms = match read::<i64>(text) {
                Some(ms) => ms,
                None => read::<Timestamp>(text)?.as_millisecond(),
            };
            out.extend_from_slice(&ms.to_be_bytes());
        }
        Type::Date => {
            let days = (read::<Date>(text)? - EPOCH).get_days();
            out.extend_from_slice(&((i64::from(days) + DATE_ORIGIN) as u32).to_be_bytes());
        }
        Type::Inet => match read::<IpAddr>(text)? {
            IpAddr::V4(four) => out.extend_from_slice(&four.octets()),
            IpAddr::V6(six) => out.extend_from_slice(&six.octets()),
        },
        // A connection with such a statement is not used.
        Type::Decimal | Type::Time | Type::Other => return None,
    }
    Some(())
}

#[inline]
fn read<T: FromStr>(text: &[u8]) -> Option<T> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// The shortest bytes in two's complement.
fn put_number(number: i128, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let sign = if number < 0 { 0xff } else { 0 };
    let is_needless = |at: usize| bytes[at] == sign && (bytes[at + 1] ^ sign) < 0x80;
    let from = (0..15).find(|&at| !is_needless(at)).unwrap_or(15);
    out.extend_from_slice(&bytes[from..]);
}

/// `0x` and digits in pairs; anything else is the bytes themselves.
fn put_blob(text: &[u8], out: &mut Vec<u8>) {
    let digits = text.strip_prefix(b"0x").map(<[u8]>::as_chunks::<2>);
    match digits {
        Some((pairs, [])) if text.iter().skip(2).all(u8::is_ascii_hexdigit) => {
            out.extend(pairs.iter().map(|&[a, b]| digit(a) << 4 | digit(b)));
        }
        _ => out.extend_from_slice(text),
    }
}

fn digit(byte: u8) -> u8 {
    char::from(byte).to_digit(16).unwrap_or(0) as u8
}

/// `123e4567-e89b-12d3-a456-426614174000`
fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    let is_dash = |at: &usize| matches!(at, 8 | 13 | 18 | 23);
    if text.len() != 36 || !(0..36).all(|at| (text[at] == b'-') == is_dash(&at)) {
        return None;
    }
    let (mut uuid, mut digits) = ([0; 16], text.iter().filter(|&&byte| byte != b'-'));
    for byte in &mut uuid {
        for _ in 0..2 {
            let value = char::from(*digits.next()?).to_digit(16)?;
            *byte = *byte << 4 | value as u8;
        }
    }
    Some(uuid)
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;

    fn value(kind: Type, text: &str) -> Option<Vec<u8>> {
        let mut out = b"x".to_vec();
        let is_put = put(kind, text.as_bytes(), &mut out);
        assert!(is_put || out == b"x", "nothing is left of what does not fit");
        is_put.then(|| {
            assert_eq!(u32::from_be_bytes(*out[1..].first_chunk().unwrap()) as usize, out.len() - 5);
            out.split_off(5)
        })
    }

    /// What is told of a value is the text that it came from.
    #[test]
    fn a_text_comes_back_as_it_was() {
        for (kind, texts) in [
            (Type::BigInt, &["0", "-1", "9223372036854775807"][..]),
            (Type::Counter, &["5"]),
            (Type::Int, &["-2147483648", "7"]),
            (Type::SmallInt, &["32767"]),
            (Type::TinyInt, &["-128"]),
            (
                Type::VarInt,
                &["0", "127", "128", "-128", "-129", "255", "-1", "170141183460469231731687303715884105727"],
            ),
            (Type::Boolean, &["true", "false"]),
            (Type::Double, &["1.5", "-0.1", "1e308", "NaN"]),
            (Type::Float, &["0.1"]),
            (Type::Uuid, &["123e4567-e89b-42d3-a456-426614174000"]),
            (Type::TimeUuid, &["123e4567-e89b-12d3-a456-426614174000"]),
            (Type::Timestamp, &["2017-07-14T02:40:00.123Z", "1969-12-31T23:59:59.999Z"]),
            (Type::Date, &["1970-01-01", "1600-02-29", "2400-12-31"]),
            (Type::Inet, &["127.0.0.1", "::1", "2001:db8::7"]),
        ] {
            for said in texts {
                let mut out = Vec::new();
                assert!(text::put(kind, &value(kind, said).expect(said), &mut out), "{kind:?} {said}");
                assert_eq!(String::from_utf8(out).unwrap(), *said, "{kind:?}");
            }
        }
        assert_eq!(value(Type::VarInt, "128").unwrap(), [0, 128]);
        assert_eq!(value(Type::VarInt, "-128").unwrap(), [128]);
        assert_eq!(
            value(Type::Timestamp, "1500000000123"),
            value(Type::Timestamp, "2017-07-14T02:40:00.123Z")
        );
        assert_eq!(value(Type::Blob, "0x00fF").unwrap(), [0, 255]);
        for plain in ["0x0", "0xzz", "ab", "0X00"] {
            assert_eq!(value(Type::Blob, plain).unwrap(), plain.as_bytes());
        }
        assert_eq!(value(Type::Blob, "0x").unwrap(), b"");
        assert_eq!(value(Type::Text, "ä'; DROP").unwrap(), "ä'; DROP".as_bytes());
        assert_eq!(
            (value(Type::Boolean, "True").unwrap(), value(Type::Boolean, "0").unwrap()),
            (vec![1], vec![0])
        );
    }

    #[test]
    fn what_does_not_fit_is_no_value() {
        for (kind, texts) in [
            (Type::BigInt, &["", "x", "1.5", " 1", "9223372036854775808"][..]),
            (Type::Int, &["2147483648", "1e3"]),
            (Type::SmallInt, &["32768"]),
            (Type::TinyInt, &["128"]),
            (Type::VarInt, &["0x1"]),
            (Type::Boolean, &["2", "yes", ""]),
            (Type::Double, &["", "one"]),
            (Type::Ascii, &["ä"]),
            (Type::Uuid, &["123e4567e89b42d3a456426614174000", "123e4567-e89b-42d3-a456-42661417400g"]),
            (Type::TimeUuid, &["123e4567-e89b-42d3-a456-426614174000"]),
            (Type::Timestamp, &["yesterday", "2017-07-14"]),
            (Type::Date, &["2017-02-29", "7"]),
            (Type::Inet, &["localhost"]),
            (Type::Decimal, &["1.5"]),
            (Type::Other, &["[1]"]),
        ] {
            texts.iter().for_each(|text| assert_eq!(value(kind, text), None, "{kind:?} {text}"));
        }
    }

    /// Numbers, addresses and the like are written as another implementation writes them.
    #[test]
    fn values_are_those_of_another_implementation() {
        use scylla_cql::frame::response::result::{ColumnType, NativeType};
        use scylla_cql::serialize::CellWriter;
        use scylla_cql::serialize::value::SerializeValue;
        use scylla_cql::value::{CqlTimestamp, CqlValue, CqlVarint};
        for (kind, text, native, value) in [
            (Type::BigInt, "-7", NativeType::BigInt, CqlValue::BigInt(-7)),
            (Type::Int, "70000", NativeType::Int, CqlValue::Int(70_000)),
            (Type::SmallInt, "-2", NativeType::SmallInt, CqlValue::SmallInt(-2)),
            (Type::TinyInt, "-2", NativeType::TinyInt, CqlValue::TinyInt(-2)),
            (Type::Boolean, "true", NativeType::Boolean, CqlValue::Boolean(true)),
            (Type::Double, "1.25", NativeType::Double, CqlValue::Double(1.25)),
            (Type::Float, "1.25", NativeType::Float, CqlValue::Float(1.25)),
            (Type::Text, "aä", NativeType::Text, CqlValue::Text("aä".into())),
            (Type::Blob, "0x00ff", NativeType::Blob, CqlValue::Blob(vec![0, 255])),
            (Type::Inet, "10.0.0.1", NativeType::Inet, CqlValue::Inet([10, 0, 0, 1].into())),
            (
                Type::Uuid,
                "123e4567-e89b-42d3-a456-426614174000",
                NativeType::Uuid,
                CqlValue::Uuid("123e4567-e89b-42d3-a456-426614174000".parse().unwrap()),
            ),
            (
                Type::Timestamp,
                "1500000000123",
                NativeType::Timestamp,
                CqlValue::Timestamp(CqlTimestamp(1_500_000_000_123)),
            ),
            (
                Type::VarInt,
                "-129",
                NativeType::Varint,
                CqlValue::Varint(CqlVarint::from_signed_bytes_be(vec![0xff, 0x7f])),
            ),
        ] {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            assert!(put(kind, text.as_bytes(), &mut ours), "{text}");
            value.serialize(&ColumnType::Native(native), CellWriter::new(&mut theirs)).unwrap();
            assert_eq!(ours, theirs, "{kind:?} {text}");
        }
    }
}
