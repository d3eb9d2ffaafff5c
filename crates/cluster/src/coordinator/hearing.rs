//! What a coordinator answers to what agents say.

use super::member::Member;
use super::{Action, Coordinator, Phase, Task, Then};
use crate::PROTOCOL;
use crate::message::{AgentId, Cause, Next, Offer, Order, Reply, Stage, Status, Time, ToldTime};

/// Names of agents are shorter.
const AGENT_ID_MAX: usize = 64;

impl Coordinator {
    pub(super) fn heard(&mut self, now: Time, from: AgentId, status: Status, out: &mut Vec<Action>) {
        if self.gone.contains(&from) {
            return;
        }
        if let Some(run) = status.run.as_ref().filter(|run| **run != self.task.run) {
            if matches!(status.stage, Stage::Ended(_)) && self.task.fetched.get(&from) == Some(run) {
                return out.push(self.done_before(&from, run));
            }
            return self.is_taken(now, &from, out);
        }
        if !self.members.contains_key(&from) {
            let Stage::Waiting(machine) = &status.stage else { return };
            if machine.after.as_ref().is_some_and(|command| *command != self.task.command) {
                // It waits for the next run of somebody else.
                return;
            }
            if self.task.then == Then::Dismiss {
                if machine.after.is_some() {
                    out.push(self.told(&from, Order::NotNeeded { agent: from.clone() }));
                }
                return;
            }
            if matches!(self.phase, Phase::Failed { .. } | Phase::Over) {
                return;
            }
            // It goes on waiting: another run may want it.
            if let Some(why) = self.no_place(machine) {
                let why = format!("an agent on {} takes no part: {why}", machine.host);
                // Of several runs, it is there for the next one already.
                if machine.after.is_none() && self.turned_away.insert(from, why.clone()).is_none() {
                    out.push(Action::Note(why));
                }
                return;
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
        match member.stage {
            Stage::Armed(reading) => member.compared(now, reading),
            Stage::Ended(_) => drop(member.ended_at.get_or_insert(now)),
            Stage::Running(progress) => {
                member.progress = progress;
                member.compared(now, progress.reading);
            }
            _ => {}
        }
        if member.is_lost {
            // Perhaps it was the coordinator or the bus that stood still, and all was sent as planned.
            let name = member.name();
            out.push(Action::Note(format!(
                "{name} is heard again: what it sent until its lease ended counts"
            )));
            (member.is_lost, member.was_lost) = (false, true);
        }
        let time = status.time.filter(|told| member.was_told(told));
        if let Some(Action::Reply(to, reply)) = self.reply(now, &from, true) {
            out.push(Action::Reply(to, Reply { time, ..reply }));
        }
    }

    /// An agent waits for offers that somebody else signs, and will do so for ever. What it says of a key that is not this one's
    /// belongs to whoever has used the name of this run.
    pub(super) fn not_accepted(&mut self, now: Time, who: &str, run: &str, by: &str, accepts: &[String]) {
        let is_own = run == self.task.run && by == self.task.signed_by;
        let Some(member) = self.members.get(who) else { return };
        if !is_own || !matches!((&self.phase, &member.stage), (Phase::Preparing { .. }, Stage::Waiting(_))) {
            return;
        }
        let (keys, accepts) = (if accepts.len() == 1 { "key" } else { "keys" }, accepts.join(", "));
        let reason = format!(
            "{}: it accepts the {keys} {accepts} (--accept-from), and this run is signed by {by}: start the agent with --accept-from \
             {by}, or the run with the --nkey that the agent accepts",
            member.name()
        );
        self.fail(now, vec![reason], false);
    }

    /// An agent takes part in another run.
    fn is_taken(&mut self, now: Time, who: &AgentId, out: &mut Vec<Action>) {
        let waits = |member: &&Member| matches!(member.stage, Stage::Waiting(_));
        let Some(member) = self.members.get(who).filter(waits) else { return };
        let why = format!(
            "{} takes part in another run of this fleet: give each run a fleet of its own (--fleet)",
            member.name()
        );
        match self.phase {
            Phase::Gathering { .. } => {
                self.members.remove(who);
                self.order.retain(|id| id != who);
                out.push(Action::Note(why));
            }
            Phase::Preparing { .. } => self.fail(now, vec![why], false),
            _ => {}
        }
    }

    /// What an agent is to do, if that is new or it is to be answered.
    pub(super) fn reply(&self, now: Time, to: &AgentId, is_answer: bool) -> Option<Action> {
        let member = self.members.get(to)?;
        let order = self.order_for(now, to, member);
        if order == Order::GoOn && !is_answer {
            return None;
        }
        // Who was lost once has no lease any more: what it would still send is in nobody's account.
        let answers = if member.was_lost || !is_answer { 0 } else { member.number };
        Some(self.said(to, answers, order))
    }

    /// The last word of the run before, which the agent has not heard: it is said once, and a bus may lose it. Said in the name of that
    /// run, since no agent lets go of a record on the word of another one.
    fn done_before(&self, to: &AgentId, run: &str) -> Action {
        let next = match self.task.then {
            Then::Dismiss => Next::Leave,
            Then::Leave | Then::Again | Then::Stay => Next::Run(self.task.command.clone()),
        };
        let (run, order) = (run.to_string(), Order::Done { next });
        let agent = to.clone();
        Action::Reply(to.clone(), Reply { run, agent, answers: 0, order, time: None, lost_by_bus: 0 })
    }

    /// What answers nothing.
    fn told(&self, to: &AgentId, order: Order) -> Action {
        self.said(to, 0, order)
    }

    fn said(&self, to: &AgentId, answers: u64, order: Order) -> Action {
        let (run, agent, lost_by_bus) = (self.task.run.clone(), to.clone(), self.lost_by_bus);
        Action::Reply(to.clone(), Reply { run, agent, answers, order, time: None, lost_by_bus })
    }

    fn order_for(&self, now: Time, to: &AgentId, member: &Member) -> Order {
        match (&self.phase, &member.stage) {
            (Phase::Preparing { .. }, Stage::Waiting(_)) => {
                Order::Offer(Box::new(self.offer(now, to, member)))
            }
            (Phase::Going { start_at }, Stage::Armed(_)) => Order::Go { start_at: *start_at },
            (Phase::Running { .. } | Phase::Over, Stage::Ended(_)) if member.is_complete() => {
                let next = match self.task.then {
                    Then::Again => Next::Run(self.task.command.clone()),
                    Then::Stay => Next::Any,
                    Then::Leave | Then::Dismiss => Next::Leave,
                };
                Order::Done { next }
            }
            (Phase::Running { .. }, Stage::Going | Stage::Running(_)) if member.was_lost => {
                Order::Stop { at: now, cause: Cause::Coordinator, why: "the coordinator had lost it".into() }
            }
            (Phase::Running { stop: Some(stop), .. }, Stage::Going | Stage::Running(_)) => {
                let (at, cause, why) = self.cut.as_ref().unwrap_or(stop);
                Order::Stop { at: *at, cause: cause.clone(), why: why.clone() }
            }
            (
                Phase::Running { .. },
                Stage::Waiting(_) | Stage::Preparing | Stage::Armed(_) | Stage::Refused(_),
            ) => Order::Leave { why: "the run has begun without it".into() },
            (Phase::Failed { why, .. }, _) => Order::Leave { why: why.in_short() },
            _ => Order::GoOn,
        }
    }

    fn offer(&self, now: Time, to: &AgentId, member: &Member) -> Offer {
        let of = self.members.values().map(|member| member.machine.shares).sum();
        let last = member.first + member.machine.shares - 1;
        offer(&self.task, now, to.clone(), (member.first, last, of))
    }

    /// None of this task has more bytes, whoever takes part.
    pub(crate) fn largest_offer(task: &Task) -> Reply {
        let agent = "f".repeat(AGENT_ID_MAX);
        let offer = offer(task, Time::MAX, agent.clone(), (u32::MAX, u32::MAX, u32::MAX));
        let (answers, order) = (u64::MAX, Order::Offer(Box::new(offer)));
        let time = Some(ToldTime { asked_at: Time::MAX, at: Time::MAX });
        Reply { run: task.run.clone(), agent, answers, order, time, lost_by_bus: u32::MAX }
    }
}

fn offer(task: &Task, made_at: Time, agent: AgentId, (first, last, of): (u32, u32, u32)) -> Offer {
    Offer {
        protocol: PROTOCOL,
        version: task.version.clone(),
        made_at,
        agent,
        first,
        last,
        of,
        arguments: task.arguments.clone(),
        part: task.part.clone(),
        files: task.files.clone(),
        run_seed: task.run_seed,
    }
}
