//! How old those are who have no answer yet.

use super::Dispatch;
use super::arena::NONE;
use super::lane::{LISTS_MAX, Lane};
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
        for Lane { resend, own, sockets, .. } in &self.lanes {
            let age = |place: u64| now.since(resend[place as usize].arrival.intended);
            ages.add_in_order(resend.len() as u64, age);
            sockets.iter().for_each(|sockets| sockets.add_ages(now, ages));
            let lines = own.iter().flat_map(|own| [&own.resend, &own.waiting]);
            for line in lines {
                ages.add_in_order(line.len() as u64, |place| {
                    now.since(line[place as usize].arrival.intended)
                });
            }
        }
        self.add_ages_of_retried(now, ages);
        self.add_ages_in_flight(now, ages);
    }

    /// Of those that wait for their next attempt a sample stands for all: they are in the order of its time.
    fn add_ages_of_retried(&self, now: Instant, ages: &mut Ages) {
        let Some(retrying) = &self.retrying else { return };
        let n = retrying.waiting();
        let mut sample = Ages::default();
        let each = (n as usize).div_ceil(FLIGHTS_MAX).max(1);
        let some = retrying.all().step_by(each);
        some.for_each(|flight| sample.add(now.since(flight.arrival.intended), 1));
        if n > 0 {
            ages.add_like(&sample, n);
        }
    }

    fn add_ages_in_flight(&self, now: Instant, ages: &mut Ages) {
        let mut heads = [NONE; ORIGINS_MAX * LISTS_MAX];
        let lists = || self.lanes.iter().flat_map(|lane| lane.in_flight());
        heads.iter_mut().zip(lists()).for_each(|(head, list)| *head = list.head);
        let (mut walked, mut last) = (0, Instant(0));
        while walked < FLIGHTS_MAX as u64 {
            let lists = heads.iter_mut().zip(lists());
            let oldest = lists.filter_map(|(head, list)| Some((self.intended(*head)?, head, list)));
            let Some((intended, head, list)) = oldest.min_by_key(|&(intended, ..)| intended) else { break };
            ages.add(now.since(intended), 1);
            (walked, last) = (walked + 1, intended);
            *head = self.flights.next(list, *head);
        }
        let in_flight: u64 = lists().map(|list| u64::from(list.len)).sum();
        let left = in_flight - walked;
        if left == 0 {
            return;
        }
        let mut sample = Ages::default();
        let met = self.flights.spread(FLIGHTS_MAX).filter_map(|flight| flight.intended());
        met.filter(|&intended| intended > last).for_each(|intended| sample.add(now.since(intended), 1));
        if sample.count() == 0 {
            // None of them was met: each is as old as the youngest at least.
            let tails = lists().filter_map(|list| self.intended(list.tail));
            sample.add(now.since(tails.max().unwrap_or(now)), 1);
        }
        ages.add_like(&sample, left);
    }

    /// Up to this time every arrival has ended that asks for an operation of which `concerns` is true, and every journey has made
    /// its inserts that was to start before. A bounded look, so it may be
    /// earlier than need be: of what waits the oldest stands for all, and of what is under way only the oldest are looked at.
    pub fn ended_until(&self, now: Instant, concerns: impl Fn(u32) -> bool) -> Instant {
        // What follows an answer is intended after it. While none is awaited, nothing is intended before what is due next.
        let due = self.load.as_ref().and_then(|load| load.next_due());
        let next = due.filter(|due| *due <= now || !self.awaits_answers()).unwrap_or(now);
        let waiting = self
            .load
            .iter()
            .flat_map(|load| (0..self.lines()).filter_map(|line| Some(load.oldest(line)?.intended)));
        let again = self.retrying.iter().flat_map(|retrying| retrying.all());
        let own = self.lanes.iter().flat_map(|lane| &lane.own);
        let own = own.flat_map(|own| own.resend.iter().chain(&own.waiting));
        let sockets = self.lanes.iter().flat_map(|lane| &lane.sockets).flat_map(|sockets| sockets.all());
        let again = self.lanes.iter().flat_map(|lane| &lane.resend).chain(own).chain(sockets).chain(again);
        let again = again.filter(|flight| concerns(flight.arrival.operation));
        let lists = self.lanes.iter().flat_map(|lane| lane.in_flight());
        let under_way = lists.filter_map(|list| {
            let (mut slot, mut last) = (list.head, None);
            for _ in 0..FLIGHTS_MAX {
                last = Some(self.intended(slot)?);
                if concerns(self.flights[slot].flight.arrival.operation) {
                    break;
                }
                slot = self.flights.next(list, slot);
            }
            last
        });
        // A journey's inserts count for when it was to start.
        let journeys = self.load.iter().filter_map(|load| load.inserting_from());
        let again = again.map(|flight| flight.arrival.intended);
        let all = waiting.chain(again).chain(under_way).chain(journeys);
        all.fold(next, Instant::min)
    }

    fn intended(&self, slot: u32) -> Option<Instant> {
        if slot == NONE { None } else { self.flights[slot].intended() }
    }
}
