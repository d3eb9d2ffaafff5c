//! The search for the highest rate on simulated servers whose capacity is known. The table in `docs/knee.md` comes
//! from the same worlds, with more seeds.

#[path = "../examples/knees/worlds.rs"]
mod worlds;

use unblink_analysis::experiment::knee::{Doom, Knee, Settings};
use unblink_analysis::experiment::{Experiment, Purpose};
use unblink_core::schedule::Rate;
use worlds::World;

fn world(name: &str) -> World {
    worlds::all().into_iter().find(|world| world.name == name).expect("a world of this name")
}

/// The defaults of the command, from a higher rate: less to simulate.
fn settings() -> Settings {
    Settings { start: Rate::per_second(400), ..worlds::settings() }
}

/// The search, whose answer must lie within 3 % of the exact rate, and the exact rate between what it has shown.
fn found(name: &str, seed: u64) -> Knee {
    let world = world(name);
    let knee = worlds::search(&world, seed, settings());
    let found = knee.found().unwrap_or_else(|| panic!("{name}, seed {seed}: {:?}", knee.doomed()));
    let exact_per_s = world.exact_per_s.expect("an exact rate");
    let off = found.rate.as_per_s() / exact_per_s - 1.0;
    assert!(off.abs() <= 0.03, "{name}, seed {seed}: {found:?} is off by {off}");
    assert!(found.good.as_per_s() <= exact_per_s, "{name}, seed {seed}: {found:?}");
    assert!(found.missed_from.is_none_or(|missed| exact_per_s <= missed.as_per_s()), "{found:?}");
    knee
}

#[test]
fn one_server() {
    for seed in 1..=2 {
        let knee = found("M/M/1", seed);
        assert_eq!(knee.curve().collapse, None);
        check_law(&knee);
    }
}

#[test]
fn eight_servers() {
    (1..=2).for_each(|seed| drop(found("M/M/8", seed)));
}

#[test]
fn constant_service() {
    found("M/D/1", 1);
}

#[test]
fn a_cap() {
    for seed in 1..=3 {
        let knee = found("cap of 5, even arrivals", seed);
        assert!(knee.found().is_some_and(|found| !found.is_interpolated), "it breaks down below the limit");
        assert_eq!(knee.curve().collapse, None);
    }
}

#[test]
fn congestion_collapse() {
    for seed in 1..=2 {
        let knee = found("congestion collapse", seed);
        assert!(knee.curve().collapse.is_some());
    }
}

#[test]
fn what_recovers_when_it_is_left_alone() {
    let rested = found("hysteresis, rested", 1);
    // While it is slow it carries half.
    let collapse = rested.curve().collapse.expect("a collapse");
    assert!((collapse.least_per_s / 500.0 - 1.0).abs() < 0.2, "{collapse:?}");
}

/// It has pauses of 1 s, 60 s apart on average: 1.6 % of what comes at any rate waits for more than 50 ms.
#[test]
fn pauses_at_any_rate_are_no_border() {
    for seed in 1..=3 {
        let knee = worlds::search(&world("pauses at any rate"), seed, worlds::settings());
        assert!(knee.found().is_none() && knee.doomed().is_some(), "seed {seed}: {:?}", knee.found());
    }
}

/// One queue: mean in flight ρ/(1 − ρ) is X/(μ − X), which is the law with σ = 1/2 and κ = 0.
fn check_law(knee: &Knee) {
    let usl = knee.curve().usl.expect("a fit");
    assert!((usl.sigma.value - 0.5).abs() < 0.05 && usl.fits(), "{usl:?}");
    assert!((usl.gamma_per_s.value / 500.0 - 1.0).abs() < 0.05, "{usl:?}");
    assert!(usl.kappa.low == 0.0 && usl.peak_in_flight().is_none(), "{usl:?}");
    let capacity = knee.curve().capacity_per_s.unwrap();
    assert!((capacity / worlds::PER_SECOND - 1.0).abs() < 0.03, "{capacity}");
}

#[test]
fn what_does_not_recover_has_no_answer() {
    let stuck = worlds::search(&world("hysteresis, not rested"), 1, settings());
    assert!(matches!(stuck.doomed(), Some(Doom::Hysteresis { was_good: true, .. })), "{:?}", stuck.doomed());
    assert!(stuck.steps().iter().any(|step| step.trial.purpose == Purpose::Repeat));
}

#[test]
fn a_seed_gives_the_same_search_again() {
    let (a, b) = (
        worlds::search(&world("cap of 5, even arrivals"), 3, settings()),
        worlds::search(&world("cap of 5, even arrivals"), 3, settings()),
    );
    assert_eq!(a.steps(), b.steps());
}
