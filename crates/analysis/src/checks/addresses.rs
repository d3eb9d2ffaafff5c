//! Addresses of the target: does each of them take connections?

use super::{Case, found, severity};
use crate::evidence::Address;
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;

/// Attempts go on to the next address when one fails, so that nothing else tells of it: what the others carried is all
/// that was measured. Of several such addresses the worst is named.
pub(super) fn dead(case: &Case<'_>) -> Option<Finding> {
    let all = case.evidence.addresses;
    let failed = |a: &Address<'_>| a.refused + a.unanswered + a.unreachable;
    let is_dead = |a: &&Address<'_>| failed(a) > a.usable;
    // Where none of an origin's addresses takes connections, other findings tell of the origin as a whole.
    let lives = |origin: usize| all.iter().any(|a| a.origin == origin && !is_dead(&a));
    let worst = all.iter().filter(is_dead).filter(|a| lives(a.origin)).max_by_key(|a| failed(a))?;
    if case.evidence.is_part {
        return None;
    }
    let addresses: Vec<_> = all.iter().filter(|a| a.origin == worst.origin).collect();
    let dead: Vec<_> = addresses.iter().copied().filter(is_dead).collect();
    let of = match case.evidence.origins.get(worst.origin) {
        Some(name) if case.evidence.origins.len() > 1 => name,
        _ => "the target",
    };
    let others = match dead.len() - 1 {
        0 => String::new(),
        n => format!(" The same holds for {}.", text::plural(n as u64, "other", "others")),
    };
    let kinds = [
        (worst.refused, "refused"),
        (worst.unanswered, "left without an answer"),
        (worst.unreachable, "not let through"),
    ];
    let kinds: Vec<String> =
        kinds.iter().filter(|(n, _)| *n > 0).map(|(n, how)| format!("{} {how}", text::count(*n))).collect();
    found(
        FindingCode::AddressDead,
        // A refusal costs an attempt microseconds; one without an answer may cost its user the timeout.
        severity(dead.iter().any(|a| a.unanswered > 0), Severity::Degrades, Severity::Note),
        format!(
            "{}, one of {} addresses of {of}, took {}; attempts to connect to it failed ({}).{others} The \
             rest of the addresses carried the load.",
            worst.name,
            addresses.len(),
            text::plural(worst.usable, "connection", "connections"),
            kinds.join(", ")
        ),
        "Find out why nobody listens there, or whether its users meet it too; to measure the others alone, connect to them \
         (--connect-to).",
        vec![
            ("addresses", addresses.len() as f64),
            ("addresses_dead", dead.len() as f64),
            ("opened", worst.usable as f64),
            ("refused", worst.refused as f64),
            ("unanswered", worst.unanswered as f64),
            ("unreachable", worst.unreachable as f64),
        ],
    )
}
