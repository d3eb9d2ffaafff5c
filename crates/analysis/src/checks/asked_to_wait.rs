//! Did the target ask for less?

use super::{Case, found};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;

/// A schedule that heeded it would be moved by the target.
pub(super) fn asked_to_wait(case: &Case<'_>) -> Option<Finding> {
    let asked = case.evidence.totals.counters.connections().asked_to_wait;
    if asked == 0 {
        return None;
    }
    found(
        FindingCode::AskedToWait,
        Severity::Note,
        format!(
            "{} to wait before asking again (Retry-After, with 429 or 503); the schedule went on, since a target never moves it.",
            text::plural(asked, "answer asked", "answers asked")
        ),
        "Clients that heed the header would offer less than this: find the rate at which the target stops asking.",
        vec![("answers", asked as f64)],
    )
}
