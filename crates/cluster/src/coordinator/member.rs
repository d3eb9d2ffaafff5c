//! What a coordinator knows of one agent.

use super::AgentPart;
use crate::agent::SCRIPT_STOPS;
use crate::message::{AgentId, Cause, Ended, Machine, Progress, Reading, Stage, Time, ToldTime};
use std::collections::VecDeque;

/// Comparisons of a clock that are kept: those of a week. Of later ones the last.
const CLOCKS_MAX: usize = 10_080;

/// Answers about the time that are remembered: an agent goes by one of its last 32, of which a bus loses some.
const TOLD_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct Member {
    pub(super) machine: Machine,
    /// Its first share, from 1, once shares are dealt.
    pub(super) first: u32,
    /// Of the last word that was heard.
    pub(super) number: u64,
    pub(super) heard_at: Time,
    pub(super) stage: Stage,
    /// How far it had come when it last said so.
    pub(super) progress: Progress,
    /// How its clock compared when it last said so, and all comparisons after the first one.
    pub(super) clock: Option<Reading>,
    pub(super) clocks: Vec<(Time, Reading)>,
    /// When it was heard first that its run is over.
    pub(super) ended_at: Option<Time>,
    /// Nothing is heard of it any more.
    pub(super) is_lost: bool,
    /// It is heard, and does not come to its end.
    pub(super) is_overdue: bool,
    /// It was lost once: its load is no longer part of the run.
    pub(super) was_lost: bool,
    pub(super) has_sent_all: bool,
    /// What it was told of the time.
    pub(super) told: VecDeque<ToldTime>,
}

impl Member {
    pub(super) fn new(machine: Machine, now: Time) -> Member {
        let stage = Stage::Waiting(machine.clone());
        Member {
            machine,
            first: 0,
            number: 0,
            heard_at: now,
            stage,
            progress: Progress::default(),
            clock: None,
            clocks: Vec::new(),
            ended_at: None,
            is_lost: false,
            is_overdue: false,
            was_lost: false,
            has_sent_all: false,
            told: VecDeque::new(),
        }
    }

    /// How people call it.
    pub(super) fn name(&self) -> String {
        let last = self.first + self.machine.shares - 1;
        match (self.first, self.machine.shares) {
            (0, _) => format!("an agent on {}", self.machine.host),
            (first, 1) => format!("the agent on {} with share {first}", self.machine.host),
            (first, _) => format!("the agent on {} with shares {first}–{last}", self.machine.host),
        }
    }

    /// Its part of a rate, where streams stay whole: the first shares have one more.
    pub(super) fn part_of(&self, per_s: u64, shares: u32, streams: u32) -> u64 {
        let (each, more) = (streams / shares.max(1), streams % shares.max(1));
        let own = self.first..self.first + self.machine.shares;
        let own: u64 = own.map(|share| u64::from(each + u32::from(share <= more))).sum();
        (u128::from(per_s) * u128::from(own)).div_ceil(u128::from(streams.max(1))) as u64
    }

    /// It was told this time.
    pub(super) fn told(&mut self, told: ToldTime) {
        self.told.truncate(TOLD_MAX - 1);
        self.told.push_front(told);
    }

    /// It was told that time, and by nobody else.
    pub(super) fn was_told(&self, told: &ToldTime) -> bool {
        self.told.contains(told)
    }

    /// Takes in how its clock compares, as it says now.
    pub(super) fn compared(&mut self, now: Time, reading: Reading) {
        // Whoever takes a run up does not know whether what is heard first is the first.
        if self.clock.replace(reading).is_some_and(|before| before != reading) {
            self.clocks.truncate(CLOCKS_MAX - 1);
            self.clocks.push((now, reading));
        }
    }

    /// Why all others are to end their load, if it has ended its own or asks for the end.
    pub(super) fn stops(&self) -> Option<(Cause, String)> {
        match &self.stage {
            // One that could not go on keeps nothing of its part.
            Stage::Ended(Ended { stopped_by: None, error: Some(why), .. }) => {
                Some((Cause::Coordinator, why.clone()))
            }
            Stage::Ended(ended) => ended.stopped_by.clone(),
            Stage::Running(progress) if progress.asks_to_stop => Some((Cause::Enough, SCRIPT_STOPS.into())),
            _ => None,
        }
    }

    /// Its record could not be kept, it has said so for longer than `time`, and not all of it has come.
    pub(super) fn is_unkept_for(&self, now: Time, time: Time) -> bool {
        let is_unkept = matches!(&self.stage, Stage::Ended(ended) if ended.is_unkept());
        is_unkept && self.ended_at.is_some_and(|at| now > at + time)
    }

    /// It is over, and all of its record has come.
    pub(super) fn is_complete(&self) -> bool {
        match &self.stage {
            Stage::Ended(ended) => self.has_sent_all || ended.files.is_empty(),
            Stage::Refused(_) => true,
            _ => false,
        }
    }

    pub(super) fn part(&self, agent: AgentId) -> AgentPart {
        let ended = match &self.stage {
            Stage::Ended(ended) => Some(ended.clone()),
            _ => None,
        };
        AgentPart {
            agent,
            machine: self.machine.clone(),
            first: self.first,
            last: self.first + self.machine.shares - 1,
            is_lost: self.is_lost || !self.is_complete(),
            clocks: self.clocks.clone(),
            ended,
        }
    }
}
