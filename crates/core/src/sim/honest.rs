//! The real dispatcher and recorder as a client of the simulated world.

use super::intervals::Intervals;
use super::world::Client;
use crate::dispatch::{Actions, Dispatch, Event};
use crate::load::Load;
use crate::record::Interval;
use crate::time::Instant;

pub(super) struct Honest<L, F> {
    pub(super) dispatch: Dispatch<L>,
    pub(super) intervals: Intervals<F>,
    /// The user ends the run then.
    pub(super) stop: Option<Instant>,
}

impl<L: Load, F: FnMut(&Interval)> Client for Honest<L, F> {
    fn wake(&self) -> Option<Instant> {
        let wake = self.dispatch.next_wake()?;
        Some(self.stop.map_or(wake, |stop| wake.min(stop)))
    }

    fn handle(&mut self, now: Instant, event: Event, out: &mut Actions) {
        self.dispatch.handle(now, event, out, self.intervals.recorder());
    }

    fn reach(&mut self, now: Instant) {
        if let Some(stop) = self.stop.take_if(|stop| *stop <= now) {
            self.dispatch.stop(stop);
        }
        while let Some(end) = self.intervals.passed(now) {
            self.dispatch.count_due_before(end, now, self.intervals.recorder());
            self.intervals.hand_over(end, self.dispatch.gauges());
        }
    }

    fn is_finished(&self) -> bool {
        self.dispatch.is_finished()
    }
}
