//! What became of the journeys that came to a step.

use crate::outcome::Outcome;

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
