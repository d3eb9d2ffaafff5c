//! A server that works more slowly while it is crowded: congestion collapse, and collapse that stays.

use crate::time::{Instant, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a crowd does to a server: locks are fought for, deep queues are collected, threads thrash.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Crowding {
    /// It is crowded while more requests than this are in the system.
    pub above: u64,
    /// Work on a request that comes then takes this many times as long.
    pub times: f64,
    /// It stays slow until nothing has been in the system for this long; without it, while the crowd lasts.
    pub until_idle: Option<Nanos>,
}

/// Counts who is in the system.
#[derive(Clone, Debug)]
pub(super) struct Crowd {
    spec: Crowding,
    ends: BinaryHeap<Reverse<Instant>>,
    last_end: Instant,
    is_slow: bool,
}

impl Crowd {
    pub(super) fn new(spec: Crowding) -> Crowd {
        Crowd { spec, ends: BinaryHeap::new(), last_end: Instant(0), is_slow: false }
    }

    /// How many times as long the work for a request takes that arrives now.
    pub(super) fn factor(&mut self, now: Instant) -> f64 {
        while self.ends.peek().is_some_and(|&Reverse(end)| end <= now) {
            self.ends.pop();
        }
        // The new one is not among them yet.
        let is_crowded = self.ends.len() as u64 >= self.spec.above;
        self.is_slow = match self.spec.until_idle {
            None => is_crowded,
            Some(idle) => {
                let has_rested = self.ends.is_empty() && now.since(self.last_end) >= idle;
                is_crowded || (self.is_slow && !has_rested)
            }
        };
        if self.is_slow { self.spec.times } else { 1.0 }
    }

    /// The request that has just arrived leaves at `end`.
    pub(super) fn leaves(&mut self, end: Instant) {
        self.ends.push(Reverse(end));
        self.last_end = self.last_end.max(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant(ms * 1_000_000)
    }

    #[test]
    fn a_crowd_slows_while_it_lasts() {
        let mut crowd = Crowd::new(Crowding { above: 2, times: 3.0, until_idle: None });
        let mut factors = Vec::new();
        for (now, end) in [(0, 10), (0, 20), (0, 30), (15, 40), (25, 50), (60, 70)] {
            factors.push(crowd.factor(at(now)));
            crowd.leaves(at(end));
        }
        assert_eq!(factors, [1.0, 1.0, 3.0, 3.0, 3.0, 1.0]);
    }

    #[test]
    fn it_may_need_rest_to_recover() {
        let idle = Some(Nanos::from_millis(100));
        let mut crowd = Crowd::new(Crowding { above: 1, times: 2.0, until_idle: idle });
        let mut factors = Vec::new();
        for (now, end) in [(0, 10), (5, 20), (30, 40), (139, 150), (250, 260)] {
            factors.push(crowd.factor(at(now)));
            crowd.leaves(at(end));
        }
        assert_eq!(factors, [1.0, 2.0, 2.0, 2.0, 1.0]);
    }
}
