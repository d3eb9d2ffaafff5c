//! The coordinator's side of a run, as a state machine: `now` and what was heard go in, what to say comes out.

mod fitting;
mod gathering;
mod hearing;
mod member;
mod outcome;
mod running;
mod saved;

use crate::message::{AgentId, Cause, Ended, OfferedFile, Reply, Stage, Status, Time, ToldTime};
pub use fitting::Connections;
use member::Member;
pub use outcome::{AgentPart, FleetOutcome, NotBegun};
pub use saved::{Mark, Saved, SavedMember};
use std::collections::{BTreeMap, BTreeSet};

const MS: Time = 1_000_000;
const SECOND: Time = 1_000 * MS;

/// For agents to come, unless somebody says otherwise.
pub const GATHER_FOR: Time = 60 * SECOND;
/// For agents to come who are not needed any more.
const DISMISS_FOR: Time = 3 * SECOND;
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
/// After the end of the load, planned or earlier, for answers that are under way and for records to come.
const END_WITHIN: Time = 30 * SECOND;
/// For those who are lost to come back with their records, once all others are done.
const RETURN_WITHIN: Time = 10 * SECOND;
/// A bus that does not come back within this is given up, and with it the records that have not come.
const BUS_BACK_WITHIN: Time = 60 * SECOND;
/// From one order to the next while it has not been confirmed.
const SAY_AGAIN: Time = 200 * MS;
/// Who is told to leave hears it for so long.
const LEAVE_FOR: Time = 2 * SECOND;

/// What is to be done together.
#[derive(Clone, Debug)]
pub struct Task {
    /// A name that no other run has.
    pub run: String,
    /// Who signs what agents are told: a public key.
    pub signed_by: String,
    /// The coordinator's build.
    pub version: String,
    /// So many agents take part.
    pub agents: u32,
    /// They are waited for so long.
    pub gather_for: Time,
    /// From the start to the end of the load, and on to the last answer that is waited for.
    pub length: Time,
    /// Of this, from the end of the load on, wherever that is.
    pub drain: Time,
    /// The words after `unblink`.
    pub arguments: Vec<String>,
    /// Which of the runs that they ask for this is, where they ask for several.
    pub part: Option<serde_json::Value>,
    /// The files that they name.
    pub files: Vec<OfferedFile>,
    /// What makes requests of this run unlike those of all others.
    pub run_seed: u64,
    /// A load has at most so many shares.
    pub shares_max: u32,
    /// Requests per second of the whole load at its highest; 0: not known.
    pub per_s_max: u64,
    /// Users of the whole load, of whom each share needs one, if there are users.
    pub users: Option<u64>,
    /// Connections of the whole load.
    pub connections: Connections,
    /// The name of the command, and whether agents have taken part in a run of it before: then no others are wanted.
    pub command: String,
    /// See above.
    pub is_first: bool,
    /// The command has started them itself, on its own machine.
    pub is_local: bool,
    /// What follows for those who come.
    pub then: Then,
    /// Whose record of the run before, which had that name, is here as a whole: who has not heard so hears it now.
    pub fetched: BTreeMap<AgentId, String>,
}

/// What agents are gathered for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Then {
    /// A run, after which they leave.
    #[default]
    Leave,
    /// A run, after which they are to be there again for the next one of the command.
    Again,
    /// A run, after which they are to be there again for whatever comes.
    Stay,
    /// No run: there was one before, and they need not wait for another one.
    Dismiss,
}

/// What a coordinator hears of.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An agent says where it stands.
    Status(AgentId, Status),
    /// An agent does not heed an offer, since the word of who signed it does not count there.
    Stranger {
        /// The agent.
        agent: AgentId,
        /// Of which run.
        run: String,
        /// Who signed it.
        by: String,
        /// Those whose word counts.
        accepts: Vec<String>,
    },
    /// An agent leaves before it has offered any load, and why.
    Left(AgentId, String),
    /// An agent asked for the time and was told it.
    TimeTold(AgentId, ToldTime),
    /// All of an agent's record has come.
    Received(AgentId),
    /// It is to end, and why.
    Stop(Cause, String),
    /// Whoever waits for it wants no more of it, and why: nor is a bus waited for that is gone.
    Interrupt(String),
    /// Is the bus there?
    Bus(bool),
    /// What the bus had kept of records is gone. From now on it keeps what it gets.
    Forgotten,
    /// Something of a record does not come, though the bus is there.
    Missing,
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
    Done(FleetOutcome),
}

/// A coordinator.
#[derive(Debug)]
pub struct Coordinator {
    task: Task,
    phase: Phase,
    members: BTreeMap<AgentId, Member>,
    /// In the order in which they came, which is that of their shares.
    order: Vec<AgentId>,
    /// Who has left in order: what it said before may still come.
    gone: BTreeSet<AgentId>,
    /// Who was told of to the user because there is no place for it.
    turned_away: BTreeMap<AgentId, String>,
    /// Since when the bus is not there, if it is not.
    bus_gone_since: Option<Time>,
    /// How often something of the records was missing there.
    lost_by_bus: u32,
    /// What ended a load that had been stopped before, and was to come to its end by itself.
    cut: Option<(Time, Cause, String)>,
    say_again_at: Time,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Gathering { until: Time },
    Preparing { until: Time },
    Going { start_at: Time },
    Running { start_at: Time, stop: Option<(Time, Cause, String)>, alone_since: Option<Time> },
    Failed { why: NotBegun, until: Time },
    Over,
}

