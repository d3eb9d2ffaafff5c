//! Counts of attempts after the first.

use crate::failure::FailureKind;

/// What came of arrivals that were tried again. Without retries all are 0.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RetryCounts {
    /// Attempts that were sent after the first send of their arrival. The second send of an attempt whose connection had
    /// died is not among them.
    pub sent_again: u64,
    /// Arrivals that ended after more than one attempt was granted.
    pub retried: u64,
    /// Those of `retried` that ended `ok`.
    pub recovered: u64,
    /// Those of `retried` that failed or timed out with their last attempt.
    pub exhausted: u64,
    /// Attempts that were not granted because the budget was used up.
    pub refused_by_budget: u64,
    /// Attempts that were not granted because too many arrivals waited for theirs.
    pub refused_by_room: u64,
}

impl RetryCounts {
    pub(super) fn add(&mut self, o: &RetryCounts) {
        self.sent_again += o.sent_again;
        self.retried += o.retried;
        self.recovered += o.recovered;
        self.exhausted += o.exhausted;
        self.refused_by_budget += o.refused_by_budget;
        self.refused_by_room += o.refused_by_room;
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

/// Attempts that were granted after the first, by what became of the one before; measured part only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryCauses {
    /// By [`FailureKind::index`].
    pub failed: [u64; FailureKind::COUNT],
    /// Given up without an answer.
    pub try_timeout: u64,
}

impl Default for RetryCauses {
    fn default() -> Self {
        RetryCauses { failed: [0; FailureKind::COUNT], try_timeout: 0 }
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

    pub(super) fn add(&mut self, o: &RetryCauses) {
        self.failed.iter_mut().zip(o.failed).for_each(|(a, b)| *a += b);
        self.try_timeout += o.try_timeout;
    }
}
