//! The first few arrivals that failed in each way, so that what was asked and answered can be shown.

use super::Flight;
use crate::arrival::Arrival;
use crate::failure::FailureKind;
use crate::outcome::Outcome;
use crate::time::Instant;

/// Ways to fail: each kind, and the timeout.
const WAYS: usize = FailureKind::COUNT + 1;

/// An arrival that failed or timed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailedArrival {
    /// What was asked for.
    pub arrival: Arrival,
    /// Why it failed; `None` if it timed out.
    pub kind: Option<FailureKind>,
    /// When it ended.
    pub at: Instant,
    /// How often it was attempted; 0 if nothing was ever sent for it.
    pub attempts: u32,
    /// Its last attempt was under way when it ended, so that there may be an answer to it.
    pub was_under_way: bool,
}

/// Those of a worker.
#[derive(Debug)]
pub(super) struct FirstFailed {
    each: u32,
    counts: [u32; WAYS],
    /// Those that nobody has taken yet.
    pub(super) new: Vec<FailedArrival>,
}

impl FirstFailed {
    /// Room for so many of each way.
    pub(super) fn new(each: u32) -> FirstFailed {
        FirstFailed { each, counts: [0; WAYS], new: Vec::new() }
    }

    /// Takes note of how an arrival ended.
    pub(super) fn note(&mut self, flight: &Flight, outcome: Outcome, now: Instant) {
        let (way, kind) = match outcome {
            Outcome::Failed(kind) => (kind.index(), Some(kind)),
            Outcome::TimedOut => (WAYS - 1, None),
            Outcome::Ok | Outcome::Unfinished | Outcome::Unsent => return,
        };
        if self.counts[way] < self.each {
            self.counts[way] += 1;
            self.new.push(FailedArrival {
                arrival: flight.arrival,
                kind,
                at: now,
                attempts: if flight.sent.is_some() { flight.repeats + 1 } else { 0 },
                was_under_way: flight.attempt.is_some(),
            });
        }
    }
}
