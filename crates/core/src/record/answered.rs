//! What only some answers bring: each off the way of the others.

use super::{Answer, Flight, Recorder, Series};
use crate::outcome::Outcome;
use crate::time::{Instant, Nanos};

impl Recorder {
    /// Its answer is too late, or not as expected.
    #[inline(never)]
    pub(super) fn answered_in_vain(
        &mut self,
        flight: &Flight,
        connection: u32,
        answer: &Answer,
        now: Instant,
    ) -> Outcome {
        let arrival = &flight.arrival;
        if answer.code.is_some() && self.is_apart(arrival) {
            self.places(arrival).each(&mut self.bank, |record| record.answered(answer));
        }
        match answer.failure.filter(|_| now.since(arrival.intended) <= self.timeout) {
            Some(kind) => self.note_failed(flight, connection, kind, answer.code, now),
            None => {
                self.censor_events(flight, arrival.intended + self.timeout, true);
                self.too_late(flight, connection, answer.code, now, now)
            }
        }
    }

    /// What is counted of an `ok` answer by operation, load and origin.
    #[inline(never)]
    pub(super) fn answered_apart(
        &mut self,
        flight: &Flight,
        answer: &Answer,
        response: Nanos,
        service: Nanos,
    ) {
        let (places, is_after_load) = (self.places(&flight.arrival), self.is_after_load(&flight.arrival));
        places.each(&mut self.bank, |record| {
            record.answered(answer);
            record.outcomes.ok += 1;
            record.outcomes.ok_after_load += u64::from(is_after_load);
        });
        places.record(&mut self.bank, Series::Response, response);
        places.record(&mut self.bank, Series::Service, service);
    }

    /// Its last byte came so much later than its first one.
    #[inline(never)]
    pub(super) fn answered_in_pieces(&mut self, service: Nanos, transfer: Nanos) {
        self.bank.track_mut(Series::Service).record(service);
        self.bank.track_mut(Series::FirstByte).record(service - transfer);
        self.bank.track_mut(Series::Transfer).record(transfer);
    }

    #[inline(never)]
    pub(super) fn answered_hindered(&mut self, flight: &Flight, response: Nanos, now: Instant) {
        self.note_hindered(self.own_part(flight, now), response, response);
    }
}
