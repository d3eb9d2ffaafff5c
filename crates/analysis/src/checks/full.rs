//! Does the target take no more connections?

use super::{Case, found};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;

/// What is measured is then a target with fewer connections than were asked for.
pub(super) fn full(case: &Case<'_>) -> Option<Finding> {
    let full = case.evidence.totals.counters.connections().full;
    if full == 0 {
        return None;
    }
    found(
        FindingCode::TargetFull,
        Severity::Note,
        format!(
            "The target refused {} because it had as many as it takes; arrivals went over those that it took.",
            text::plural(full, "connection", "connections")
        ),
        "If this limit is not what you test, ask for fewer connections (-c), or raise it there (maxclients of Redis, \
         max_connections of PostgreSQL).",
        vec![("refused", full as f64)],
    )
}
