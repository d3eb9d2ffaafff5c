//! One world from a seed.

mod books;
mod broken;
mod bus;
mod check;
mod crowd;
mod lease;
mod life;
mod load;
mod merged;
mod record;
mod seeded;
mod times;
mod worker;

pub(crate) use broken::Rule;
use bus::{Piece, Word};
use crowd::Crowd;
use lease::Lease;
use life::{Clock, Life, Stepped, Wall};
use load::{Asked, Load};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::BTreeMap;
use unblink_artifact::document::ClockReading;
use unblink_cluster::agent::{self, Agent};
use unblink_cluster::coordinator::{self, Coordinator, FleetOutcome, Mark, Saved, Task};
use unblink_cluster::message::{Cause, Ended, FromAgent, Offer, Reading, Refusal, Time};
use unblink_cluster::record::Inbox;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// The drivers look at their machines so often.
const TICK: u64 = 20 * MS;
/// Clocks read this when the world begins, so that they may run behind.
const EPOCH: u64 = 1_000_000 * SECOND;
/// An arrival that has no answer by then has timed out.
const TIMEOUT: u64 = 1_500 * MS;
/// Why a user's stop comes.
const INTERRUPTED: &str = "Ctrl-C";
/// Of the longest world.
const END: u64 = 400 * SECOND;

/// How a world may end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fate {
    /// All arrivals stand in the account.
    Whole,
    /// It was stopped, and the account says so.
    Stopped,
    /// Some are known to be lost.
    Lost,
    /// It did not begin.
    NotBegun,
    /// Nobody is there to tell.
    NoCoordinator,
}

/// One agent: the machine under test, and the load that it offers.
struct Node {
    machine: Agent,
    clock: Clock,
    /// Nothing that is measured goes by it.
    wall: Wall,
    life: Life,
    /// Nothing gets through to it or from it.
    parted: Option<(u64, u64)>,
    prepared_at: Option<u64>,
    refuses: bool,
    /// It is told to end then, unless its load has begun.
    leaves_at: Option<u64>,
    /// Its part.
    offer: Option<Box<Offer>>,
    /// When it asked for the time first, in true time.
    asked_at: Option<u64>,
    /// By its own clock.
    start_at: Option<Time>,
    told: Time,
    /// What its wall clock was ahead when it was told.
    told_by_wall: i64,
    /// When its workers are ready to begin.
    ready_at: Option<u64>,
    reading: Reading,
    load: Option<Load>,
    lease: Lease,
    /// When it looked last at what is new of its record.
    looked_at: u64,
    /// The instant of the stop that the user asked for, by the coordinator's clock.
    stopped_at: Option<i128>,
    shares: u64,
    ended: bool,
    has_left: bool,
    /// It has had an offer: whoever never had one waits for another run.
    was_offered: bool,
    /// When it said which word, in true time.
    said: BTreeMap<u64, u64>,
    /// When the last word was said that the coordinator had heard.
    known_until: u64,
    /// A request that was sent without a lease, and until when there was one.
    orphan: Option<(u64, u64)>,
}

pub(crate) struct World {
    random: Xoshiro256PlusPlus,
    now: u64,
    loss: f64,
    doubled: f64,
    delay: u64,
    /// Somebody else on the bus tells agents the time, and is there first.
    liar: bool,
    bus_gone: Option<(u64, u64)>,
    /// It will have lost all that it kept when it is back.
    forgets: bool,
    /// It keeps what it gets; if not, the coordinator notices then.
    keeps: bool,
    noticed_at: u64,
    /// Pieces that it has lost and the coordinator had not taken.
    missed: usize,
    coordinator: Coordinator,
    task: Task,
    /// What it has kept for one that comes after it.
    kept: (Option<Mark>, Option<Saved>),
    was_resumed: bool,
    clock: Clock,
    life: Life,
    nodes: Vec<Node>,
    words: BTreeMap<(u64, u64), Word>,
    sent: u64,
    /// What the bus has kept of records, and what the coordinator has of them.
    kept_pieces: Vec<Piece>,
    inboxes: BTreeMap<usize, Inbox>,
    /// Where records are; nowhere in a crowd that has none.
    place: Option<tempfile::TempDir>,
    /// What is known of a crowd that has.
    crowd: Option<Crowd>,
    asked: Asked,
    interrupted_at: Option<u64>,
    outcome: Option<FleetOutcome>,
    seed: u64,
    /// What is not heeded.
    broken: Option<Rule>,
}

