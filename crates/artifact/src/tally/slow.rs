//! The slowest arrivals of a run.

use super::{SLOWEST_TOTAL, Tally};
use crate::document::SlowArrival;
use unblink_core::code::Code;
use unblink_core::record::{Bank, SlowArrival as Slow};

impl Tally {
    /// Keeps those of an interval that are among the slowest of all.
    pub(super) fn keep_slowest(&mut self, bank: &Bank<u64>) {
        for &slow in bank.slowest.as_slice() {
            let place = self.slowest.partition_point(|kept| kept.response() >= slow.response());
            self.slowest.insert(place, slow);
            self.slowest.truncate(SLOWEST_TOTAL);
        }
    }

    /// As a document lists it.
    pub(super) fn slow_arrival(&self, slow: &Slow) -> SlowArrival {
        let traces = self.header.plan.traces.as_ref().filter(|_| slow.sent.is_some());
        let trace_id = traces.and_then(|traces| traces.trace_id(slow.index));
        SlowArrival {
            trace_link: traces.zip(trace_id.as_deref()).and_then(|(traces, id)| traces.link_to(id)),
            trace_id,
            index: slow.index,
            intended_ns: slow.intended.0,
            sent_ns: slow.sent.map(|sent| sent.0),
            response_ns: slow.response().0,
            operation: self.header.target_name(slow.operation as usize),
            origin: (self.header.origins.len() > 1).then_some(slow.origin),
            share: slow.share.filter(|_| self.header.agents.len() > 1),
            connection: slow.sent.map(|_| slow.connection),
            status: slow.code.filter(|_| self.header.codes.is_none()).map(Code::status),
            code: slow.code.filter(|_| self.header.codes.is_some()).map(|code| self.header.code_name(code)),
            outcome: self.header.outcome_name(slow.outcome),
        }
    }
}
