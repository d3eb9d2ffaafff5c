//! The coordinator's side of a run, as a state machine: `now` and what was heard go in, what to say comes out.

mod member;
mod outcome;

use crate::PROTOCOL;
use crate::message::{AgentId, Offer, OfferedFile, Order, Reply, Stage, Status, Time};
use member::Member;
pub use outcome::{NotBegun, Outcome, Part};
use std::collections::BTreeMap;

const MS: Time = 1_000_000;
const SECOND: Time = 1_000 * MS;

/// For agents to come.
pub const GATHER_FOR: Time = 60 * SECOND;
/// For agents to make ready.
const PREPARE_FOR: Time = 120 * SECOND;
/// From the decision to begin to the schedule's zero.
const START_AHEAD: Time = 2_500 * MS;
/// So long before the start all must have confirmed that they heard of it.
const CONFIRMED_BEFORE: Time = 500 * MS;
/// Of whom nothing was heard for so long is lost. Its load has ended a second ago.
pub const LOST_AFTER: Time = 6 * SECOND;
/// From the decision to stop to the stop: by then all have heard of it.
const STOP_AHEAD: Time = SECOND;
/// After the planned end, for answers that are under way and for records to come.
const END_WITHIN: Time = 30 * SECOND;
/// For those who are lost to come back with their records, once all others are done.
const RETURN_WITHIN: Time = 10 * SECOND;
/// From one order to the next while it has not been confirmed.
const SAY_AGAIN: Time = 200 * MS;
/// Who is told to leave hears it for so long.
const LEAVE_FOR: Time = 2 * SECOND;

/// What is to be done together.
#[derive(Clone, Debug)]
pub struct Task {
    /// A name that no other run has.
    pub run: String,
    /// The coordinator's build.
    pub version: String,
    /// So many agents take part.
    pub agents: u32,
    /// From the start to the end of the load, and on to the last answer that is waited for.
    pub length: Time,
    /// The words after `unblink run`.
    pub arguments: Vec<String>,
    /// The files that they name.
    pub files: Vec<OfferedFile>,
    /// What makes requests of this run unlike those of all others.
    pub run_seed: u64,
    /// A load has at most so many shares.
    pub shares_max: u32,
}

/// What a coordinator hears of.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An agent says where it stands.
    Status(AgentId, Status),
    /// All of an agent's record has come.
    Received(AgentId),
    /// Somebody wants it to end.
    Stop(String),
    /// Is the bus there?
    Bus(bool),
    /// Time has passed.
    Tick,
}

/// What a coordinator is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Say this to an agent.
    Reply(AgentId, Reply),
    /// Tell the user.
    Note(String),
    /// It is over.
    Done(Outcome),
}

/// A coordinator.
#[derive(Debug)]
pub struct Coordinator {
    task: Task,
    phase: Phase,
    members: BTreeMap<AgentId, Member>,
    /// In the order in which they came, which is that of their shares.
    order: Vec<AgentId>,
    has_bus: bool,
    say_again_at: Time,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Gathering { until: Time },
    Preparing { until: Time },
    Going { start_at: Time },
    Running { start_at: Time, stop: Option<(Time, String)>, alone_since: Option<Time> },
    Failed { why: NotBegun, until: Time },
    Over,
}

impl Coordinator {
    /// Nobody has come yet.
    pub fn new(task: Task, now: Time) -> Coordinator {
        Coordinator {
            task,
            phase: Phase::Gathering { until: now + GATHER_FOR },
            members: BTreeMap::new(),
            order: Vec::new(),
            has_bus: true,
            say_again_at: now,
        }
    }

    /// When the load begins, once that is settled.
    pub fn start_at(&self) -> Option<Time> {
        match self.phase {
            Phase::Going { start_at } | Phase::Running { start_at, .. } => Some(start_at),
            _ => None,
        }
    }

    /// The first of an agent's shares, if it takes part.
    pub fn first_share(&self, agent: &str) -> Option<u32> {
        self.members.get(agent).map(|member| member.first).filter(|first| *first > 0)
    }

