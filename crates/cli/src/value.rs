//! Values on the command line: rates, times, sizes. Each error says what was expected.

mod rate;

pub(crate) use rate::{Shape, rate, rate_or_none, shape};

use unblink_core::plan::{THREADS_MAX, USERS_MAX};
use unblink_core::time::{Nanos, SECOND_NS};

/// Requests at once on a connection: above what servers allow.
const STREAMS_MAX: u32 = 10_000;

/// How many connections there may be.
#[derive(serde::Serialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Connections {
    Auto(Option<u32>),
    Fixed(u32),
}

/// Digits with at most one point: no sign, no exponent, no `nan`, no `inf`.
fn plain_number(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '_');
    if !plain { None } else { text.replace('_', "").parse().ok() }
}

/// `200ms`, `30s`, `5m`, `1h30m`, `7d`, `1.5s`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Nanos, String> {
    let expected = || {
        format!(
            "{text:?} is not a time: expected a number of seconds, or with a unit: 500us, 200ms, 30s, 5m, 1h30m, 7d"
        )
    };
    if let Some(seconds) = plain_number(text) {
        return nanos(seconds * 1e9, text);
    }
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let letters = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |i| digits + i);
        let amount = plain_number(&rest[..digits]).ok_or_else(expected)?;
        let unit = match &rest[digits..letters] {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "d" => 86_400e9,
            _ => return Err(expected()),
        };
        total += amount * unit;
        rest = &rest[letters..];
    }
    if text.is_empty() { Err(expected()) } else { nanos(total, text) }
}

/// The same, of a second at the least.
pub(crate) fn a_second_or_more(text: &str) -> Result<Nanos, String> {
    let time = duration(text)?;
    if time.0 < SECOND_NS { Err(format!("{text:?} is too short: give 1s or more")) } else { Ok(time) }
}

/// For fingerprints.
pub(crate) fn as_ns<S: serde::Serializer>(time: &Option<Nanos>, to: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&time.map(|time| time.0), to)
}

fn nanos(ns: f64, text: &str) -> Result<Nanos, String> {
    // Far above any limit that a plan has; below it, f64 is exact enough and u64 does not overflow.
    if ns > 1e18 { Err(format!("{text:?} is too long")) } else { Ok(Nanos(ns.round() as u64)) }
}

/// `auto`, `auto:5000` or a number.
pub(crate) fn connections(text: &str) -> Result<Connections, String> {
    let expected =
        || format!("{text:?} is not a number of connections: expected auto, auto:MAX or a number above 0");
    match text.strip_prefix("auto") {
        Some("") => Ok(Connections::Auto(None)),
        Some(max) => {
            let max = max.strip_prefix(':').ok_or_else(expected)?;
            positive(max).map(|n| Connections::Auto(Some(n))).map_err(|_| expected())
        }
        None => positive(text).map(Connections::Fixed).map_err(|_| expected()),
    }
}

/// A whole number above 0, `k` allowed.
pub(crate) fn positive(text: &str) -> Result<u32, String> {
    let n = count(text)?;
    u32::try_from(n).map_err(|_| format!("{text:?} is too large: give at most {}", u32::MAX))
}

/// The same for users who wait.
pub(crate) fn users(text: &str) -> Result<u32, String> {
    at_most(USERS_MAX, "users", text)
}

/// The same for worker threads.
pub(crate) fn threads(text: &str) -> Result<u32, String> {
    at_most(THREADS_MAX, "threads", text)
}

/// The same for requests at once on a connection.
pub(crate) fn streams(text: &str) -> Result<u32, String> {
    at_most(STREAMS_MAX, "streams", text)
}

/// Connections of `fill`.
pub(crate) fn fill_connections(text: &str) -> Result<u32, String> {
    at_most(1_000, "connections", text)
}

/// Requests under way on a connection of `fill`.
pub(crate) fn fill_depth(text: &str) -> Result<u32, String> {
    at_most(64, "requests at once", text)
}

pub(crate) fn at_most(max: u32, of_what: &str, text: &str) -> Result<u32, String> {
    let fitting = u32::try_from(count(text)?).ok().filter(|&n| n <= max);
    fitting.ok_or_else(|| format!("{text:?} are more {of_what} than there can be: give at most {max}"))
}

/// A whole number above 0, `k` and `m` allowed.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, factor) = match lower.as_bytes().last() {
        Some(b'k') => (&lower[..lower.len() - 1], 1000),
        Some(b'm') => (&lower[..lower.len() - 1], 1_000_000),
        _ => (&lower[..], 1),
    };
    match digits.replace('_', "").parse::<u64>().ok().and_then(|n| n.checked_mul(factor)) {
        Some(0) => Err("0 would do nothing: expected a number above 0".into()),
        Some(n) => Ok(n),
        None => Err(format!("{text:?} is not a whole number above 0")),
    }
}

/// `512`, `64k`, `10m`, `1g`: binary multiples.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: Option<u64> = match &lower[digits.len()..] {
        "" | "b" => Some(1),
        "k" | "kb" | "kib" => Some(1 << 10),
        "m" | "mb" | "mib" => Some(1 << 20),
        "g" | "gb" | "gib" => Some(1 << 30),
        _ => None,
    };
    let bytes = digits.parse::<u64>().ok().zip(factor).and_then(|(n, f)| n.checked_mul(f));
    bytes.ok_or_else(|| format!("{text:?} is not a size: expected a number of bytes, such as 512, 64k, 10m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(duration("200ms"), Ok(Nanos::from_millis(200)));
        assert_eq!(duration("30"), Ok(Nanos::from_secs(30)));
        assert_eq!(duration("1.5s"), Ok(Nanos::from_millis(1500)));
        assert_eq!(duration("1h30m"), Ok(Nanos::from_secs(5400)));
        assert_eq!(duration("7d"), Ok(Nanos::from_secs(604_800)));
        assert_eq!(duration("1m30s500ms"), Ok(Nanos::from_millis(90_500)));
        for bad in ["", "s", "5 s", "-1s", "nan", "inf", "5x", "1s5", "99999999999999h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn other_values() {
        assert_eq!(connections("auto"), Ok(Connections::Auto(None)));
        assert_eq!(connections("auto:5k"), Ok(Connections::Auto(Some(5000))));
        assert_eq!(connections("64"), Ok(Connections::Fixed(64)));
        assert!(["0", "-1", "auto:", "auto:0", "automatic", "x"].iter().all(|t| connections(t).is_err()));
        assert_eq!(bytes("64k"), Ok(65536));
        assert!(["", "k", "-1", "1x", "99999999999g"].iter().all(|t| bytes(t).is_err()));
    }
}
