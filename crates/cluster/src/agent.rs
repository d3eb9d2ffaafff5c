//! An agent's side of a run, as a state machine: `now` and what was heard go in, what to do comes out.

mod comparing;
mod fetching;
mod stranger;

use crate::PROTOCOL;
use crate::message::{
    AgentId, Cause, Ended, FromAgent, Machine, Next, Offer, OfferedFile, Order, Progress, Reading, Refusal,
    Reply, Stage, Status, Time,
};
use comparing::Compare;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

const MS: Time = 1_000_000;
const SECOND: Time = 1_000 * MS;

/// Load goes on for so long after the agent's last word that was answered, and no longer.
pub const LEASE: Time = 5 * SECOND;
/// Why load ends with its lease.
pub const SILENT: &str = "the coordinator has gone silent for 5 s";
/// Why load ends when a script asks for that.
pub const SCRIPT_STOPS: &str = "the script has ended the load (thread:stop)";
/// Who hears of the start later than this before it does not begin.
pub const HEARD_BEFORE: Time = 200 * MS;
/// From one word to the next while nothing changes.
pub const SPEAK_EVERY: Time = 500 * MS;
/// What was not answered is asked again.
const ASK_AGAIN: Time = 300 * MS;
/// Clocks are compared again so long after they were.
const COMPARE_EVERY: Time = 60 * SECOND;
/// Without a word for so long there is no coordinator any more, as far as there is no load.
const SILENCE: Time = 20 * SECOND;
/// A record waits for so long to be fetched.
const SILENCE_AT_END: Time = 120 * SECOND;
/// The next run of a command comes within this, or there is none.
const SILENCE_BETWEEN: Time = 3_600 * SECOND;
/// An offer that is older was meant for another time. Clocks of machines may differ by some minutes.
const OFFER_AGE_MAX: Time = 600 * SECOND;

/// What stands in files, by its SHA-256.
pub type Known = BTreeMap<String, Arc<Vec<u8>>>;

/// What an agent hears of.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The coordinator said so, and it was the coordinator.
    Reply(Reply),
    /// There is an offer of somebody whose word does not count, who has truly signed it.
    Stranger {
        /// Of which run.
        run: String,
        /// For whom.
        agent: AgentId,
        /// Who signed it.
        by: String,
        /// Those whose word counts.
        accepts: Vec<String>,
    },
    /// The coordinator's clock was read.
    TimeAnswer {
        /// In which run.
        run: String,
        /// When it was asked for.
        asked_at: Time,
        /// What it read.
        at: Time,
    },
    /// Bytes of a file.
    Piece {
        /// Of which.
        sha256: String,
        /// From where on.
        offset: u64,
        /// The bytes; none means that there is no such file.
        data: Vec<u8>,
    },
    /// The run could begin, or won't.
    Prepared(Result<(), Refusal>),
    /// How far the run has come.
    Progress {
        /// Arrivals that fell due.
        due: u64,
        /// Whole answers.
        ok: u64,
    },
    /// Its script has asked for the end of the load.
    AsksToStop,
    /// The run is over.
    Ended(Ended),
    /// This process ends before it has offered any load, and why.
    Leaving(String),
    /// Time has passed.
    Tick,
}

/// What an agent is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Say this to the coordinator.
    Say(FromAgent),
    /// Make ready, with these files.
    Prepare(Box<Offer>, Vec<Arc<Vec<u8>>>),
    /// Begin.
    Begin {
        /// The schedule's zero by the agent's own clock.
        start_at: Time,
        /// The same by the coordinator's.
        told: Time,
        /// How the two clocks compare.
        reading: Reading,
    },
    /// Send nothing from then on, by the agent's own clock, unless a later time is said first. Whoever sends looks at this by
    /// itself: a process that was stopped may send before it says anything else.
    LeaseUntil(Time),
    /// Let nothing fall due from then on, by the agent's own clock. Said again with a later time where what goes on by itself is to
    /// be cut off then.
    StopLoad {
        /// When; it may have passed.
        at: Time,
        /// What it comes of.
        cause: Cause,
        /// For people.
        why: String,
    },
    /// Keep what the clocks compared to while load went on.
    Compared {
        /// When, by the agent's own clock.
        at: Time,
        /// How they compared.
        reading: Reading,
    },
    /// Pass the record on from its beginning: what the bus had kept of it is gone.
    SendAgain,
    /// End the load: nobody hears what becomes of it, since the bus keeps nothing of the record, and why.
    Unkept(String),
    /// Tell the user.
    Note(String),
    /// There is nothing to do any more.
    Leave(Left),
}

