//! A small virtual server and network around the real dispatcher and recorder, on virtual time; written apart from
//! `core::sim`, so that the two do not share a misreading.

mod books;
mod journeys;
mod owned;
mod tries;

use books::Books;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use tries::TryBooks;
use unblink_core::code::Code;
use unblink_core::dispatch::{
    Action, Actions, Closing, ConnId, ConnectTimes, Dispatch, Event, FlightId, Loss, Pool, Room,
};
use unblink_core::failure::FailureKind;
use unblink_core::load::Load;
use unblink_core::plan::Plan;
use unblink_core::record::{Answer, Bank, Breach, Recorder, Then};
use unblink_core::time::{Instant, Nanos};

/// How the virtual target behaves. Times in nanoseconds after the schedule's zero.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) baseline: fn(u64) -> u64,
    /// Shut intervals, in order.
    pub(crate) gates: Vec<(u64, u64)>,
    pub(crate) slots: Option<usize>,
    pub(crate) connect_ns: u64,
    /// What a connection takes at once.
    pub(crate) room: Room,
    /// A connection is used for so long.
    pub(crate) age: Option<Nanos>,
    /// Arrivals with even numbers want connections with even places, and others the others.
    pub(crate) routes: bool,
    /// One draw in this many goes wrong; 0: never. See [`World::misfortune`].
    pub(crate) hostile_one_in: u64,
    pub(crate) seed: u64,
}

impl Server {
    pub(crate) fn constant_10ms() -> Server {
        Server {
            baseline: |_| 10_000_000,
            gates: vec![],
            slots: None,
            connect_ns: 0,
            room: Room::SINGLE,
            age: None,
            routes: false,
            hostile_one_in: 0,
            seed: 1,
        }
    }
}

enum Happening {
    Connect(ConnId),
    Refuse(ConnId),
    /// The server is through with a request; it is answered at that time, unless nobody hears of it.
    Finish(Option<FlightId>, u64),
    Answer(FlightId, u16, bool),
    Break(ConnId, bool),
    /// What the server sends breaks the protocol.
    Babble(ConnId, Breach),
    /// A request alone is lost.
    Lose(FlightId, bool),
    /// The place of a request that was cancelled is free.
    Free(FlightId),
    /// It can't be cancelled.
    Keep(FlightId),
    Room(ConnId, u32),
    Retire(ConnId),
}

/// What was sent, as seen from outside the dispatcher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SentRecord {
    pub(crate) at: Instant,
    pub(crate) arrival: u64,
}

pub(crate) struct World {
    server: Server,
    random: u64,
    start: Instant,
    busy: usize,
    queue: VecDeque<(ConnId, FlightId)>,
    heap: BinaryHeap<Reverse<(Instant, u64)>>,
    happenings: HashMap<u64, Happening>,
    sequence: u64,
    pub(crate) sent: Vec<SentRecord>,
    pub(crate) books: Books,
    pub(crate) tries: TryBooks,
    timeout: Nanos,
    /// By operation, those that its answers may send it on to.
    hops: HashMap<u32, Vec<u32>>,
    /// Of flights, what they ask for.
    operations: HashMap<FlightId, u32>,
    /// When each arrival of an open load is intended.
    intended: HashMap<u64, Instant>,
    pub(crate) closed_by_age: u64,
    /// Sent over another connection than the dispatcher had chosen.
    pub(crate) rerouted: u64,
}

