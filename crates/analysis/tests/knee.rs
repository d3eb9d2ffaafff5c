//! The search for the highest rate on simulated servers whose capacity is known. The table in `docs/knee.md` comes
//! from the same worlds, with more seeds.

#[path = "../examples/knees/worlds.rs"]
mod worlds;

use unblink_analysis::experiment::knee::{Doom, Knee, Reaches, Settings};
use unblink_analysis::experiment::{Experiment, Purpose};
use unblink_core::schedule::Rate;
use unblink_core::sim::{ServerSpec, Service};
use unblink_core::time::Nanos;
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
    let mut bends = 0;
    for seed in 1..=4 {
        let knee = found("M/M/1", seed);
        assert_eq!(knee.curve().collapse, None);
        bends += u32::from(check_law(&knee));
    }
    // Of forty fits one has an interval that lies above a κ of 0.
    assert!(bends <= 1, "{bends} of 4");
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

/// One queue: mean in flight ρ/(1 − ρ) is X/(μ − X), which is the law with σ = 1/2 and κ = 0. True where the fit says that κ
/// is above 0.
fn check_law(knee: &Knee) -> bool {
    let usl = knee.curve().usl.expect("a fit");
    assert!((usl.sigma.value - 0.5).abs() < 0.05 && usl.fits(), "{usl:?}");
    assert!((usl.gamma_per_s.value / 500.0 - 1.0).abs() < 0.05, "{usl:?}");
    assert!(usl.kappa.value < 0.001 && usl.peak_in_flight().is_none() == (usl.kappa.low == 0.0), "{usl:?}");
    let capacity = knee.curve().capacity_per_s.unwrap();
    assert!((capacity / worlds::PER_SECOND - 1.0).abs() < 0.03, "{capacity}");
    usl.kappa.low > 0.0
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

/// Four servers of 4 ms each: by the formula of Erlang the p99 is 40 ms at 875/s.
fn four_servers() -> World {
    let service = Service::Exponential { mean: Nanos::from_millis(4) };
    World {
        name: "M/M/4",
        server: ServerSpec { slots: Some(4), ..ServerSpec::new(service) },
        is_poisson: true,
        limit: Nanos::from_millis(40),
        exact_per_s: Some(875.0),
    }
}

/// Five minutes are not enough for the defaults, and all but one bracket must hold what is exact.
#[test]
fn five_minutes_end_with_a_bracket() {
    let within = Nanos::from_secs(300);
    let (mut wrong, mut widths) = (0, Vec::new());
    for seed in 1..=6 {
        let settings = Settings { within: Some(within), resolution: 0.1, ..worlds::settings() };
        let knee = worlds::search(&four_servers(), seed, settings);
        assert!(knee.load_time() <= within && knee.doomed().is_none(), "seed {seed}: {:?}", knee.doomed());
        let bracket = knee.bracket();
        let (Some(good), Some(missed)) = (bracket.good, bracket.missed_from) else {
            panic!("seed {seed}: {bracket:?}")
        };
        wrong += u32::from(good.as_per_s() > 875.0 || missed.as_per_s() < 875.0);
        widths.push(missed.as_per_s() / good.as_per_s());
    }
    let narrow = widths.iter().filter(|width| **width < 1.2).count();
    assert!(narrow >= 5, "{widths:?}");
    assert!(wrong <= 1, "{wrong} of 6 brackets don't hold 875/s");
}

/// Away from the border a rate that was asked for takes a few trials.
#[test]
fn what_was_asked_is_settled_soon() {
    for (asked, expected) in [(600, Reaches::Yes), (1_050, Reaches::No)] {
        let rate = Rate::per_second(asked);
        let settings = Settings { start: rate, at_least: Some(rate), ..worlds::settings() };
        for seed in 1..=3 {
            let knee = worlds::search(&four_servers(), seed, settings.clone());
            assert_eq!(knee.reaches(rate), expected, "{asked}, seed {seed}");
            assert!(knee.is_bracketed() && knee.steps().len() <= 3, "{asked}, seed {seed}");
        }
    }
}

/// A rate at the border itself can't be told, and must hardly ever be told wrong: 875/s is where it is.
#[test]
fn a_rate_at_the_border_is_not_told() {
    let rate = Rate::per_second(875);
    let within = Some(Nanos::from_secs(240));
    let settings = Settings { start: rate, at_least: Some(rate), within, ..worlds::settings() };
    let told = (1..=20).filter(|&seed| {
        let knee = worlds::search(&four_servers(), seed, settings.clone());
        knee.reaches(rate) != Reaches::Undecided
    });
    let told: Vec<u64> = told.collect();
    assert!(told.len() <= 2, "{told:?}");
}