/// Why an agent leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// Its record has been fetched.
    Done(Next),
    /// It did not take part, or was left alone.
    Because(String),
}

/// An agent.
#[derive(Debug)]
pub struct Agent {
    id: AgentId,
    machine: Machine,
    /// What it need not fetch, until it has an offer.
    known: Known,
    run: Option<String>,
    state: State,
    number: u64,
    /// Words that may still be answered, and when they were said.
    said: VecDeque<(u64, Time)>,
    heard_at: Time,
    lease_until: Time,
    /// What was said of it, while there is load.
    lease_told: Option<Time>,
    speak_at: Time,
    compare: Compare,
    /// The earliest end of the load that it was told or found.
    stop_at: Option<Time>,
    /// It was told not to wait for what its load goes on with by itself.
    is_cut: bool,
    /// How often it has heard that the bus has lost what it kept.
    lost_by_bus: u32,
}

#[derive(Debug)]
enum State {
    Waiting,
    Fetching { offer: Box<Offer>, files: Vec<Arc<Vec<u8>>>, ask_at: Time },
    Preparing,
    Comparing,
    Refused(Refusal),
    Armed(Reading),
    Going { start_at: Time, reading: Reading },
    Running(Progress),
    Ended(Ended),
    Left,
}

impl Agent {
    /// An agent that waits for an offer.
    pub fn new(id: AgentId, machine: Machine, now: Time) -> Agent {
        Agent {
            id,
            machine,
            known: Known::new(),
            run: None,
            state: State::Waiting,
            number: 0,
            said: VecDeque::new(),
            heard_at: now,
            lease_until: now,
            lease_told: None,
            speak_at: now,
            compare: Compare::default(),
            stop_at: None,
            is_cut: false,
            lost_by_bus: 0,
        }
    }

    /// It has these of a run before, and fetches no file that is one of them.
    pub fn knowing(self, known: Known) -> Agent {
        Agent { known, ..self }
    }

