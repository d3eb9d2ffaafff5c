//! A worker's script: its requests, rendered ahead where time is left and no answer can be late for it, and what it is told
//! of answers. What it takes is time in which the worker is away.

use super::Worker;
use super::acting::Deferred;
use std::collections::VecDeque;
use unblink_core::code::Code;
use unblink_core::dispatch::{ConnId, FlightId};
use unblink_core::failure::FailureKind;
use unblink_core::load::Load;
use unblink_core::plan::{Plan, highest_together};
use unblink_core::record::Answer;
use unblink_core::time::{Instant, Nanos};
use unblink_wire::Whole;
use unblink_wire::blank::Filler;
use unblink_wire::protocol::Protocol;
use unblink_workload::script::{Acting, Script};

/// Requests are rendered for so many seconds ahead: a script may look at the clock.
const AHEAD_S: f64 = 0.01;
/// And no more than so many, nor so many in one turn.
const AHEAD_MAX: usize = 256;
const AHEAD_PER_TURN: usize = 4;
/// What is due so soon must not wait for what is rendered ahead.
const SOON: Nanos = Nanos::from_micros(50);

/// A request of the script.
#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    /// Nothing if it can't be sent.
    whole: Option<Whole>,
}

impl Filler for &Text {
    fn fill(&mut self, _: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes);
    }

    #[inline]
    fn whole(&self) -> Option<Whole> {
        self.whole
    }
}

pub(super) struct Scripted {
    acting: Acting,
    is_fixed: bool,
    /// The only request that there is.
    fixed: Option<Text>,
    ready: VecDeque<Text>,
    ahead_max: usize,
    /// Buffers that are used again.
    spare: Vec<Text>,
    delays: bool,
}

impl Scripted {
    pub(super) fn new(script: &Script, worker: usize, plan: &Plan) -> Option<Scripted> {
        let ahead_max = match script.is_fixed() || script.hears() {
            // What it is told of an answer may change what it asks next.
            true => 0,
            false => {
                let per_s = highest_together(&plan.spec().load.open_parts()) / f64::from(plan.shares().of);
                ((per_s * AHEAD_S) as usize).clamp(1, AHEAD_MAX)
            }
        };
        let acting = script.take(worker)?;
        let (ready, spare) = (VecDeque::with_capacity(ahead_max), Vec::with_capacity(ahead_max + 1));
        let mut scripted = Scripted {
            acting,
            is_fixed: script.is_fixed(),
            fixed: None,
            ready,
            ahead_max,
            spare,
            delays: script.delays(),
        };
        if scripted.is_fixed {
            scripted.render();
            scripted.fixed = scripted.ready.pop_front();
        }
        Some(scripted)
    }

    /// What the script asks next is ready then: one request, or several that it gives at once. Each of them is for an arrival.
    fn render(&mut self) {
        let mut text = self.spare.pop().unwrap_or_default();
        text.bytes.clear();
        if !self.acting.request(&mut text.bytes) {
            text.whole = None;
            return self.ready.push_back(text);
        }
        // One, as a rule.
        if let Ok(whole) = Whole::read(&text.bytes) {
            text.whole = Some(whole);
            return self.ready.push_back(text);
        }
        match Whole::all(&text.bytes) {
            Ok(all) => {
                let mut at = 0;
                for (whole, length) in all {
                    let mut one = self.spare.pop().unwrap_or_default();
                    one.bytes.clear();
                    one.bytes.extend_from_slice(&text.bytes[at..at + length]);
                    one.whole = Some(whole);
                    self.ready.push_back(one);
                    at += length;
                }
                self.spare.push(text);
            }
            Err(why) => {
                self.acting.fail(format!("request() did not return a request: {why}"));
                text.whole = None;
                self.ready.push_back(text);
            }
        }
    }

    fn next(&mut self) -> Text {
        if let Some(fixed) = self.fixed.take() {
            return fixed;
        }
        if self.ready.is_empty() {
            self.render();
        }
        self.ready.pop_front().unwrap_or_default()
    }

    fn may_render_ahead(&self, awaits_answers: bool, now: Instant, wake: Instant) -> bool {
        is_time_ahead(self.ready.len() < self.ahead_max, awaits_answers, now, wake)
    }

    fn give_back(&mut self, text: Text) {
        match self.is_fixed {
            true => self.fixed = Some(text),
            false => self.spare.push(text),
        }
    }
}

/// An answer that comes while a request is rendered would be read late, and the target would seem slow.
fn is_time_ahead(has_room: bool, awaits_answers: bool, now: Instant, wake: Instant) -> bool {
    !awaits_answers && has_room && now + SOON < wake
}

impl<L: Load, P: Protocol> Worker<L, P> {
    pub(super) fn send_scripted(&mut self, id: ConnId, flight: FlightId, operation: u32) {
        let Some(mut script) = self.script.take() else { return };
        let began = self.pacer.watch().now();
        let text = script.next();
        self.pacer.watch().in_script(began);
        match text.whole {
            Some(_) => self.send_filled(id, flight, operation, &mut &text),
            None => self.deferred.push_back(Deferred::Unscripted(flight)),
        }
        script.give_back(text);
        self.script = Some(script);
        self.heed_script();
    }

    /// As many pauses as users may take before the script is asked again.
    pub(super) fn pause_ahead(&mut self) {
        let Some(script) = self.script.as_mut().filter(|script| script.delays) else { return };
        let Some(pauses) = self.dispatch.pauses() else { return };
        while pauses.len() < pauses.capacity() {
            let began = self.pacer.watch().now();
            let pause = script.acting.delay();
            self.pacer.watch().in_script(began);
            let Some(pause) = pause else { return };
            pauses.push_back(pause);
        }
    }

    /// Renders requests while there is time until `wake`, and no answer is awaited.
    #[inline]
    pub(super) fn render_ahead(&mut self, wake: Instant) {
        if self.script.is_none() {
            return;
        }
        self.pause_ahead();
        let awaits_answers = self.dispatch.awaits_answers();
        let Some(script) = &mut self.script else { return };
        for _ in 0..AHEAD_PER_TURN {
            let now = self.pacer.watch().now();
            if !script.may_render_ahead(awaits_answers, now, wake) {
                return;
            }
            script.render();
            self.pacer.watch().in_script(now);
        }
    }

    /// Tells the script of an answer, before anything follows from it.
    #[inline]
    pub(super) fn told_script(&mut self, flight: FlightId, answer: Answer) -> Answer {
        let Some(script) = &mut self.script else { return answer };
        let Some((head, body)) = self.common.hearing.whole(flight) else { return answer };
        let began = self.pacer.watch().now();
        let is_right = script.acting.response(answer.code.map_or(0, Code::status), head, body);
        self.pacer.watch().in_script(began);
        let failure = match is_right {
            true => answer.failure,
            false => answer.failure.or(Some(FailureKind::SCRIPT_FAILED)),
        };
        self.heed_script();
        Answer { failure, ..answer }
    }

    /// The script may have asked for the end of the load.
    fn heed_script(&mut self) {
        if self.pacer.watch().last() < self.stop
            && self.script.as_ref().is_some_and(|script| script.acting.ends_load())
        {
            self.controls.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_rendered_while_an_answer_is_awaited() {
        let (now, wake) = (Instant(1_000_000), Instant(9_000_000));
        assert!(is_time_ahead(true, false, now, wake));
        assert!(!is_time_ahead(true, true, now, wake), "it would be read late");
        assert!(!is_time_ahead(false, false, now, wake), "enough is ready");
        assert!(!is_time_ahead(true, false, now, now + SOON), "something is due");
    }
}
