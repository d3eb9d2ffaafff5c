//! What the generator itself may have added to an arrival's time.

use super::{Flight, PAUSE_FROM, Recorder, Series};
use crate::time::{Instant, Nanos};

impl Recorder {
    /// The worker last looked at the clock at `from` and then at `until`, `away` later than it was to.
    pub fn note_absence(&mut self, from: Instant, until: Instant, away: Nanos) {
        if away >= PAUSE_FROM {
            self.absences.note(from, until, away);
        }
    }

    /// Looks, after everything that happened at `now`, whether the worker has caught up with its latest absence.
    #[inline]
    pub fn look_at_absences(&mut self, now: Instant) {
        if self.absences.is_catching_up() {
            self.absences.look(now);
        }
    }

    #[inline]
    pub(super) fn note_ended(&mut self, flight: &Flight, answered: bool) {
        self.note_over(flight);
        if self.absences.is_catching_up() {
            self.absences.ended(flight.arrival.intended, answered);
        }
    }

    /// How much of the time from the intended start of `flight` to `until` may be the generator's own: its lateness,
    /// its absences, and all of it when nothing else kept the arrival from being sent.
    pub(super) fn own_part(&self, flight: &Flight, until: Instant) -> Nanos {
        let intended = flight.arrival.intended;
        match flight.sent.map(|sent| sent.min(until)) {
            Some(sent) => {
                let before = flight.late(sent).max(self.absences.within(intended, sent));
                let after = self.absences.within(sent, until) + flight.late_again;
                (before + after).min(until.since(intended))
            }
            None if flight.is_kept() => self.absences.within(intended, until),
            None => until.since(intended),
        }
    }

    /// Of an arrival that took `took`, `own` of it the generator's, and was recorded with no more than `recorded`.
    pub(super) fn note_hindered(&mut self, own: Nanos, took: Nanos, recorded: Nanos) {
        if own >= PAUSE_FROM {
            self.bank.track_mut(Series::Hindered).record(recorded);
            self.bank.track_mut(Series::Unhindered).record((took - own.min(took)).min(recorded));
        }
    }
}