impl Coordinator {
    /// Nobody has come yet.
    pub fn new(task: Task, now: Time) -> Coordinator {
        let phase = match task.then {
            Then::Dismiss => {
                Phase::Failed { why: NotBegun::because("there is no other run"), until: now + DISMISS_FOR }
            }
            _ => Phase::Gathering { until: now.saturating_add(task.gather_for) },
        };
        Coordinator {
            task,
            phase,
            members: BTreeMap::new(),
            order: Vec::new(),
            gone: BTreeSet::new(),
            turned_away: BTreeMap::new(),
            bus_gone_since: None,
            lost_by_bus: 0,
            cut: None,
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

    /// Who takes part in another run asks somebody else.
    pub fn leads(&self, run: &str) -> bool {
        self.task.run == run
    }

    /// The first of an agent's shares, if it takes part.
    pub fn first_share(&self, agent: &str) -> Option<u32> {
        self.members.get(agent).map(|member| member.first).filter(|first| *first > 0)
    }

    /// Those who take part, and whether no more is to come of their records.
    pub fn records(&self) -> impl Iterator<Item = (&AgentId, bool)> {
        let members = self.order.iter().filter_map(|id| Some((id, self.members.get(id)?)));
        members.map(|(id, member)| (id, member.is_lost || member.is_complete()))
    }

    /// How far all have come: arrivals that fell due, whole answers, and agents that are heard.
    pub fn progress(&self) -> (u64, u64, usize) {
        let all = self.members.values().map(|member| member.progress);
        // Whoever is on the bus may say any number.
        let (due, ok) = all.fold((0, 0), |(due, ok): (u64, u64), progress| {
            (due.saturating_add(progress.due), ok.saturating_add(progress.ok))
        });
        (due, ok, self.members.values().filter(|member| !member.is_lost).count())
    }

    /// Takes one event in. What is to be done goes to `out`.
    pub fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Action>) {
        match event {
            Event::Status(from, status) => self.heard(now, from, status, out),
            Event::Stranger { agent, run, by, accepts } => {
                self.not_accepted(now, &agent, &run, &by, &accepts)
            }
            Event::Left(who, why) => self.has_left(now, who, &why, out),
            // Nothing follows from it, and the next one who asks waits.
            Event::TimeTold(to, told) => {
                return self.members.get_mut(&to).into_iter().for_each(|member| member.told(told));
            }
            Event::Received(from) => {
                if let Some(member) = self.members.get_mut(&from) {
                    member.has_sent_all = true;
                }
            }
            Event::Stop(cause, why) => self.stop(now, cause, why),
            Event::Interrupt(why) => {
                self.stop(now, Cause::Coordinator, why);
                self.give_up_bus(now);
            }
            Event::Bus(is_there) => self.bus(now, is_there, out),
            Event::Forgotten => self.ask_again("the bus has lost what it kept", out),
            Event::Missing => self.ask_again("of a record something is missing", out),
            Event::Tick => {}
        }
        self.go_on(now, out);
    }

    fn bus(&mut self, now: Time, is_there: bool, out: &mut Vec<Action>) {
        match (self.bus_gone_since, is_there) {
            (None, false) => {
                self.bus_gone_since = Some(now);
                out.push(Action::Note("the bus is gone: load ends within 5 s unless it comes back".into()));
            }
            (Some(_), true) => {
                self.bus_gone_since = None;
                out.push(Action::Note("the bus is back".into()));
            }
            _ => {}
        }
    }

    /// Each answer says so from now on, until all of the records are here.
    fn ask_again(&mut self, why: &str, out: &mut Vec<Action>) {
        self.lost_by_bus += 1;
        // They come anew, and are waited for anew.
        if let Phase::Running { alone_since, .. } = &mut self.phase {
            *alone_since = None;
        }
        if self.start_at().is_some() {
            out.push(Action::Note(format!("{why}; agents send their records again")));
        }
    }

    fn fail(&mut self, now: Time, reasons: Vec<String>, by_target: bool) {
        self.fail_for(now, NotBegun { reasons, by_target, guard: None });
    }

    fn fail_for(&mut self, now: Time, why: NotBegun) {
        // Who has confirmed a start leaves once that has passed, with a record in which nothing is.
        let from = if let Phase::Going { start_at } = self.phase { now.max(start_at) } else { now };
        self.phase = Phase::Failed { why, until: from + LEAVE_FOR };
        self.say_again_at = now;
    }

    /// What follows from the time and from where all stand.
    fn go_on(&mut self, now: Time, out: &mut Vec<Action>) {
        match self.phase.clone() {
            Phase::Gathering { until } => self.gather(now, until),
            Phase::Preparing { until } => self.prepare(now, until),
            Phase::Going { start_at } => self.begin(now, start_at),
            Phase::Running { start_at, .. } => self.run(now, start_at, out),
            Phase::Failed { why, until } if now >= until => {
                self.phase = Phase::Over;
                out.push(Action::Done(FleetOutcome::NotBegun(why)));
            }
            Phase::Failed { .. } | Phase::Over => {}
        }
        if now >= self.say_again_at {
            self.say_again_at = now + SAY_AGAIN;
            let all: Vec<Action> = self.order.iter().filter_map(|to| self.reply(now, to, false)).collect();
            out.extend(all);
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
        let too_much = self.too_much(first - 1);
        if !too_much.is_empty() {
            return self.fail(now, too_much, false);
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
                reasons.push(format!("{} went silent before the start: {}", member.name(), self.anew()));
            } else if now >= until {
                let helps = match self.task.is_local {
                    true => "this machine may have too much to do: start fewer agents",
                    false => "its own log says why",
                };
                let within = PREPARE_FOR / SECOND;
                reasons.push(format!("{} was not ready within {within} s: {helps}", member.name()));
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
                Stage::Ended(Ended { error: Some(why), .. })
                | Stage::Ended(Ended { stopped_by: Some((_, why)), .. }) => {
                    reasons.push(format!("{}: {why}", member.name()))
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
}

#[cfg(test)]
pub(crate) mod tests;