/// One worker's whole run. `stop_at` ends it early.
pub(crate) fn run<L: Load>(
    plan: &Plan,
    load: impl FnOnce(Instant) -> L,
    shard: u32,
    server: Server,
    stop_at: Option<Nanos>,
) -> (Box<Bank<u32>>, World) {
    let mut policy = plan.policy(shard);
    policy.room = server.room;
    policy.connection_age = server.age;
    let mut dispatch = Dispatch::new(policy);
    if server.routes {
        dispatch.keep_size();
    }
    let start = Instant(1_000_000_000);
    let bank = Box::new(Bank::new(plan.layout()));
    let mut recorder = Recorder::new(bank, plan.spec().timeout).with_room(server.room.places);
    recorder.begin(start, plan.measured_from(), plan.load_length());
    let (Pool::Auto { max } | Pool::Fixed { n: max }) = plan.pool_of(shard);
    let connections_max = max as usize;
    let mut world = World {
        random: server.seed,
        books: Books::new(server.room, server.age, owned::Owned::of(plan), connections_max),
        tries: TryBooks::new(plan.spec(), server.room),
        timeout: plan.spec().timeout,
        hops: hops(plan),
        operations: HashMap::new(),
        intended: intended(plan, start),
        server,
        start,
        busy: 0,
        queue: VecDeque::new(),
        heap: BinaryHeap::new(),
        happenings: Default::default(),
        sequence: 0,
        sent: vec![],
        closed_by_age: 0,
        rerouted: 0,
    };
    world.books.are_routed = world.server.routes;
    world.books.chains.steps = redirected(plan).collect();
    let mut actions = Actions::new();
    let mut now = Instant(0);
    let mut stop_at = stop_at.map(|s| start + s);
    // A fixed pool is opened before the start.
    dispatch.handle(now, Event::Tick, &mut actions, &mut recorder);
    world.act(now, &mut dispatch, &mut actions, &mut recorder);
    while dispatch.is_prewarming() {
        now = world.step(now, None, &mut dispatch, &mut actions, &mut recorder);
    }
    dispatch.start(load(start));
    now = now.max(start);
    while !dispatch.is_finished() {
        if let Some(stop) = stop_at.filter(|&s| s <= now) {
            dispatch.stop(stop);
            stop_at = None;
        }
        now = world.step(now, stop_at, &mut dispatch, &mut actions, &mut recorder);
        assert!(now.0 < 1 << 60, "the run does not end");
    }
    (recorder.into_bank(now), world)
}

/// By operation, those of redirected requests of the same step.
fn hops(plan: &Plan) -> HashMap<u32, Vec<u32>> {
    let mut all: HashMap<u32, Vec<u32>> = HashMap::new();
    for (_, step) in redirected(plan) {
        let of_step: Vec<u32> = redirected(plan).filter(|(_, of)| *of == step).map(|(hop, _)| hop).collect();
        of_step.iter().chain([&step]).for_each(|&operation| drop(all.insert(operation, of_step.clone())));
    }
    all
}

/// The operations of redirected requests, each with that of its step.
fn redirected(plan: &Plan) -> impl Iterator<Item = (u32, u32)> {
    let operations = 0..plan.spec().idempotent.len() as u32;
    let of_step = |operation| Some((operation, plan.journeys()?.step_of(operation)));
    operations.filter_map(of_step).filter(|(operation, step)| operation != step)
}

/// By the number of the arrival; nothing of closed users.
fn intended(plan: &Plan, start: Instant) -> HashMap<u64, Instant> {
    let Some(schedule) = plan.schedule() else { return HashMap::new() };
    let mut cursor = unblink_core::schedule::Cursor::new(schedule, 0, 1);
    std::iter::from_fn(|| cursor.next(schedule)).map(|(index, d)| (index, start + d)).collect()
}

impl World {
    fn step<L: Load>(
        &mut self,
        now: Instant,
        stop: Option<Instant>,
        dispatch: &mut Dispatch<L>,
        actions: &mut Actions,
        recorder: &mut Recorder,
    ) -> Instant {
        let happening = self.heap.peek().map(|Reverse((at, _))| *at);
        let next = [happening, dispatch.next_wake(), stop].into_iter().flatten().min().expect("a next event");
        let now = now.max(next);
        let event = match happening.filter(|&at| at <= now) {
            None => Event::Tick,
            Some(_) => self.happen(now),
        };
        self.tell(now, event, dispatch, actions, recorder);
        if let Event::Broken(id, breach) = event {
            let closing = Closing { kind: breach.kind, answered: true };
            self.tell(now, Event::Closed(id, closing), dispatch, actions, recorder);
        }
        now
    }

    fn tell<L: Load>(
        &mut self,
        now: Instant,
        event: Event,
        dispatch: &mut Dispatch<L>,
        actions: &mut Actions,
        recorder: &mut Recorder,
    ) {
        self.books.hear(now, &event);
        self.tries.hear(now, &event);
        dispatch.handle(now, event, actions, recorder);
        self.act(now, dispatch, actions, recorder);
        self.books.agree_with(&dispatch.gauges());
    }

