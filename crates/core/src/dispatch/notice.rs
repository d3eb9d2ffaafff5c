//! When an arrival was first seen: what falls due while nobody looks at the clock is the generator's own lateness.

use super::Dispatch;
use super::lane::Lane;
use super::overslept::{OVERSLEPT_FROM, OVERSLEPT_MAX, Overslept};
use crate::arrival::Arrival;
use crate::load::Load;
use crate::record::Recorder;
use crate::time::{Instant, Nanos};

impl<L: Load> Dispatch<L> {
    /// Counts what has fallen due before `end`, which has just passed, and no more: at the boundary of an
    /// interval, so that each counts where it belongs.
    pub fn count_due_before(&mut self, end: Instant, now: Instant, rec: &mut Recorder) {
        self.take_note_of_due(end - Nanos(1), now, rec);
    }

    #[inline]
    pub(super) fn take_note_of_due(&mut self, until: Instant, now: Instant, rec: &mut Recorder) {
        let Dispatch { load: Some(load), lanes, policy, .. } = self else { return };
        load.advance(until, |arrival| {
            lanes[policy.origins.of(arrival.operation)].falls_due(&arrival, now);
            rec.due(&arrival);
        });
        lanes.iter_mut().for_each(|lane| lane.note_overslept(now));
    }
}

impl Lane {
    #[inline]
    fn falls_due(&mut self, arrival: &Arrival, now: Instant) {
        let first = self.falling_due.map_or(arrival.intended, |stretch| stretch.first);
        self.falling_due = Some(Overslept { first, last: arrival.intended, noticed: now });
    }

    /// Where nothing could be sent or opened nobody had to look: without room the rest is booked as waiting for a
    /// connection, which it may be.
    #[inline]
    fn note_overslept(&mut self, now: Instant) {
        let Some(stretch) = self.falling_due.take() else { return };
        let is_late = self.woke_for_due && now.since(stretch.first) >= OVERSLEPT_FROM;
        if is_late && self.overslept.len() < OVERSLEPT_MAX {
            self.overslept.push_back(stretch);
        }
    }

    /// When an arrival was first seen. Asked for in order.
    #[inline]
    pub(super) fn noticed(&mut self, arrival: &Arrival) -> Instant {
        while let Some(stretch) = self.overslept.front() {
            if arrival.intended < stretch.first {
                return arrival.intended;
            }
            if arrival.intended <= stretch.last {
                return stretch.noticed;
            }
            self.overslept.pop_front();
        }
        arrival.intended
    }
}
