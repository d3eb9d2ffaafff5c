//! Could each request be made and recorded, and does one of them fail more often than the others?

use super::{Case, found, share};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use crate::thresholds::FAILED_SHARE_DEGRADES;
use unblink_core::failure::FailureKind;
use unblink_core::record::{OperationRecord, Outcomes, Series};

/// A request that fails so many times as often as all together is told apart from them.
const FAILS_MORE_OFTEN: f64 = 1.5;

/// Rows that are had once were all taken, and arrivals that found none were not sent.
pub(super) fn rows_ran_out(case: &Case<'_>) -> Option<Finding> {
    let without = case.measured().failed[FailureKind::NO_ROW.index()];
    if without == 0 {
        return None;
    }
    let of_all = share(without, case.evidence.scheduled);
    found(
        FindingCode::RowsRanOut,
        Severity::Invalidates,
        format!(
            "A file whose rows are taken once had no row left for {}: these were not sent, and the target was asked \
             for less than the plan says.",
            text::of(without, case.evidence.scheduled)
        ),
        "Give the file more rows (random arrivals need more rows than there are arrivals, see docs/values.md), end the load \
         earlier (-n), or take its rows again: shuffled, sequential or random.",
        vec![("without_row", without as f64), ("share", of_all)],
    )
}

/// The script gave no request for arrivals, which were not sent, or threw an error at their answers.
pub(super) fn script_failed(case: &Case<'_>) -> Option<Finding> {
    let failed = case.measured().failed[FailureKind::SCRIPT_FAILED.index()];
    if failed == 0 {
        return None;
    }
    let of_all = share(failed, case.evidence.scheduled);
    found(
        FindingCode::ScriptFailed,
        Severity::Invalidates,
        format!(
            "The script failed for {}: it gave no request for these, or threw an error at the answer. They count as \
             failed, and it is not the target that failed them.",
            text::of(failed, case.evidence.scheduled)
        ),
        "Fix the script: its first error is in the output of the run.",
        vec![("script_failed", failed as f64), ("share", of_all)],
    )
}

/// A request that is seldom sent may fail always, and all requests together hardly show it.
pub(super) fn failed(case: &Case<'_>) -> Option<Finding> {
    let measured = case.measured();
    let share_of = |of: &Outcomes| share(of.failed_total() + of.timed_out, of.ended());
    let all = case.evidence.operations.iter().zip(case.evidence.totals.operations.iter());
    let each = all.map(|(name, record)| (name, &record.outcomes, share_of(&record.outcomes)));
    let (name, worst, failed_share) = each.max_by(|a, b| a.2.total_cmp(&b.2))?;
    // Where it fails no more often than the others do, it is not the request.
    if failed_share <= FAILED_SHARE_DEGRADES || failed_share < FAILS_MORE_OFTEN * share_of(measured) {
        return None;
    }
    let failed = worst.failed_total() + worst.timed_out;
    found(
        FindingCode::RequestsFailed,
        Severity::Degrades,
        format!(
            "{} requests {name:?} failed or timed out, {}, and {} of all requests.",
            text::of(failed, worst.ended()),
            text::percent(failed_share),
            text::percent(share_of(measured))
        ),
        format!(
            "See its failures by kind. If such answers are fine, say so (expect); say how many may fail: \
             --slo '{name}: errors < 1%'."
        ),
        vec![("failed", failed as f64), ("ended", worst.ended() as f64), ("share", failed_share)],
    )
}

/// Durations for which no page was left are known of all operations together only.
pub(super) fn spilled(case: &Case<'_>) -> Option<Finding> {
    let operations = &case.evidence.totals.operations;
    let spilled = |of: &OperationRecord| -> u64 {
        Series::BY_OPERATION.into_iter().map(|series| of.sums(series).spilled).sum()
    };
    let counted = |of: &OperationRecord| -> u64 {
        Series::BY_OPERATION.into_iter().map(|series| of.sums(series).count).sum()
    };
    let concerned = operations.iter().filter(|of| spilled(of) > 0).count() as u64;
    if concerned == 0 {
        return None;
    }
    let all: u64 = operations.iter().map(spilled).sum();
    let spilled_share = share(all, operations.iter().map(counted).sum());
    found(
        FindingCode::OperationsSpilled,
        Severity::Degrades,
        format!(
            "The histograms of {} had no room for {} of the durations, so that these requests have no \
             percentiles. Every one is counted, and the figures of all requests together have them.",
            text::plural(concerned, "request", "requests"),
            text::percent(spilled_share)
        ),
        "Send fewer different requests in one run.",
        vec![("operations", concerned as f64), ("spilled_share", spilled_share)],
    )
}