    /// Takes one event in. What is to be done goes to `out`.
    pub fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Action>) {
        match event {
            Event::Reply(reply) => self.heard(now, reply, out),
            Event::Stranger { run, agent, by, accepts } => self.strange(run, &agent, by, accepts, out),
            // Other runs of the fleet are led by others, with other clocks.
            Event::TimeAnswer { run, asked_at, at } if self.run.as_ref() == Some(&run) => {
                self.time_answered(now, asked_at, at);
            }
            Event::Piece { sha256, offset, data } => self.piece(now, &sha256, offset, &data),
            Event::Prepared(result) => {
                if matches!(self.state, State::Preparing) {
                    self.state = match result {
                        Ok(()) => State::Comparing,
                        Err(refusal) => State::Refused(refusal),
                    };
                    self.speak_at = now;
                }
            }
            Event::Progress { due, ok } => {
                if let State::Running(progress) = &mut self.state {
                    (progress.due, progress.ok) = (due, ok);
                }
            }
            Event::AsksToStop => {
                if let State::Running(progress) = &mut self.state
                    && !progress.asks_to_stop
                {
                    progress.asks_to_stop = true;
                    self.speak_at = now;
                }
            }
            Event::Ended(ended) => {
                if !matches!(self.state, State::Left | State::Ended(_)) {
                    self.state = State::Ended(ended);
                    self.speak_at = now;
                }
            }
            // Whoever counts on it hears of it now, and not by its silence.
            Event::Leaving(why) if !matches!(self.state, State::Left) => {
                self.state = State::Left;
                out.push(Action::Say(FromAgent::Leaves { why }));
            }
            Event::TimeAnswer { .. } | Event::Leaving(_) | Event::Tick => {}
        }
        self.tell_lease(out);
        self.go_on(now, out);
    }

    fn heard(&mut self, now: Time, reply: Reply, out: &mut Vec<Action>) {
        let Reply { run, agent, answers, order, time, lost_by_bus } = reply;
        // Whoever is on the bus can repeat what was said to another one, whose words have the same numbers.
        if agent != self.id {
            return;
        }
        match (&self.run, &order) {
            (None, Order::Offer(offer)) if matches!(self.state, State::Waiting) => {
                let offer = offer.clone();
                return self.offered(now, run, offer);
            }
            (None, Order::NotNeeded { agent }) if self.machine.after.is_some() && *agent == self.id => {
                return self.leave(Left::Because("there is no other run".into()), out);
            }
            (Some(own), _) if *own == run => {}
            _ => return,
        }
        self.heard_at = now;
        if let Some(&(_, said_at)) = self.said.iter().find(|(number, _)| *number == answers) {
            self.lease_until = self.lease_until.max(said_at + LEASE);
            self.said.retain(|(number, _)| *number > answers);
        }
        self.vouched(now, answers, time, out);
        if lost_by_bus > self.lost_by_bus {
            self.lost_by_bus = lost_by_bus;
            out.push(Action::SendAgain);
        }
        match (order, &self.state) {
            (Order::Go { start_at: told }, State::Armed(reading)) => {
                let (reading, start_at) = (*reading, reading.own(told));
                self.speak_at = now;
                if start_at < now + HEARD_BEFORE {
                    let reasons = vec!["it heard of the start too late".to_string()];
                    self.state = State::Refused(Refusal { reasons, by_target: false });
                    return;
                }
                self.state = State::Going { start_at, reading };
                self.compare = Compare { due_at: start_at + COMPARE_EVERY, ..Compare::default() };
                out.push(Action::Begin { start_at, told, reading });
            }
            (Order::Stop { at, cause, why }, State::Going { reading, .. }) => {
                let at = reading.own(at);
                self.stop(at, cause, why, out);
            }
            (Order::Stop { at, cause, why }, State::Running(progress)) => {
                let at = progress.reading.own(at);
                self.stop(at, cause, why, out);
            }
            // Its record remains wanted.
            (Order::Leave { why }, State::Going { .. } | State::Running(_)) => {
                self.stop(now, Cause::Coordinator, why, out)
            }
            (Order::Leave { why }, _) => self.leave(Left::Because(why), out),
            (Order::Done { next }, State::Ended(_)) => self.leave(Left::Done(next), out),
            _ => {}
        }
    }

    /// Load is under way, and nothing has ended it yet.
    pub(crate) fn offers_load(&self) -> bool {
        matches!(self.state, State::Running(_)) && self.stop_at.is_none()
    }

    fn tell_lease(&mut self, out: &mut Vec<Action>) {
        let is_loading = matches!(self.state, State::Going { .. } | State::Running(_));
        if is_loading && self.lease_told != Some(self.lease_until) {
            self.lease_told = Some(self.lease_until);
            out.push(Action::LeaseUntil(self.lease_until));
        }
    }

    fn offered(&mut self, now: Time, run: String, offer: Box<Offer>) {
        // Meant for another process, perhaps one that is no more.
        if offer.agent != self.id {
            return;
        }
        self.run = Some(run);
        (self.heard_at, self.speak_at) = (now, now);
        let mut reasons = Vec::new();
        if offer.protocol != PROTOCOL || offer.version != self.machine.version {
            reasons.push(format!(
                "the coordinator is unblink {}, and this is unblink {}",
                offer.version, self.machine.version
            ));
        }
        if offer.made_at.abs_diff(now) > OFFER_AGE_MAX {
            reasons.push(
                "the offer was made more than 10 minutes ago or ahead by this machine's clock: set the clocks".into(),
            );
        }
        if !(1..=offer.last).contains(&offer.first) || offer.last > offer.of {
            let Offer { first, last, of, .. } = &*offer;
            reasons.push(format!("the offer's shares make no sense: {first} to {last} of {of}"));
        }
        let known = std::mem::take(&mut self.known);
        let has = |file: &OfferedFile| {
            known.get(&file.sha256).filter(|bytes| bytes.len() as u64 == file.bytes).cloned()
        };
        let files = offer.files.iter().map(|file| has(file).unwrap_or_default()).collect();
        self.state = match reasons.is_empty() {
            true => State::Fetching { offer, files, ask_at: now },
            false => State::Refused(Refusal { reasons, by_target: false }),
        };
    }

    /// What follows from the time.
    fn go_on(&mut self, now: Time, out: &mut Vec<Action>) {
        self.fetch(now, out);
        if let State::Going { start_at, reading } = self.state
            && now >= start_at
        {
            self.state = State::Running(Progress { reading, ..Progress::default() });
            self.speak_at = now;
        }
        let is_asking = matches!(self.state, State::Comparing | State::Running(_));
        if is_asking && self.compare.is_due(now) {
            (self.compare.asked_at, self.compare.due_at) = (Some(now), now + ASK_AGAIN);
            let run = self.run.clone().unwrap_or_default();
            out.push(Action::Say(FromAgent::TimeAsk { run, asked_at: now }));
        }
        if matches!(self.state, State::Going { .. } | State::Running(_)) && now >= self.lease_until {
            self.stop(self.lease_until, Cause::Lease, SILENT.into(), out);
        }
        let patience = match self.state {
            State::Fetching { .. }
            | State::Preparing
            | State::Comparing
            | State::Refused(_)
            | State::Armed(_) => Some(SILENCE),
            State::Ended(_) => Some(SILENCE_AT_END),
            State::Waiting => self.machine.after.as_ref().map(|_| SILENCE_BETWEEN),
            State::Going { .. } | State::Running(_) | State::Left => None,
        };
        if patience.is_some_and(|patience| now > self.heard_at + patience) {
            return self.leave(Left::Because("the coordinator has gone silent".into()), out);
        }
        if now >= self.speak_at && !matches!(self.state, State::Left) {
            self.speak(now, out);
        }
    }

    fn speak(&mut self, now: Time, out: &mut Vec<Action>) {
        self.number += 1;
        self.speak_at = now + SPEAK_EVERY;
        self.said.push_back((self.number, now));
        // Older ones can't lengthen a lease any more.
        self.said.retain(|(_, at)| *at + LEASE > now);
        let stage = match &self.state {
            State::Waiting => Stage::Waiting(self.machine.clone()),
            State::Fetching { .. } | State::Preparing | State::Comparing => Stage::Preparing,
            State::Refused(refusal) => Stage::Refused(refusal.clone()),
            State::Armed(reading) => Stage::Armed(*reading),
            State::Going { .. } => Stage::Going,
            State::Running(progress) => Stage::Running(*progress),
            State::Ended(ended) => Stage::Ended(ended.clone()),
            State::Left => return,
        };
        let time = self.compare.said_in(self.number);
        let status = Status { number: self.number, run: self.run.clone(), stage, time };
        out.push(Action::Say(FromAgent::Status(status)));
    }

    fn stop(&mut self, at: Time, cause: Cause, why: String, out: &mut Vec<Action>) {
        let is_earlier = self.stop_at.is_none_or(|earlier| at < earlier);
        if is_earlier || (cause.cuts_off() && !self.is_cut) {
            self.stop_at = Some(self.stop_at.map_or(at, |earlier| at.min(earlier)));
            self.is_cut |= cause.cuts_off();
            out.push(Action::StopLoad { at, cause, why });
        }
    }

    fn leave(&mut self, left: Left, out: &mut Vec<Action>) {
        if !matches!(self.state, State::Left) {
            self.state = State::Left;
            out.push(Action::Leave(left));
        }
    }
}

#[cfg(test)]
mod tests;
