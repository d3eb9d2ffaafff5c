//! Times and durations as logs write them, in ns since 1970 UTC.

use crate::entry::SECOND;
use jiff::Timestamp;
use jiff::fmt::strtime;

/// How a log writes the time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum TimeForm {
    /// `31/Jan/2026:12:00:00 +0100`.
    Common,
    /// `2026-01-31T12:00:00.123+01:00`, with or without a fraction.
    Iso,
    /// A number of these since 1970, and a fraction of them if there is a point.
    Number(Unit),
    /// One of the above; of a number, its size says the unit.
    Any,
}

/// Of a number that counts time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Unit {
    /// s
    Seconds,
    /// ms
    Millis,
    /// µs
    Micros,
    /// ns
    Nanos,
}

impl Unit {
    pub(crate) fn ns(self) -> i64 {
        match self {
            Unit::Seconds => SECOND,
            Unit::Millis => 1_000_000,
            Unit::Micros => 1_000,
            Unit::Nanos => 1,
        }
    }

    /// As it is written behind a number: `s`, `ms`, `us`, `ns`.
    pub(crate) fn named(name: &str) -> Option<Unit> {
        Some(match name {
            "s" => Unit::Seconds,
            "ms" => Unit::Millis,
            "us" | "µs" => Unit::Micros,
            "ns" => Unit::Nanos,
            _ => return None,
        })
    }
}

/// A moment, and whether it knows no parts of a second.
pub(crate) type Stamp = (i64, bool);

/// Reads times; most lines have the same one as the line before, so that one is kept.
#[derive(Clone, Default, Debug)]
pub(crate) struct Times {
    last: Vec<u8>,
    moment: i64,
}

impl Times {
    /// The moment that `text` writes; none where it writes none that is known without doubt.
    pub(crate) fn read(&mut self, text: &[u8], form: TimeForm) -> Option<Stamp> {
        // It would be equal to the one that is kept at the start.
        if text.is_empty() {
            return None;
        }
        match form {
            TimeForm::Common => Some((self.common(text)?, true)),
            TimeForm::Iso => self.iso(text),
            TimeForm::Number(unit) => {
                let ns = i64::try_from(number(text, unit)?).ok()?;
                Some((ns, unit == Unit::Seconds && !text.contains(&b'.')))
            }
            TimeForm::Any => {
                if text.first().is_some_and(u8::is_ascii_digit) {
                    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
                    if digits == text.len() || text[digits] == b'.' {
                        return self.read(text, TimeForm::Number(unit_of(digits)?));
                    }
                }
                self.iso(text).or_else(|| Some((self.common(text)?, true)))
            }
        }
    }

    fn common(&mut self, text: &[u8]) -> Option<i64> {
        if self.last != text {
            let read = strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?.to_timestamp().ok()?;
            self.moment = i64::try_from(read.as_nanosecond()).ok()?;
            self.last = text.to_vec();
        }
        Some(self.moment)
    }

    fn iso(&mut self, text: &[u8]) -> Option<Stamp> {
        let has_fraction = text.len() > 19 && b".,".contains(&text[19]);
        if !has_fraction && self.last == text {
            return Some((self.moment, true));
        }
        let read: Timestamp = std::str::from_utf8(text).ok()?.parse().ok()?;
        let ns = i64::try_from(read.as_nanosecond()).ok()?;
        if !has_fraction {
            self.moment = ns;
            self.last = text.to_vec();
        }
        Some((ns, !has_fraction))
    }
}

/// The unit in which a number of so many digits is a time between 1973 and 2286.
fn unit_of(digits: usize) -> Option<Unit> {
    Some(match digits {
        9..=10 => Unit::Seconds,
        12..=13 => Unit::Millis,
        15..=16 => Unit::Micros,
        18..=19 => Unit::Nanos,
        _ => return None,
    })
}

/// A number of `unit`, with or without a fraction, in ns. Exact; what is below a nanosecond is cut off.
pub(crate) fn number(text: &[u8], unit: Unit) -> Option<u64> {
    let point = memchr::memchr(b'.', text);
    let (whole, fraction) = match point {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b""[..]),
    };
    if whole.is_empty() || (point.is_some() && fraction.is_empty()) {
        return None;
    }
    let mut ns = digits(whole)?.checked_mul(unit.ns() as u64)?;
    let mut place = unit.ns() as u64;
    for digit in fraction {
        if !digit.is_ascii_digit() {
            return None;
        }
        place /= 10;
        ns = ns.checked_add(u64::from(digit - b'0') * place)?;
    }
    Some(ns)
}

