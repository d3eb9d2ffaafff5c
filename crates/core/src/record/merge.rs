//! Banks of several workers, put together interval by interval.

use super::{Ages, Bank, Gauges, Interval, Layout};
use crate::time::Nanos;
use std::collections::VecDeque;

/// A filled bank of one worker.
#[derive(Debug)]
pub struct Handed {
    /// The worker's number, from 0.
    pub worker: usize,
    /// Where it ends, after the schedule's zero.
    pub to: Nanos,
    /// What was recorded.
    pub bank: Box<Bank<u32>>,
    /// Levels at its end.
    pub gauges: Gauges,
    /// How long those have waited at its end who have no answer.
    pub ages: Ages,
    /// It covers more than one interval: no empty bank was there at the boundary.
    pub double: bool,
    /// The worker has finished.
    pub last: bool,
}

/// What has come of one worker.
#[derive(Debug)]
struct Source {
    waiting: VecDeque<Handed>,
    finished: bool,
    gauges: Gauges,
    ages: Ages,
}

/// Collects banks and completes intervals once every worker has handed over its part.
#[derive(Debug)]
pub struct Merger {
    sources: Vec<Source>,
    interval: Interval,
}

impl Merger {
    /// Of so many workers.
    pub fn new(workers: usize, layout: impl Into<Layout>) -> Merger {
        let source = || Source {
            waiting: VecDeque::with_capacity(4),
            finished: false,
            gauges: Gauges::default(),
            ages: Ages::default(),
        };
        Merger { sources: (0..workers).map(|_| source()).collect(), interval: Interval::empty(layout) }
    }

    /// The last completed interval.
    pub fn interval(&self) -> &Interval {
        &self.interval
    }

    /// Takes what a worker has handed over; a worker's banks come in order.
    pub fn push(&mut self, handed: Handed) {
        self.sources[handed.worker].waiting.push_back(handed);
    }

    /// Nothing more will come: a worker that has not said its last was lost.
    pub fn close(&mut self) {
        self.sources.iter_mut().filter(|s| s.waiting.is_empty()).for_each(|s| s.finished = true);
    }

    /// Completes the next interval if every worker's part is there. `recycle` takes the emptied banks.
    pub fn complete(&mut self, mut recycle: impl FnMut(usize, Box<Bank<u32>>)) -> bool {
        let begin = self.interval.start + self.interval.length;
        // A worker that has finished has no more part in it; one that is late holds everything up.
        let Some(end) = self.end_of_next() else { return false };
        self.interval.bank.clear();
        self.interval.bank.timeline.begin(begin);
        self.interval.double = false;
        for (number, source) in self.sources.iter_mut().enumerate() {
            while let Some(handed) = source.waiting.pop_front_if(|h| h.to <= end) {
                self.interval.bank.add(&handed.bank);
                // Banks of one worker share no cell.
                self.interval.bank.timeline.beside(&handed.bank.timeline);
                self.interval.double |= handed.double;
                source.finished |= handed.last;
                source.gauges = handed.gauges;
                source.ages = handed.ages;
                let mut bank = handed.bank;
                bank.clear();
                recycle(number, bank);
            }
        }
        self.interval.start = begin;
        self.interval.length = end - begin;
        self.interval.gauges = Gauges::default();
        self.interval.ages.clear();
        for source in &self.sources {
            self.interval.gauges.add(&source.gauges);
            self.interval.ages.merge(&source.ages);
        }
        true
    }

    /// Anything that was handed over and is not part of an interval yet.
    pub fn is_holding(&self) -> bool {
        self.sources.iter().any(|s| !s.waiting.is_empty())
    }

    /// Where the next interval ends: at the largest end among the fronts, once everyone has got there.
    fn end_of_next(&self) -> Option<Nanos> {
        let active = || self.sources.iter().filter(|s| !s.finished);
        if active().next().is_none() || active().any(|s| s.waiting.is_empty()) {
            return None;
        }
        // Ends by boundary, which all share; the last banks end anywhere.
        let boundary = active().filter_map(|s| s.waiting.front().filter(|h| !h.last)).map(|h| h.to).max();
        let Some(end) = boundary else { return active().flat_map(|s| s.waiting.back()).map(|h| h.to).max() };
        let arrived = |s: &Source| s.waiting.iter().any(|h| h.to >= end || h.last);
        active().all(arrived).then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed(worker: usize, to_ms: u64, ok: u64, last: bool) -> Handed {
        let mut bank = Box::new(Bank::new(1));
        bank.counters.measured.ok = ok;
        let gauges = Gauges { in_flight: ok, ..Gauges::default() };
        Handed {
            worker,
            to: Nanos::from_millis(to_ms),
            bank,
            gauges,
            ages: Ages::default(),
            double: false,
            last,
        }
    }

    /// Every completed interval as (start ms, length ms, ok, in flight).
    fn drain(merger: &mut Merger, back: &mut usize) -> Vec<(u64, u64, u64, u64)> {
        let mut out = Vec::new();
        while merger.complete(|_, _| *back += 1) {
            let i = merger.interval();
            let ms = |n: Nanos| n.0 / 1_000_000;
            out.push((ms(i.start), ms(i.length), i.bank.counters.measured.ok, i.gauges.in_flight));
        }
        out
    }

    #[test]
    fn waits_for_the_slowest_and_takes_late_banks_together() {
        let (mut merger, mut back) = (Merger::new(2, 1), 0);
        merger.push(handed(0, 1000, 1, false));
        merger.push(handed(0, 2000, 2, false));
        assert_eq!(drain(&mut merger, &mut back), []);
        merger.push(handed(1, 1000, 10, false));
        assert_eq!(drain(&mut merger, &mut back), [(0, 1000, 11, 11)]);
        // Worker 1 missed a boundary: its bank covers 1 s to 3 s.
        merger.push(handed(1, 3000, 20, false));
        assert_eq!(drain(&mut merger, &mut back), []);
        merger.push(handed(0, 3000, 3, false));
        assert_eq!(drain(&mut merger, &mut back), [(1000, 2000, 25, 23)]);
        merger.push(handed(0, 3400, 4, true));
        merger.push(handed(1, 4000, 30, false));
        assert_eq!(drain(&mut merger, &mut back), [(3000, 1000, 34, 34)]);
        merger.push(handed(1, 4300, 40, true));
        assert_eq!(drain(&mut merger, &mut back), [(4000, 300, 40, 44)]);
        assert_eq!(back, 8);
    }

    #[test]
    fn a_lost_worker_loses_no_other_ones_figures() {
        let (mut merger, mut back) = (Merger::new(2, 1), 0);
        merger.push(handed(0, 1000, 1, false));
        merger.push(handed(0, 1500, 2, true));
        assert_eq!(drain(&mut merger, &mut back), []);
        assert!(merger.is_holding());
        merger.close();
        assert_eq!(drain(&mut merger, &mut back), [(0, 1000, 1, 1), (1000, 500, 2, 2)]);
        assert!(!merger.is_holding());
    }
}
