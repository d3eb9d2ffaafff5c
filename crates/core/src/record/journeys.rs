//! Journeys: how far each came, how it ended, how long it took.

use super::{Recorder, Series};
use crate::arrival::Arrival;
use crate::outcome::Outcome;
use crate::record::RECORDABLE_MAX;
use crate::time::Instant;

/// What became of the journeys that came to a step. Each that entered it ends in exactly one of `passed`, `skipped`, `failed`,
/// `timed_out`, `unfinished`, `unsent`. Of those that passed or skipped it, those that do not think behind it when the run
/// ends have entered the next one.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct StepCounts {
    /// Came to it, and have an answer to its first request, or an end; or skipped it.
    pub entered: u64,
    /// All of its requests were answered as expected.
    pub passed: u64,
    /// Passed by, as drawn.
    pub skipped: u64,
    /// Ended by a failed request.
    pub failed: u64,
    /// Ended by a request that took too long.
    pub timed_out: u64,
    /// Cut off by the end of the run: a request was under way or waited, or the user thought between two of its requests.
    pub unfinished: u64,
    /// Never began: still waiting when the run ended. Of first steps only.
    pub unsent: u64,
    /// Cut off by the end of the run while the user thought behind it.
    pub thinking: u64,
    /// Its requests that have ended, in any way.
    pub requests: u64,
}

impl StepCounts {
    /// Journeys that have ended at it, or left it.
    pub fn left(&self) -> u64 {
        self.passed + self.skipped + self.failed + self.timed_out + self.unfinished + self.unsent
    }

    /// A journey ends here.
    pub(crate) fn ends(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Ok => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::TimedOut => self.timed_out += 1,
            Outcome::Unfinished => self.unfinished += 1,
            Outcome::Unsent => self.unsent += 1,
        }
    }

    /// Adds another count of the same step.
    pub fn add(&mut self, o: &StepCounts) {
        self.entered += o.entered;
        self.passed += o.passed;
        self.skipped += o.skipped;
        self.failed += o.failed;
        self.timed_out += o.timed_out;
        self.unfinished += o.unfinished;
        self.unsent += o.unsent;
        self.thinking += o.thinking;
        self.requests += o.requests;
    }
}

/// What happens to journeys. Like arrivals they are measured or not by their intended time, whenever their requests are.
impl Recorder {
    /// A journey falls due with its first request.
    #[inline]
    pub(super) fn journey_due(&mut self, arrival: &Arrival) {
        if let Some(journey) = self.measured_start(arrival) {
            self.bank.journeys.get_mut(journey).into_iter().for_each(|of| of.outcomes.due += 1);
        }
    }

    /// A journey begins.
    #[inline]
    pub(super) fn journey_sent(&mut self, arrival: &Arrival) {
        if let Some(journey) = self.measured_start(arrival) {
            self.bank.journeys.get_mut(journey).into_iter().for_each(|of| of.outcomes.sent += 1);
        }
    }

    /// Only what follows can be intended so late.
    #[inline]
    pub(super) fn is_after_load(&self, arrival: &Arrival) -> bool {
        arrival.follows() && arrival.intended >= self.load_end
    }

    fn measured_start(&self, arrival: &Arrival) -> Option<usize> {
        arrival.journey().filter(|_| arrival.starts_journey() && arrival.intended >= self.measured_from)
    }

    /// Counts what a journey that was to start at `intended` has come to, at the step whose operation is `operation`.
    pub fn at_step(&mut self, intended: Instant, operation: u32, count: impl Fn(&mut StepCounts)) {
        let place = operation.wrapping_sub(self.bank.first_step) as usize;
        if intended >= self.measured_from {
            self.bank.steps.get_mut(place).into_iter().for_each(count);
        }
    }

    /// A journey that was to start at `intended` has ended at `now`, as its last request did, which was to start at
    /// `last_intended`.
    pub fn journey_ended(
        &mut self,
        journey: usize,
        intended: Instant,
        outcome: Outcome,
        last_intended: Instant,
        now: Instant,
    ) {
        if intended < self.measured_from {
            return;
        }
        let timeout = self.timeout;
        let Some(of) = self.bank.journeys.get_mut(journey) else { return };
        let outcomes = &mut of.outcomes;
        let (series, time) = match outcome {
            Outcome::Ok => {
                outcomes.ok += 1;
                (Series::Response, now.since(intended))
            }
            Outcome::Failed(kind) => {
                outcomes.failed[kind.index()] += 1;
                return;
            }
            // Had the answer come later, it would have come too late.
            Outcome::TimedOut => {
                outcomes.timed_out += 1;
                (Series::ResponseCensored, (last_intended + timeout).since(intended))
            }
            Outcome::Unfinished => {
                outcomes.unfinished += 1;
                (Series::ResponseCensored, now.since(intended))
            }
            Outcome::Unsent => {
                outcomes.unsent += 1;
                (Series::ResponseCensored, now.since(intended))
            }
        };
        // What is longer than a histogram holds is known to be as long at the least.
        let series = if time > RECORDABLE_MAX { Series::ResponseCensored } else { series };
        self.bank.journeys.record(journey, series, time.min(RECORDABLE_MAX));
    }
}
