//! Values of an answer as text.

use super::types::Type;
use core::net::{Ipv4Addr, Ipv6Addr};
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use std::fmt::{self, Write};

/// Day 0 of CQL's dates is this many days before the first of 1970.
pub(super) const DATE_ORIGIN: i64 = 1 << 31;
/// In the calendar that others use.
pub(super) const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// Bytes to which text is appended.
struct Text<'a>(&'a mut Vec<u8>);

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Appends what a value of this type says. False if its bytes are none.
pub(super) fn put(kind: Type, bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let from = out.len();
    let is_put = written(kind, bytes, &mut Text(out)).is_some();
    if !is_put {
        out.truncate(from);
    }
    is_put
}

fn written(kind: Type, bytes: &[u8], out: &mut Text<'_>) -> Option<()> {
    match kind {
        Type::BigInt | Type::Counter => write!(out, "{}", i64::from_be_bytes(bytes.try_into().ok()?)),
        Type::Int => write!(out, "{}", i32::from_be_bytes(bytes.try_into().ok()?)),
        Type::SmallInt => write!(out, "{}", i16::from_be_bytes(bytes.try_into().ok()?)),
        Type::TinyInt => write!(out, "{}", i8::from_be_bytes(bytes.try_into().ok()?)),
        Type::VarInt => write!(out, "{}", number(bytes)?),
        Type::Boolean => write!(out, "{}", <[u8; 1]>::try_from(bytes).ok()? != [0]),
        Type::Double => write!(out, "{:?}", f64::from_be_bytes(bytes.try_into().ok()?)),
        Type::Float => write!(out, "{:?}", f32::from_be_bytes(bytes.try_into().ok()?)),
        Type::Timestamp => {
            let ms = i64::from_be_bytes(bytes.try_into().ok()?);
            match Timestamp::from_millisecond(ms) {
                Ok(moment) => write!(out, "{moment:.3}"),
                // Beyond the calendar.
                Err(_) => write!(out, "{ms}"),
            }
        }
        Type::Date => {
            let days = i64::from(u32::from_be_bytes(bytes.try_into().ok()?)) - DATE_ORIGIN;
            let date = EPOCH.checked_add(jiff::Span::new().try_days(days).ok()?).ok()?;
            write!(out, "{date}")
        }
        Type::Time => {
            let ns = i64::from_be_bytes(bytes.try_into().ok()?);
            let (s, ns) = (i32::try_from(ns.div_euclid(1_000_000_000)).ok()?, ns.rem_euclid(1_000_000_000));
            let hour = i8::try_from(s / 3600).ok()?;
            let time = Time::new(hour, (s / 60 % 60) as i8, (s % 60) as i8, ns as i32).ok()?;
            write!(out, "{time:.9}")
        }
        Type::Uuid | Type::TimeUuid => return put_uuid(bytes, out.0),
        Type::Inet => match (<[u8; 4]>::try_from(bytes), <[u8; 16]>::try_from(bytes)) {
            (Ok(four), _) => write!(out, "{}", Ipv4Addr::from(four)),
            (_, Ok(six)) => write!(out, "{}", Ipv6Addr::from(six)),
            _ => return None,
        },
        Type::Decimal => return put_decimal(bytes, out),
        Type::Ascii | Type::Text | Type::Blob | Type::Other => return None,
    }
    .ok()
}

/// A number of up to 16 bytes, in two's complement.
fn number(bytes: &[u8]) -> Option<i128> {
    let (&first, rest) = bytes.split_first().filter(|_| bytes.len() <= 16)?;
    Some(rest.iter().fold(i128::from(first as i8), |number, &byte| number << 8 | i128::from(byte)))
}

/// A number with so many digits behind its point.
fn put_decimal(bytes: &[u8], out: &mut Text<'_>) -> Option<()> {
    let (scale, unscaled) = bytes.split_first_chunk()?;
    let (scale, unscaled) = (i32::from_be_bytes(*scale), number(unscaled)?);
    let Some(power) = u32::try_from(scale).ok().and_then(|scale| 10u128.checked_pow(scale)) else {
        return write!(out, "{unscaled}E{}", -i64::from(scale)).ok();
    };
    let sign = if unscaled < 0 { "-" } else { "" };
    let (whole, part) = (unscaled.unsigned_abs() / power, unscaled.unsigned_abs() % power);
    match scale {
        0 => write!(out, "{sign}{whole}").ok(),
        scale => write!(out, "{sign}{whole}.{part:0width$}", width = scale as usize).ok(),
    }
}

fn put_uuid(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let bytes: &[u8; 16] = bytes.try_into().ok()?;
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        put_hex(&[*byte], out);
    }
    Some(())
}

/// Appends two digits for each byte.
pub(super) fn put_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[usize::from(digit)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: Type, bytes: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        put(kind, bytes, &mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_value_is_told_as_people_write_it() {
        for (kind, bytes, expected) in [
            (Type::BigInt, &(-5i64).to_be_bytes()[..], "-5"),
            (Type::Counter, &7i64.to_be_bytes(), "7"),
            (Type::SmallInt, &[0xff, 0xff], "-1"),
            (Type::TinyInt, &[0x80], "-128"),
            (Type::VarInt, &[0x00, 0xff], "255"),
            (Type::VarInt, &[0xff], "-1"),
            (Type::Boolean, &[0], "false"),
            (Type::Double, &1.5f64.to_be_bytes(), "1.5"),
            (Type::Double, &1e308f64.to_be_bytes(), "1e308"),
            (Type::Float, &0.1f32.to_be_bytes(), "0.1"),
            (Type::Timestamp, &1_500_000_000_123i64.to_be_bytes(), "2017-07-14T02:40:00.123Z"),
            (Type::Timestamp, &i64::MIN.to_be_bytes(), "-9223372036854775808"),
            (Type::Date, &0x8000_0000u32.to_be_bytes(), "1970-01-01"),
            (Type::Date, &(0x8000_0000u32 - 1).to_be_bytes(), "1969-12-31"),
            (Type::Time, &45_296_000_000_007i64.to_be_bytes(), "12:34:56.000000007"),
            (Type::Uuid, &[0x12; 16], "12121212-1212-1212-1212-121212121212"),
            (Type::Inet, &[127, 0, 0, 1], "127.0.0.1"),
            (Type::Inet, &[0; 16], "::"),
            (Type::Decimal, b"\0\0\0\x02\x04\xd2", "12.34"),
            (Type::Decimal, b"\0\0\0\x03\xff", "-0.001"),
            (Type::Decimal, b"\0\0\0\0\x07", "7"),
            (Type::Decimal, b"\xff\xff\xff\xfe\x07", "7E2"),
        ] {
            assert_eq!(text(kind, bytes).as_deref(), Some(expected), "{kind:?} {bytes:?}");
        }
        for (kind, bytes) in [
            (Type::BigInt, &[1, 2][..]),
            (Type::Boolean, &[1, 2]),
            (Type::Uuid, &[1; 15]),
            (Type::Inet, &[1; 5]),
            (Type::Date, &[0; 4]),
            (Type::Time, &[0xff; 8]),
            (Type::VarInt, &[]),
            (Type::Decimal, &[0; 4]),
        ] {
            assert_eq!(text(kind, bytes), None, "{kind:?} {bytes:?}");
        }
    }
}
