//! Does the target take no more connections?

use super::{Case, found};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use unblink_core::record::ConnectionCounts;

/// What is measured is then a target with fewer connections than were asked for.
pub(super) fn full(case: &Case<'_>) -> Option<Finding> {
    // Where it took none at all, that finding says so. In a part, connections may have been opened before.
    let took_some = |counts: &&ConnectionCounts| counts.opened > 0 || case.evidence.is_part;
    let origins = case.evidence.totals.counters.origins.iter();
    let full = origins.filter(took_some).map(|counts| counts.full).sum();
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
