//! When an arrival was first seen. If it falls due while nobody looks at the clock, that delay is the generator's own
//! lateness.

use super::Dispatch;
use super::lane::Lane;
use crate::arrival::Arrival;
use crate::journey::OwnJourneys;
use crate::load::Load;
use crate::record::Recorder;
use crate::time::{Instant, Nanos};

impl<L: Load> Dispatch<L> {
    /// Counts the arrivals that fell due before `end`, which has just passed, and no others. It is called at the
    /// boundary of an interval, so that each arrival counts where it belongs.
    pub fn count_due_before(&mut self, end: Instant, now: Instant, rec: &mut Recorder) {
        self.take_note_of_due(end - Nanos(1), now, rec);
    }

    #[inline(always)]
    pub(super) fn take_note_of_due(&mut self, until: Instant, now: Instant, rec: &mut Recorder) {
        let Dispatch { load: Some(load), lanes, policy, .. } = self else { return };
        let mut is_any = false;
        load.advance(until, |arrival| {
            is_any = true;
            lanes[policy.origins.of(arrival.operation)].falls_due(&arrival, policy.own, now);
            rec.due(&arrival);
        });
        if is_any {
            lanes.iter_mut().for_each(|lane| lane.note_overslept(now));
        }
    }
}

impl Lane {
    #[inline(always)] // for each arrival
    fn falls_due(&mut self, arrival: &Arrival, own: Option<OwnJourneys>, now: Instant) {
        match (&mut self.own, own) {
            (Some(line), Some(own)) if own.has(arrival) => match arrival.starts_journey() {
                true => line.oversleep_starts.falls_due(arrival, now),
                false => line.oversleep_following.falls_due(arrival, now),
            },
            _ => self.oversleep.falls_due(arrival, now),
        }
    }

    #[inline(always)]
    fn note_overslept(&mut self, now: Instant) {
        self.oversleep.note(self.woke_for_due, now);
        if let Some(own) = &mut self.own {
            own.oversleep_starts.note(true, now);
            own.oversleep_following.note(true, now);
        }
    }
}
