//! Addresses of the target: does each of them take connections?

use super::{Case, found, severity};
use crate::evidence::Address;
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;

/// Attempts go on to the next address when one fails, so that nothing else tells of it: what the others carried is all
/// that was measured. Of several such addresses the worst is named.
pub(super) fn dead(case: &Case<'_>) -> Option<Finding> {
    let addresses = case.evidence.addresses;
    let failed = |a: &Address<'_>| a.refused + a.unanswered + a.unreachable;
    let is_dead = |a: &&Address<'_>| failed(a) > a.usable;
    let dead: Vec<_> = addresses.iter().filter(is_dead).collect();
    // Where none takes connections, other findings tell of the target as a whole.
    if case.evidence.is_part || dead.len() == addresses.len() {
        return None;
    }
    let worst = dead.iter().max_by_key(|a| failed(a))?;
    let others = match dead.len() - 1 {
        0 => String::new(),
        n => format!(" So it was with {}.", text::plural(n as u64, "other", "others")),
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
            "{}, one of {} addresses of the target, took {}; attempts to connect to it failed ({}).{others} The \
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
