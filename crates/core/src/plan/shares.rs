//! Which workers of a run are here, when several machines offer its load together.

use super::{Plan, PlanError, SHARES_MAX, Scheduled};
use crate::dispatch::Pool;
use crate::share::Share;
use crate::time::Nanos;

/// The workers of one machine among those of all machines that offer a load. Each worker thread has a share of its own, so
/// that machines with more threads have more of the load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkerShares {
    /// The share of the first thread here, from 0; the threads behind it have those that follow.
    pub first: u32,
    /// Shares of all machines.
    pub of: u32,
}

impl Plan {
    /// The same plan, of which the threads here have only some shares.
    pub fn with_shares(mut self, shares: WorkerShares) -> Result<Plan, PlanError> {
        let WorkerShares { first, of } = shares;
        let threads = self.threads();
        if of > SHARES_MAX {
            return Err(PlanError::TooManyShares(of));
        }
        if first.checked_add(threads).is_none_or(|end| end > of) {
            return Err(PlanError::NoSuchShare { first, threads, of });
        }
        let (Pool::Auto { max: connections } | Pool::Fixed { n: connections }) = self.spec.pool;
        if connections < of {
            return Err(PlanError::FewerConnectionsThanThreads { connections, threads: of });
        }
        if let Some(users) = self.users().filter(|&users| users < u64::from(of)) {
            return Err(PlanError::FewerUsersThanThreads { users: users as u32, threads: of });
        }
        self.shares = shares;
        Ok(self)
    }

    /// Which workers of all are here; all of them unless said otherwise.
    pub fn shares(&self) -> WorkerShares {
        self.shares
    }

    /// All of the load is offered here.
    pub fn is_whole(&self) -> bool {
        self.shares.first == 0 && self.shares.of == self.threads()
    }

    /// Arrivals of all open loads before `from`, and from there until just before `to`, of the shares that are here.
    pub fn scheduled(&self, from: Nanos, to: Nanos) -> Option<Scheduled> {
        self.sum(|load| self.scheduled_of(load, from, to))
    }

    /// The same of all shares, wherever they are.
    pub fn scheduled_of_all(&self, from: Nanos, to: Nanos) -> Option<Scheduled> {
        self.sum(|load| self.scheduled_in(load, Share::WHOLE, from, to))
    }

    /// Those of the open load with the number `load`, of the shares that are here.
    pub fn scheduled_of(&self, load: usize, from: Nanos, to: Nanos) -> Option<Scheduled> {
        let here = self.shares_here().map(|share| self.scheduled_in(load, share, from, to));
        here.reduce(|a, b| Some(a?.and(b?)))?
    }

    /// The measured ones of each of several open loads; none where there is one load.
    pub fn scheduled_by_load(&self, from: Nanos, to: Nanos) -> Vec<u64> {
        let loads = if self.open.len() > 1 { 0..self.open.len() } else { 0..0 };
        loads.filter_map(|load| Some(self.scheduled_of(load, from, to)?.measured)).collect()
    }

    fn sum(&self, of_load: impl Fn(usize) -> Option<Scheduled>) -> Option<Scheduled> {
        (0..self.open.len()).filter_map(of_load).reduce(Scheduled::and)
    }

    fn scheduled_in(&self, load: usize, share: Share, from: Nanos, to: Nanos) -> Option<Scheduled> {
        let [warmup, all] = self.open.get(load)?.schedule.counts_before(share, [from.min(to), to]);
        Some(Scheduled { warmup, measured: all - warmup })
    }

    /// One share where all of the load is here, which is counted faster than those of each worker.
    pub(super) fn shares_here(&self) -> impl Iterator<Item = Share> + use<> {
        let WorkerShares { first, of } = self.shares;
        let (first, end, of) = if self.is_whole() { (0, 1, 1) } else { (first, first + self.threads(), of) };
        (first..end).map(move |first| Share { first, of })
    }

    /// The share of worker `shard`, of those that are here.
    pub(super) fn share_of(&self, shard: u32) -> Share {
        Share { first: self.shares.first + shard, of: self.shares.of }
    }

