//! Do journeys come to their end?

use super::{Case, found, severity, share};
use crate::evidence::JourneyEnds;
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use crate::thresholds::{FAILED_SHARE_DEGRADES, FAILED_SHARE_INVALIDATES};

/// Each of its requests may be answered as expected, and the journey fail all the same: what a step waits for never comes. The
/// steps behind it were asked for less than was planned, so that what all requests show together is that of another load.
pub(super) fn failed(case: &Case<'_>) -> Option<Finding> {
    let lost = |of: &JourneyEnds<'_>| of.failed + of.timed_out;
    let share_of = |of: &JourneyEnds<'_>| share(lost(of), of.ended);
    let worst = case.evidence.journeys.iter().max_by(|a, b| share_of(a).total_cmp(&share_of(b)))?;
    if lost(worst) == 0 {
        return None;
    }
    let failed_share = share_of(worst);
    let is_most = failed_share > FAILED_SHARE_INVALIDATES;
    let otherwise = severity(failed_share > FAILED_SHARE_DEGRADES, Severity::Degrades, Severity::Note);
    let step = worst.worst_step.map_or(String::new(), |(step, n)| {
        let those = if n == lost(worst) { "all of them".to_string() } else { text::count(n) };
        format!(", {those} at step {step:?}")
    });
    found(
        FindingCode::JourneysFailed,
        severity(is_most && !case.evidence.by_phase, Severity::Invalidates, otherwise),
        format!(
            "{} journeys {:?} failed or timed out, {}{step}; later steps were asked for less than planned.",
            text::of(lost(worst), worst.ended),
            worst.name,
            text::percent(failed_share),
        ),
        format!(
            "See the journey's steps and failures, and say how many may fail: --slo '{}: errors < 1%'.",
            worst.name
        ),
        vec![
            ("failed", worst.failed as f64),
            ("timed_out", worst.timed_out as f64),
            ("ended", worst.ended as f64),
            ("share", failed_share),
        ],
    )
}
