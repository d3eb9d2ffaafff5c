//! The event loop: what the client asks for goes over the network to the server, and what comes of it goes
//! back, in order of time. The client sees an event when it is neither busy nor paused.

use super::content::{Contents, Says};
use super::random::Random;
use super::server::{Attempt, Server};
use super::watch::{Sight, Watch};
use super::window::Windows;
use super::{NetworkSpec, WorldSpec};
use crate::arrival::Arrival;
use crate::code::Code;
use crate::dispatch::{Action, Actions, Closing, ConnId, ConnectTimes, Event, FlightId, Loss, Room};
use crate::failure::FailureKind;
use crate::record::{Answer, Events, Then};
use crate::time::{Instant, Nanos};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

/// The status of an answer that leads elsewhere.
const FOUND: u16 = 302;

/// What offers load to the world.
pub(super) trait Client {
    /// When it wants to act at the latest.
    fn wake(&mut self) -> Option<Instant>;
    /// How its machine came to its turn, before it is told of anything.
    fn turn(&mut self, turn: Turn);
    /// Takes note of an event and asks for actions.
    fn handle(&mut self, now: Instant, event: Event, out: &mut Actions);
    /// The client's turn has come at `now`; called before it is told of anything, and never while it is away.
    fn reach(&mut self, now: Instant);
    /// The arrival of a flight, and when its journey was to start; none of a client that has no arrivals.
    fn arrival(&self, _flight: FlightId) -> Option<(Arrival, Instant)> {
        None
    }
    /// Nothing more is to fall due from `at` on.
    fn end_load(&mut self, _at: Instant) {}
    /// Nothing is left to do.
    fn is_finished(&self) -> bool;
}

/// The time from a client's last turn to this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn {
    /// When it last looked at the clock, and now.
    pub(super) looked: (Instant, Instant),
    /// From when to when it had nothing to do and waited; empty where it had.
    pub(super) waited: (Instant, Instant),
    /// For how long it was away though it was not asked to wait, or for longer than it was.
    pub(super) away: Nanos,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Request(ConnId, FlightId, u32, Says),
    /// An event of an answer.
    Heard(FlightId),
    Answer(FlightId, u16, Then),
    /// The server resets the connection, and with it whatever is under way there.
    /// The flight is the one whose answer ends there.
    Reset(ConnId, FlightId),
    Connected(ConnId, Nanos),
    Refused(ConnId),
    /// The place of a request that was given up is free.
    Cancelled(FlightId),
    /// There was no request to be sent.
    Unmade(FlightId),
}

#[derive(Debug)]
struct Entry {
    at: Instant,
    sequence: u64,
    what: What,
}

/// The earliest is the greatest, since the heap gives its greatest; of one moment the first comes first.
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// Servers, network and the client's machine.
#[derive(Debug)]
pub(super) struct World<W> {
    /// By origin.
    servers: Vec<Server>,
    contents: Contents,
    room: Room,
    network: NetworkSpec,
    /// Draws the network's jitter.
    random: Random,
    pauses: Option<Windows>,
    cost: Nanos,
    zero: Instant,
    ahead: BinaryHeap<Entry>,
    /// What the client has not looked at yet.
    arrived: VecDeque<(Instant, What)>,
    sequence: u64,
    /// Of each connection to a server that answers in order, by origin and slot: its generation, when its latest answer leaves, and
    /// when it comes.
    turns: BTreeMap<(u8, u32), (u32, Instant, Instant)>,
    /// When the client saw the first event of an answer that is under way.
    heard: HashMap<FlightId, Instant>,
    /// What the client asks for; used again.
    actions: Actions,
    /// Until then the client's processor is busy.
    busy_until: Instant,
    events: u64,
    watch: W,
}

impl<W: Watch> World<W> {
    /// `servers` may be those of `spec` after earlier runs, and `seed` another one.
    pub(super) fn new(
        spec: &WorldSpec,
        servers: Vec<Server>,
        zero: Instant,
        seed: u64,
        watch: W,
    ) -> World<W> {
        World {
            servers,
            contents: Contents::new(spec.content.clone(), zero, seed),
            room: spec.room,
            network: spec.network,
            random: Random::new(seed, 3),
            pauses: spec.generator.pauses,
            cost: spec.generator.cpu_per_event,
            zero,
            ahead: BinaryHeap::new(),
            arrived: VecDeque::new(),
            sequence: 0,
            turns: BTreeMap::new(),
            heard: HashMap::new(),
            actions: Actions::new(),
            busy_until: Instant(0),
            events: 0,
            watch,
        }
    }

    /// Answers of which the client has seen events and no end.
    #[cfg(test)]
    pub(super) fn heard(&self) -> usize {
        self.heard.len()
    }

    /// What a connection takes at once.
    pub(super) fn room(&self) -> Room {
        self.room
    }

