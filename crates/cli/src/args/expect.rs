//! `--expect`: what an answer must be like.

use super::value::bytes;
use crate::secrets;
use unblink_engine::expect::Needle;

/// One `--expect`.
#[derive(serde::Serialize, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Expectation {
    Statuses(Vec<std::ops::RangeInclusive<u16>>),
    Size(std::ops::RangeInclusive<u64>),
    Contains(#[serde(serialize_with = "length")] Needle),
}

/// The text may be a secret that an answer gives back.
fn length<S: serde::Serializer>(text: &Needle, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(text.len() as u64)
}

/// `status=200,404`, `status=2xx`, `size=100..900`, `contains=TEXT`.
pub(crate) fn expectation(text: &str) -> Result<Expectation, String> {
    // It may be the text of a condition whose name is wrong, and so a secret.
    let shown = secrets::mask_expectation(text);
    let expected = || {
        format!(
            "{shown:?} is not a condition: expected status=200,404, status=2xx, size=BYTES, size=MIN..MAX or contains=TEXT"
        )
    };
    let (name, value) = text.split_once('=').ok_or_else(expected)?;
    match name {
        "status" => {
            let statuses = value.split(',').map(status_range).collect::<Option<Vec<_>>>();
            statuses.map(Expectation::Statuses).ok_or_else(expected)
        }
        "size" => {
            let (min, max) = value.split_once("..").unwrap_or((value, value));
            if min.is_empty() && max.is_empty() {
                return Err(expected());
            }
            let max = if max.is_empty() { Ok(u64::MAX) } else { bytes(max) };
            let min = if min.is_empty() { Ok(0) } else { bytes(min) };
            match (min, max) {
                (Ok(min), Ok(max)) if min <= max => Ok(Expectation::Size(min..=max)),
                _ => Err(expected()),
            }
        }
        "contains" => Needle::new(value.as_bytes()).map(Expectation::Contains).ok_or_else(expected),
        _ => Err(expected()),
    }
}

fn status_range(text: &str) -> Option<std::ops::RangeInclusive<u16>> {
    if let Some(class) = text.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|c| (1..=5).contains(c))?;
        return Some(class * 100..=class * 100 + 99);
    }
    let status: u16 = text.parse().ok().filter(|s| (100..=599).contains(s))?;
    Some(status..=status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions() {
        assert_eq!(expectation("status=2xx,404"), Ok(Expectation::Statuses(vec![200..=299, 404..=404])));
        assert_eq!(expectation("size=10.."), Ok(Expectation::Size(10..=u64::MAX)));
        for bad in
            ["", "status", "status=", "status=99", "status=6xx", "size=", "size=5..1", "contains=", "body=x"]
        {
            assert!(expectation(bad).is_err(), "{bad}");
        }
    }
}
