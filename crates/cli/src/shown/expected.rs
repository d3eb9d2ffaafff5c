//! What was said of an answer beforehand: conditions that it must meet, and values that are taken from it.

use unblink_artifact::codes::NamedCodes;
use unblink_artifact::tried::{TriedCapture, TriedCondition};
use unblink_core::failure::FailureKind;
use unblink_core::record::Then;
use unblink_engine::preflight::Tried;
use unblink_workload::answer::{Captured, Condition, Expect, Unmet};

/// Each condition on an answer, and whether it holds. `codes` are those of the protocol, where they have names.
pub(crate) fn expected(expect: &Expect, tried: &Tried, codes: Option<&NamedCodes>) -> Vec<TriedCondition> {
    let mut all = Vec::new();
    if expect.statuses.is_empty() && expect.codes.is_empty() {
        let is_success = |code: u16| match codes {
            None => FailureKind::of_status(code).is_none(),
            Some(codes) => codes.is_success(code),
        };
        let good = codes.map_or_else(|| "200..399".to_string(), |codes| codes.of_success().join("|"));
        let holds = tried.reply.map(|reply| is_success(reply.code));
        all.push(TriedCondition { condition: format!("status={good}"), holds, found: None });
    }
    for condition in expect.conditions() {
        let (holds, found) = match (tried.reply, &tried.result) {
            (None, _) => (None, None),
            (Some(_), Ok(())) => (Some(true), None),
            (Some(reply), Err(_)) => {
                let alone =
                    Expect { reader: expect.reader.clone(), ..Expect::new(std::slice::from_ref(&condition)) };
                match alone.unmet(reply.code, &tried.head, reply.body_bytes, &tried.body) {
                    None => (Some(true), None),
                    // What is not kept may have it.
                    Some(_) if is_of_body(&condition) && reply.body_bytes > tried.body.len() as u64 => {
                        (None, Some("the body is too large to be looked at".to_string()))
                    }
                    Some(Unmet::Body(why)) => (None, Some(why.to_string())),
                    Some(Unmet::Condition { found, .. }) => {
                        // Which code it is only the protocol can name.
                        let named = codes.and_then(|codes| codes.name(reply.code));
                        let named = named.filter(|_| matches!(condition, Condition::Codes(_)));
                        (Some(false), Some(named.map_or(found, |name| format!("it is {name}"))))
                    }
                    // A condition takes nothing.
                    Some(Unmet::Capture { .. }) => (Some(true), None),
                }
            }
        };
        all.push(TriedCondition { condition: condition.to_string(), holds, found });
    }
    all
}

/// The same of messages over a WebSocket, which have no status: that one came is what is asked of it at the least.
pub(crate) fn expected_of_message(expect: &Expect, tried: &Tried) -> Vec<TriedCondition> {
    let mut all = expected(expect, tried, None);
    if let Some(first) = all.first_mut().filter(|_| expect.statuses.is_empty() && expect.codes.is_empty()) {
        *first = TriedCondition {
            condition: "a message answers it".into(),
            holds: tried.reply.map(|_| true),
            found: None,
        };
    }
    all
}

fn is_of_body(condition: &Condition) -> bool {
    matches!(condition, Condition::Contains(_) | Condition::Regex(_) | Condition::Json(..))
}

/// What became of the values that were to be taken; `unused` says why none of them is used, if so.
pub(crate) fn captures(
    all: &[Captured],
    taken: &[Result<Vec<u8>, String>],
    unused: Option<&str>,
) -> Vec<TriedCapture> {
    let each = all.iter().enumerate().map(|(place, captured)| {
        let (bytes, why) = match taken.get(place) {
            Some(Ok(value)) => (Some(value.len() as u64), unused.map(String::from)),
            Some(Err(why)) => (None, Some(why.clone())),
            None => (None, None),
        };
        // No template can call the cookies of a journey.
        let name = if captured.capture.adds() { "cookies" } else { &captured.name };
        TriedCapture { name: name.into(), is_taken: bytes.is_some() && unused.is_none(), bytes, why }
    });
    each.collect()
}

/// Whether a step that asks again and again would do so behind this answer.
pub(crate) fn awaited(expect: &Expect, tried: &Tried) -> Option<String> {
    let (until, reply, Ok(())) = (expect.until.as_ref()?, tried.reply?, &tried.result) else { return None };
    if tried.then != Then::NotYet {
        return Some("this is the answer that until waits for: the run would not ask again".into());
    }
    let found = match until.unmet(reply.code, &tried.head, reply.body_bytes, &tried.body) {
        Some(Unmet::Condition { condition, found }) => format!(" ({condition}: {found})"),
        _ => String::new(),
    };
    let takes = expect.captures.iter().any(|captured| !captured.capture.adds());
    let takes = if takes { "; what is taken here, the run takes from its last answer" } else { "" };
    Some(format!("this is not yet what until waits for{found}: the run would ask again{takes}"))
}
