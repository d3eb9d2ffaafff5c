//! Counts of attempts after the first.

use super::counted::counted;
use crate::failure::FailureKind;

counted! {
    /// What came of arrivals that were tried again. Without retries all are 0.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct RetryCounts {
        /// Attempts that were sent after the first send of their arrival. The second send of an attempt whose connection had
        /// died is not among them.
        sent_again,
        /// Arrivals that ended after more than one attempt was granted.
        retried,
        /// Those of `retried` that ended `ok`.
        recovered,
        /// Those of `retried` that failed or timed out with their last attempt.
        exhausted,
        /// Attempts that were not granted because the budget was used up.
        refused_by_budget,
        /// Attempts that were not granted because too many arrivals waited for theirs.
        refused_by_room,
    }
}

/// Why an arrival is tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryCause {
    /// Its attempt failed.
    Failed(FailureKind),
    /// Its attempt was given up without an answer.
    TryTimeout,
}

counted! {
    /// Attempts that were granted after the first, by what became of the one before; measured part only.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct RetryCauses {
        /// Given up without an answer.
        try_timeout,
    }
    besides {
        /// By [`FailureKind::index`].
        failed: [u64; FailureKind::COUNT],
    }
}

impl RetryCauses {
    pub(super) fn count(&mut self, cause: RetryCause) {
        match cause {
            RetryCause::Failed(kind) => self.failed[kind.index()] += 1,
            RetryCause::TryTimeout => self.try_timeout += 1,
        }
    }

    /// Attempts after the first, whatever the cause.
    pub fn total(&self) -> u64 {
        self.failed.iter().sum::<u64>() + self.try_timeout
    }
}
