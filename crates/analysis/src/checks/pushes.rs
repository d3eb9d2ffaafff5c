//! Answers that are told by their order: did anything else come on their connections?

use super::{Case, found};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;

/// What comes unasked while nothing is awaited, comes at other times as well, and is taken for an answer then.
pub(super) fn among_answers(case: &Case<'_>) -> Option<Finding> {
    let connections = case.evidence.totals.counters.connections();
    let unasked = connections.unsolicited_in_order;
    if unasked == 0 {
        return None;
    }
    let n = text::plural(unasked, "message", "messages");
    found(
        FindingCode::PushesAmongAnswers,
        Severity::Degrades,
        format!(
            "{n} came while nothing was awaited, so the target sends messages of its own; any that came while something was \
             awaited was taken for the answer to it, because answers are told by their order."
        ),
        "Let answers be found by a value that they share with the message (--match 'json $.id'), if the target sends one back.",
        vec![("unsolicited", unasked as f64)],
    )
}