    fn at(&mut self, at: Instant, happening: Happening) {
        self.sequence += 1;
        self.heap.push(Reverse((at, self.sequence)));
        self.happenings.insert(self.sequence, happening);
    }

    fn happen(&mut self, now: Instant) -> Event {
        let Some(Reverse((_, key))) = self.heap.pop() else { return Event::Tick };
        match self.happenings.remove(&key).expect("scheduled") {
            Happening::Connect(id) => Event::Connected(id, ConnectTimes::default()),
            Happening::Refuse(id) => Event::ConnectFailed(id, FailureKind::CONNECT_REFUSED),
            Happening::Break(id, answered) => {
                self.free_slot(now);
                Event::Closed(id, Closing { kind: FailureKind::RESET, answered })
            }
            Happening::Babble(id, breach) => {
                self.free_slot(now);
                Event::Broken(id, breach)
            }
            Happening::Finish(id, answered_at) => {
                self.free_slot(now);
                if let Some(id) = id {
                    self.at(Instant(answered_at), Happening::Answer(id, 200, true));
                }
                Event::Tick
            }
            Happening::Answer(id, status, reusable) => {
                let failure = FailureKind::of_status(status);
                let then = self.then(now, id);
                Event::Answered(
                    id,
                    Answer {
                        failure,
                        code: Code::of_status(status),
                        body_bytes: 0,
                        first_byte: now,
                        then,
                        reusable,
                        leaves_open: false,
                    },
                )
            }
            Happening::Lose(id, unprocessed) => {
                self.free_slot(now);
                Event::Lost(id, Loss { kind: FailureKind::RESET, unprocessed })
            }
            Happening::Free(id) => Event::Lost(id, Loss { kind: FailureKind::RESET, unprocessed: false }),
            Happening::Keep(id) => Event::Kept(id),
            Happening::Room(id, places) => Event::Room(id, places),
            Happening::Retire(id) => Event::Retired(id),
        }
    }

    /// What follows an answer. No draw of its own: only journeys heed it.
    fn then(&self, now: Instant, id: FlightId) -> Then {
        let chance = now.0 / 1_000 + u64::from(id.slot);
        let hops = self.operations.get(&id).and_then(|operation| self.hops.get(operation));
        match hops {
            Some(hops) if !chance.is_multiple_of(4) => Then::Redirected(hops[chance as usize % hops.len()]),
            None if !chance.is_multiple_of(3) => Then::NotYet,
            _ => Then::Done,
        }
    }

    fn act<L: Load>(
        &mut self,
        now: Instant,
        dispatch: &mut Dispatch<L>,
        actions: &mut Actions,
        recorder: &mut Recorder,
    ) {
        // Only `Sent` is fed back here, and it asks for nothing.
        let mut all = std::mem::take(actions);
        for i in 0..all.len() {
            if self.server.routes {
                self.route(&mut all[i..], dispatch);
            }
            let action = all[i];
            self.books.note(now, &action);
            if let Action::Send { flight, operation, .. } = action {
                self.operations.insert(flight, operation);
            }
            let intended = |arrival| self.intended.get(&arrival).copied();
            self.tries.note(now, &action, self.timeout, intended);
            match action {
                Action::Open(id) if self.misfortune() => self.at(now + Nanos(50_000), Happening::Refuse(id)),
                Action::Open(id) => {
                    self.at(now + Nanos(self.server.connect_ns), Happening::Connect(id));
                    self.trouble_ahead(id, now);
                }
                Action::Send { conn, flight, arrival, .. } => {
                    self.sent.push(SentRecord { at: now, arrival });
                    dispatch.handle(now, Event::Sent(flight), actions, recorder);
                    assert!(actions.is_empty());
                    self.take_or_queue(conn, flight, now);
                }
                // A client must not cancel too many in a short time: the others keep their places until they are answered.
                Action::Cancel { flight, .. } if self.misfortune() => self.at(now, Happening::Keep(flight)),
                Action::Cancel { flight, .. } => self.at(now, Happening::Free(flight)),
                Action::Close(..) => {}
            }
        }
    }

