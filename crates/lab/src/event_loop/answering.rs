//! Answers and events that are due, sent and logged.

use super::EventLoop;
use crate::answer::Answer;
use crate::fault::Ending;
use crate::framer::Request;
use crate::model::Served;
use crate::{EventStream, Protocol, TruthRow};

impl EventLoop {
    pub(super) fn answer_due(&mut self, most: usize) {
        for _ in 0..most {
            let now_ns = self.clock.now_ns();
            let Some(served) = self.model.serve(now_ns) else { return };
            self.finish_request(&served, now_ns);
        }
    }

    /// Sends the answer that is due, or the event.
    fn finish_request(&mut self, served: &Served, now_ns: u64) {
        self.lateness.record(now_ns - served.due_ns);
        let part = served.part();
        if part.is_some() && self.truth.is_some() {
            self.events_ns.entry(served.number).or_default().push(now_ns);
        }
        if part.is_none_or(|part| part.is_last) {
            let connection = self.connection(served.ticket);
            let is_given_up = connection.is_some_and(|connection| connection.is_given_up(served.number));
            let served = &Served { abandoned: served.abandoned || is_given_up, ..*served };
            self.summary.served += 1;
            self.summary.abandoned += u64::from(served.abandoned);
            self.log(served, now_ns);
            if let Some(metrics) = &self.metrics {
                let took_ns = now_ns.saturating_sub(served.slot_ns);
                metrics.count(took_ns, served.ending != Ending::Ok, self.model.in_flight());
            }
        }
        // An abandoned request has no connection any more; its slot may hold another by now.
        let Some(slot) = self.slots.get_mut(served.ticket as u32 as usize) else { return };
        if slot.number != (served.ticket >> 32) as u32 {
            return;
        }
        let Some(connection) = &mut slot.connection else { return };
        if let Some(part) = part {
            connection.part(part);
            return self.advance(served.ticket);
        }
        let Some(request) = connection.take(served.number) else { return };
        match served.ending {
            Ending::Ok if self.answers_json => connection.answer(&Answer::numbered(served.number), request),
            Ending::Ok => connection.answer(&self.answers.scenario, request),
            Ending::Error => connection.answer(&self.answers.failing, request),
            Ending::Reset if connection.reset() => return self.close(served.ticket),
            Ending::Reset => {}
        }
        self.advance(served.ticket);
    }

    pub(super) fn log(&mut self, served: &Served, now_ns: u64) {
        let Some(truth) = &mut self.truth else { return };
        let events_ns = self.events_ns.remove(&served.number).unwrap_or_default();
        let row = TruthRow {
            request: served.number,
            connection: (served.ticket >> 32) as u32,
            arrived_ns: served.arrived_ns,
            slot_ns: served.slot_ns,
            baseline_ns: served.baseline_ns,
            answered_ns: now_ns,
            clock_ns: served.clock_ns,
            abandoned: served.abandoned,
            ending: served.ending,
            events_ns,
        };
        truth.append(now_ns, row);
    }
}

/// How a request of the scenario is answered bit by bit; `None`: whole.
pub(super) fn stream_of(
    request: &mut Request,
    protocol: Protocol,
    events: Option<EventStream>,
) -> Option<EventStream> {
    if protocol == Protocol::Grpc {
        return request.is_stream.then(|| events.unwrap_or_default());
    }
    request.is_stream = events.is_some() && !request.head_only;
    // Only the end of its connection ends such an answer there.
    request.keep_alive &= !(request.is_stream && request.http10);
    events.filter(|_| request.is_stream)
}
