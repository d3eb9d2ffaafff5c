//! Answers that come event by event: the first event, the gaps from one to the next, and those that were still open when
//! nobody waited any longer.
//!
//! Each is recorded when it happens, and not when the answer ends: a run that is killed has what came until then, and a
//! second in which the target fell silent shows it.

use super::progress::{EventCounts, Events, Progress};
use super::{Flight, PAUSE_FROM, Recorder, Series};
use crate::time::{Instant, Nanos};

impl Recorder {
    /// For each operation, whether its answers come event by event. Those beyond the last are like the last.
    pub fn set_streams(&mut self, streams: Vec<bool>) {
        self.streams = streams;
    }

    fn is_stream(&self, operation: u32) -> bool {
        self.streams.get(operation as usize).or(self.streams.last()).copied().unwrap_or(false)
    }

    /// A read at `now` has brought events of the answer to `flight`.
    pub fn heard(&mut self, flight: &mut Flight, Events { events, keep_alives }: Events, now: Instant) {
        let before = flight.progress;
        if events > 0 {
            flight.progress = Progress { count: before.count + u64::from(events), last: Some(now) };
        }
        let is_in_load = now >= self.measured_from && now <= self.load_end;
        self.bank.counters.events.in_load += if is_in_load { u64::from(events) } else { 0 };
        let counts = self.event_counts(flight);
        counts.keep_alives += u64::from(keep_alives);
        counts.events += u64::from(events);
        counts.begun += u64::from(events > 0 && before.last.is_none());
        if events == 0 || !self.is_measured(&flight.arrival) {
            return;
        }
        match before.last {
            None => self.first_event(flight, now),
            Some(last) => self.gap(flight, last, now),
        }
        for _ in 1..events {
            self.record(flight, Series::EventGap, Nanos::ZERO);
        }
    }

    /// Where the events of the answer to `flight` are counted.
    fn event_counts(&mut self, flight: &Flight) -> &mut EventCounts {
        let is_measured = self.is_measured(&flight.arrival);
        let counters = &mut self.bank.counters;
        if is_measured { &mut counters.events } else { &mut counters.warmup_events }
    }

    /// `flight` has ended: no more events of its answer count.
    #[inline]
    pub(super) fn note_over(&mut self, flight: &Flight) {
        if flight.progress.last.is_some() {
            self.event_counts(flight).over += 1;
        }
    }

    fn first_event(&mut self, flight: &Flight, now: Instant) {
        let since_intended = now.since(flight.arrival.intended);
        self.record(flight, Series::FirstEvent, since_intended);
        if let Some(sent) = flight.attempt {
            self.bank.track_mut(Series::FirstEventService).record(now.since(sent));
        }
        if self.own_part(flight, now) >= PAUSE_FROM {
            self.bank.track_mut(Series::FirstEventHindered).record(since_intended);
        }
    }

    fn gap(&mut self, flight: &Flight, last: Instant, now: Instant) {
        self.record(flight, Series::EventGap, now.since(last));
        // An absence before the earlier event makes a gap too short, and one before the later event too long.
        if !self.absences.none_since(last) && self.absences.within(last, now) >= PAUSE_FROM {
            self.bank.track_mut(Series::EventGapHindered).record(now.since(last));
        }
    }

    /// Nobody waits for the answer to `flight` from `until` on: its first event, or the gap that was open, is known only to
    /// take longer. The gap of an answer that `is_over` has ended with it.
    pub(super) fn censor_events(&mut self, flight: &Flight, until: Instant, is_over: bool) {
        if !self.is_stream(flight.arrival.operation) || !self.is_measured(&flight.arrival) {
            return;
        }
        match flight.progress.last {
            None => {
                let age = until.since(flight.arrival.intended);
                self.record(flight, Series::FirstEventCensored, age);
                if let Some(sent) = flight.attempt {
                    self.bank.track_mut(Series::FirstEventServiceCensored).record(until.since(sent));
                }
            }
            Some(_) if is_over => {}
            Some(last) => self.record(flight, Series::EventGapCensored, until.since(last)),
        }
    }

    /// The answer to `flight`, which is measured, was `ok`.
    #[inline]
    pub(super) fn note_whole(&mut self, flight: &Flight) {
        if flight.progress.count > 0 {
            self.bank.counters.events.whole += 1;
            self.bank.counters.events.events_of_whole += flight.progress.count;
        }
    }
}