    /// Answers come event by event.
    pub(super) fn has_events(&self) -> bool {
        self.servers.iter().any(Server::has_events)
    }

    /// Events that the client and the server have seen.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// The servers as the run has left them.
    pub(super) fn into_servers(self) -> Vec<Server> {
        self.servers
    }

    /// Lets the client act at `now`, whether it wants to or not.
    pub(super) fn tick<C: Client>(&mut self, client: &mut C, now: Instant) {
        self.let_act(client, now);
    }

    /// Runs until `done` says so; gives the time then.
    pub(super) fn run<C: Client>(
        &mut self,
        client: &mut C,
        from: Instant,
        done: impl Fn(&C) -> bool,
    ) -> Instant {
        let mut now = from;
        while !done(client) {
            let mine = self.client_turn(client, now);
            match self.ahead.peek().map(|entry| entry.at) {
                Some(at) if mine.is_none_or(|mine| at <= mine) => {
                    now = now.max(at);
                    self.happen(now);
                }
                _ => {
                    // Without anything ahead and without a wish to wake, a client would wait for ever.
                    let Some(mine) = mine else { return now };
                    now = now.max(mine);
                    let turn = self.turn(client, now);
                    client.turn(turn);
                    client.reach(now);
                    self.let_act(client, now);
                }
            }
        }
        now
    }

    /// When the client acts next, as far as it is known.
    fn client_turn<C: Client>(&self, client: &mut C, now: Instant) -> Option<Instant> {
        let wish = match self.arrived.front() {
            Some(&(at, _)) => at,
            None => client.wake()?,
        };
        let mut turn = wish.max(now).max(self.busy_until);
        if let Some(pauses) = &self.pauses {
            while let Some(end) = pauses.end_of(turn.since(self.zero)).filter(|_| turn >= self.zero) {
                turn = self.zero + end;
            }
        }
        Some(turn)
    }

    /// As the worker of a real run counts it: one that waits does not see that it was away until the time to which it
    /// was to wait.
    fn turn<C: Client>(&self, client: &mut C, now: Instant) -> Turn {
        let from = self.busy_until.max(self.zero);
        let wake = client.wake().unwrap_or(now);
        let until = self.arrived.front().map_or(wake, |&(at, _)| wake.min(at));
        match until > from {
            true => Turn { looked: (from, now), waited: (from, now), away: now.since(wake) },
            false => Turn { looked: (from.min(now), now), waited: (now, now), away: now.since(from) },
        }
    }

    fn let_act<C: Client>(&mut self, client: &mut C, now: Instant) {
        self.events += 1;
        let mut actions = std::mem::take(&mut self.actions);
        let event = match self.arrived.pop_front() {
            None => Event::Tick,
            Some((_, what)) => {
                if let What::Reset(_, flight) = what {
                    // Nothing more comes of its answer.
                    self.heard.remove(&flight);
                }
                let event = self.begun(seen(what, now), now);
                self.told(event, client)
            }
        };
        self.watch.see(now, Sight::Turn(event));
        client.handle(now, event, &mut actions);
        // Each event and each request sent costs the client's processor as much.
        let mut at = now;
        let mut i = 0;
        while i < actions.len() {
            let action = actions[i];
            i += 1;
            at = at + self.cost;
            self.act(action, at, client, &mut actions);
        }
        actions.clear();
        self.actions = actions;
        self.busy_until = at + self.cost;
        if self.watch.ends_load() {
            // What was due by now has fallen due.
            client.end_load(now + Nanos(1));
        }
    }

    /// The first byte of an answer comes with its first event.
    fn begun(&mut self, event: Event, now: Instant) -> Event {
        match event {
            Event::Heard(flight, _) => {
                self.heard.entry(flight).or_insert(now);
            }
            Event::Answered(flight, answer) if !self.heard.is_empty() => {
                let first_byte = self.heard.remove(&flight).unwrap_or(now);
                return Event::Answered(flight, Answer { first_byte, ..answer });
            }
            _ => {}
        }
        event
    }

    /// Whoever makes the requests hears of an answer first.
    fn told<C: Client>(&mut self, event: Event, client: &C) -> Event {
        let Event::Answered(flight, answer) = event else { return event };
        if client.arrival(flight).is_none() || self.watch.hears(answer.code.map_or(0, Code::status)) {
            return event;
        }
        Event::Answered(
            flight,
            Answer { failure: answer.failure.or(Some(FailureKind::SCRIPT_FAILED)), ..answer },
        )
    }

