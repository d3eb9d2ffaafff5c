//! An agent on the bus.

use super::{BusError, KEPT_WITHIN, Now, Options, PLACE, TICK, check_fleet, say, thread};
use crate::agent::{Action, Agent, Event, Known};
use crate::message::{AgentId, FromCoordinator, Machine, Order, Reply, Time};
use crate::record::{Outbox, deflated};
use crate::signed::{Signed, SignedError};
use async_nats::{Client, HeaderMap, Subscriber, jetstream};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_stream::StreamExt;

/// From one look at the record to the next.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// For the last word to get to the bus.
const LAST_WORD_WITHIN: Duration = Duration::from_millis(500);

/// An agent that is on the bus until it leaves.
#[derive(Debug)]
pub struct AgentBus {
    record: Passed,
    inputs: UnboundedSender<Input>,
    thread: JoinHandle<()>,
}

/// The record that is passed on, if there is one.
type Passed = Arc<Mutex<Option<Outbox>>>;

#[derive(Debug)]
enum Input {
    Event(Event),
    /// From now on there is a record in this folder, of these files.
    Record(PathBuf, &'static [&'static str]),
    /// This process ends, and why. It waits until that has been said.
    Leave(String, std::sync::mpsc::Sender<()>),
}

impl AgentBus {
    /// Something has happened here.
    pub fn tell(&self, event: Event) {
        // A bus that is gone is heard of by its last action.
        let _ = self.inputs.send(Input::Event(event));
    }

    /// From now on there is a record of these files in `dir`, which is passed on as it grows.
    pub fn record(&self, dir: PathBuf, names: &'static [&'static str]) {
        let _ = self.inputs.send(Input::Record(dir, names));
    }

    /// How late what was recorded has been kept by the bus at the most, up to now.
    pub fn behind(&self, now: Time) -> Time {
        lock(&self.record).as_ref().map_or(0, |outbox| outbox.behind(now))
    }

    /// Says that this agent leaves before it has offered any load, and why. From anywhere, since a signal ends a process whatever it
    /// is doing.
    pub fn leaver(&self) -> impl Fn(String) + Send + 'static + use<> {
        let inputs = self.inputs.clone();
        move |why| {
            let (said, is_said) = std::sync::mpsc::channel();
            if inputs.send(Input::Leave(why, said)).is_ok() {
                // A bus that is gone just now is not waited for.
                let _ = is_said.recv_timeout(LAST_WORD_WITHIN);
            }
        }
    }

    /// Waits until all has been said.
    pub fn end(self) {
        let AgentBus { inputs, thread, .. } = self;
        // Where an error has ended it, nobody else lets its thread go.
        drop(inputs);
        let _ = thread.join();
    }
}

