//! A coordinator on the bus.

mod fitting;
mod records;

use super::stream::{Gathered, Kept, Since};
use super::{BusError, Now, Options, TICK, check_fleet, say, thread};
use crate::coordinator::{Action, Coordinator, Event, FleetOutcome, Mark, Saved, Task};
use crate::message::{AgentId, Cause, FromAgent, FromCoordinator, Stage, Time, ToldTime};
use crate::record::{Inbox, PIECE_BYTES_MAX, Whole};
use crate::signed;
use async_nats::connection::State;
use async_nats::{Client, Message, Subscriber};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio_stream::StreamExt;

/// From one look at how far all have come to the next.
const TELL_EVERY: u32 = 10;
/// So many pieces of records wait here to be kept; the others wait on the bus.
const PIECES_MAX: usize = 256;

/// What a coordinator needs to know.
pub struct Coordinating {
    /// What is to be done.
    pub task: Task,
    /// Who says so.
    pub signer: KeyPair,
    /// What agents may fetch, by its SHA-256.
    pub files: Arc<BTreeMap<String, Vec<u8>>>,
    /// Records go into folders of their own in there.
    pub records: PathBuf,
    /// What a record consists of.
    pub names: &'static [&'static str],
    /// A run that another coordinator has begun, if this one takes it up.
    pub resumed: Option<Resumed>,
    /// Keeps what a coordinator that comes after this one needs to know; `None` once nobody needs it any more. Called on the bus's
    /// thread.
    pub keep: Keep,
}

/// See [`Coordinating::keep`].
pub type Keep = Box<dyn FnMut(Option<&Resumed>) -> std::io::Result<()> + Send>;

/// What a coordinator needs in order to take up a run that another one has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// How the run stands.
    pub saved: Saved,
    /// Where it begins in what the bus keeps.
    pub since: Since,
    /// How often it has been taken up so far.
    pub times: u32,
}

/// What is told of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// A line for the user.
    Note(String),
    /// How far it has come.
    Progress {
        /// When load begins or began, by the coordinator's clock; none while that is open.
        start_at: Option<Time>,
        /// From when on nothing falls due, if that was settled before the planned end.
        stop_at: Option<Time>,
        /// Arrivals that fell due.
        due: u64,
        /// Whole answers.
        ok: u64,
        /// Agents that are heard.
        heard: usize,
        /// Of each agent that takes part.
        records: Vec<Record>,
        /// Pieces of these that brought nothing new, since all of them comes again.
        again: u64,
    },
    /// It is over. With the folders of the records that have come, each with the agent whose it is.
    Done(FleetOutcome, Vec<(AgentId, PathBuf)>),
    /// The records can't be kept.
    Broken(String),
}

/// The record of an agent, as far as it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its folder, once something is in there.
    pub dir: Option<PathBuf>,
    /// No more is waited for.
    pub is_over: bool,
}

/// A coordinator on the bus.
#[derive(Debug)]
pub struct CoordinatorBus {
    inputs: UnboundedSender<Event>,
    thread: JoinHandle<()>,
}

impl CoordinatorBus {
    /// Ends the load of all.
    pub fn stop(&self, cause: Cause, why: String) {
        let _ = self.inputs.send(Event::Stop(cause, why));
    }

    /// The same for whoever wants no more of it: a bus that is gone is not waited for.
    pub fn interrupt(&self, why: String) {
        let _ = self.inputs.send(Event::Interrupt(why));
    }

    /// The same as [`CoordinatorBus::stop`] from elsewhere.
    pub fn stopper(&self) -> impl Fn(Cause, String) + Clone + Send + 'static + use<> {
        let inputs = self.inputs.clone();
        move |cause, why| drop(inputs.send(Event::Stop(cause, why)))
    }

    /// Waits until all has been said.
    pub fn end(self) {
        let _ = self.thread.join();
    }
}

