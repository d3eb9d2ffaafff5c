//! `--expect`: what an answer must be like.

use crate::errors::refuse;
use crate::secrets;
use crate::value::bytes;
use anyhow::Result;
use unblink_wire::cql::Cql;
use unblink_wire::grpc::Grpc;
use unblink_wire::postgres::Postgres;
use unblink_wire::protocol::{Codes, Protocol};
use unblink_wire::redis::Redis;
use unblink_workload::answer::{Condition, ConditionError, NamedCode, Needle};
use unblink_workload::template::{Piece, pieces};

/// `status=200,404`, `status=2xx`, `size=100..900`, `contains=TEXT`, `header NAME = VALUE`, `regex PATTERN`,
/// `json PATH exists`.
pub(crate) fn condition(text: &str) -> Result<Condition, String> {
    // It may be the text of a condition whose name is wrong, and so a secret.
    let shown = secrets::mask_expectation(text);
    let expected = || {
        format!(
            "{shown:?} is not a condition: expected status=200,404, status=2xx, status=OK (gRPC), status=nil \
             (Redis), status=done (PostgreSQL), status=rows (CQL), size=BYTES, size=MIN..MAX, contains=TEXT, 'header \
             NAME' (or = VALUE, != VALUE, ~ REGEX after it), 'regex PATTERN' or 'json $.PATH exists' (or == VALUE, \
             != VALUE, ~ REGEX, or >, >=, <, <= and a number)"
        )
    };
    if pieces(text).is_ok_and(|all| all.iter().any(|piece| matches!(piece, Piece::Place(..)))) {
        return Err(format!(
            "{shown:?}: nothing is filled in for {{{{…}}}} in a condition: write what is the same in each answer, or match \
             braces that are meant as they are with 'regex'"
        ));
    }
    let other = || match Condition::parse(text) {
        Err(ConditionError::Name) => Err(expected()),
        parsed => parsed.map_err(|error| format!("{shown:?}: {error}")),
    };
    match text.split_once('=') {
        Some(("status", value)) => {
            if let Some(codes) = value.split(',').map(code).collect::<Option<Vec<_>>>() {
                return Ok(Condition::Codes(codes));
            }
            let statuses = value.split(',').map(status_range).collect::<Option<Vec<_>>>();
            statuses.map(Condition::Statuses).ok_or_else(expected)
        }
        Some(("size", value)) => {
            let (min, max) = value.split_once("..").unwrap_or((value, value));
            if min.is_empty() && max.is_empty() {
                return Err(expected());
            }
            let max = if max.is_empty() { Ok(u64::MAX) } else { bytes(max) };
            let min = if min.is_empty() { Ok(0) } else { bytes(min) };
            match (min, max) {
                (Ok(min), Ok(max)) if min <= max => Ok(Condition::Size(min..=max)),
                _ => Err(expected()),
            }
        }
        Some(("contains", value)) => {
            Needle::new(value.as_bytes()).map(Condition::Contains).ok_or_else(expected)
        }
        _ => other(),
    }
}

/// Of some conditions there can be only one for the same answers.
pub(crate) fn check(conditions: &[Condition]) -> Result<()> {
    let count = |is: fn(&Condition) -> bool| conditions.iter().filter(|condition| is(condition)).count();
    let sizes = count(|condition| matches!(condition, Condition::Size(_)));
    let texts = count(|condition| matches!(condition, Condition::Contains(_)));
    if sizes > 1 || texts > 1 {
        refuse!(
            ["expect"],
            "--expect has two conditions on the size, or two on the contents: give one of each (several texts can be asked \
             for by regex)"
        );
    }
    Ok(())
}

/// For fingerprints: the text may be a secret that an answer gives back.
pub(crate) fn without_secrets<S: serde::Serializer>(
    conditions: &[Condition],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(conditions.iter().map(ToString::to_string))
}

/// `UNAVAILABLE`, `nil`: a code of a protocol whose codes have names. No two of them share one.
pub(super) fn code(text: &str) -> Option<NamedCode> {
    [Grpc::CODES, Redis::CODES, Postgres::CODES, Cql::CODES].into_iter().find_map(|codes| {
        let Codes::Named { protocol, names } = codes else { return None };
        let place = names.iter().position(|name| *name == text)?;
        Some(NamedCode { protocol, name: text.to_string(), place: place as u16 })
    })
}

/// `503`, or `5xx`.
pub(super) fn status_range(text: &str) -> Option<std::ops::RangeInclusive<u16>> {
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
        assert_eq!(condition("status=2xx,404"), Ok(Condition::Statuses(vec![200..=299, 404..=404])));
        let codes = condition("status=OK,NOT_FOUND");
        assert!(matches!(&codes, Ok(Condition::Codes(codes)) if codes[0].place == 0 && codes[1].place == 5));
        assert_eq!(codes.unwrap().to_string(), "status=OK,NOT_FOUND");
        let of = |text| code(text).map(|code| (code.protocol, code.place));
        assert_eq!(
            (of("OK"), of("ok"), of("nil")),
            (Some(("grpc", 0)), Some(("redis", 0)), Some(("redis", 1)))
        );
        assert_eq!((of("done"), of("rows")), (Some(("postgres", 0)), Some(("cql", 0))));
        for codes in [Grpc::CODES, Redis::CODES, Postgres::CODES, Cql::CODES] {
            let Codes::Named { protocol, names } = codes else { panic!("they have names") };
            // A record that is not there is called so by two.
            let others = |name: &&&str| {
                **name != "not_found" && code(name).map(|code| code.protocol) != Some(protocol)
            };
            assert_eq!(names.iter().find(others), None);
        }
        assert_eq!(condition("size=10.."), Ok(Condition::Size(10..=u64::MAX)));
        assert!(matches!(condition("json $.a == 'x=y'"), Ok(Condition::Json(..))));
        assert!(matches!(condition("header X-Id=7"), Ok(Condition::Header(..))));
        for bad in [
            "",
            "status",
            "status=",
            "status=99",
            "status=6xx",
            "status=OK,200",
            "status=Ok",
            "size=",
            "size=5..1",
            "contains=",
            "body=x",
            "json $.a",
        ] {
            assert!(condition(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_and_not_quoted() {
        for (text, part) in [
            ("json $.s3cret == s3cret", "in quotes"),
            ("header X-Id s3cret", "'header X-Id = 7'"),
            ("regex s3cret(", "not a regular expression"),
            ("s3cret", "is not a condition"),
        ] {
            let error = condition(text).unwrap_err();
            assert!(error.contains(part) && !error.contains("s3cret"), "{text}: {error}");
        }
    }

    #[test]
    fn one_size_and_one_text() {
        let all = |texts: &[&str]| texts.iter().map(|text| condition(text).unwrap()).collect::<Vec<_>>();
        assert!(
            check(&all(&["size=1", "contains=a", "status=200", "status=201", "regex a", "regex b"])).is_ok()
        );
        assert!(
            check(&all(&["size=1", "size=2"])).is_err()
                && check(&all(&["contains=a", "contains=b"])).is_err()
        );
    }
}
