//! Has each operation a histogram of its own?

use super::{Case, found, share};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use unblink_core::failure::FailureKind;
use unblink_core::record::{OperationRecord, Series};

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
        "Mend the script: its first error stands in the output of the run.",
        vec![("script_failed", failed as f64), ("share", of_all)],
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
