//! One world from a seed.

mod broken;
mod check;
mod life;

pub(crate) use broken::Rule;
use life::{Clock, Life};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use unblink_cluster::PROTOCOL;
use unblink_cluster::agent::{self, Agent};
use unblink_cluster::coordinator::{self, Coordinator, FleetOutcome, GATHER_FOR, Mark, Saved, Task, Then};
use unblink_cluster::message::{
    Cause, Ended, FileEnd, FromAgent, Machine, Reading, Refusal, Reply, Time, ToldTime,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// The drivers look at their machines so often.
const TICK: u64 = 20 * MS;
/// Clocks read this when the world begins, so that they may run behind.
const EPOCH: u64 = 1_000_000 * SECOND;
/// Arrivals of each share in a second.
const RATE: u64 = 100;
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

enum Word {
    /// To the coordinator, of an agent.
    Up(usize, FromAgent),
    /// All of an agent's record.
    Record(usize),
    /// To an agent.
    Down(usize, Reply),
    Time {
        to: usize,
        asked_at: Time,
        at: Time,
    },
}

/// One agent: the machine under test, and the load that it would offer.
struct Node {
    machine: Agent,
    clock: Clock,
    life: Life,
    /// Nothing gets through to it or from it.
    parted: Option<(u64, u64)>,
    prepared_at: Option<u64>,
    refuses: bool,
    /// By its own clock.
    start_at: Option<Time>,
    told: Time,
    reading: Reading,
    stop_at: Option<Time>,
    /// By its own clock: nothing is sent from then on.
    lease_until: Option<Time>,
    /// When it looked last at what had fallen due.
    looked_at: Time,
    /// The instant of the stop that the user asked for, by the coordinator's clock.
    stopped_at: Option<i128>,
    shares: u64,
    /// In true time.
    offered: Vec<u64>,
    ended: bool,
    has_left: bool,
    /// It has had an offer: whoever never had one waits for another run.
    was_offered: bool,
    /// When it said which word, in true time.
    said: BTreeMap<u64, u64>,
    /// When the last word was said that the coordinator had heard.
    known_until: u64,
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
    length: u64,
    interrupted_at: Option<u64>,
    outcome: Option<FleetOutcome>,
    seed: u64,
    /// What is not heeded.
    broken: Option<Rule>,
}

impl World {
    pub(crate) fn new(seed: u64) -> World {
        World::of(seed, None)
    }

    /// So many agents with a share each, over a bus that loses one word of a hundred and does nothing else.
    pub(crate) fn crowd(seed: u64, agents: u64) -> World {
        World::of(seed, Some(agents))
    }

    fn of(seed: u64, crowd: Option<u64>) -> World {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut below = |n: u64| random.next_u64() % n.max(1);
        let agents = 1 + below(5);
        let agents = crowd.unwrap_or(agents);
        let length = (2 + below(20)) * SECOND;
        let is_hostile = below(3) > 0 && crowd.is_none();
        let mut window = |is_there: bool, longest: u64| {
            is_there.then(|| {
                let from = below(40) * SECOND / 2 + below(SECOND);
                (from, from + below(longest) + MS)
            })
        };
        let bus_gone = window(is_hostile && seed.is_multiple_of(7), 20 * SECOND);
        let coordinator_still = window(is_hostile && seed.is_multiple_of(11), 10 * SECOND);
        let machine = |shares: u64| Machine {
            protocol: PROTOCOL,
            version: "1".into(),
            host: "h".into(),
            shares: shares as u32,
            cores: 1,
            descriptors: None,
            connections: None,
            ports: None,
            carries_per_s: None,
            after: None,
        };
        let nodes = (0..agents).map(|number| {
            let shares = if crowd.is_some() { 1 } else { 1 + (seed + number) % 3 };
            let trouble = if is_hostile { (seed / 3 + number * 5) % 12 } else { 11 };
            let parted = window(trouble == 0 || trouble == 1, 15 * SECOND);
            let stands_still = window(trouble == 2, 12 * SECOND);
            let dies_at = window(trouble == 3, 1).map(|(from, _)| from);
            let clock = Clock {
                ahead: (seed.wrapping_mul(number + 3) % (200 * SECOND)) as i64 - 100 * SECOND as i64,
                drift_ppm: (seed.wrapping_mul(7 + number) % 101) as i64 - 50,
            };
            Node {
                machine: Agent::new(format!("a{number}"), machine(shares), clock.at(0)),
                clock,
                life: Life { dies_at, back_at: None, stands_still },
                parted,
                prepared_at: None,
                refuses: is_hostile && (seed + number).is_multiple_of(29),
                start_at: None,
                told: 0,
                reading: Reading::default(),
                stop_at: None,
                lease_until: None,
                looked_at: 0,
                stopped_at: None,
                shares,
                offered: Vec::new(),
                ended: false,
                has_left: false,
                was_offered: false,
                said: BTreeMap::new(),
                known_until: 0,
            }
        });
        let nodes: Vec<Node> = nodes.collect();
        let dies_at = window(is_hostile && seed % 6 == 1, 1).map(|(from, _)| from);
        // Mostly while leases last, which is 5 s; and sometimes long after.
        let back_at = dies_at
            .filter(|_| seed % 4 != 1)
            .map(|at| at + below([4, 4, 4, 60][(seed / 6 % 4) as usize] * SECOND));
        let task = Task {
            run: "r".into(),
            version: "1".into(),
            agents: agents as u32,
            gather_for: GATHER_FOR,
            length,
            arguments: vec!["plan.toml".into()],
            files: Vec::new(),
            run_seed: seed,
            shares_max: 1024,
            per_s_max: 0,
            users: None,
            connections: Default::default(),
            part: None,
            command: "c".into(),
            is_first: true,
            then: Then::Leave,
        };
        let clock = Clock { ahead: 0, drift_ppm: (seed % 41) as i64 - 20 };
        World {
            now: 0,
            loss: if crowd.is_some() {
                0.01
            } else if is_hostile {
                [0.0, 0.01, 0.1, 0.3][(seed % 4) as usize]
            } else {
                0.0
            },
            doubled: if is_hostile { 0.1 } else { 0.0 },
            delay: [MS / 10, 10 * MS, 100 * MS][(seed / 4 % 3) as usize],
            liar: false,
            bus_gone,
            coordinator: Coordinator::new(task.clone(), clock.at(0)),
            task,
            kept: (None, None),
            was_resumed: false,
            clock,
            life: Life { dies_at, back_at, stands_still: coordinator_still },
            nodes,
            words: BTreeMap::new(),
            sent: 0,
            length,
            interrupted_at: (seed % 13 == 5 && crowd.is_none()).then(|| below(20 * SECOND)),
            outcome: None,
            seed,
            broken: None,
            random,
        }
    }

    fn chance(&mut self, of: f64) -> bool {
        ((self.random.next_u64() >> 11) as f64) < of * (1u64 << 53) as f64
    }

    fn gets_through(&self, node: usize) -> bool {
        let is_in =
            |window: Option<(u64, u64)>| window.is_some_and(|(from, to)| from <= self.now && self.now < to);
        !is_in(self.bus_gone) && !is_in(self.nodes[node].parted)
    }

    /// A record is sent again and again until it has come; all else is said once.
    fn send(&mut self, node: usize, make: impl Fn() -> Word) {
        for _ in 0..if self.chance(self.doubled) { 2 } else { 1 } {
            if self.gets_through(node) && !self.chance(self.loss) {
                let late = self.delay / 2 + self.random.next_u64() % self.delay;
                self.sent += 1;
                self.words.insert((self.now + late, self.sent), make());
            }
        }
    }

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
            if self.life.runs(self.now) && self.outcome.is_none() {
                let is_there = self.bus_gone.is_none_or(|(from, to)| self.now < from || self.now >= to);
                self.coordinate(coordinator::Event::Bus(is_there));
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
            let next = self.words.keys().next().map_or(u64::MAX, |(at, _)| *at);
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
            }
            // It would begin another run.
            None => self.life.back_at = None,
        }
    }

    fn arrive(&mut self, word: Word) {
        match word {
            Word::Up(node, said) if self.life.runs(self.now) => match said {
                FromAgent::Status(status) => {
                    let said_at = self.nodes[node].said.get(&status.number).copied().unwrap_or(0);
                    if self.outcome.is_none() {
                        let known = &mut self.nodes[node].known_until;
                        *known = said_at.max(*known);
                        self.coordinate(coordinator::Event::Status(format!("a{node}"), status));
                    }
                }
                FromAgent::TimeAsk { asked_at, .. } => {
                    let at = self.clock.at(self.now);
                    self.coordinate(coordinator::Event::TimeTold(
                        format!("a{node}"),
                        ToldTime { asked_at, at },
                    ));
                    self.send(node, || Word::Time { to: node, asked_at, at });
                    self.lie(node, asked_at, at);
                }
                FromAgent::Fetch { .. } => {}
            },
            Word::Record(node) if self.life.runs(self.now) && self.outcome.is_none() => {
                self.coordinate(coordinator::Event::Received(format!("a{node}")));
            }
            Word::Down(node, reply) if self.nodes[node].life.runs(self.now) => {
                self.act(node, agent::Event::Reply(reply));
            }
            Word::Time { to, asked_at, at } if self.nodes[to].life.runs(self.now) => {
                self.act(to, agent::Event::TimeAnswer { asked_at, at });
            }
            // Whoever stands still or is dead hears nothing.
            _ => {}
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
        let own = node.clock.at(now);
        if node.prepared_at.is_some_and(|at| now >= at) {
            node.prepared_at = None;
            let result = match node.refuses {
                true => Err(Refusal { reasons: vec!["no".into()], by_target: true }),
                false => Ok(()),
            };
            self.act(number, agent::Event::Prepared(result));
        }
        let node = &mut self.nodes[number];
        if let Some(start_at) = node.start_at.filter(|_| !node.ended) {
            let end = start_at + self.length;
            node.look(own, end);
            let until = node.stop_at.unwrap_or(end).min(end).min(own);
            // All that is due: what fell due while it stood still is sent late.
            let due = |at: Time| at.saturating_sub(start_at) * RATE / SECOND * node.shares;
            let missing = due(until) - node.offered.len() as u64;
            node.offered.extend(std::iter::repeat_n(now, missing as usize));
            if own >= end.min(node.stop_at.unwrap_or(end)) {
                node.ended = true;
                let file = FileEnd { name: "run.json".into(), bytes: 1, sha256: String::new() };
                let ended = Ended { code: 0, stopped_by: None, error: None, files: vec![file] };
                self.act(number, agent::Event::Ended(ended));
            }
        }
        if self.nodes[number].ended && now.is_multiple_of(10 * TICK) {
            self.send(number, || Word::Record(number));
        }
        self.act(number, agent::Event::Tick);
    }

    fn act(&mut self, number: usize, event: agent::Event) {
        let mut out = Vec::new();
        let own = self.nodes[number].clock.at(self.now);
        self.nodes[number].machine.handle(own, event, &mut out);
        for action in out {
            let Some(action) = self.misread(own, action) else { continue };
            match action {
                agent::Action::Say(said) => {
                    if let FromAgent::Status(status) = &said {
                        self.nodes[number].said.insert(status.number, self.now);
                    }
                    self.send(number, || Word::Up(number, said.clone()));
                }
                agent::Action::Prepare(..) => {
                    self.nodes[number].was_offered = true;
                    let takes = self.random.next_u64() % (2 * SECOND);
                    self.nodes[number].prepared_at = Some(self.now + takes);
                }
                agent::Action::Begin { start_at, told, reading } => {
                    let node = &mut self.nodes[number];
                    assert!(node.start_at.is_none(), "seed {}: begun twice", self.seed);
                    assert!(start_at >= own + agent::HEARD_BEFORE, "seed {}: heard too late", self.seed);
                    (node.start_at, node.told, node.reading) = (Some(start_at), told, reading);
                }
                agent::Action::StopLoad { at, why, .. } => {
                    let node = &mut self.nodes[number];
                    if why == INTERRUPTED {
                        node.stopped_at = Some(i128::from(at) + i128::from(node.reading.offset_ns));
                    }
                    let at = at.max(own);
                    node.stop_at = Some(node.stop_at.unwrap_or(at).min(at));
                }
                agent::Action::LeaseUntil(until) => self.nodes[number].lease_until = Some(until),
                agent::Action::Note(_) | agent::Action::Compared { .. } => {}
                agent::Action::Leave(_) => self.nodes[number].has_left = true,
            }
        }
    }
}
