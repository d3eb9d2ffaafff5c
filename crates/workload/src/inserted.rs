//! Which inserts have ended, as far as the workers of a run have said.

use std::sync::atomic::{AtomicU64, Ordering};
use unblink_core::time::Nanos;

/// For each worker the time of the schedule up to which all of its inserts have ended. Each writes its own, once per turn of its
/// loop, and whoever draws reads all: nobody waits for anybody.
#[derive(Debug)]
pub(crate) struct Inserted {
    operations: Box<[u32]>,
    until: Box<[AtomicU64]>,
}

impl Inserted {
    /// `operations` insert keys, and so many workers ask for them.
    pub(crate) fn new(operations: &[u32], workers: u32) -> Inserted {
        let until = (0..workers).map(|_| AtomicU64::new(0)).collect();
        Inserted { operations: operations.into(), until }
    }

    pub(crate) fn is_by(&self, operation: u32) -> bool {
        self.operations.contains(&operation)
    }

    pub(crate) fn ended(&self, worker: usize, until: Nanos) {
        if let Some(own) = self.until.get(worker) {
            own.store(until.0, Ordering::Relaxed);
        }
    }

    /// Up to this time every insert of every worker has ended.
    pub(crate) fn until(&self) -> Nanos {
        Nanos(self.until.iter().map(|one| one.load(Ordering::Relaxed)).min().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_worker_says_how_far_inserts_are() {
        let inserted = Inserted::new(&[3], 2);
        assert_eq!((inserted.is_by(3), inserted.is_by(2), inserted.until()), (true, false, Nanos::ZERO));
        inserted.ended(0, Nanos(700));
        assert_eq!(inserted.until(), Nanos::ZERO);
        inserted.ended(1, Nanos(500));
        assert_eq!(inserted.until(), Nanos(500));
    }
}
