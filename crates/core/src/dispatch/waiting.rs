//! How old those are who have no answer yet.

use super::Dispatch;
use super::arena::NONE;
use super::lane::Lane;
use crate::load::Load;
use crate::record::Ages;
use crate::time::Instant;

/// Flights that are looked at one by one, the oldest first; of the others, no more places than this.
const FLIGHTS_MAX: usize = 1024;

impl<L: Load> Dispatch<L> {
    /// Adds the ages at `now` of all arrivals that are due and have not ended: in flight, waiting to be sent, and waiting
    /// to be sent again. The work is bounded however many they are, and allocates nothing.
    ///
    /// Of those in flight the oldest 1,024 are looked at one by one. A sample stands for the others, taken evenly by their
    /// places in memory.
    pub fn add_ages(&self, now: Instant, ages: &mut Ages) {
        if let Some(load) = &self.load {
            load.add_ages(now, ages);
        }
        for Lane { resend, .. } in &self.lanes {
            let age = |place: u64| now.since(resend[place as usize].arrival.intended);
            ages.add_in_order(resend.len() as u64, age);
        }
        self.add_ages_in_flight(now, ages);
    }

    fn add_ages_in_flight(&self, now: Instant, ages: &mut Ages) {
        let (mut slot, mut walked, mut last) = (self.in_flight.head, 0, Instant(0));
        while let Some(intended) = self.intended(slot).filter(|_| walked < FLIGHTS_MAX as u64) {
            ages.add(now.since(intended), 1);
            (walked, last) = (walked + 1, intended);
            slot = self.flights.next(&self.in_flight, slot);
        }
        let left = u64::from(self.in_flight.len) - walked;
        if left == 0 {
            return;
        }
        let mut sample = Ages::default();
        let met = self.flights.spread(FLIGHTS_MAX).filter_map(|flight| flight.intended());
        met.filter(|&intended| intended > last).for_each(|intended| sample.add(now.since(intended), 1));
        if sample.count() == 0 {
            // None of them was met: each is as old as the youngest at least.
            let youngest = self.intended(self.in_flight.tail).unwrap_or(now);
            sample.add(now.since(youngest), 1);
        }
        ages.add_like(&sample, left);
    }

    fn intended(&self, slot: u32) -> Option<Instant> {
        if slot == NONE { None } else { self.flights[slot].intended() }
    }
}