    /// Measured requests at the most, of the shares that are here; of an open load it is the whole load that has a limit.
    pub fn limit(&self) -> Option<u64> {
        let (all, of) = (self.spec.limit?, u64::from(self.shares.of));
        let here = self.shares_here().map(|share| all / of + u64::from(u64::from(share.first) < all % of));
        Some(if self.is_whole() || self.is_open() { all } else { here.sum() })
    }

    /// Connections of worker `shard` to each origin; each worker has at least one.
    pub fn pool_of(&self, shard: u32) -> Pool {
        let Share { first, of } = self.share_of(shard);
        let share = |all: u32| all / of + u32::from(first < all % of);
        match self.spec.pool {
            Pool::Auto { max } => Pool::Auto { max: share(max).max(1) },
            Pool::Fixed { n } => Pool::Fixed { n: share(n) },
        }
    }

    /// Connections of all workers here to each origin.
    pub fn pool_here(&self) -> Pool {
        let here = (0..self.threads()).map(|shard| match self.pool_of(shard) {
            Pool::Auto { max: n } | Pool::Fixed { n } => n,
        });
        let n = here.sum();
        match self.spec.pool {
            Pool::Auto { .. } => Pool::Auto { max: n },
            Pool::Fixed { .. } => Pool::Fixed { n },
        }
    }
}

impl Scheduled {
    fn and(self, other: Scheduled) -> Scheduled {
        Scheduled { warmup: self.warmup + other.warmup, measured: self.measured + other.measured }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::{Mix, Order};
    use crate::plan::{LoadSpec, PlanSpec};
    use crate::schedule::{Phase, Process, Rate};

    fn spec(process: Process, threads: u32) -> PlanSpec {
        let phases = vec![Phase::hold(Rate::per_second(700), Nanos::from_secs(3))];
        PlanSpec {
            warmup: Nanos::from_millis(500),
            threads,
            idempotent: vec![true; 3],
            mix: Mix { weights: Some(vec![5, 3, 2]), order: Order::Shuffled { seed: 4 }, ..Mix::default() },
            ..PlanSpec::plain(LoadSpec::Open { phases, process }, Pool::Auto { max: 10 }, Nanos::from_secs(1))
        }
    }

    /// Machines with one, two and four threads.
    #[test]
    fn shares_add_up_to_the_whole() {
        for process in [Process::Even, Process::Poisson { seed: 9 }] {
            let whole = Plan::new(spec(process, 2)).unwrap();
            let (from, to) = (whole.measured_from(), Nanos::from_millis(2_777));
            let all = whole.scheduled(from, to).unwrap();
            let by_operation = whole.scheduled_apart(from, to).unwrap().by_operation;
            let mut sum = Scheduled { warmup: 0, measured: 0 };
            let (mut apart, mut connections) = (vec![0; 3], 0);
            for (first, threads) in [(0, 1), (1, 2), (3, 4)] {
                let plan = Plan::new(spec(process, threads)).unwrap();
                let part = plan.with_shares(WorkerShares { first, of: 7 }).unwrap();
                assert!(!part.is_whole());
                assert_eq!(part.scheduled_of_all(from, to), Some(all));
                sum = sum.and(part.scheduled(from, to).unwrap());
                let of_part = part.scheduled_apart(from, to).unwrap().by_operation;
                apart.iter_mut().zip(of_part).for_each(|(sum, n)| *sum += n);
                let (Pool::Auto { max: n } | Pool::Fixed { n }) = part.pool_here();
                connections += n;
            }
            assert_eq!((sum, apart, connections), (all, by_operation, 10), "{process:?}");
        }
    }

    #[test]
    fn there_are_no_shares_beyond_the_last() {
        let part = |first, of| {
            Plan::new(spec(Process::Even, 2)).unwrap().with_shares(WorkerShares { first, of }).map(|_| ())
        };
        assert_eq!(part(8, 10), Ok(()));
        assert_eq!(part(9, 10), Err(PlanError::NoSuchShare { first: 9, threads: 2, of: 10 }));
        assert_eq!(part(u32::MAX, 10), Err(PlanError::NoSuchShare { first: u32::MAX, threads: 2, of: 10 }));
        assert_eq!(part(0, SHARES_MAX + 1), Err(PlanError::TooManyShares(SHARES_MAX + 1)));
        let few = PlanError::FewerConnectionsThanThreads { connections: 10, threads: 11 };
        assert_eq!(part(0, 11), Err(few));
    }
}
