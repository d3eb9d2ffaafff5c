//! Keeping the slowest arrivals.

use super::{Flight, Recorder, SlowArrival};
use crate::arrival::Arrival;
use crate::code::Code;
use crate::outcome::Outcome;
use crate::time::Instant;

impl Recorder {
    #[inline(always)] // for each request
    pub(super) fn note_slow(
        &mut self,
        flight: &Flight,
        connection: u32,
        code: Option<Code>,
        outcome: Outcome,
        now: Instant,
    ) {
        if self.bank.slowest.would_keep(now.since(flight.arrival.intended), flight.arrival.intended) {
            self.keep_slow(flight, connection, code, outcome, now);
        }
    }

    #[inline(never)]
    fn keep_slow(
        &mut self,
        flight: &Flight,
        connection: u32,
        code: Option<Code>,
        outcome: Outcome,
        now: Instant,
    ) {
        let Arrival { index, operation, intended, .. } = flight.arrival;
        let since_start = |at: Instant| Instant(at.since(self.start).0);
        self.bank.slowest.offer(SlowArrival {
            index,
            operation,
            origin: self.origins.of(operation) as u8,
            share: None,
            intended: since_start(intended),
            sent: flight.sent.map(since_start),
            ended: since_start(now),
            connection,
            code,
            outcome,
        });
    }
}
