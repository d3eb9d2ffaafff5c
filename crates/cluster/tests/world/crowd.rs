//! A thousand agents with records. As many dispatchers and recorders at once have no room in memory, so each plays its load alone, when
//! that begins, and what was recorded comes to its folder when it would have.

use super::books::Counts;
use super::load::{Asked, By};
use super::merged::{Here, number_of, recorded};
use super::record::{self, NAMES};
use super::worker::{Happened, Worker};
use super::{MS, Node, SECOND, TIMEOUT, World};
use rand_xoshiro::rand_core::Rng;
use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use unblink_artifact::document::RunDocument;
use unblink_artifact::folder::{Followed, Following, HLOG_FILE, LINES_FILE, RUN_FILE};
use unblink_cluster::coordinator::{Coordinator, FleetOutcome};
use unblink_cluster::message::Ended;
use unblink_core::schedule::Process;

/// How long their load is.
const LENGTH: u64 = 3 * SECOND;
/// Of an agent that dies then, the first second has come as a rule, and perhaps the one after.
const DIES_AFTER: u64 = 2_600 * MS;
/// Who is cut off hears and says nothing in the midst of its load, for less than a lease.
const PARTED: (u64, u64) = (SECOND, 4 * SECOND);
/// One word of so many is late by up to so much.
const STRAGGLER_OF: f64 = 0.02;
const STRAGGLES_BY: u64 = 2 * SECOND;

/// What is known of a crowd that has records.
pub(super) struct Crowd {
    /// What the coordinator follows while it comes, and what it has counted of it.
    following: Option<Following>,
    followed: Counts,
    /// So many arrivals of it had fallen due before all was over.
    due_before_the_end: u64,
    /// The second of the last look.
    looked: u64,
}

fn dies(number: usize) -> bool {
    number % 331 == 100
}

fn is_parted(number: usize) -> bool {
    number % 50 == 7
}

impl World {
    /// So many agents with a share each and records. The bus loses one word of a hundred, and some are late by seconds; a few agents die
    /// under load, and others are cut off for a while.
    pub(crate) fn recording(seed: u64, agents: u64) -> World {
        let mut world = World::crowd(seed, agents);
        world.asked =
            Asked { per_s: 4, process: Process::Even, connections: 2, length: LENGTH, tolerates: false };
        world.task.length = LENGTH + TIMEOUT;
        world.coordinator = Coordinator::new(world.task.clone(), world.clock.at(0));
        let crowd = Crowd { following: None, followed: Counts::default(), due_before_the_end: 0, looked: 0 };
        World { place: Some(record::place()), crowd: Some(crowd), ..world }
    }

    /// Those whose processes die.
    pub(crate) fn dead(&self) -> BTreeSet<String> {
        (0..self.nodes.len()).filter(|number| dies(*number)).map(|number| format!("a{number}")).collect()
    }

    /// Those that the coordinator calls lost.
    pub(crate) fn lost(&self) -> BTreeSet<String> {
        let Some(FleetOutcome::Run { parts, .. }) = &self.outcome else { return BTreeSet::new() };
        parts.iter().filter(|part| part.is_lost).map(|part| part.agent.clone()).collect()
    }

    /// By how much a word is late beside what is usual. In other worlds nothing is drawn for it.
    pub(super) fn straggles(&mut self) -> u64 {
        match self.crowd.is_some() && self.chance(STRAGGLER_OF) {
            true => self.random.next_u64() % STRAGGLES_BY,
            false => 0,
        }
    }

    /// An agent of a crowd plays its load, which begins soon.
    pub(super) fn play(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        node.play(self.now);
        let zero = node.load.as_ref().map_or(0, |load| load.zero);
        let begins = node.clock.when(zero);
        if dies(number) {
            node.life.dies_at = Some(begins + DIES_AFTER);
        }
        if is_parted(number) {
            node.parted = Some((begins + PARTED.0, begins + PARTED.1));
        }
    }

    /// Each second the coordinator takes in what has come of all, as far as all have come.
    pub(super) fn follow(&mut self) {
        let second = self.now / SECOND;
        if self.crowd.as_mut().is_some_and(|crowd| std::mem::replace(&mut crowd.looked, second) < second)
            && self.outcome.is_none()
        {
            self.take_in(false);
        }
    }

    /// No more will come of anybody.
    pub(super) fn follow_to_the_end(&mut self) {
        if let Some(crowd) = &mut self.crowd {
            crowd.due_before_the_end = crowd.followed.due;
            self.take_in(true);
        }
    }

    fn take_in(&mut self, all_are_over: bool) {
        let dir_of = |agent: &str| self.gathered_dir(number_of(agent));
        let over: BTreeSet<PathBuf> = self
            .coordinator
            .records()
            .filter(|(_, is_over)| *is_over || all_are_over)
            .map(|(agent, _)| dir_of(agent))
            .collect();
        let begun = self.inboxes.len() == self.nodes.len();
        let dirs: Vec<PathBuf> = (0..self.nodes.len()).map(|number| self.gathered_dir(number)).collect();
        let Some(Crowd { following, followed, .. }) = &mut self.crowd else { return };
        if following.is_none() && begun {
            *following = Following::open(&dirs, |dir| over.contains(dir)).expect("of one run");
        }
        let Some(following) = following else { return };
        while let Some(Followed { interval, .. }) =
            following.next(|dir| over.contains(dir)).expect("readable")
        {
            *followed += recorded(&interval.bank.counters.measured);
        }
    }