    fn act<C: Client>(&mut self, action: Action, at: Instant, client: &mut C, actions: &mut Actions) {
        self.watch.see(at, Sight::Action(action));
        match action {
            Action::Open(conn) => {
                let there = at + self.delay();
                let (back, accepted) = match self.servers[usize::from(conn.origin)].connect(there) {
                    Attempt::Accepted(back) => (back, true),
                    Attempt::Refused(back) => (back, false),
                };
                let back = back + self.delay();
                let what = if accepted { What::Connected(conn, back.since(at)) } else { What::Refused(conn) };
                self.push(back, what);
            }
            Action::Send { conn, flight, operation, .. } => {
                let mut says = Says::Done;
                if let Some((arrival, began)) = client.arrival(flight) {
                    if !self.watch.makes(&arrival) {
                        return self.arrived.push_back((at, What::Unmade(flight)));
                    }
                    self.watch.see(at, Sight::Sent(arrival, began));
                    says = self.contents.of(&arrival);
                }
                client.handle(at, Event::Sent(flight), actions);
                match self.delay() {
                    // Without a way to go there is nothing to wait for.
                    Nanos::ZERO if self.cost == Nanos::ZERO => {
                        self.serve(conn, (flight, operation, says), at)
                    }
                    delay => self.push(at + delay, What::Request(conn, flight, operation, says)),
                }
            }
            // The server does not learn of either, and works on.
            Action::Cancel { flight, .. } => self.arrived.push_back((at, What::Cancelled(flight))),
            Action::Close(..) => {}
        }
    }

    fn happen(&mut self, now: Instant) {
        let Some(entry) = self.ahead.pop() else { return };
        match entry.what {
            What::Request(conn, flight, operation, says) => {
                self.events += 1;
                self.serve(conn, (flight, operation, says), now);
            }
            what => self.arrived.push_back((now, what)),
        }
    }

    fn serve(&mut self, conn: ConnId, (flight, operation, says): (FlightId, u32, Says), now: Instant) {
        let server = &mut self.servers[usize::from(conn.origin)];
        let turn = server.is_in_order().then(|| {
            let before = self.turns.get(&(conn.origin, conn.slot)).filter(|turn| turn.0 == conn.generation);
            before.map_or_else(Default::default, |&(_, leaves, comes)| (leaves, comes))
        });
        let after: Instant = turn.unwrap_or_default().0;
        let taken = server.request(flight, operation, now, after);
        self.watch.see(now, Sight::Request(taken));
        let what = match taken.status {
            Some(status) => match says.at(taken.ends) {
                then @ Then::Redirected(_) if status == 200 => What::Answer(flight, FOUND, then),
                then => What::Answer(flight, status, then),
            },
            None => What::Reset(conn, flight),
        };
        let mut at = self.send_events(conn, flight).max(taken.ends + self.delay());
        if let Some((_, before)) = turn {
            // Nor does the network change the order.
            at = at.max(before);
            self.turns.insert((conn.origin, conn.slot), (conn.generation, taken.ends, at));
        }
        self.push(at, what);
    }

    /// Gives when the last of the answer's events comes: none overtakes another, nor the end.
    fn send_events(&mut self, conn: ConnId, flight: FlightId) -> Instant {
        let (origin, mut last) = (usize::from(conn.origin), Instant(0));
        for i in 0..self.servers[origin].events().len() {
            last = last.max(self.servers[origin].events()[i] + self.delay());
            self.push(last, What::Heard(flight));
        }
        last
    }

    fn push(&mut self, at: Instant, what: What) {
        self.sequence += 1;
        self.ahead.push(Entry { at, sequence: self.sequence, what });
    }

    /// One way through the network.
    fn delay(&mut self) -> Nanos {
        match self.network.jitter {
            Nanos::ZERO => self.network.latency,
            mean => self.network.latency + self.random.exponential(mean),
        }
    }
}

/// What the client is told.
fn seen(what: What, now: Instant) -> Event {
    match what {
        What::Connected(conn, connect) => Event::Connected(conn, ConnectTimes { connect, tls: None }),
        What::Refused(conn) => Event::ConnectFailed(conn, FailureKind::CONNECT_REFUSED),
        What::Heard(flight) => Event::Heard(flight, Events { events: 1, keep_alives: 0 }),
        What::Cancelled(flight) => Event::Lost(flight, Loss { kind: FailureKind::RESET, unprocessed: false }),
        What::Reset(conn, _) => Event::Closed(conn, Closing { kind: FailureKind::RESET, answered: false }),
        What::Unmade(flight) => {
            Event::Lost(flight, Loss { kind: FailureKind::SCRIPT_FAILED, unprocessed: false })
        }
        What::Answer(flight, status, then) => {
            let failure = FailureKind::of_status(status);
            let answer = Answer {
                failure,
                code: Code::of_status(status),
                body_bytes: 0,
                first_byte: now,
                then,
                reusable: true,
                leaves_open: false,
            };
            Event::Answered(flight, answer)
        }
        What::Request(..) => Event::Tick,
    }
}
