//! Which request of a journey came after which answer, from actions and events alone.

use std::collections::HashMap;
use unblink_core::dispatch::FlightId;
use unblink_core::time::Instant;

/// Of an arrival's number, what says of which unit it is; above that is how many requests of the unit came before.
const UNIT: u64 = (1 << 48) - 1;

#[derive(Default)]
pub(crate) struct Chains {
    flights: HashMap<FlightId, u64>,
    /// By unit: how many of its requests were answered as expected, and when the last of them was.
    good: HashMap<u64, (u64, Instant)>,
    /// The operation of the step that redirected requests are of, by theirs.
    pub(super) steps: HashMap<u32, u32>,
    /// By unit: the operation of the step of the last request that was sent.
    operations: HashMap<u64, u32>,
    /// By unit: the last request that was sent, and as which flight.
    latest: HashMap<u64, (u64, FlightId)>,
    /// Requests that followed an answer, second sends not counted.
    pub(crate) followed: u64,
    /// Of these, those that an answer had sent elsewhere.
    pub(crate) redirected: u64,
}

impl Chains {
    pub(super) fn sent(&mut self, now: Instant, flight: FlightId, operation: u32, arrival: u64) {
        let (unit, before) = (arrival & UNIT, arrival >> 48);
        self.flights.insert(flight, arrival);
        let latest = self.latest.insert(unit, (arrival, flight));
        if let Some((_, given_up)) = latest.filter(|(last, _)| *last == arrival) {
            // Where it can't be cancelled, that an attempt was given up is not seen, and its answer is nobody's.
            self.flights.remove(&given_up);
            self.good.entry(unit).and_modify(|(good, _)| *good = before.min(*good));
        }
        let (good, at) = self.good.get(&unit).copied().unwrap_or_default();
        assert_eq!(good, before, "unit {unit} asks before its answer is there");
        assert!(now >= at, "unit {unit} asks before its answer has come");
        let of_step = self.steps.get(&operation).copied().unwrap_or(operation);
        let last = self.operations.insert(unit, of_step);
        assert!(last.is_none_or(|last| last <= of_step), "unit {unit} goes back a step");
        self.followed += u64::from(before > 0);
        self.redirected += u64::from(of_step != operation);
    }

    pub(super) fn answered(&mut self, now: Instant, flight: FlightId, is_good: bool) {
        let Some(arrival) = self.flights.remove(&flight).filter(|_| is_good) else { return };
        self.good.insert(arrival & UNIT, ((arrival >> 48) + 1, now));
    }
}
