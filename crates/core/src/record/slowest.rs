//! The few slowest arrivals of an interval, so that a tail can be traced.

use crate::code::Code;
use crate::outcome::Outcome;
use crate::time::{Instant, Nanos};
use std::cmp::Reverse;

/// How many are kept for each interval.
pub const SLOWEST_KEPT: usize = 5;

/// One slow arrival. Its times count from the schedule's zero, as those of its interval do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SlowArrival {
    /// Its number in the run.
    pub index: u64,
    /// Which operation it was.
    pub operation: u32,
    /// Where it went.
    pub origin: u8,
    /// The first share, from 1, of the machine that offered it, once records of several are put together.
    pub share: Option<u32>,
    /// When it should have started.
    pub intended: Instant,
    /// When it was sent, unless it never was.
    pub sent: Option<Instant>,
    /// When it ended.
    pub ended: Instant,
    /// Slot of the connection that carried it; 0 when it was never sent.
    pub connection: u32,
    /// What the answer says of itself, if there was one and it says something.
    pub code: Option<Code>,
    /// How it ended.
    pub outcome: Outcome,
}

impl SlowArrival {
    /// From the intended start to the end.
    #[inline]
    pub fn response(&self) -> Nanos {
        self.ended.since(self.intended)
    }

    /// Which of two is kept: the slower one, and of equals the earlier one, whichever was offered first.
    fn rank(&self) -> (Reverse<Nanos>, Instant, u64) {
        (Reverse(self.response()), self.intended, self.index)
    }
}

/// The slowest arrivals seen, slowest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Slowest {
    kept: [SlowArrival; SLOWEST_KEPT],
    len: usize,
    /// What is quicker is not kept.
    floor: Nanos,
}

impl Slowest {
    /// The kept ones, slowest first.
    pub fn as_slice(&self) -> &[SlowArrival] {
        &self.kept[..self.len]
    }

    /// False when `response` is certainly not kept: a cheap test before a [`SlowArrival`] is put together. In virtual time
    /// most arrivals may have taken equally long.
    #[inline]
    pub fn would_keep(&self, response: Nanos, intended: Instant) -> bool {
        response >= self.floor
            && (response > self.floor
                || self.len < SLOWEST_KEPT
                || intended <= self.kept[SLOWEST_KEPT - 1].intended)
    }

    /// Keeps `arrival` if it is among the slowest.
    pub fn offer(&mut self, arrival: SlowArrival) {
        let place = self.as_slice().partition_point(|kept| kept.rank() <= arrival.rank());
        if place == SLOWEST_KEPT {
            return;
        }
        let end = self.len.min(SLOWEST_KEPT - 1);
        self.kept.copy_within(place..end, place + 1);
        self.kept[place] = arrival;
        self.len = (self.len + 1).min(SLOWEST_KEPT);
        if self.len == SLOWEST_KEPT {
            self.floor = self.kept[SLOWEST_KEPT - 1].response();
        }
    }

    /// Offers everything that another list kept.
    pub fn merge(&mut self, other: &Slowest) {
        other.as_slice().iter().for_each(|&arrival| self.offer(arrival));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists that are merged hold the same, in whatever order.
    #[test]
    fn the_order_of_merging_does_not_matter() {
        let all: Vec<_> = (0..20u64)
            .map(|index| SlowArrival {
                index,
                intended: Instant(index / 2),
                ended: Instant(index / 2 + index % 3),
                ..SlowArrival::default()
            })
            .collect();
        let list = |arrivals: &[SlowArrival]| {
            let mut slowest = Slowest::default();
            arrivals.iter().for_each(|&arrival| slowest.offer(arrival));
            slowest
        };
        let whole = list(&all);
        for cut in 1..19 {
            let (mut forth, mut back) = (list(&all[..cut]), list(&all[cut..]));
            forth.merge(&list(&all[cut..]));
            back.merge(&list(&all[..cut]));
            assert!(forth == whole && back == whole, "{cut}");
        }
    }

    #[test]
    fn keeps_the_five_slowest_in_order() {
        let mut slowest = Slowest::default();
        for ns in [5u64, 1, 9, 3, 7, 8, 2, 9, 4] {
            slowest.offer(SlowArrival { ended: Instant(ns), ..SlowArrival::default() });
        }
        let kept: Vec<u64> = slowest.as_slice().iter().map(|a| a.response().0).collect();
        assert_eq!(kept, [9, 9, 8, 7, 5]);
        let keeps = |response, intended| slowest.would_keep(Nanos(response), Instant(intended));
        assert!(keeps(6, 9) && keeps(5, 0) && !keeps(5, 1) && !keeps(4, 0));
    }
}
