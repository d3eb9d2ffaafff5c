//! The open loads of a run together.

use super::{Load, OpenLoad};
use crate::arrival::Arrival;
use crate::outcome::Outcome;
use crate::record::{Ages, Recorder};
use crate::time::Instant;

/// One open load or several, whose arrivals come in order of intended time; of one time, in the order of the loads.
#[derive(Clone, Debug)]
pub struct Open {
    loads: Vec<OpenLoad>,
}

impl Open {
    /// All of a worker's. There must be one at least.
    pub fn new(loads: Vec<OpenLoad>) -> Open {
        Open { loads }
    }

    /// The load whose arrival for `origin` has waited for longest.
    #[inline]
    fn first(&self, origin: usize) -> usize {
        if self.loads.len() == 1 { 0 } else { self.first_of_several(origin) }
    }

    #[inline(never)]
    fn first_of_several(&self, origin: usize) -> usize {
        let heads = self.loads.iter().enumerate();
        let waiting = heads.filter_map(|(number, load)| Some((load.head(origin)?.intended, number)));
        waiting.min().map_or(0, |(_, number)| number)
    }
}

impl Load for Open {
    fn advance(&mut self, now: Instant, mut due: impl FnMut(Arrival)) {
        if let [only] = &mut self.loads[..] {
            return only.advance(now, due);
        }
        loop {
            let next =
                self.loads.iter().enumerate().filter_map(|(number, load)| Some((load.next_due()?, number)));
            let Some((at, number)) = next.min().filter(|&(at, _)| at <= now) else { return };
            self.loads[number].advance(at, &mut due);
        }
    }

    #[inline]
    fn may_be_due(&self, now: Instant) -> bool {
        match &self.loads[..] {
            [only] => only.may_be_due(now),
            loads => loads.iter().any(|load| load.may_be_due(now)),
        }
    }

    #[inline]
    fn draw_ahead(&mut self) {
        self.loads.iter_mut().for_each(Load::draw_ahead);
    }

    #[inline(always)] // most runs have one load, and its head is not copied then
    fn head(&self, origin: usize) -> Option<Arrival> {
        match &self.loads[..] {
            [only] => only.head(origin),
            loads => loads[self.first(origin)].head(origin),
        }
    }

    #[inline(always)]
    fn take(&mut self, origin: usize) -> Option<Arrival> {
        let first = self.first(origin);
        self.loads[first].take(origin)
    }

    #[inline]
    fn pop(&mut self, origin: usize) {
        let first = self.first(origin);
        self.loads[first].pop(origin);
    }

    #[inline]
    fn waiting(&self, origin: usize) -> u64 {
        if let [only] = &self.loads[..] {
            return only.waiting(origin);
        }
        self.loads.iter().map(|load| load.waiting(origin)).sum()
    }

    fn add_ages(&self, now: Instant, ages: &mut Ages) {
        self.loads.iter().for_each(|load| load.add_ages(now, ages));
    }

    #[inline]
    fn next_due(&self) -> Option<Instant> {
        if let [only] = &self.loads[..] {
            return only.next_due();
        }
        self.loads.iter().filter_map(Load::next_due).min()
    }

    #[inline]
    fn ended(&mut self, _arrival: &Arrival, _outcome: Outcome, _now: Instant, _rec: &mut Recorder) {}

    fn stop(&mut self, at: Instant) {
        self.loads.iter_mut().for_each(|load| load.stop(at));
    }

    fn end(&self) -> Instant {
        self.loads.iter().map(Load::end).max().unwrap_or(Instant(0))
    }

    #[inline]
    fn is_exhausted(&self, now: Instant) -> bool {
        self.loads.iter().all(|load| load.is_exhausted(now))
    }
}
