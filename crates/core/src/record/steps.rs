//! What became of the journeys that came to a step.

use super::counted::counted;
use crate::outcome::Outcome;

counted! {
    /// What became of the journeys that came to a step. Each that entered it ends in exactly one of `passed`, `skipped`, `failed`,
    /// `timed_out`, `unfinished`, `unsent`. Of those that passed or skipped it, those that neither leave behind it nor think
    /// behind it when the run ends have entered the next one.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct StepCounts {
        /// Came to it, and have an answer to its first request, or an end; or skipped it.
        entered,
        /// All of its requests were answered as expected.
        passed,
        /// Passed by, as drawn.
        skipped,
        /// Ended by a failed request.
        failed,
        /// Ended by a request that took too long.
        timed_out,
        /// Cut off by the end of the run: a request was under way or waited, or the user thought between two of its requests.
        unfinished,
        /// Never began: still waiting when the run ended. Of first steps only.
        unsent,
        /// Cut off by the end of the run while the user thought behind it.
        thinking,
        /// Its requests that have ended, in any way.
        requests,
    }
    rarely {
        /// Of those that passed: left behind it, as drawn.
        exited,
    }
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
}
