//! A worker of an agent: the real dispatcher and the real recorder in virtual time, before a server that answers as the seed says.

use super::books::Books;
use super::lease::Lease;
use super::life::Clock;
use super::{MS, Rule, SECOND};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use unblink_cluster::message::Time;
use unblink_core::code::Code;
use unblink_core::dispatch::{Action, Actions, ConnId, ConnectTimes, Dispatch, Event, FlightId};
use unblink_core::failure::FailureKind;
use unblink_core::load::Open;
use unblink_core::plan::{LoadSpec, Plan};
use unblink_core::record::{Ages, Answer, Bank, Handed, Recorder, Then};
use unblink_core::schedule::{Cursor, Process};
use unblink_core::share::Share;
use unblink_core::time::{Instant, Nanos};

/// What comes back from the server.
#[derive(Clone, Copy, Debug)]
enum Back {
    Connected(ConnId),
    /// The status of the answer to an arrival's request.
    Answer(FlightId, u64, u16),
}

/// Instants are those of its agent's clock, as they are told to the bus.
pub(super) struct Worker {
    number: usize,
    zero: Time,
    dispatch: Dispatch<Open>,
    recorder: Recorder,
    happened: Happened,
    spare: Vec<Box<Bank<u32>>>,
    random: Xoshiro256PlusPlus,
    /// The server does not answer meanwhile, in true time.
    stall: (u64, u64),
    /// What comes back, by true time.
    ahead: BTreeMap<(u64, u64), Back>,
    sequence: u64,
    handed_until: Time,
    looked: Time,
    stop: Time,
    has_ceased: bool,
    /// Chosen to be sent, and the lease was over.
    unsent: Vec<FlightId>,
    /// Actions of a turn in the midst of which the process was stopped.
    half_done: Actions,
    /// Nothing is done before, in true time.
    free_at: u64,
    finished: bool,
    seed: u64,
}

/// What is known of a worker's requests to those who see all.
pub(super) struct Happened {
    pub(super) books: Books,
    /// When a request was sent last, in true time.
    pub(super) last_sent: Option<u64>,
    /// A request was sent before its time.
    pub(super) sent_too_early: bool,
}

/// What a worker sees of its process and of its agent.
pub(super) struct Around<'a> {
    pub(super) clock: Clock,
    pub(super) lease: &'a mut Lease,
    /// The process stands still meanwhile, from the midst of a turn on if there is one then.
    pub(super) stands_still: Option<(u64, u64)>,
    pub(super) broken: Option<Rule>,
    /// Takes what is handed over.
    pub(super) out: &'a mut Vec<Handed>,
}