/// Gets onto the bus and gathers agents. `tell` is called on the bus's thread.
///
/// # Errors
/// There is no bus, or it keeps no streams.
pub fn coordinate(
    options: Options,
    coordinating: Coordinating,
    now: Now,
    tell: impl FnMut(Told) + Send + 'static,
) -> Result<CoordinatorBus, BusError> {
    check_fleet(&options.fleet)?;
    let (inputs, heard) = unbounded_channel();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let life = move || async move {
        let begun = async {
            let client = options.connect("unblink run".into(), "_INBOX.operator").await?;
            // Whoever takes a run up has nothing to offer any more.
            if coordinating.resumed.is_none() {
                let max = client.server_info().max_payload;
                fitting::check(&coordinating.task, &coordinating.signer, max)?;
            }
            let refused = |what: &str, why: String| BusError::Refused(format!("{what}: {why}"));
            let words = client
                .subscribe(options.subject("up", "*"))
                .await
                .map_err(|error| refused("it lets nobody listen", error.to_string()))?;
            let run = &coordinating.task.run;
            let left = coordinating.resumed.as_ref().map(|resumed| (resumed.since, resumed.times));
            let records = Kept::open(&client, &options, run, left)
                .await
                .map_err(|error| {
                    refused(
                        "it keeps no stream (JetStream), or this key may not have one (--nkey takes the operator's)",
                        error.to_string(),
                    )
                })?;
            Ok((client, words, records))
        };
        let (client, words, (records, other)) = match begun.await {
            Ok(begun) => begun,
            Err(error) => return drop(ready.send(Err(error))),
        };
        let _ = ready.send(Ok(()));
        let Coordinating { task, signer, files, records: dir, names, resumed, keep } = coordinating;
        let machine = match &resumed {
            Some(resumed) => Coordinator::resume(task, &resumed.saved, now()),
            None => Coordinator::new(task, now()),
        };
        let machine = Rc::new(RefCell::new(machine));
        // Of another stream it is said below, and then kept together with what follows from that.
        let since = resumed.as_ref().map_or(records.since(), |resumed| resumed.since);
        let times = resumed.map_or(0, |resumed| resumed.times + 1);
        let kept = Handed { keep, since, times, mark: None };
        let (pieces, gathered) = channel(PIECES_MAX);
        other.into_iter().for_each(|other| drop(pieces.try_send(Gathered::Lost(other))));
        tokio::task::spawn_local(records.gather(pieces));
        let inboxes = BTreeMap::new();
        let asked_at = None;
        let mut life =
            Life { options, client, machine, signer, files, dir, names, inboxes, asked_at, kept, now, tell };
        life.find_gathered();
        life.live(words, heard, gathered).await;
    };
    let thread = thread("bus", life)?;
    match is_ready.recv() {
        Ok(Ok(())) => Ok(CoordinatorBus { inputs, thread }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(BusError::Refused("its thread has ended".into())),
    }
}

struct Life<T> {
    options: Options,
    client: Client,
    machine: Rc<RefCell<Coordinator>>,
    signer: KeyPair,
    files: Arc<BTreeMap<String, Vec<u8>>>,
    dir: PathBuf,
    names: &'static [&'static str],
    inboxes: BTreeMap<AgentId, (Inbox, PathBuf)>,
    /// When all were asked last to send their records again.
    asked_at: Option<Time>,
    kept: Handed,
    now: Now,
    tell: T,
}

/// What a coordinator that comes after this one would take up.
struct Handed {
    keep: Keep,
    since: Since,
    times: u32,
    /// Of what was kept last.
    mark: Option<Mark>,
}

impl Handed {
    /// Keeps how the run stands, if that has changed.
    fn keep(&mut self, machine: &Coordinator) -> std::io::Result<()> {
        let mark = Some(machine.mark());
        if mark == self.mark {
            return Ok(());
        }
        if let Some(saved) = machine.saved() {
            (self.keep)(Some(&Resumed { saved, since: self.since, times: self.times }))?;
        }
        self.mark = mark;
        Ok(())
    }
}

