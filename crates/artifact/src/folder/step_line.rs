//! One step of a journey in the line of an interval.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unblink_core::record::StepCounts;

/// What became of the journeys that came to a step.
#[derive(Serialize, Deserialize)]
pub(super) struct StepLine {
    entered: u64,
    passed: u64,
    skipped: u64,
    failed: u64,
    timed_out: u64,
    unfinished: u64,
    unsent: u64,
    thinking: u64,
    requests: u64,
}

impl StepLine {
    /// By place; those of which something was recorded.
    pub(super) fn all(steps: &[StepCounts]) -> BTreeMap<usize, StepLine> {
        let some = steps.iter().enumerate().filter(|(_, step)| **step != StepCounts::default());
        some.map(|(place, step)| (place, StepLine::of(step))).collect()
    }

    fn of(step: &StepCounts) -> StepLine {
        let StepCounts {
            entered,
            passed,
            skipped,
            failed,
            timed_out,
            unfinished,
            unsent,
            thinking,
            requests,
        } = *step;
        StepLine { entered, passed, skipped, failed, timed_out, unfinished, unsent, thinking, requests }
    }

    /// What the line says.
    pub(super) fn counts(&self) -> StepCounts {
        let StepLine { entered, passed, skipped, failed, timed_out, unfinished, unsent, thinking, requests } =
            *self;
        StepCounts { entered, passed, skipped, failed, timed_out, unfinished, unsent, thinking, requests }
    }
}