impl Worker {
    /// The worker `number` of those that `plan` has here, for a load that begins at `zero`.
    pub(super) fn new(plan: &Plan, number: u32, zero: Time, now: u64, seed: u64) -> Worker {
        let shares = plan.shares();
        let share = Share { first: shares.first + number, of: shares.of };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(share.first) << 40);
        let bank = || Box::new(Bank::new(plan.layout()));
        let mut recorder = Recorder::new(bank(), plan.spec().timeout);
        recorder.begin(Instant(zero), plan.measured_from(), plan.load_length());
        recorder.sample_arrivals(plan.sample_blocks());
        let mut dispatch = Dispatch::new(plan.policy(number));
        dispatch.start(plan.open_load(Instant(zero), number).expect("an open load"));
        let stalls_at = now + random.next_u64() % (20 * SECOND);
        let stalls = random.next_u64().is_multiple_of(3) && !is_good(seed);
        let stalls_for = if stalls { random.next_u64() % (4 * SECOND) } else { 0 };
        Worker {
            number: number as usize,
            zero,
            dispatch,
            recorder,
            happened: Happened {
                books: Books::new(arrivals(plan, share, zero), plan.spec().timeout.0),
                last_sent: None,
                sent_too_early: false,
            },
            spare: vec![bank()],
            random,
            stall: (stalls_at, stalls_at + stalls_for),
            ahead: BTreeMap::new(),
            sequence: 0,
            handed_until: zero,
            looked: zero,
            stop: Time::MAX,
            has_ceased: false,
            unsent: Vec::new(),
            half_done: Actions::new(),
            free_at: now,
            finished: false,
            seed,
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    pub(super) fn happened(&self) -> &Happened {
        &self.happened
    }

    /// Nothing else is kept of it.
    pub(super) fn into_happened(self) -> Happened {
        self.happened
    }

    /// A bank that is empty again.
    pub(super) fn recycle(&mut self, bank: Box<Bank<u32>>) {
        self.spare.push(bank);
    }

    /// When it does something next, in true time. Not while its process stands still.
    pub(super) fn next(&mut self, around: &Around<'_>) -> Option<u64> {
        if !self.half_done.is_empty() {
            return Some(self.free_at);
        }
        let at = (!self.finished).then(|| self.looks_at(around).max(self.free_at))?;
        let still = around.stands_still.filter(|(from, to)| *from <= at && at < *to);
        Some(still.map_or(at, |(_, to)| to))
    }

    /// Does that.
    pub(super) fn step(&mut self, at: u64, around: &mut Around<'_>) {
        if self.half_done.is_empty() {
            return self.turn(at, around);
        }
        self.note_absence(around.clock.at(at), at, around);
        let actions = std::mem::take(&mut self.half_done);
        self.carry_out(at, actions, around);
    }

    /// When it looks at the clock again.
    fn looks_at(&mut self, around: &Around<'_>) -> u64 {
        let wake = self.dispatch.next_wake().map_or(Time::MAX, |at| at.0);
        let wake = wake.min(self.handed_until + SECOND).max(self.zero);
        let wake = around.clock.when(wake);
        let told =
            around.lease.told_at.filter(|_| around.lease.is_news(self.zero, self.stop, self.has_ceased));
        let back = self.ahead.keys().next().map_or(u64::MAX, |(at, _)| *at);
        let at = wake.min(back).min(told.unwrap_or(u64::MAX)).max(around.clock.when(self.zero));
        if self.unsent.is_empty() { at } else { self.free_at }
    }

    /// A turn as that of a worker of the engine: what a second has brought is handed over first, then come sockets, then the clock.
    fn turn(&mut self, at: u64, around: &mut Around<'_>) {
        let own = around.clock.at(at);
        self.note_absence(own, at, around);
        let mut actions = Actions::new();
        if own >= self.handed_until + SECOND {
            self.hand_over(own, around);
        }
        for flight in std::mem::take(&mut self.unsent) {
            self.heed(own, around);
            self.dispatch.handle(Instant(own), Event::Unsent(flight), &mut actions, &mut self.recorder);
        }
        while let Some(entry) = self.ahead.first_entry().filter(|entry| entry.key().0 <= at) {
            let event = match entry.remove() {
                Back::Connected(conn) => Event::Connected(conn, ConnectTimes::default()),
                Back::Answer(flight, index, status) => {
                    self.happened.books.answered(index, status, own);
                    Event::Answered(flight, answer(status, own))
                }
            };
            self.heed(own, around);
            self.dispatch.handle(Instant(own), event, &mut actions, &mut self.recorder);
        }
        self.heed(own, around);
        self.dispatch.handle(Instant(own), Event::Tick, &mut actions, &mut self.recorder);
        match self.has_ceased {
            true => self.happened.books.cease(own),
            false => self.happened.books.look(own),
        }
        (self.looked, self.free_at) = (own, at);
        let sends = actions.iter().any(|action| matches!(action, Action::Send { .. }));
        match around.stands_still.filter(|(from, to)| sends && *from <= at + 40 * MS && at < *to) {
            // Between choosing and writing.
            Some((_, to)) => (self.half_done, self.free_at) = (actions, to),
            None => self.carry_out(at, actions, around),
        }
    }

    fn carry_out(&mut self, at: u64, actions: Actions, around: &mut Around<'_>) {
        let own = around.clock.at(at);
        let mut more = Actions::new();
        for action in actions {
            match action {
                Action::Open(conn) => {
                    let takes = MS / 5 + self.random.next_u64() % MS;
                    self.push(at + takes, Back::Connected(conn));
                }
                Action::Send { conn: _, flight, arrival, .. } => {
                    let asks = match around.broken {
                        Some(Rule::Unsent) => false,
                        Some(Rule::Cease) => !self.has_ceased,
                        _ => true,
                    };
                    if asks && !around.lease.may_send(own) {
                        self.unsent.push(flight);
                        continue;
                    }
                    self.send(flight, arrival, at, own);
                    let sent = Event::Sent(flight);
                    self.dispatch.handle(Instant(own), sent, &mut more, &mut self.recorder);
                }
                Action::Cancel { .. } => panic!("seed {}: a connection takes one at a time", self.seed),
                Action::Close(..) => {}
            }
        }
        assert!(more.is_empty());
        if self.dispatch.is_finished() && self.unsent.is_empty() {
            self.finish(own, around);
        }
    }

    /// The server takes the request: from now on it counts as load.
    fn send(&mut self, flight: FlightId, arrival: u64, at: u64, own: Time) {
        let intended = self.happened.books.sent(arrival);
        self.happened.sent_too_early |= own < intended;
        self.happened.last_sent = Some(at);
        let status = if self.one_in(25) { 503 } else { 200 };
        let is_silent = self.one_in(40);
        let takes = MS + self.random.next_u64() % (50 * MS);
        let (from, to) = self.stall;
        let ready = if from <= at && at < to { to + takes } else { at + takes };
        if !is_silent {
            self.push(ready, Back::Answer(flight, arrival, status));
        }
    }

    /// The server does one of so many otherwise, where it is no good one.
    fn one_in(&mut self, n: u64) -> bool {
        let draw = self.random.next_u64();
        !is_good(self.seed) && draw.is_multiple_of(n)
    }

    fn push(&mut self, at: u64, back: Back) {
        self.sequence += 1;
        self.ahead.insert((at, self.sequence), back);
    }

    /// As a worker of the engine does, before it looks at what has fallen due.
    fn heed(&mut self, own: Time, around: &mut Around<'_>) {
        if !self.has_ceased && !around.lease.may_look(own) {
            self.has_ceased = true;
            if around.broken != Some(Rule::Cease) {
                self.dispatch.cease();
            }
        }
        let stop = around.lease.stop.map(|stop| stop.max(self.zero));
        if let Some(stop) = stop.filter(|stop| *stop < self.stop) {
            self.stop = stop;
            self.happened.books.stop(stop);
            self.dispatch.stop(Instant(stop));
            self.recorder.end_load(Instant(stop));
        }
    }

    fn hand_over(&mut self, own: Time, around: &mut Around<'_>) {
        let passed = (own - self.handed_until) / SECOND;
        let until = self.handed_until + passed * SECOND;
        self.heed(own, around);
        self.dispatch.count_due_before(Instant(until), Instant(own), &mut self.recorder);
        self.happened.books.count_due(until);
        self.happened.books.hand_over(until - self.zero);
        let handed = self.prepare(until, passed > 1, false);
        around.out.push(handed);
    }

    fn finish(&mut self, own: Time, around: &mut Around<'_>) {
        self.finished = true;
        self.happened.books.finish(own, self.zero);
        let handed = self.prepare(own.max(self.handed_until), false, true);
        around.out.push(handed);
    }

    fn prepare(&mut self, until: Time, double: bool, last: bool) -> Handed {
        let length = Nanos(until - self.handed_until);
        let own = &mut self.recorder.counters().own;
        own.total += length;
        let empty = self.spare.pop().unwrap_or_else(|| Box::new(Bank::new(1)));
        let bank = self.recorder.swap(empty, Instant(until));
        let mut ages = Ages::default();
        self.dispatch.add_ages(Instant(until), &mut ages);
        self.handed_until = until;
        let (gauges, to) = (self.dispatch.gauges(), Nanos(until - self.zero));
        Handed { worker: self.number, to, bank, gauges, ages, double, last }
    }

    /// For how long it was away though it was not to wait.
    fn note_absence(&mut self, own: Time, at: u64, around: &Around<'_>) {
        let Some((from, _)) = around.stands_still.filter(|(_, to)| *to == at) else { return };
        let from = Instant(around.clock.at(from).max(self.looked));
        let away = Instant(own).since(from);
        self.looked = own;
        self.recorder.note_absence(from, Instant(own), away);
        self.recorder.counters().own.note_away(away);
    }
}

/// The arrivals of a share, by number, and when they are intended. Where even ones are, a division says, too.
fn arrivals(plan: &Plan, share: Share, zero: Time) -> std::vec::IntoIter<(u64, Time)> {
    let schedule = plan.schedule().expect("one load");
    let LoadSpec::Open { phases, process } = &plan.spec().load else { panic!("an open load") };
    let per_s = phases[0].from.milli_per_s() / 1_000;
    let (mut cursor, mut all) = (Cursor::of_share(schedule, share), Vec::new());
    while let Some((index, offset)) = cursor.next(schedule) {
        let even = index * SECOND / per_s;
        assert!(*process != Process::Even || offset.0.abs_diff(even) <= 1, "{index} at {offset:?}");
        all.push((index, zero + offset.0));
    }
    all.into_iter()
}

/// In a third of the worlds servers answer all, and soon: what is wrong there is wrong with the cluster.
fn is_good(seed: u64) -> bool {
    (seed / 11).is_multiple_of(3)
}

fn answer(status: u16, own: Time) -> Answer {
    Answer {
        failure: FailureKind::of_status(status),
        code: Code::of_status(status),
        body_bytes: 0,
        first_byte: Instant(own),
        then: Then::Done,
        reusable: true,
        leaves_open: false,
    }
}
