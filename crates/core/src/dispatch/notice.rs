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
        self.quiet_until = Instant(0);
        self.take_note_of_due(end - Nanos(1), now, rec);
    }

    /// What has fallen due until then is counted, and waits.
    #[inline(always)] // into what follows an answer
    pub(super) fn take_note_of_due(&mut self, until: Instant, now: Instant, rec: &mut Recorder) {
        let Dispatch { load: Some(load), lanes, policy, binds, .. } = self else { return };
        let mut is_any_late = false;
        load.advance(until, |arrival| {
            let lane = &mut lanes[policy.origins.of(arrival.operation)];
            is_any_late |= match *binds {
                false => lane.oversleep.falls_due(&arrival, now),
                true => lane.falls_due(&arrival, policy.own.or(policy.held), now),
            };
            rec.due(&arrival);
        });
        if is_any_late {
            lanes.iter_mut().for_each(Lane::note_overslept);
        }
    }
}

impl Lane {
    /// The same as [`Oversleep::falls_due`](super::overslept::Oversleep::falls_due), in the line that the arrival waits in.
    #[inline(never)] // off the way of arrivals that take any connection
    fn falls_due(&mut self, arrival: &Arrival, bound: Option<OwnJourneys>, now: Instant) -> bool {
        match (&mut self.own, bound) {
            (Some(line), Some(own)) if own.has(arrival) => match arrival.starts_journey() {
                true => line.oversleep_starts.falls_due(arrival, now),
                false => line.oversleep_following.falls_due(arrival, now),
            },
            (None, Some(held)) if arrival.follows() && held.has(arrival) => {
                self.oversleep_held.falls_due(arrival, now)
            }
            _ => self.oversleep.falls_due(arrival, now),
        }
    }

    fn note_overslept(&mut self) {
        self.oversleep.note(self.woke_for_due);
        self.oversleep_held.note(true);
        if let Some(own) = &mut self.own {
            own.oversleep_starts.note(true);
            own.oversleep_following.note(true);
        }
    }
}
