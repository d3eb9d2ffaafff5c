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

    /// The worker runs a script between its sockets: of the time in which an arrival waited for a connection, what passed while
    /// the worker was away is its own lateness. Connections may have been usable then, and nobody looked.
    pub fn with_own_waits(mut self, has_own_waits: bool) -> Recorder {
        self.has_own_waits = has_own_waits;
        self
    }

    /// How much of the time until `flight` was sent at `sent` is the generator's own lateness.
    #[inline]
    pub(super) fn late(&self, flight: &Flight, sent: Instant) -> Nanos {
        let late = flight.late(sent);
        let total = sent.since(flight.arrival.intended);
        if !self.has_own_waits || late >= total {
            return late;
        }
        let from = flight.arrival.intended.max(flight.noticed);
        (late + self.absences.within(from, flight.ready.min(sent))).min(total)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::Arrival;
    use crate::record::Bank;

    /// A target that lets nobody in is not excused by a busy machine, unless that took most of the time.
    #[test]
    fn what_was_never_sent_is_the_generators_doing_only_if_most_of_its_wait_was() {
        let at = |ms| Instant(0) + Nanos::from_millis(ms);
        let counted = |away_ms, unaccepted| {
            let mut recorder = Recorder::new(Box::new(Bank::new(1)), Nanos::from_millis(300));
            recorder.begin(Instant(0), Nanos::ZERO, Nanos::from_secs(1));
            recorder.note_absence(at(20), at(20 + away_ms), Nanos::from_millis(away_ms));
            let arrival = Arrival::single(0, 0, at(10));
            let flight = Flight { arrival, noticed: at(11), unaccepted, ..Flight::default() };
            recorder.timed_out(&flight, 0, at(310));
            let outcomes = &recorder.bank.counters.measured;
            assert_eq!((outcomes.timed_out, outcomes.timed_out_never_sent), (1, 1));
            (outcomes.timed_out_never_sent_own, outcomes.timed_out_hindered)
        };
        assert_eq!([20, 40, 140, 160].map(|ms| counted(ms, true)), [(0, 0), (0, 1), (0, 1), (1, 1)]);
        assert_eq!(counted(20, false), (1, 1), "nothing else kept it");
    }

    #[test]
    fn who_runs_a_script_is_late_while_nobody_looks_for_a_connection() {
        let at = |ms| Instant(0) + Nanos::from_millis(ms);
        let flight = Flight {
            arrival: Arrival::single(0, 0, at(10)),
            noticed: at(11),
            ready: at(40),
            sent: Some(at(42)),
            ..Flight::default()
        };
        let late = |has_own_waits| {
            let recorder = Recorder::new(Box::new(Bank::new(1)), Nanos::from_millis(1_000));
            let mut recorder = recorder.with_own_waits(has_own_waits);
            recorder.note_absence(at(5), at(9), Nanos::from_millis(4));
            recorder.look_at_absences(at(9));
            recorder.note_absence(at(20), at(35), Nanos::from_millis(15));
            recorder.late(&flight, at(42)).0 / 1_000_000
        };
        assert_eq!((late(false), late(true)), (3, 18));
    }
}