/// Gets onto the bus and waits for an offer, of whose files those that are `known` are not fetched. The word of `trusted` counts.
/// `act` is called on the bus's thread.
///
/// # Errors
/// There is no bus.
pub fn join(
    options: Options,
    id: AgentId,
    machine: Machine,
    known: Known,
    trusted: Vec<String>,
    now: Now,
    act: impl FnMut(Action) + Send + 'static,
) -> Result<AgentBus, BusError> {
    check_fleet(&options.fleet)?;
    let (inputs, heard) = unbounded_channel();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let outbox = Passed::default();
    let record = outbox.clone();
    let life = move || async move {
        let client = match options.connect(format!("unblink agent {id}"), "_INBOX.agent").await {
            Ok(client) => client,
            Err(error) => return drop(ready.send(Err(error))),
        };
        let words = match client.subscribe(options.subject("to", &id)).await {
            Ok(words) => words,
            Err(error) => return drop(ready.send(Err(BusError::Refused(error.to_string())))),
        };
        let _ = ready.send(Ok(()));
        let agent = Agent::new(id.clone(), machine, now()).knowing(known);
        Life {
            options,
            id,
            client,
            agent,
            trusted,
            knows_stranger: false,
            outbox,
            is_unkept: false,
            now,
            act,
        }
        .live(words, heard)
        .await;
    };
    let thread = thread("bus", life)?;
    match is_ready.recv() {
        Ok(Ok(())) => Ok(AgentBus { record, inputs, thread }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(BusError::Refused("its thread has ended".into())),
    }
}

struct Life<A> {
    options: Options,
    id: AgentId,
    client: Client,
    agent: Agent,
    trusted: Vec<String>,
    /// It has been told that somebody else says something.
    knows_stranger: bool,
    outbox: Passed,
    /// The bus keeps nothing of the record, and that has been told.
    is_unkept: bool,
    now: Now,
    act: A,
}

impl<A: FnMut(Action)> Life<A> {
    async fn live(mut self, mut words: Subscriber, mut inputs: UnboundedReceiver<Input>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let mut leaves = None;
            let event = tokio::select! {
                word = words.next() => match word {
                    Some(word) => match self.read(&word.payload) {
                        Some(event) => event,
                        None => continue,
                    },
                    None => Event::Tick,
                },
                input = inputs.recv() => match input {
                    Some(Input::Event(event)) => event,
                    Some(Input::Record(dir, names)) => {
                        *lock(&self.outbox) = Some(Outbox::new(dir, names));
                        let subject = self.options.subject("iv", &self.id);
                        let (client, outbox, now) = (self.client.clone(), self.outbox.clone(), self.now.clone());
                        tokio::task::spawn_local(pass_on(client, subject, outbox, now));
                        continue;
                    }
                    Some(Input::Leave(why, said)) => {
                        leaves = Some(said);
                        Event::Leaving(why)
                    }
                    // Whoever had it is gone.
                    None => return,
                },
                _ = ticks.tick() => Event::Tick,
            };
            let mut actions = Vec::new();
            self.agent.handle((self.now)(), event, &mut actions);
            let unkept = || lock(&self.outbox).as_ref().and_then(|outbox| outbox.unkept((self.now)()));
            if !self.is_unkept
                && self.agent.offers_load()
                && let Some(why) = unkept()
            {
                self.is_unkept = true;
                actions.push(Action::Unkept(why));
            }
            for action in actions {
                match action {
                    Action::Say(said) => {
                        say(&self.client, &self.options.subject("up", &self.id), &said).await
                    }
                    Action::SendAgain => {
                        if let Some(outbox) = lock(&self.outbox).as_mut() {
                            outbox.begin_again();
                        }
                    }
                    Action::Leave(_) => {
                        let _ = tokio::time::timeout(KEPT_WITHIN, self.client.flush()).await;
                        return (self.act)(action);
                    }
                    other => (self.act)(other),
                }
            }
            if let Some(said) = leaves {
                let _ = tokio::time::timeout(LAST_WORD_WITHIN, self.client.flush()).await;
                let _ = said.send(());
            }
        }
    }

    /// What is heard, unless it is nothing that counts.
    fn read(&mut self, payload: &[u8]) -> Option<Event> {
        match serde_json::from_slice(payload).ok()? {
            FromCoordinator::Reply(signed) => match signed.read::<Reply>(&self.trusted) {
                Ok(reply) => Some(Event::Reply(reply)),
                Err(SignedError::Stranger(by)) => self.strange(&signed, by),
                Err(_) => None,
            },
            FromCoordinator::TimeAnswer { run, asked_at, at } => {
                Some(Event::TimeAnswer { run, asked_at, at })
            }
            FromCoordinator::Piece { sha256, offset, data } => {
                let data = BASE64_STANDARD.decode(data).ok()?;
                Some(Event::Piece { sha256, offset, data })
            }
        }
    }

    /// What nobody has signed whose word counts: the likeliest mistake of a first set-up, and one that nobody else could tell.
    fn strange(&mut self, signed: &Signed, by: String) -> Option<Event> {
        if !std::mem::replace(&mut self.knows_stranger, true) {
            let note = format!(
                "what is said to this agent is signed by {by}, whose word does not count here (--accept-from)"
            );
            (self.act)(Action::Note(note));
        }
        // Whoever borrows somebody's key does not make this agent refuse that one's runs.
        let reply = signed.read::<Reply>(std::slice::from_ref(&by)).ok()?;
        let Reply { run, order: Order::Offer(offer), .. } = reply else { return None };
        Some(Event::Stranger { run, agent: offer.agent, by, accepts: self.trusted.clone() })
    }
}

/// Nobody holds it for longer than a look at some files.
fn lock(outbox: &Passed) -> MutexGuard<'_, Option<Outbox>> {
    outbox.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes a record on, piece by piece: the next one once the stream has kept this one.
async fn pass_on(client: Client, subject: String, outbox: Passed, now: Now) {
    let stream = jetstream::new(client);
    loop {
        let next = lock(&outbox).as_mut().map(|outbox| outbox.piece(now()));
        let Some(Ok(Some((place, bytes)))) = next else {
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        };
        let length = bytes.len() as u64;
        let mut headers = HeaderMap::new();
        headers.insert(PLACE, serde_json::to_string(&place).unwrap_or_default().as_str());
        // Writing into memory does not fail.
        let small = deflated(&bytes).unwrap_or_default();
        let kept = async {
            let sent = stream.publish_with_headers(subject.clone(), headers, small.into()).await;
            match sent {
                Ok(kept) => kept.await.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            }
        };
        let kept = tokio::time::timeout(KEPT_WITHIN, kept).await;
        if let (Ok(answer), Some(outbox)) = (&kept, lock(&outbox).as_mut()) {
            match answer {
                Ok(_) => outbox.told(&place, length, now()),
                Err(why) => outbox.refused(why.clone()),
            }
        }
        if !matches!(kept, Ok(Ok(_))) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}