impl World {
    /// Plays the world to its end.
    pub(crate) fn run(&mut self) {
        while self.now < END {
            while let Some(entry) = self.words.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let word = entry.remove();
                self.arrive(word);
            }
            for node in 0..self.nodes.len() {
                self.live(node);
            }
            self.come_back();
            self.forget();
            self.pass_on();
            self.follow();
            if self.life.runs(self.now) && self.outcome.is_none() {
                self.coordinate(coordinator::Event::Bus(self.is_there()));
                if self.interrupted_at.is_some_and(|at| self.now >= at) {
                    self.interrupted_at = None;
                    self.coordinate(coordinator::Event::Stop(Cause::Coordinator, INTERRUPTED.into()));
                }
                self.coordinate(coordinator::Event::Tick);
            }
            let is_gone = |node: &Node| node.has_left || node.life.is_dead(self.now) || !node.was_offered;
            if self.nodes.iter().all(is_gone)
                && (self.outcome.is_some() || self.life.is_dead_for_good(self.now))
            {
                return;
            }
            // In a crowd that has records, words wait for the next look: else each agent would be looked at for each word of any.
            let next =
                self.words.keys().next().filter(|_| self.crowd.is_none()).map_or(u64::MAX, |(at, _)| *at);
            self.now = (self.now / TICK * TICK + TICK).min(next.max(self.now + 1));
        }
    }

    /// In the place of a coordinator that has died another one takes up its run, if that had begun.
    fn come_back(&mut self) {
        if self.outcome.is_some() || self.life.back_at.is_none_or(|at| self.now < at) {
            return;
        }
        match self.kept.1.take() {
            Some(saved) => {
                self.coordinator = Coordinator::resume(self.task.clone(), &saved, self.clock.at(self.now));
                (self.kept.0, self.was_resumed) = (None, true);
                (self.life.dies_at, self.life.back_at) = (None, None);
                self.pass_on_anew();
            }
            // It would begin another run.
            None => self.life.back_at = None,
        }
    }

    fn coordinate(&mut self, event: coordinator::Event) {
        let mut out = Vec::new();
        self.coordinator.handle(self.clock.at(self.now), event, &mut out);
        if self.kept.0 != Some(self.coordinator.mark()) {
            self.kept = (Some(self.coordinator.mark()), self.coordinator.saved());
        }
        for action in out {
            match action {
                coordinator::Action::Reply(to, reply) => {
                    let node: usize = to[1..].parse().expect("a number");
                    self.send(node, || Word::Down(node, reply.clone()));
                }
                coordinator::Action::Note(_) => {}
                coordinator::Action::Done(outcome) => {
                    let outcome = self.told(outcome);
                    self.follow_to_the_end();
                    assert!(self.outcome.replace(outcome).is_none(), "seed {}: over twice", self.seed);
                }
            }
        }
    }

    /// What an agent's process does at this moment.
    fn live(&mut self, number: usize) {
        let now = self.now;
        let node = &mut self.nodes[number];
        if !node.life.runs(now) || node.has_left {
            return;
        }
        if node.leaves_at.take_if(|at| now >= *at).is_some() && node.load.is_none() {
            node.has_left = true;
            return self.act(number, agent::Event::Leaving("SIGTERM".into()));
        }
        if node.prepared_at.take_if(|at| now >= *at).is_some() {
            node.wall.reach(Stepped::AtJoin);
            let result = match node.refuses {
                true => Err(Refusal { reasons: vec!["no".into()], by_target: true }),
                false => Ok(()),
            };
            self.act(number, agent::Event::Prepared(result));
        }
        let node = &mut self.nodes[number];
        if node.ready_at.take_if(|at| now >= *at).is_some() {
            node.wall.reach(Stepped::WhenArmed);
            if self.place.is_some() {
                self.begin_load(number);
            }
        }
        let node = &mut self.nodes[number];
        if let Some(start_at) = node.start_at
            && node.clock.at(now) >= start_at + self.asked.length / 2
        {
            node.wall.reach(Stepped::InRun);
        }
        let ended = match &self.place {
            Some(_) => node.work(now, self.broken),
            None => node.offer_nothing(self.asked.length, now),
        };
        node.note_orphan();
        if let Some(ended) = ended {
            node.ended = true;
            self.act(number, agent::Event::Ended(ended));
        }
        self.tell_record(number);
        self.act(number, agent::Event::Tick);
    }

    fn act(&mut self, number: usize, event: agent::Event) {
        let (mut out, now) = (Vec::new(), self.now);
        let own = self.nodes[number].clock.at(now);
        self.nodes[number].machine.handle(own, event, &mut out);
        for action in out {
            let Some(action) = self.misread(own, action) else { continue };
            match action {
                agent::Action::Say(said) => {
                    let node = &mut self.nodes[number];
                    match &said {
                        FromAgent::Status(status) => drop(node.said.insert(status.number, now)),
                        FromAgent::TimeAsk { .. } => drop(node.asked_at.get_or_insert(now)),
                        _ => {}
                    }
                    self.send(number, || Word::Up(number, said.clone()));
                }
                agent::Action::Prepare(offer, _) => {
                    let takes = self.random.next_u64() % (2 * SECOND);
                    let node = &mut self.nodes[number];
                    (node.was_offered, node.offer, node.prepared_at) = (true, Some(offer), Some(now + takes));
                }
                agent::Action::Begin { start_at, told, reading } => {
                    let takes = self.random.next_u64() % (100 * MS);
                    let node = &mut self.nodes[number];
                    assert!(node.start_at.is_none(), "seed {}: begun twice", self.seed);
                    assert!(start_at >= own + agent::HEARD_BEFORE, "seed {}: heard too late", self.seed);
                    (node.start_at, node.told, node.reading) = (Some(start_at), told, reading);
                    (node.told_by_wall, node.ready_at) = (node.wall.ahead, Some(now + takes));
                }
                other => self.nodes[number].heed(now, other),
            }
        }
    }
}

