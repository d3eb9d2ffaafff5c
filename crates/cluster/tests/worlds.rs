//! Thousands of hostile worlds: coordinator and agents in virtual time, with messages that are lost, late, doubled and out of
//! order, networks that part, processes that die or stand still, and clocks that differ and drift. An account that knows
//! everything is kept beside.

mod world;

use world::{Fate, World};

/// Worlds by seed; `UNBLINK_CLUSTER_WORLDS` sets how many.
#[test]
fn hostile_worlds_without_a_complaint() {
    let worlds =
        std::env::var("UNBLINK_CLUSTER_WORLDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000u64);
    let mut fates = std::collections::BTreeMap::<Fate, u64>::new();
    for seed in 0..worlds {
        let mut world = World::new(seed);
        world.run();
        *fates.entry(world.check()).or_default() += 1;
    }
    // A world that always ends the same way shows nothing.
    for fate in [Fate::Whole, Fate::Lost, Fate::NotBegun, Fate::NoCoordinator] {
        assert!(
            fates.get(&fate).is_some_and(|n| *n * 50 > worlds),
            "{fate:?} hardly ever happens: {fates:?}"
        );
    }
}
