//! One operation, load or origin in the line of an interval.

use super::kinds::Kinds;
use super::outcomes::OutcomesLine;
use crate::header::RunHeader;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unblink_core::code::Code;
use unblink_core::failure::FailureKind;
use unblink_core::record::{OperationRecord, Operations, Outcomes, Series};
use unblink_core::time::Nanos;

/// Answers by the name of their code; those that there were.
pub(super) type Statuses = BTreeMap<String, u64>;

/// What is not a histogram.
#[derive(Serialize, Deserialize)]
pub(super) struct OperationLine {
    measured: OutcomesLine,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    statuses: Statuses,
    /// Of the bodies of these answers.
    #[serde(default, skip_serializing_if = "is_zero")]
    body_bytes: u64,
}

impl OperationLine {
    /// By place; those of which something was recorded.
    pub(super) fn all(operations: &Operations<u64>, header: &RunHeader) -> BTreeMap<usize, OperationLine> {
        let some = operations.iter().enumerate().filter(|(_, of)| of.outcomes != Outcomes::default());
        some.map(|(place, of)| {
            let measured = OutcomesLine::of(&of.outcomes, header);
            let statuses = statuses(&of.codes, header);
            (place, OperationLine { measured, statuses, body_bytes: of.body_bytes })
        })
        .collect()
    }

    /// Writes what the line says.
    pub(super) fn fill(&self, operation: &mut OperationRecord, kinds: &Kinds<'_>) -> Result<(), String> {
        operation.outcomes = self.measured.outcomes(kinds)?;
        operation.body_bytes = self.body_bytes;
        fill_statuses(&self.statuses, &mut operation.codes, kinds)
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

pub(super) fn statuses(counts: &[u64; Code::COUNT], header: &RunHeader) -> Statuses {
    let all = (0..).map_while(Code::at).zip(counts).filter(|(_, n)| **n > 0);
    all.map(|(code, &n)| (header.code_name(code), n)).collect()
}

pub(super) fn fill_statuses(
    from: &Statuses,
    to: &mut [u64; Code::COUNT],
    kinds: &Kinds<'_>,
) -> Result<(), String> {
    for (name, &n) in from {
        to[kinds.code(name)?.index()] = n;
    }
    Ok(())
}

/// Earlier versions counted the failed of each operation, whatever their kind, and had the times of the others: what has
/// an age of the timeout timed out, and what is younger was cut off by the run's end, sent or not.
pub(super) fn fill_earlier(operations: &mut Operations<u64>, failed: &[u64], timeout: Nanos) {
    for (place, &failed) in failed.iter().enumerate().take(operations.len()) {
        let ages = operations.track(place, Series::ResponseCensored);
        let lowest_ns = ages.histogram.lowest_equivalent(timeout.0.max(1));
        let timed_out = ages.bins().filter(|&(ns, _)| ns >= lowest_ns).map(|(_, n)| n).sum();
        let unfinished = ages.count() - timed_out;
        let Some(operation) = operations.get_mut(place) else { return };
        let ok = operation.sums(Series::Response).count;
        operation.outcomes = Outcomes { ok, timed_out, unfinished, ..Outcomes::default() };
        operation.outcomes.failed[FailureKind::COUNT - 1] = failed;
    }
}
