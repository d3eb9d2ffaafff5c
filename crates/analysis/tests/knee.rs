//! The search for the highest rate on simulated servers whose capacity is known. The table in `docs/knee.md` comes
//! from the same worlds, with more seeds and longer windows.

#[path = "../examples/knees/worlds.rs"]
mod worlds;

use unblink_analysis::experiment::knee::{Doom, Knee, Settings};
use unblink_analysis::experiment::{Experiment, Purpose};
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;
use worlds::World;

fn world(name: &str) -> World {
    worlds::all().into_iter().find(|world| world.name == name).expect("a world of this name")
}

/// Shorter windows than those of the table: the answer is lower, never higher.
fn settings() -> Settings {
    Settings {
        start: Rate::per_second(400),
        resolution: 0.03,
        measure: Nanos::from_secs(20),
        measure_max: Nanos::from_secs(160),
        ..worlds::settings()
    }
}

#[test]
fn the_rate_is_found_where_it_is_known() {
    for (name, lower) in [("M/M/1", 0.85), ("M/M/8", 0.85), ("cap of 5", 0.97)] {
        let world = world(name);
        let knee = worlds::search(&world, 1, settings());
        let found = knee.found().unwrap_or_else(|| panic!("{name}: {:?}", knee.doomed()));
        let share = found.rate.as_per_s() / world.exact_per_s.unwrap();
        assert!((lower..=1.03).contains(&share), "{name}: {share}");
        assert_eq!(knee.curve().collapse, None, "{name}");
        if name == "M/M/1" {
            check_law(&knee);
        }
    }
}

/// One queue: mean in flight ρ/(1 − ρ) is X/(μ − X), which is the law with σ = 1/2 and κ = 0.
fn check_law(knee: &Knee) {
    let usl = knee.curve().usl.expect("a fit");
    assert!((usl.sigma.value - 0.5).abs() < 0.05, "{usl:?}");
    assert!((usl.gamma_per_s.value / 500.0 - 1.0).abs() < 0.05, "{usl:?}");
    let capacity = knee.curve().capacity_per_s.unwrap();
    assert!((capacity / worlds::PER_SECOND - 1.0).abs() < 0.03, "{capacity}");
}

#[test]
fn a_server_that_does_not_recover_is_told_from_one_that_does() {
    let rested = worlds::search(&world("hysteresis, rested"), 1, settings());
    assert!(rested.found().is_some(), "{:?}", rested.doomed());
    // While it is slow it carries half.
    let collapse = rested.curve().collapse.expect("a collapse");
    assert!((collapse.least_per_s / 500.0 - 1.0).abs() < 0.2, "{collapse:?}");
    let stuck = worlds::search(&world("hysteresis, not rested"), 1, settings());
    assert!(matches!(stuck.doomed(), Some(Doom::Hysteresis { was_good: true, .. })), "{:?}", stuck.doomed());
    assert!(stuck.steps().iter().any(|step| step.trial.purpose == Purpose::Repeat));
}

#[test]
fn a_seed_gives_the_same_search_again() {
    let (a, b) = (
        worlds::search(&world("cap of 5"), 3, settings()),
        worlds::search(&world("cap of 5"), 3, settings()),
    );
    assert_eq!(a.steps(), b.steps());
}