impl Node {
    /// What an action is for its load.
    fn heed(&mut self, now: u64, action: agent::Action) {
        let own = self.clock.at(now);
        match action {
            agent::Action::StopLoad { cause: Cause::Lease, .. } => self.lease.end(),
            agent::Action::StopLoad { at, why, .. } => {
                if why == INTERRUPTED {
                    self.stopped_at = Some(i128::from(at) + i128::from(self.reading.offset_ns));
                }
                self.lease.stop_from(at, own);
            }
            agent::Action::SendAgain => {
                self.load.iter_mut().for_each(|load| load.record.outbox.begin_again());
                return;
            }
            agent::Action::LeaseUntil(until) => return self.lease.lease_until(until, own),
            agent::Action::Compared { at, reading: Reading { offset_ns, error_ns } } => {
                let Some(load) = &mut self.load else { return };
                let at_ns = at.saturating_sub(load.zero);
                load.clock = Some(ClockReading { at_ns, offset_ns, error_ns });
                return;
            }
            agent::Action::Leave(_) => self.has_left = true,
            _ => return,
        }
        // Workers are woken.
        self.lease.told_at = Some(now);
    }

    /// Looked at while it works: a coordinator that hears of it afterwards makes nothing good.
    fn note_orphan(&mut self) {
        let workers = self.load.iter().flat_map(Load::happened);
        let last = workers.filter_map(|worker| worker.last_sent).max();
        // What a clock of 50 ppm makes of 5 s, and more.
        let until = self.known_until + agent::LEASE + MS;
        self.orphan = self.orphan.or(last.filter(|last| *last > until).map(|last| (last, until)));
    }

    /// One of a crowd without records is there for so long.
    fn offer_nothing(&self, length: u64, now: u64) -> Option<Ended> {
        let is_over = self.start_at.is_some_and(|start_at| self.clock.at(now) >= start_at + length);
        let ended = Ended { code: 0, stopped_by: None, error: None, notes: Vec::new(), files: Vec::new() };
        (is_over && !self.ended).then_some(ended)
    }
}