/// A whole number without a sign.
pub(crate) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |sum, byte| {
        if !byte.is_ascii_digit() {
            return None;
        }
        sum.checked_mul(10)?.checked_add(u64::from(byte - b'0'))
    })
}

/// A duration that says its unit itself: `12.5ms`, `3s`, `250us`.
pub(crate) fn with_unit(text: &[u8]) -> Option<u64> {
    let end = text.iter().position(|b| !(b.is_ascii_digit() || *b == b'.'))?;
    number(&text[..end], Unit::named(std::str::from_utf8(&text[end..]).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, form: TimeForm) -> Option<Stamp> {
        Times::default().read(text.as_bytes(), form)
    }

    #[test]
    fn the_same_moment_in_every_way_to_write_it() {
        // 2026-01-31T12:00:00Z.
        let s = 1_769_860_800;
        let ns = s * SECOND;
        for (text, form, want) in [
            ("31/Jan/2026:12:00:00 +0000", TimeForm::Common, Some((ns, true))),
            ("31/Jan/2026:13:30:00 +0130", TimeForm::Common, Some((ns, true))),
            ("31/Jan/2026:04:00:00 -0800", TimeForm::Common, Some((ns, true))),
            ("31/Jan/2026:12:00:00", TimeForm::Common, None),
            ("32/Jan/2026:12:00:00 +0000", TimeForm::Common, None),
            ("2026-01-31T12:00:00Z", TimeForm::Iso, Some((ns, true))),
            ("2026-01-31T14:00:00+02:00", TimeForm::Iso, Some((ns, true))),
            ("2026-01-31T12:00:00.250Z", TimeForm::Iso, Some((ns + 250_000_000, false))),
            ("2026-01-31T12:00:00", TimeForm::Iso, None),
            ("1769860800", TimeForm::Number(Unit::Seconds), Some((ns, true))),
            ("1769860800.123", TimeForm::Number(Unit::Seconds), Some((ns + 123_000_000, false))),
            ("1769860800123", TimeForm::Number(Unit::Millis), Some((ns + 123_000_000, false))),
            ("1769860800123456", TimeForm::Any, Some((ns + 123_456_000, false))),
            ("1769860800.5", TimeForm::Any, Some((ns + 500_000_000, false))),
            ("2026-01-31T12:00:00Z", TimeForm::Any, Some((ns, true))),
            ("31/Jan/2026:12:00:00 +0000", TimeForm::Any, Some((ns, true))),
            ("17698608001", TimeForm::Any, None),
            ("-", TimeForm::Any, None),
            ("", TimeForm::Any, None),
        ] {
            assert_eq!(read(text, form), want, "{text} as {form:?}");
        }
    }

    #[test]
    fn a_time_that_is_kept_is_not_taken_for_another() {
        let mut times = Times::default();
        for (text, second) in [("00", 0), ("00", 0), ("01", 1), ("00", 0)] {
            let text = format!("31/Jan/2026:12:00:{text} +0000");
            assert_eq!(
                times.read(text.as_bytes(), TimeForm::Common),
                Some(((1_769_860_800 + second) * SECOND, true))
            );
        }
    }

    #[test]
    fn durations() {
        for (text, unit, ns) in [
            ("0.123", Unit::Seconds, Some(123_000_000)),
            ("12", Unit::Millis, Some(12_000_000)),
            ("1.0000000019", Unit::Seconds, Some(1_000_000_001)),
            ("-1", Unit::Seconds, None),
            (".5", Unit::Seconds, None),
            ("5.", Unit::Seconds, None),
            ("1e3", Unit::Seconds, None),
            ("99999999999999999999", Unit::Nanos, None),
        ] {
            assert_eq!(number(text.as_bytes(), unit), ns, "{text}");
        }
        assert_eq!(with_unit(b"12.5ms"), Some(12_500_000));
        assert_eq!(with_unit(b"3s"), Some(3_000_000_000));
        assert_eq!((with_unit(b"3"), with_unit(b"3h")), (None, None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_time_or_none(text in prop::collection::vec(any::<u8>(), 0..40)) {
            for form in [TimeForm::Common, TimeForm::Iso, TimeForm::Number(Unit::Seconds), TimeForm::Any] {
                let _ = Times::default().read(&text, form);
            }
            let _ = with_unit(&text);
        }
    }
}
