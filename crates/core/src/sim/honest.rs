//! The real dispatcher and recorder as a client of the simulated world.

use super::intervals::Intervals;
use super::world::{Client, Turn};
use crate::arrival::Arrival;
use crate::dispatch::{Actions, Dispatch, Event, FlightId, LOOK_EVERY};
use crate::load::Load;
use crate::record::Interval;
use crate::time::Instant;
use std::cell::Cell;

pub(super) struct Honest<'a, L, F> {
    pub(super) dispatch: Dispatch<L>,
    pub(super) intervals: Intervals<F>,
    /// When it last looked at the clock.
    pub(super) looked: Instant,
    /// The user ends the run then.
    pub(super) stop: Option<Instant>,
    /// Whoever looks at the intervals has seen enough.
    pub(super) enough: Option<&'a Cell<bool>>,
    /// The load was ended then because of that, or by whoever makes its requests.
    pub(super) ended: Option<Instant>,
}

impl<L: Load, F: FnMut(&Interval)> Client for Honest<'_, L, F> {
    fn wake(&mut self) -> Option<Instant> {
        let wake = self.dispatch.next_wake()?;
        let wake = if self.dispatch.awaits_answers() { wake.min(self.looked + LOOK_EVERY) } else { wake };
        Some(self.stop.map_or(wake, |stop| wake.min(stop)))
    }

    fn handle(&mut self, now: Instant, event: Event, out: &mut Actions) {
        self.looked = now;
        self.dispatch.handle(now, event, out, self.intervals.recorder());
    }

    fn turn(&mut self, turn: Turn) {
        self.intervals.turn(turn);
    }

    fn reach(&mut self, now: Instant) {
        if let Some(stop) = self.stop.take_if(|stop| *stop <= now) {
            self.dispatch.stop(stop);
        }
        while let Some(end) = self.intervals.passed(now) {
            self.dispatch.count_due_before(end, now, self.intervals.recorder());
            self.dispatch.add_ages(end, self.intervals.ages());
            self.intervals.hand_over(end, self.dispatch.gauges());
            if self.ended.is_none() && self.enough.is_some_and(Cell::get) {
                self.ended = Some(end);
                self.intervals.recorder().end_load(end);
                self.dispatch.stop(end);
            }
        }
    }

    fn arrival(&self, flight: FlightId) -> Option<(Arrival, Instant)> {
        self.dispatch.arrival(flight).map(|arrival| (*arrival, self.dispatch.began(arrival)))
    }

    fn end_load(&mut self, at: Instant) {
        if self.ended.is_none() {
            self.ended = Some(at);
            self.intervals.recorder().end_load(at);
            self.dispatch.stop(at);
        }
    }

    fn is_finished(&self) -> bool {
        self.dispatch.is_finished()
    }
}