    /// Sends the first of these over a connection that it wants, if one has room or gets it once the others are where they want to be.
    fn route<L: Load>(&mut self, actions: &mut [Action], dispatch: &mut Dispatch<L>) {
        let [Action::Send { conn, flight, arrival, .. }, others @ ..] = actions else { return };
        let wants = |id: &ConnId| u64::from(id.slot) % 2 == *arrival % 2;
        let free =
            self.books.open_ids().filter(wants).filter_map(|id| Some((dispatch.load_of(id)?, id.slot, id)));
        match free.min_by_key(|(load, slot, _)| (*load, *slot)) {
            Some((_, _, to)) if !wants(conn) => {
                dispatch.rebind(*flight, to);
                *conn = to;
                self.rerouted += 1;
            }
            None if !wants(conn) => {
                for action in others {
                    if let Action::Send { conn: its, flight: other, .. } = action
                        && wants(its)
                    {
                        dispatch.exchange(*flight, *other);
                        std::mem::swap(conn, its);
                        self.rerouted += 1;
                        return;
                    }
                }
            }
            _ => {}
        }
    }

    /// What befalls connections that carry several requests: their room changes, or the server wants to be rid of them.
    fn trouble_ahead(&mut self, id: ConnId, now: Instant) {
        let places = u64::from(self.server.room.places);
        if places == 1 {
            return;
        }
        let later = |world: &mut World| now + Nanos(world.draw() % 3_000_000_000);
        if self.misfortune() {
            let (at, fewer) = (later(self), (self.draw() % places) as u32);
            self.at(at, Happening::Room(id, fewer));
            self.at(at + Nanos(200_000_000), Happening::Room(id, 1_000));
        }
        if self.misfortune() {
            let at = later(self);
            self.at(at, Happening::Retire(id));
        }
    }

    fn take_or_queue(&mut self, conn: ConnId, flight: FlightId, now: Instant) {
        if self.server.slots.is_some_and(|slots| self.busy >= slots) {
            self.queue.push_back((conn, flight));
        } else {
            self.busy += 1;
            self.serve(conn, flight, now);
        }
    }

    fn serve(&mut self, conn: ConnId, flight: FlightId, now: Instant) {
        let offset = now.0 - self.start.0;
        let mut end_at = offset + (self.server.baseline)(offset);
        if let Some(&(_, open)) =
            self.server.gates.iter().find(|&&(shut, open)| shut <= end_at && end_at < open)
        {
            end_at = open;
        }
        let end_at = self.start.0 + end_at;
        if self.misfortune() {
            let draw = self.draw();
            let breach = Breach { kind: FailureKind::protocol(3), is_unasked: draw.is_multiple_of(5) };
            let end = match draw.is_multiple_of(6) {
                true => Happening::Babble(conn, breach),
                false => Happening::Break(conn, draw.is_multiple_of(2)),
            };
            return self.at(Instant(now.0 + (end_at - now.0) / 2), end);
        }
        if self.misfortune() {
            let status = [500, 503, 404, 200][(self.draw() % 4) as usize];
            self.at(Instant(end_at), Happening::Answer(flight, status, false));
            return self.at(Instant(end_at + 1), Happening::Finish(None, 0));
        }
        if self.server.room.places > 1 && self.misfortune() {
            let unprocessed = self.draw().is_multiple_of(2);
            return self.at(Instant(now.0 + (end_at - now.0) / 3), Happening::Lose(flight, unprocessed));
        }
        self.at(Instant(end_at), Happening::Finish(Some(flight), end_at));
    }

    fn free_slot(&mut self, now: Instant) {
        self.busy -= 1;
        if let Some((conn, flight)) = self.queue.pop_front() {
            self.busy += 1;
            self.serve(conn, flight, now);
        }
    }

    /// True one time in `hostile_one_in`.
    fn misfortune(&mut self) -> bool {
        self.server.hostile_one_in > 0 && self.draw().is_multiple_of(self.server.hostile_one_in)
    }

    fn draw(&mut self) -> u64 {
        // SplitMix64 (Steele, Lea, Flood 2014): the world's own stream, apart from the product's.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
