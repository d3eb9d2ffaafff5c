//! Has each operation a histogram of its own?

use super::{Case, found, share};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use unblink_core::record::{OperationRecord, Series};

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
