//! When an arrival was first seen. If it falls due while nobody looks at the clock, that delay is the generator's own
//! lateness.

use super::lane::Lane;
use super::{Dispatch, Policy};
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
        let (Some(load), mut due) = self.falling_due(now, rec) else { return };
        // Apart from the closure below, so that each has one place that it is inlined into.
        load.advance(end - Nanos(1), |arrival| due.note(&arrival));
        due.end();
    }

    /// What has fallen due until then is counted, and waits.
    #[inline(always)] // into what follows an answer
    pub(super) fn take_note_of_due(&mut self, until: Instant, now: Instant, rec: &mut Recorder) {
        let (Some(load), mut due) = self.falling_due(now, rec) else { return };
        load.advance(until, |arrival| due.note(&arrival));
        due.end();
    }

    #[inline(always)]
    fn falling_due<'a>(
        &'a mut self,
        now: Instant,
        rec: &'a mut Recorder,
    ) -> (Option<&'a mut L>, FallingDue<'a>) {
        let Dispatch { load, lanes, policy, binds, .. } = self;
        (load.as_mut(), FallingDue { lanes, policy, binds: *binds, now, rec, is_any_late: false })
    }
}

/// What one turn finds due.
struct FallingDue<'a> {
    lanes: &'a mut [Lane],
    policy: &'a Policy,
    binds: bool,
    now: Instant,
    rec: &'a mut Recorder,
    is_any_late: bool,
}

impl FallingDue<'_> {
    #[inline(always)] // for each request
    fn note(&mut self, arrival: &Arrival) {
        let lane = &mut self.lanes[self.policy.origins.of(arrival.operation)];
        self.is_any_late |= match self.binds {
            false => lane.oversleep.falls_due(arrival, self.now),
            true => lane.falls_due(arrival, self.policy.own.or(self.policy.held), self.now),
        };
        self.rec.due(arrival);
    }

    #[inline(always)]
    fn end(self) {
        if self.is_any_late {
            self.lanes.iter_mut().for_each(Lane::note_overslept);
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
