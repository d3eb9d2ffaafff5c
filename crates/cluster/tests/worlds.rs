//! Thousands of hostile worlds: coordinator and agents in virtual time, with messages that are lost, late, doubled and out of
//! order, networks that part, processes that die or stand still, and clocks that differ and drift. An account that knows
//! everything is kept beside.

mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use world::{Fate, Rule, World};

/// Worlds by seed; `UNBLINK_CLUSTER_WORLDS` sets how many.
#[test]
fn hostile_worlds_without_a_complaint() {
    let worlds =
        std::env::var("UNBLINK_CLUSTER_WORLDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000u64);
    let mut fates = std::collections::BTreeMap::<Fate, u64>::new();
    let mut resumed = fates.clone();
    for seed in 0..worlds {
        let mut world = World::new(seed);
        world.run();
        let fate = world.check();
        *fates.entry(fate).or_default() += 1;
        if world.was_resumed() {
            *resumed.entry(fate).or_default() += 1;
        }
    }
    // A world that always ends the same way shows nothing.
    for fate in [Fate::Whole, Fate::Lost, Fate::NotBegun, Fate::NoCoordinator] {
        assert!(
            fates.get(&fate).is_some_and(|n| *n * 50 > worlds),
            "{fate:?} hardly ever happens: {fates:?}"
        );
    }
    for fate in [Fate::Whole, Fate::Lost] {
        assert!(resumed.get(&fate).is_some_and(|n| *n * 500 > worlds), "{fate:?} hardly ever: {resumed:?}");
    }
}

/// What somebody else tells of the time starts nobody at another one: who was lied to says so, and no run begins.
#[test]
fn no_agent_begins_by_a_time_that_the_coordinator_did_not_tell() {
    let fates: Vec<Fate> = (0..200)
        .map(|seed| {
            let mut world = World::lied_to(seed);
            world.run();
            world.check()
        })
        .collect();
    let not_begun = fates.iter().filter(|fate| **fate == Fate::NotBegun).count();
    assert!(not_begun > 100, "{not_begun} of 200");
}

/// Whatever is not heeded, some of a few hundred worlds complain of it. With all of it heeded, none of them does.
#[test]
fn an_account_that_complains() {
    let complain = |world: &dyn Fn(u64) -> World| -> u64 {
        let is_refused = |seed: u64| {
            let mut world = world(seed);
            catch_unwind(AssertUnwindSafe(move || {
                world.run();
                world.check();
            }))
            .is_err()
        };
        (0..400).map(|seed| u64::from(is_refused(seed))).sum()
    };
    assert_eq!(complain(&World::new), 0);
    for rule in Rule::ALL {
        let worlds = complain(&|seed| World::without(rule, seed));
        assert!(worlds > 0, "{rule:?} is not heeded, and nobody complains");
    }
}

/// A thousand agents are as many as a load has shares, nearly. Each says something twice a second and is answered, and nobody is
/// lost for what the bus loses.
#[test]
fn a_thousand_agents_begin_and_end_together() {
    for (seed, agents) in [(1, 100), (2, 1_000)] {
        let mut world = World::crowd(seed, agents);
        world.run();
        assert_eq!(world.check(), Fate::Whole, "{agents} agents");
        let (seconds, count) = world.size();
        let each = world.words() as f64 / count as f64;
        // Two words a second and their answers, and 33 questions about the time.
        let most = 4.2 * seconds as f64 + 2.0 * 40.0;
        assert!(each < most, "{each} words for each of {agents} agents in {seconds} s, more than {most}");
    }
}
