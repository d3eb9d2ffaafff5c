//! Does what comes keep to the protocol, so that each answer belongs to its request?

use super::{Case, called, found, severity};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;

/// An answer that can't be read fails its request, which is all that it does. One that nobody has asked for is noticed only while
/// nothing is under way: at other times it was taken for the answer to what was, and those behind it were too.
pub(super) fn protocol_broken(case: &Case<'_>) -> Option<Finding> {
    let broken = case.evidence.broken;
    let of = |origin| broken.iter().filter(move |one| one.origin == origin);
    let origins: Vec<usize> = (0..case.evidence.totals.counters.origins.len())
        .filter(|&origin| of(origin).next().is_some())
        .collect();
    if origins.is_empty() {
        return None;
    }
    let each = origins.iter().map(|&origin| {
        let mut kinds: Vec<_> = of(origin).collect();
        kinds.sort_by_key(|one| std::cmp::Reverse(one.connections));
        let kinds = kinds.iter().map(|one| format!("{} {}", one.code, text::count(one.connections)));
        let kinds: Vec<String> = kinds.collect();
        let all = of(origin).map(|one| one.connections).sum();
        let n = text::plural(all, "connection", "connections");
        format!("{n} to {} ({})", called(case, origin), kinds.join(", "))
    });
    let each: Vec<String> = each.collect();
    let all: u64 = broken.iter().map(|one| one.connections).sum();
    let unasked = case.evidence.totals.counters.connections().closed_unasked;
    let meaning = match unasked {
        0 => "What was under way there failed.",
        _ => {
            "An answer that no request has asked for is noticed only while nothing is under way there. At other \
             times it is taken for the answer to what is, and so are those after it: figures of such connections \
             can't be trusted."
        }
    };
    found(
        FindingCode::ProtocolBroken,
        severity(unasked > 0, Severity::Degrades, Severity::Note),
        format!(
            "{} {} closed by unblink, because what came there breaks the protocol. {meaning}",
            each.join(", "),
            text::were(all)
        ),
        "See what answers there: another service, or something between that mixes up or adds answers. One request alone is shown by \
         unblink try.",
        vec![("connections", all as f64), ("unasked", unasked as f64)],
    )
}
