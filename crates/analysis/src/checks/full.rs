//! Does the target take no more connections?

use super::{Case, found, refusals, severity, share};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use crate::thresholds::{FAILED_SHARE_DEGRADES, FAILED_SHARE_INVALIDATES};

/// What is measured is then a target with fewer connections than were asked for. Those that it took may have carried all
/// arrivals; where it also closes them, others fail at the same limit.
pub(super) fn full(case: &Case<'_>) -> Option<Finding> {
    let counts = &case.evidence.totals.counters.origins;
    // Where it took none at all, that finding says so. In a part, connections may have been opened before.
    let took_some = |origin: &usize| counts[*origin].opened > 0 || case.evidence.is_part;
    let origins = || (0..counts.len()).filter(took_some);
    let full = origins().map(|origin| counts[origin].full).sum();
    if full == 0 {
        return None;
    }
    let scheduled = case.evidence.scheduled;
    let failed = refusals::of_full(case, &refusals::failed(case, origins()));
    let failed_share = share(failed, scheduled);
    let is_most = failed_share > FAILED_SHARE_INVALIDATES && !case.evidence.by_phase;
    let otherwise = severity(failed_share > FAILED_SHARE_DEGRADES, Severity::Degrades, Severity::Note);
    let and = match failed {
        0 => "arrivals went over those that it took.".to_string(),
        _ => format!("{} arrivals failed because of it.", text::of(failed, scheduled)),
    };
    found(
        FindingCode::TargetFull,
        severity(is_most, Severity::Invalidates, otherwise),
        format!(
            "The target refused {} because it had as many as it takes; {and}",
            text::plural(full, "connection", "connections")
        ),
        "If this limit is not what you test, ask for fewer connections (-c), or raise it there (maxclients of Redis, \
         max_connections of PostgreSQL).",
        vec![("refused", full as f64), ("failed", failed as f64), ("share", failed_share)],
    )
}