impl<T: FnMut(Told)> Life<T> {
    async fn live(
        mut self,
        mut words: Subscriber,
        mut inputs: UnboundedReceiver<Event>,
        mut gathered: Receiver<Gathered>,
    ) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let (mut count, mut bus) = (0u32, true);
        loop {
            let events = tokio::select! {
                word = words.next() => match word {
                    Some(word) => self.heard(word).await.unwrap_or_default(),
                    None => Vec::new(),
                },
                Some(gathered) = gathered.recv() => match gathered {
                    Gathered::Piece(piece) => self.keep(*piece).await.into_iter().collect(),
                    Gathered::Lost(since) => {
                        (self.kept.since, self.asked_at) = (since, Some((self.now)()));
                        vec![Event::Forgotten]
                    }
                    Gathered::Note(note) => {
                        (self.tell)(Told::Note(note));
                        Vec::new()
                    }
                },
                Some(input) = inputs.recv() => vec![input],
                _ = ticks.tick() => {
                    count += 1;
                    self.read_on();
                    if count.is_multiple_of(TELL_EVERY) {
                        self.tell_progress();
                    }
                    let is_there = self.client.connection_state() == State::Connected;
                    match std::mem::replace(&mut bus, is_there) == is_there {
                        true => vec![Event::Tick],
                        false => vec![Event::Bus(is_there)],
                    }
                }
            };
            for event in events {
                if self.act(event).await {
                    return;
                }
            }
        }
    }

    /// Is it over?
    async fn act(&mut self, event: Event) -> bool {
        let mut actions = Vec::new();
        self.machine.borrow_mut().handle((self.now)(), event, &mut actions);
        // Before anybody hears of it.
        if let Err(error) = self.kept.keep(&self.machine.borrow()) {
            (self.tell)(Told::Broken(format!(
                "the run could not be taken up if this process ended: {error}"
            )));
        }
        let mut done = None;
        for action in actions {
            match action {
                Action::Note(note) => (self.tell)(Told::Note(note)),
                Action::Done(outcome) => done = Some(outcome),
                Action::Reply(to, reply) => match signed::sign(&reply, &self.signer) {
                    Ok(signed) => {
                        let subject = self.options.subject("to", &to);
                        say(&self.client, &subject, &FromCoordinator::Reply(signed)).await;
                    }
                    Err(error) => (self.tell)(Told::Broken(format!("can't sign: {error}"))),
                },
            }
        }
        let Some(outcome) = done else { return false };
        let _ = tokio::time::timeout(Duration::from_secs(2), self.client.flush()).await;
        let some = self.inboxes.iter().filter(|(_, (inbox, _))| !inbox.is_empty());
        let folders = some.map(|(agent, (_, dir))| (agent.clone(), dir.clone())).collect();
        let _ = (self.kept.keep)(None);
        (self.tell)(Told::Done(outcome, folders));
        true
    }

    /// What an agent says, as far as the state machine is concerned.
    async fn heard(&mut self, word: Message) -> Option<Vec<Event>> {
        let heard_at = (self.now)();
        let agent = word.subject.rsplit('.').next()?.to_string();
        let to = self.options.subject("to", &agent);
        match serde_json::from_slice(&word.payload).ok()? {
            FromAgent::Status(status) => {
                let ends = match &status.stage {
                    Stage::Ended(ended) => Some((ended.files.clone(), ended.is_unkept())),
                    _ => None,
                };
                let mut events = vec![Event::Status(agent.clone(), status)];
                match ends.map(|(ends, is_unkept)| (self.whole(&agent, &ends), is_unkept)) {
                    Some((Whole::Yes, _)) => events.push(Event::Received(agent)),
                    // A bus that keeps nothing would not keep it again either.
                    Some((Whole::Lacks, false)) => events.extend(self.ask_again()),
                    Some((Whole::Lacks, true) | (Whole::NotYet, _)) | None => {}
                }
                Some(events)
            }
            FromAgent::TimeAsk { run, .. } | FromAgent::Fetch { run, .. }
                if !self.machine.borrow().leads(&run) =>
            {
                None
            }
            FromAgent::TimeAsk { run, asked_at } => {
                say(&self.client, &to, &FromCoordinator::TimeAnswer { run, asked_at, at: heard_at }).await;
                Some(vec![Event::TimeTold(agent, ToldTime { asked_at, at: heard_at })])
            }
            FromAgent::Fetch { sha256, offset, .. } => {
                let file = self.files.get(&sha256)?;
                let from = file.get(usize::try_from(offset).ok()?..)?;
                let piece = &from[..from.len().min(PIECE_BYTES_MAX as usize)];
                let data = BASE64_STANDARD.encode(piece);
                say(&self.client, &to, &FromCoordinator::Piece { sha256, offset, data }).await;
                None
            }
            FromAgent::Stranger { run, by, accepts } => {
                Some(vec![Event::Stranger { agent, run, by, accepts }])
            }
            FromAgent::Leaves { why } => Some(vec![Event::Left(agent, why)]),
        }
    }

    fn tell_progress(&mut self) {
        let machine = self.machine.borrow();
        let ((due, ok, heard), start_at) = (machine.progress(), machine.start_at());
        let stop_at = machine.stop_at();
        let records = machine.records().map(|(agent, is_over)| Record {
            dir: self.inboxes.get(agent).filter(|(inbox, _)| !inbox.is_empty()).map(|(_, dir)| dir.clone()),
            is_over,
        });
        let records = records.collect();
        drop(machine);
        let again = self.inboxes.values().map(|(inbox, _)| inbox.again()).sum();
        (self.tell)(Told::Progress { start_at, stop_at, due, ok, heard, records, again });
    }
}
