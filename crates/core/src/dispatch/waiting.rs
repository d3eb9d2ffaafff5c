//! How old those are who have no answer yet.

use super::Dispatch;
use super::arena::NONE;
use super::lane::Lane;
use crate::load::Load;
use crate::origins::ORIGINS_MAX;
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
        let mut heads = [NONE; ORIGINS_MAX];
        heads.iter_mut().zip(&self.lanes).for_each(|(head, lane)| *head = lane.in_flight.head);
        let (mut walked, mut last) = (0, Instant(0));
        while walked < FLIGHTS_MAX as u64 {
            let lanes = heads.iter_mut().zip(&self.lanes);
            let oldest = lanes.filter_map(|(head, lane)| Some((self.intended(*head)?, head, lane)));
            let Some((intended, head, lane)) = oldest.min_by_key(|&(intended, ..)| intended) else { break };
            ages.add(now.since(intended), 1);
            (walked, last) = (walked + 1, intended);
            *head = self.flights.next(&lane.in_flight, *head);
        }
        let in_flight: u64 = self.lanes.iter().map(|lane| u64::from(lane.in_flight.len)).sum();
        let left = in_flight - walked;
        if left == 0 {
            return;
        }
        let mut sample = Ages::default();
        let met = self.flights.spread(FLIGHTS_MAX).filter_map(|flight| flight.intended());
        met.filter(|&intended| intended > last).for_each(|intended| sample.add(now.since(intended), 1));
        if sample.count() == 0 {
            // None of them was met: each is as old as the youngest at least.
            let tails = self.lanes.iter().filter_map(|lane| self.intended(lane.in_flight.tail));
            sample.add(now.since(tails.max().unwrap_or(now)), 1);
        }
        ages.add_like(&sample, left);
    }

    fn intended(&self, slot: u32) -> Option<Instant> {
        if slot == NONE { None } else { self.flights[slot].intended() }
    }
}
