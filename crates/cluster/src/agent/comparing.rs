//! How an agent compares its clock with the coordinator's: it asks, takes the answer that travelled least, and goes by it once the
//! coordinator has signed that this answer was its own.

use super::{Action, Agent, COMPARE_EVERY, State};
use crate::clock::{Probe, Readings};
use crate::message::{Reading, Refusal, Time, ToldTime};

/// Why an agent does not begin that was told another time than the coordinator's.
const FALSE_TIME: &str =
    "what it was told of the time was not said by the coordinator: somebody else speaks on the bus";

/// Questions about the time that are under way.
#[derive(Debug, Default)]
pub(super) struct Compare {
    pub(super) readings: Readings,
    pub(super) asked_at: Option<Time>,
    pub(super) due_at: Time,
    pub(super) unvouched: Option<Unvouched>,
}

/// What was found and may rest on somebody else's word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unvouched {
    at: Time,
    reading: Reading,
    told: ToldTime,
    /// The first of the agent's words in which it says so.
    said_in: Option<u64>,
}

impl Compare {
    /// It is time to ask, and nothing is left open.
    pub(super) fn is_due(&self, now: Time) -> bool {
        now >= self.due_at && self.unvouched.is_none()
    }

    /// What the coordinator is to vouch for, in the agent's word of this number.
    pub(super) fn said_in(&mut self, number: u64) -> Option<ToldTime> {
        let unvouched = self.unvouched.as_mut()?;
        unvouched.said_in.get_or_insert(number);
        Some(unvouched.told)
    }
}

impl Agent {
    pub(super) fn time_answered(&mut self, now: Time, asked_at: Time, at: Time) {
        if self.compare.asked_at != Some(asked_at) {
            return;
        }
        self.heard_at = now;
        self.compare.asked_at = None;
        self.compare.due_at = now;
        self.compare.readings.add(Probe { asked_at, at, heard_at: now });
        let Some((reading, told)) = self.compare.readings.enough() else { return };
        let unvouched = Some(Unvouched { at: now, reading, told, said_in: None });
        self.compare = Compare { due_at: now + COMPARE_EVERY, unvouched, ..Compare::default() };
        self.speak_at = now;
    }

    /// The coordinator has answered a word, and says of which time it was the one who told it.
    pub(super) fn vouched(&mut self, now: Time, answers: u64, time: Option<ToldTime>, out: &mut Vec<Action>) {
        let Some(Unvouched { at, reading, told, said_in }) = self.compare.unvouched else { return };
        let is_true = time == Some(told);
        // A reply to an earlier word says nothing of it.
        let is_false = !is_true && said_in.is_some_and(|said_in| answers >= said_in);
        if is_true || is_false {
            self.compare.unvouched = None;
        }
        match &mut self.state {
            State::Comparing if is_true => (self.state, self.speak_at) = (State::Armed(reading), now),
            State::Comparing if is_false => {
                let reasons = vec![FALSE_TIME.to_string()];
                (self.state, self.speak_at) = (State::Refused(Refusal { reasons, by_target: false }), now);
            }
            // Told, and nothing else: the schedule is never moved. What is false is left out, and so is what only a coordinator could
            // vouch for that has died.
            State::Running(progress) if is_true => {
                progress.reading = reading;
                out.push(Action::Compared { at, reading });
            }
            _ => {}
        }
    }
}