    /// How far all have come: arrivals that fell due, whole answers, and agents that are heard.
    pub fn progress(&self) -> (u64, u64, usize) {
        let running = self.members.values().filter_map(|member| match &member.stage {
            Stage::Running(progress) => Some(progress),
            _ => None,
        });
        let (due, ok) = running.fold((0, 0), |(due, ok), progress| (due + progress.due, ok + progress.ok));
        (due, ok, self.members.values().filter(|member| !member.is_lost).count())
    }

    /// Takes one event in. What is to be done goes to `out`.
    pub fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Action>) {
        match event {
            Event::Status(from, status) => self.heard(now, from, status, out),
            Event::Received(from) => {
                if let Some(member) = self.members.get_mut(&from) {
                    member.has_sent_all = true;
                }
            }
            Event::Stop(why) => self.stop(now, why),
            Event::Bus(is_there) => self.has_bus = is_there,
            Event::Tick => {}
        }
        self.go_on(now, out);
    }

    fn heard(&mut self, now: Time, from: AgentId, status: Status, out: &mut Vec<Action>) {
        if status.run.as_ref().is_some_and(|run| *run != self.task.run) {
            return;
        }
        if !self.members.contains_key(&from) {
            let Stage::Waiting(machine) = &status.stage else { return };
            if let Some(why) = self.no_place(machine) {
                out.push(Action::Note(format!("an agent on {} takes no part: {why}", machine.host)));
                return out.push(self.leave(&from, why));
            }
            out.push(Action::Note(format!(
                "agent {} of {}: {} with {} {}",
                self.order.len() + 1,
                self.task.agents,
                machine.host,
                machine.shares,
                if machine.shares == 1 { "share" } else { "shares" }
            )));
            self.members.insert(from.clone(), Member::new(machine.clone(), now));
            self.order.push(from.clone());
        }
        let Some(member) = self.members.get_mut(&from) else { return };
        if status.number <= member.number {
            return;
        }
        (member.number, member.heard_at, member.stage) = (status.number, now, status.stage);
        if member.is_lost {
            out.push(Action::Note(format!("{} is heard again; its load has ended meanwhile", member.name())));
            (member.is_lost, member.was_lost) = (false, true);
        }
        let reply = self.reply(now, &from, true);
        out.extend(reply);
    }

    /// Why an agent that comes can't take part.
    fn no_place(&self, machine: &crate::message::Machine) -> Option<String> {
        if machine.protocol != PROTOCOL || machine.version != self.task.version {
            return Some(format!(
                "it is unblink {}, and the coordinator is unblink {}: use the same build",
                machine.version, self.task.version
            ));
        }
        let is_gathering = matches!(self.phase, Phase::Gathering { .. });
        let has_place = is_gathering && self.order.len() < self.task.agents as usize;
        (!has_place)
            .then(|| "the run has all its agents; whoever is started again belongs to no run".to_string())
    }

    fn leave(&self, to: &AgentId, why: String) -> Action {
        Action::Reply(
            to.clone(),
            Reply { run: self.task.run.clone(), answers: 0, order: Order::Leave { why } },
        )
    }

    /// What an agent is to do, if that is new or it is to be answered.
    fn reply(&self, now: Time, to: &AgentId, is_answer: bool) -> Option<Action> {
        let member = self.members.get(to)?;
        let order = self.order_for(now, to, member);
        if order == Order::GoOn && !is_answer {
            return None;
        }
        // Who was lost once has no lease any more: what it would still send is in nobody's account.
        let answers = if member.was_lost || !is_answer { 0 } else { member.number };
        Some(Action::Reply(to.clone(), Reply { run: self.task.run.clone(), answers, order }))
    }

    fn order_for(&self, now: Time, to: &AgentId, member: &Member) -> Order {
        match (&self.phase, &member.stage) {
            (Phase::Preparing { .. }, Stage::Waiting(_)) => {
                Order::Offer(Box::new(self.offer(now, to, member)))
            }
            (Phase::Going { start_at }, Stage::Armed(_)) => Order::Go { start_at: *start_at },
            (Phase::Running { .. } | Phase::Over, Stage::Ended(ended))
                if member.has_sent_all || ended.files.is_empty() =>
            {
                Order::Done
            }
            (Phase::Running { .. }, Stage::Going | Stage::Running(_)) if member.was_lost => {
                Order::Stop { at: now, why: "the coordinator had lost it".into() }
            }
            (Phase::Running { stop: Some((at, why)), .. }, Stage::Going | Stage::Running(_)) => {
                Order::Stop { at: *at, why: why.clone() }
            }
            (
                Phase::Running { .. },
                Stage::Waiting(_) | Stage::Preparing | Stage::Armed(_) | Stage::Refused(_),
            ) => Order::Leave { why: "the run has begun without it".into() },
            (Phase::Failed { why, .. }, _) => Order::Leave { why: why.reasons.join("; ") },
            _ => Order::GoOn,
        }
    }

    fn offer(&self, now: Time, to: &AgentId, member: &Member) -> Offer {
        let of = self.members.values().map(|member| member.machine.shares).sum();
        Offer {
            protocol: PROTOCOL,
            version: self.task.version.clone(),
            made_at: now,
            agent: to.clone(),
            first: member.first,
            last: member.first + member.machine.shares - 1,
            of,
            arguments: self.task.arguments.clone(),
            files: self.task.files.clone(),
            run_seed: self.task.run_seed,
        }
    }

    fn stop(&mut self, now: Time, why: String) {
        match &mut self.phase {
            Phase::Gathering { .. } | Phase::Preparing { .. } => self.fail(now, vec![why], false),
            // Whoever has heard of the start begins, and then hears of the stop.
            Phase::Going { start_at } => {
                let start_at = *start_at;
                let at = start_at.max(now + STOP_AHEAD);
                self.phase = Phase::Running { start_at, stop: Some((at, why)), alone_since: None };
            }
            Phase::Running { stop: stop @ None, .. } => {
                *stop = Some((now + STOP_AHEAD, why));
                self.say_again_at = now;
            }
            _ => {}
        }
    }

    fn fail(&mut self, now: Time, reasons: Vec<String>, by_target: bool) {
        self.phase = Phase::Failed { why: NotBegun { reasons, by_target }, until: now + LEAVE_FOR };
        self.say_again_at = now;
    }

    /// What follows from the time and from where all stand.
    fn go_on(&mut self, now: Time, out: &mut Vec<Action>) {
        match self.phase.clone() {
            Phase::Gathering { until } => self.gather(now, until),
            Phase::Preparing { until } => self.prepare(now, until),
            Phase::Going { start_at } => self.begin(now, start_at),
            Phase::Running { start_at, stop, alone_since } => self.run(now, start_at, stop, alone_since, out),
            Phase::Failed { why, until } if now >= until => {
                self.phase = Phase::Over;
                out.push(Action::Done(Outcome::NotBegun(why)));
            }
            Phase::Failed { .. } | Phase::Over => {}
        }
        if now >= self.say_again_at {
            self.say_again_at = now + SAY_AGAIN;
            let all: Vec<Action> = self.order.iter().filter_map(|to| self.reply(now, to, false)).collect();
            out.extend(all);
        }
    }

    fn gather(&mut self, now: Time, until: Time) {
        // Who goes away before the run makes room for another one.
        let is_here = |member: &Member| now.saturating_sub(member.heard_at) <= LOST_AFTER;
        self.members.retain(|_, member| is_here(member));
        let members = &self.members;
        self.order.retain(|id| members.contains_key(id));
        if self.order.len() == self.task.agents as usize {
            return self.deal(now);
        }
        if now >= until {
            let reason = format!(
                "{} of {} agents came within {} s: start the others (unblink agent)",
                self.order.len(),
                self.task.agents,
                GATHER_FOR / SECOND
            );
            self.fail(now, vec![reason], false);
        }
    }

    /// Gives each its shares, in the order in which they came.
    fn deal(&mut self, now: Time) {
        let mut first = 1;
        for id in &self.order {
            if let Some(member) = self.members.get_mut(id) {
                member.first = first;
                first += member.machine.shares;
            }
        }
        if first - 1 > self.task.shares_max {
            let reason = format!(
                "the agents have {} shares together, and a load has at most {}: start fewer agents, or with fewer --shares",
                first - 1,
                self.task.shares_max
            );
            return self.fail(now, vec![reason], false);
        }
        self.phase = Phase::Preparing { until: now + PREPARE_FOR };
        self.say_again_at = now;
    }

    fn prepare(&mut self, now: Time, until: Time) {
        let (mut reasons, mut by_target) = (Vec::new(), false);
        for member in self.members.values() {
            if let Stage::Refused(refusal) = &member.stage {
                by_target |= refusal.by_target;
                reasons.push(format!("{}: {}", member.name(), refusal.reasons.join("; ")));
            } else if now.saturating_sub(member.heard_at) > LOST_AFTER {
                reasons.push(format!("{} went silent before the start", member.name()));
            } else if now >= until {
                reasons.push(format!("{} was not ready within {} s", member.name(), PREPARE_FOR / SECOND));
            }
        }
        // Who is merely not ready yet is no reason while another one may still be.
        if !reasons.is_empty() {
            return self.fail(now, reasons, by_target);
        }
        if self.members.values().all(|member| matches!(member.stage, Stage::Armed(_))) {
            self.phase = Phase::Going { start_at: now + START_AHEAD };
            self.say_again_at = now;
        }
    }

    fn begin(&mut self, now: Time, start_at: Time) {
        let mut reasons = Vec::new();
        let mut all = true;
        for member in self.members.values() {
            match &member.stage {
                Stage::Going | Stage::Running(_) => {}
                Stage::Refused(refusal) => {
                    reasons.push(format!("{}: {}", member.name(), refusal.reasons.join("; ")))
                }
                _ => all = false,
            }
            if !matches!(member.stage, Stage::Going | Stage::Running(_)) && now + CONFIRMED_BEFORE >= start_at
            {
                reasons.push(format!("{} did not confirm the start in time", member.name()));
            }
        }
        if !reasons.is_empty() {
            return self.fail(now, reasons, false);
        }
        if all {
            self.phase = Phase::Running { start_at, stop: None, alone_since: None };
        }
    }

    fn run(
        &mut self,
        now: Time,
        start_at: Time,
        stop: Option<(Time, String)>,
        alone_since: Option<Time>,
        out: &mut Vec<Action>,
    ) {
        let overdue = now > start_at + self.task.length + END_WITHIN;
        for member in self.members.values_mut() {
            let is_over = matches!(member.stage, Stage::Ended(_)) && member.is_complete();
            let is_silent = now.saturating_sub(member.heard_at) > LOST_AFTER;
            if !member.is_lost && !is_over && (is_silent || overdue) {
                member.is_lost = true;
                out.push(Action::Note(format!("{} is lost: nothing was heard of it for 6 s", member.name())));
            }
        }
        if stop.is_none() {
            let stopped = self.members.values().find_map(|member| match &member.stage {
                Stage::Ended(ended) => {
                    ended.stopped_by.as_ref().map(|why| format!("{}: {why}", member.name()))
                }
                _ => None,
            });
            if let Some(why) = stopped {
                out.push(Action::Note(format!("stopping all agents: {why}")));
                self.stop(now, why);
            }
        }
        let others = self.members.values().all(|member| member.is_complete() || member.is_lost);
        let alone_since = match others && self.has_bus {
            true => Some(alone_since.unwrap_or(now)),
            false => None,
        };
        if let Phase::Running { alone_since: of_phase, .. } = &mut self.phase {
            *of_phase = alone_since;
        }
        let all = self.members.values().all(Member::is_complete);
        if all || alone_since.is_some_and(|since| now >= since + RETURN_WITHIN) {
            let parts = self.order.iter().filter_map(|id| Some((id, self.members.get(id)?)));
            let parts = parts.map(|(id, member)| member.part(id.clone())).collect();
            let stopped = match &self.phase {
                Phase::Running { stop, .. } => stop.clone().map(|(_, why)| why),
                _ => None,
            };
            // The last word that each hears.
            let last: Vec<Action> = self.order.iter().filter_map(|to| self.reply(now, to, false)).collect();
            out.extend(last);
            self.phase = Phase::Over;
            out.push(Action::Done(Outcome::Run { parts, stopped }));
        }
    }
}

#[cfg(test)]
mod tests;
