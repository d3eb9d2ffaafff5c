//! What an arrival's request is filled in with, for the protocol.

use unblink_core::arrival::Arrival;
use unblink_core::plan::Plan;
use unblink_core::time::Instant;
use unblink_wire::blank::Filler;
use unblink_workload::{Composer, Values};

/// Draws for the arrivals of a worker, one after the other.
pub(crate) struct Composing<'a> {
    values: &'a Values,
    composer: &'a mut Composer,
}

impl<'a> Composing<'a> {
    /// Draws for an arrival of `plan`, whose schedule began at `start`. None if rows have run out.
    pub(crate) fn begin(
        values: &'a Values,
        composer: &'a mut Composer,
        plan: &Plan,
        arrival: &Arrival,
        start: Instant,
    ) -> Option<Composing<'a>> {
        composer.draw(values, plan, arrival, start).then_some(Composing { values, composer })
    }
}

impl Filler for Composing<'_> {
    fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
        self.composer.write(self.values, place, out);
    }
}
