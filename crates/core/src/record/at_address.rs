//! Noting where arrivals ended, by the address of the connection that carried their last attempt.

use super::by_address::{AddressRecord, ByAddress, OfOrigin};
use super::{Flight, Recorder};
use crate::outcome::Outcome;
use crate::time::Instant;

impl Recorder {
    /// Keeps records by address for the origins for which `several` is true.
    pub fn with_addresses(mut self, several: impl Iterator<Item = bool>) -> Recorder {
        let origins: Vec<_> = several.map(|several| several.then(OfOrigin::default)).collect();
        self.by_address = origins.iter().any(Option::is_some).then(|| Box::new(ByAddress(origins)));
        self
    }

    /// The connection in this place goes to the address with this number from now on.
    pub fn goes_to(&mut self, origin: usize, connection: u32, address: u32) {
        let Some(Some(of)) = self.by_address.as_mut().and_then(|all| all.0.get_mut(origin)) else { return };
        let (place, number) = (connection as usize, address as usize);
        if of.of_connection.len() <= place {
            of.of_connection.resize(place + 1, 0);
        }
        if of.each.len() <= number {
            of.each.resize_with(number + 1, AddressRecord::default);
        }
        of.of_connection[place] = address;
    }

    /// The number of the address that this connection goes to; 0 if there is one only.
    #[inline]
    pub fn address_of(&self, origin: usize, connection: u32) -> u32 {
        let Some(all) = &self.by_address else { return 0 };
        let of = all.0.get(origin).and_then(Option::as_ref);
        of.and_then(|of| of.of_connection.get(connection as usize)).copied().unwrap_or(0)
    }

    /// By origin and by the number of the address: empty for an origin with one address. No more is recorded.
    pub fn take_addresses(&mut self) -> Vec<Vec<AddressRecord>> {
        let all = self.by_address.take().map_or_else(Vec::new, |all| all.0);
        all.into_iter().map(|of| of.map_or_else(Vec::new, |of| of.each)).collect()
    }

    /// An arrival has ended at `now`.
    #[inline]
    pub(super) fn note_at_address(&mut self, flight: &Flight, outcome: Outcome, now: Instant) {
        let timeout = self.timeout;
        let Some(of) = self.at_address(flight) else { return };
        let age = now.since(flight.arrival.intended);
        match outcome {
            Outcome::Ok => {
                of.ok += 1;
                of.response.record(age);
            }
            Outcome::Failed(_) => of.failed += 1,
            Outcome::TimedOut => {
                of.timed_out += 1;
                of.censored.record(timeout);
            }
            Outcome::Unfinished => {
                of.unfinished += 1;
                of.censored.record(age);
            }
            Outcome::Unsent => {}
        }
    }

    /// An attempt was not the end of its arrival.
    pub(super) fn note_tried_again(&mut self, flight: &Flight) {
        if let Some(of) = self.at_address(flight).filter(|_| flight.attempt.is_some()) {
            of.tried_again += 1;
        }
    }

    /// The record of the address that a measured arrival was last sent to.
    #[inline]
    fn at_address(&mut self, flight: &Flight) -> Option<&mut AddressRecord> {
        let is_of_one = flight.sent.is_some() && self.is_measured(&flight.arrival);
        let all = self.by_address.as_mut().filter(|_| is_of_one)?;
        let of = all.0.get_mut(self.origins.of(flight.arrival.operation))?.as_mut()?;
        of.each.get_mut(flight.address as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::Arrival;
    use crate::failure::FailureKind;
    use crate::record::{Answer, Bank, RetryCause};
    use crate::time::Nanos;

    const TIMEOUT: Nanos = Nanos(1_000);

    const OK: Answer = Answer::plain(Instant(240));

    fn recorder(several: bool) -> Recorder {
        let recorder = Recorder::new(Box::new(Bank::new(0)), TIMEOUT).with_addresses([several].into_iter());
        let mut recorder = recorder;
        recorder.begin(Instant(0), Nanos(100), Nanos(10_000));
        // The place of the first connection is used again, for another address.
        [(0, 2), (3, 0), (0, 1)].into_iter().for_each(|(place, address)| recorder.goes_to(0, place, address));
        recorder
    }

    fn sent(recorder: &Recorder, intended: u64, connection: u32) -> Flight {
        let at = Some(Instant(intended + 1));
        let arrival = Arrival::single(0, 0, Instant(intended));
        let address = recorder.address_of(0, connection);
        Flight { arrival, sent: at, attempt: at, address, ..Flight::default() }
    }

    #[test]
    fn an_arrival_ends_at_the_address_it_was_sent_to() {
        let mut recorder = recorder(true);
        let [a, b] = [3, 0].map(|connection| sent(&recorder, 200, connection));
        assert_eq!((a.address, b.address), (0, 1));
        let answer = |failure| Answer { failure, ..OK };
        recorder.answered(&a, 3, &answer(None), Instant(250));
        recorder.answered(&b, 0, &answer(None), Instant(900));
        recorder.answered(&b, 0, &answer(Some(FailureKind::STATUS_5XX)), Instant(300));
        // In time for the connection, too late for the arrival; and one of which nothing came.
        recorder.answered(&b, 0, &answer(None), Instant(1_300));
        recorder.timed_out(&b, 0, Instant(1_201));
        recorder.cut_off(&a, 3, Instant(700));
        recorder.turned_away(&a, RetryCause::TryTimeout, Instant(300));
        // What was never sent, what ends a wait for a further attempt, and the warm-up.
        let unsent = Flight { sent: None, attempt: None, ..a };
        recorder.timed_out(&unsent, 0, Instant(1_201));
        recorder.cut_off(&unsent, 0, Instant(700));
        recorder.turned_away(&Flight { attempt: None, ..a }, RetryCause::TryTimeout, Instant(300));
        let early = sent(&recorder, 50, 0);
        recorder.answered(&early, 0, &answer(None), Instant(80));

        let all = recorder.take_addresses();
        let [Ok([first, second, third])] = [<&[AddressRecord; 3]>::try_from(&all[0][..])] else {
            panic!("three addresses: {all:?}")
        };
        let counts = |of: &AddressRecord| [of.ok, of.failed, of.timed_out, of.unfinished, of.tried_again];
        assert_eq!(counts(first), [1, 0, 0, 1, 1]);
        assert_eq!(counts(second), [1, 1, 2, 0, 0]);
        assert_eq!(*third, AddressRecord::default());
        assert_eq!((first.response.max_ns, second.response.max_ns), (50, 700));
        assert_eq!((first.censored.max_ns, second.censored.sum_ns), (500, 2 * u128::from(TIMEOUT.0)));
        let mut both = first.clone();
        both.add(second);
        assert_eq!(counts(&both), [2, 1, 2, 1, 1]);
        assert_eq!((both.response.count(), both.censored.count()), (2, 3));
    }

    #[test]
    fn nothing_is_kept_of_an_only_address() {
        let mut recorder = recorder(false);
        let flight = sent(&recorder, 200, 0);
        recorder.answered(&flight, 0, &OK, Instant(250));
        assert!(recorder.take_addresses().iter().all(Vec::is_empty));
    }
}