    /// What was counted while it came, and the account of each agent in the merged document, beside what happened.
    pub(super) fn check_crowd(&self, document: &RunDocument, here: &[Option<Here>]) {
        let Some(crowd) = &self.crowd else { return };
        let (mut sum, mut of_dead, mut told) = (Counts::default(), Counts::default(), 0);
        for (node, here) in self.nodes.iter().zip(here) {
            let (Some(here), Some(offer)) = (here, &node.offer) else { panic!("something came of each") };
            let counts = node.until(here.to);
            sum += counts;
            let agent = document.agents.iter().find(|agent| agent.plan.first == offer.first);
            let arrivals = &agent.and_then(|agent| agent.result.as_ref()).expect("it was merged").arrivals;
            let lost = if here.has_document { 0 } else { self.planned(node) - counts.ended() };
            assert_eq!((arrivals.ok, arrivals.lost), (counts.ok, lost), "share {}", offer.first);
            if !here.has_document {
                assert!(lost > 0, "share {}", offer.first);
                of_dead += counts;
            }
            told += arrivals.ok;
        }
        assert_eq!(told, document.arrivals.ok);
        assert_eq!(crowd.followed, sum, "counted second by second");
        assert!(crowd.due_before_the_end > 0, "nothing was counted while it came");
        assert!(of_dead.ended() > 0, "nothing had come of those that died");
    }
}

impl Node {
    fn play(&mut self, now: u64) {
        let Some(dir) = self.load.as_ref().map(|load| load.record.dir.clone()) else { return };
        let begun = NAMES.map(|name| fs::read(dir.join(name)).expect("a record that begins"));
        // What becomes of the lease is known later. Here none ends: nobody is silent for as long.
        let lease = std::mem::take(&mut self.lease);
        // By seconds, so that banks are used again.
        let mut seconds = (1..).map(|second| now + second * SECOND);
        let ended = seconds.find_map(|until| self.work(until, None)).expect("it ends some time");
        self.lease = lease;
        let Some(load) = &mut self.load else { return };
        if let By::Workers(workers, _) = &mut load.by {
            let happened = std::mem::take(workers).into_iter().map(Worker::into_happened);
            // It sends later than now.
            let happened = happened.map(|happened| Happened { last_sent: None, ..happened }).collect();
            load.by = By::Played(Played::of(&dir, begun, happened, ended));
        }
    }
}

/// A load that was played, and what comes to its folder when.
pub(super) struct Played {
    pub(super) happened: Vec<Happened>,
    ahead: VecDeque<Growth>,
    end: Option<(Vec<u8>, Ended)>,
}

/// What an interval brings.
struct Growth {
    /// After the schedule's zero.
    at: u64,
    hlog: Vec<u8>,
    line: Vec<u8>,
}

impl Played {
    /// Takes out of `dir` what came to it since its files had `begun`.
    fn of(dir: &Path, begun: [Vec<u8>; 3], happened: Vec<Happened>, ended: Ended) -> Played {
        let [document, lines, hlog] = NAMES.map(|name| fs::read(dir.join(name)).expect("a whole record"));
        let (mut ahead, mut from) = (VecDeque::new(), begun[2].len());
        for line in lines[begun[1].len()..].split_inclusive(|byte| *byte == b'\n') {
            let read: serde_json::Value = serde_json::from_slice(line).expect("a line");
            let number = |name: &str| read[name].as_u64().expect("a number");
            let to = number("hlog_bytes") as usize;
            let (at, hlog) = (number("start_ns") + number("length_ns"), hlog[from..to].to_vec());
            ahead.push_back(Growth { at, hlog, line: line.to_vec() });
            from = to;
        }
        for (name, bytes) in NAMES.iter().zip(begun) {
            fs::write(dir.join(name), bytes).expect("written");
        }
        Played { happened, ahead, end: Some((document, ended)) }
    }

    /// So much has passed since the schedule's zero. Gives how the run ended, once it has.
    pub(super) fn go_on(&mut self, dir: &Path, passed: u64) -> Option<Ended> {
        while let Some(Growth { hlog, line, .. }) = self.ahead.pop_front_if(|growth| growth.at <= passed) {
            for (name, bytes) in [(HLOG_FILE, hlog), (LINES_FILE, line)] {
                let file = OpenOptions::new().append(true).open(dir.join(name));
                file.and_then(|mut file| file.write_all(&bytes)).expect("written");
            }
        }
        let (document, ended) = self.end.take_if(|_| self.ahead.is_empty())?;
        // Another file takes its place, as where the program writes it.
        let new = dir.join("new");
        fs::write(&new, document).and_then(|()| fs::rename(&new, dir.join(RUN_FILE))).expect("written");
        Some(ended)
    }
}
