//! Thousands of hostile worlds: coordinator and agents in virtual time, with messages that are lost, late, doubled and out of
//! order, networks that part, processes that die or stand still, and clocks that differ, drift and are set. The load is that of the
//! real dispatcher, and records are recorded, gathered and merged as in a run. An account that knows everything is kept beside.

#![allow(clippy::print_stdout)] // the figures, for who runs it with --nocapture

mod world;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use world::{Fate, Rule, World};

/// What came of some worlds.
#[derive(Default)]
struct Seen {
    fates: BTreeMap<Fate, u64>,
    /// Of those in which another coordinator took the run up.
    resumed: BTreeMap<Fate, u64>,
    /// Their documents say that they are valid.
    valid: u64,
    requests: u64,
}

impl Seen {
    fn world(&mut self, seed: u64) {
        let mut world = World::new(seed);
        world.run();
        let (fate, is_valid) = world.check();
        *self.fates.entry(fate).or_default() += 1;
        if world.was_resumed() {
            *self.resumed.entry(fate).or_default() += 1;
        }
        self.valid += u64::from(is_valid);
        self.requests += world.requests();
    }

    fn add(&mut self, other: Seen) {
        other.fates.into_iter().for_each(|(fate, n)| *self.fates.entry(fate).or_default() += n);
        other.resumed.into_iter().for_each(|(fate, n)| *self.resumed.entry(fate).or_default() += n);
        self.valid += other.valid;
        self.requests += other.requests;
    }
}

/// The worlds of so many seeds, on every processor.
fn all(worlds: u64) -> Seen {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let share = |first: u64| {
        let mut seen = Seen::default();
        (first..worlds).step_by(threads as usize).for_each(|seed| seen.world(seed));
        seen
    };
    let mut sum = Seen::default();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
        for one in all {
            sum.add(one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    sum
}

/// Worlds by seed; `UNBLINK_CLUSTER_WORLDS` sets how many.
#[test]
fn hostile_worlds_without_a_complaint() {
    let worlds =
        std::env::var("UNBLINK_CLUSTER_WORLDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000u64);
    let Seen { fates, resumed, valid, requests } = all(worlds);
    println!("{worlds} worlds, {requests} requests: {fates:?}, {valid} valid, taken up: {resumed:?}");
    // A world that always ends the same way shows nothing.
    for fate in [Fate::Whole, Fate::Lost, Fate::NotBegun, Fate::NoCoordinator] {
        assert!(
            fates.get(&fate).is_some_and(|n| *n * 50 > worlds),
            "{fate:?} hardly ever happens: {fates:?}"
        );
    }
    // Few are taken up: of a few hundred worlds perhaps none of a kind.
    for fate in [Fate::Whole, Fate::Lost].into_iter().filter(|_| worlds >= 1_000) {
        assert!(resumed.get(&fate).is_some_and(|n| *n * 500 > worlds), "{fate:?} hardly ever: {resumed:?}");
    }
    assert!(valid * 100 > worlds, "{valid} of {worlds} are valid");
    assert!(requests > 100 * worlds, "{requests} requests");
}

/// What somebody else tells of the time starts nobody at another one: who was lied to says so, and no run begins.
#[test]
fn no_agent_begins_by_a_time_that_the_coordinator_did_not_tell() {
    let fates: Vec<Fate> = (0..200)
        .map(|seed| {
            let mut world = World::lied_to(seed);
            world.run();
            world.check().0
        })
        .collect();
    let not_begun = fates.iter().filter(|fate| **fate == Fate::NotBegun).count();
    assert!(not_begun > 100, "{not_begun} of 200");
}

/// A bus that comes back with an empty disk costs nothing: what it had kept is sent again, to the last byte, and once it counts.
#[test]
fn what_a_bus_has_lost_comes_again() {
    let (mut fates, mut missed) = (BTreeMap::<Fate, u64>::new(), 0);
    for seed in 0..200 {
        let mut world = World::forgetful(seed);
        world.run();
        *fates.entry(world.check().0).or_default() += 1;
        missed += u64::from(world.missed() > 0);
    }
    println!("{fates:?}, {missed} with something that the coordinator did not have");
    // Where it is gone while the start is told, none begins.
    assert!(fates.keys().all(|fate| [Fate::Whole, Fate::NotBegun].contains(fate)), "{fates:?}");
    assert!(fates[&Fate::Whole] > 150 && missed > 20, "{fates:?}, {missed}");
}

/// Whatever is not heeded, some of a few hundred worlds complain of it. With all of it heeded, none of them does.
#[test]
fn an_account_that_complains() {
    for rule in Rule::ALL {
        let is_refused = |seed: u64| {
            let mut world = World::without(rule, seed);
            catch_unwind(AssertUnwindSafe(move || {
                world.run();
                world.check();
            }))
            .is_err()
        };
        let first = (0..400).find(|&seed| is_refused(seed));
        println!("without {rule:?}, world {first:?} complains");
        assert!(first.is_some(), "{rule:?} is not heeded, and nobody complains");
    }
}

/// A thousand agents are as many as a load has shares, nearly. Each says something twice a second and is answered, and nobody is
/// lost for what the bus loses.
#[test]
fn a_thousand_agents_begin_and_end_together() {
    for (seed, agents) in [(1, 100), (2, 1_000)] {
        let mut world = World::crowd(seed, agents);
        world.run();
        assert_eq!(world.check().0, Fate::Whole, "{agents} agents");
        let (seconds, count) = world.size();
        let each = world.words() as f64 / count as f64;
        // Two words a second and their answers, and 33 questions about the time.
        let most = 4.2 * seconds as f64 + 2.0 * 40.0;
        assert!(each < most, "{each} words for each of {agents} agents in {seconds} s, more than {most}");
    }
}

/// What a thousand agents record comes second by second over a bus that loses words and has others come late: together it is what
/// happened, to the last arrival, while it comes and in the end. Of agents that die under load that is lost of which nothing had come.
#[test]
fn the_records_of_a_crowd_are_one_account() {
    let mut world = World::recording(21, 1_000);
    world.run();
    let (fate, is_valid) = world.check();
    assert_eq!((fate, is_valid), (Fate::Lost, false));
    assert!(!world.dead().is_empty());
    assert_eq!(world.lost(), world.dead());
    println!("{} requests, {} words, {:?} died", world.requests(), world.words(), world.dead());
}
