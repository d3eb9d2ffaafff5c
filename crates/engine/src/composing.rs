//! The values that fill in an arrival's request, in the form the protocol asks for.

use unblink_core::arrival::Arrival;
use unblink_core::plan::Plan;
use unblink_core::time::{Instant, Nanos};
use unblink_wire::Whole;
use unblink_wire::blank::Filler;
use unblink_workload::script::Script;
use unblink_workload::{Composer, Values};

/// Draws for the arrivals of a worker, one after the other.
pub(crate) struct Composing<'a> {
    values: &'a Values,
    composer: &'a mut Composer,
}

impl<'a> Composing<'a> {
    /// Draws for an arrival of `plan`, whose schedule began at `start`; its journey was to start at `began`. `None` if the rows have
    /// run out.
    pub(crate) fn begin(
        values: &'a Values,
        composer: &'a mut Composer,
        plan: &Plan,
        arrival: &Arrival,
        (start, began): (Instant, Instant),
    ) -> Option<Composing<'a>> {
        composer.draw_begun(values, plan, arrival, (start, began)).then_some(Composing { values, composer })
    }
}

impl Filler for Composing<'_> {
    fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
        self.composer.write(self.values, place, out);
    }
}

/// Wraps another filler and adds how long the answer will be waited for.
pub(crate) struct Until<'a, F> {
    pub(crate) filler: &'a mut F,
    /// The time left, counted from the send.
    pub(crate) left: Nanos,
}

impl<F: Filler> Filler for Until<'_, F> {
    fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
        self.filler.fill(place, out);
    }

    fn whole(&self) -> Option<Whole> {
        self.filler.whole()
    }

    fn left_ns(&self) -> Option<u64> {
        Some(self.left.0)
    }
}

/// A script's first request, which is rendered already.
pub(crate) struct Ready<'a>(&'a [u8]);

impl<'a> Ready<'a> {
    /// The first request of `script`, if there is one.
    pub(crate) fn first(script: Option<&'a Script>) -> Ready<'a> {
        let all = script.and_then(|script| script.first().first()).map_or(&[][..], Vec::as_slice);
        // Others may follow it.
        Ready(Whole::first(all).map_or(all, |(_, length)| &all[..length]))
    }
}

impl Filler for Ready<'_> {
    fn fill(&mut self, _: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }

    fn whole(&self) -> Option<Whole> {
        Whole::read(self.0).ok()
    }
}
