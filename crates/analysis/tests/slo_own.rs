//! Verdicts where the generator may have had a part, and where arrivals failed.

mod slo_support;

use slo_support::{World, uniform};
use unblink_analysis::moves::{Moved, Moves};
use unblink_analysis::slo::*;
use unblink_core::time::Nanos;

#[test]
fn nothing_is_told_where_the_account_does_not_close() {
    let world = World::new(60, uniform);
    for text in ["p99 < 200ms", "p50 < 1ms", "errors < 1%", "achieved >= 90%", "max < 1s", "mean < 1s"] {
        let judgement = world.judge_in(text, |run| run.is_accounted = false);
        assert_eq!(
            (judgement.verdict, judgement.reason),
            (VerdictStatus::Inconclusive, Reason::NotBelievable)
        );
        assert!(judgement.value.is_some(), "the figure is still told: {text}");
    }
}

/// A late generator can only have made figures worse, one that did not send may have spared the target.
#[test]
fn met_is_withheld_where_a_fault_may_flatter_and_nowhere_else() {
    let world = World::new(60, uniform);
    let met = ["p99 < 200ms", "errors < 1%", "achieved >= 90%", "max < 1s", "mean < 1s"];
    let all = |moved| Moves { times: moved, errors: moved, achieved: moved };
    for text in met {
        let under = |moved| world.judge_in(text, |run| run.moves = all(moved)).verdict;
        assert_eq!(under(Moved::Worse), VerdictStatus::Pass, "{text}");
        assert_eq!(under(Moved::Either), VerdictStatus::Inconclusive, "{text}");
        assert_eq!(under(Moved::Better), VerdictStatus::Inconclusive, "{text}");
        // Without anything that it may have touched, a fault takes nothing from what is missed.
        assert_eq!(
            world.judge_in("p50 < 1ms", |run| run.moves = all(Moved::Either)).verdict,
            VerdictStatus::Fail
        );
    }
    let times = Moves { times: Moved::Better, ..Moves::default() };
    assert_eq!(world.judge_in("errors < 1%", |run| run.moves = times).verdict, VerdictStatus::Pass);
}

/// 1,000 arrivals a second at 10 ms; of one second, `slow` of them took 310 ms because the generator was away.
fn paused(slow: u64) -> World {
    let mut world =
        World::new(60, |s| (0..1_000).map(|i| if s == 30 && i < slow { 310 } else { 10 }).collect());
    for _ in 0..slow {
        world.hindered.record(Nanos::from_millis(310));
        world.unhindered.record(Nanos::from_millis(10));
    }
    world
}

#[test]
fn a_pause_of_the_generator_fails_nobody() {
    for text in ["max < 100ms", "p99.9 < 100ms", "p99 < 100ms"] {
        let judgement = paused(900).judge_in(text, |_| ());
        assert_ne!(judgement.verdict, VerdictStatus::Fail, "{text}: {judgement:?}");
    }
    let max = paused(900).judge_in("max < 100ms", |_| ());
    assert_eq!((max.verdict, max.reason), (VerdictStatus::Inconclusive, Reason::Generator));
    assert_eq!(max.value, Some(310e6), "what was measured is still told");
    // 54 of 60 s: the mean is 280 ms with the pauses and 10 ms without.
    let mut always = World::new(60, |_| vec![310; 1_000]);
    always.hindered = always.completed.clone();
    (0..60_000).for_each(|_| always.unhindered.record(Nanos::from_millis(10)));
    for text in ["mean < 100ms", "p50 < 100ms", "p99 < 100ms"] {
        let judgement = always.judge_in(text, |_| ());
        assert_eq!(
            (judgement.verdict, judgement.reason),
            (VerdictStatus::Inconclusive, Reason::Generator),
            "{text}"
        );
    }
    // What the pause left is too slow as well.
    assert_eq!(always.verdict("p50 < 5ms"), (VerdictStatus::Fail, Reason::Interval));
    assert_eq!(paused(900).verdict("p50 < 5ms"), (VerdictStatus::Fail, Reason::Interval));
    assert_eq!(always.verdict("mean < 5ms").0, VerdictStatus::Fail);
}

/// The same arrivals, and as many that the target itself made wait.
#[test]
fn a_pause_excuses_no_more_than_it_touched() {
    let mut world = World::new(60, |_| (0..1_000).map(|i| if i % 20 == 0 { 500 } else { 10 }).collect());
    for _ in 0..100 {
        world.hindered.record(Nanos::from_millis(500));
        world.unhindered.record(Nanos::from_millis(450));
    }
    assert_eq!(world.verdict("p99 < 200ms").0, VerdictStatus::Fail);
    assert_eq!(world.verdict("max < 200ms").0, VerdictStatus::Fail);
    // 5 % are slow; if 6 % may have been touched unseen, nothing is sure.
    world.unseen = 3_600;
    assert_eq!(world.verdict("p99 < 200ms"), (VerdictStatus::Inconclusive, Reason::Generator));
    assert_eq!(world.verdict("max < 200ms"), (VerdictStatus::Inconclusive, Reason::Generator));
    world.unseen = 600;
    assert_eq!(world.verdict("p99 < 200ms").0, VerdictStatus::Fail);
}

#[test]
fn errors_that_may_be_the_generators_own_miss_nothing() {
    let mut world = World::with_errors(60, |_| vec![10; 980], |_| 20);
    assert_eq!(world.verdict("errors < 1%").0, VerdictStatus::Fail);
    world.failed_hindered = 700;
    assert_eq!(world.verdict("errors < 1%"), (VerdictStatus::Inconclusive, Reason::Generator));
    world.failed_hindered = 300;
    assert_eq!(world.verdict("errors < 1%").0, VerdictStatus::Fail);
    assert_eq!(world.verdict("achieved >= 99%").0, VerdictStatus::Fail);
    world.failed_hindered = 1_200;
    assert_eq!(world.verdict("achieved >= 99%"), (VerdictStatus::Inconclusive, Reason::Generator));
}

/// A percentile promises an answer to a share of the arrivals.
#[test]
fn failures_miss_a_percentile_unless_an_objective_speaks_of_them() {
    let of =
        |failed: u64| World::with_errors(60, move |_| vec![10; 1_000 - failed as usize], move |_| failed);
    assert_eq!(of(5).verdict("p99 < 200ms"), (VerdictStatus::Pass, Reason::Interval));
    assert_eq!(of(330).verdict("p99 < 200ms"), (VerdictStatus::Fail, Reason::Unanswered));
    assert_eq!(of(330).verdict("p50 < 200ms"), (VerdictStatus::Pass, Reason::Interval));
    assert_eq!(of(700).verdict("p50 < 200ms"), (VerdictStatus::Fail, Reason::Unanswered));
    let judged = of(330).judge_in("p99 < 200ms", |run| run.errors_are_judged = true);
    assert_eq!((judged.verdict, judged.reason), (VerdictStatus::Pass, Reason::Interval));
    for text in ["p50 < 200ms", "p99 < 200ms", "max < 1s", "mean < 1s"] {
        let judged = of(1_000).judge_in(text, |run| run.errors_are_judged = true);
        assert_eq!((judged.verdict, judged.reason), (VerdictStatus::Fail, Reason::Unanswered), "{text}");
    }
}

/// 60 journeys a minute of 5 s each, of which the target made 10 take 6 s. The generator was away for 400 ms in all.
#[test]
fn of_journeys_everything_that_was_added_excuses_those_that_are_the_least_beyond() {
    let slow = |ms| move |s: u64| vec![if s < 10 { ms } else { 5_000 }; 1];
    let touched = |ms: u64, own_ms: u64| {
        let mut world = World::new(60, slow(ms));
        world.subject = Subject::Journeys;
        world.hindered.record(Nanos::from_millis(10 + own_ms));
        world.unhindered.record(Nanos::from_millis(10));
        world
    };
    // No request was as slow as that, but each journey has many.
    let max = |ms, own_ms| touched(ms, own_ms).verdict("max < 5500ms").0;
    assert_eq!(max(6_000, 400), VerdictStatus::Fail);
    assert_eq!(max(6_000, 5_500), VerdictStatus::Inconclusive);
    assert_eq!(max(5_520, 400), VerdictStatus::Inconclusive);
    assert_eq!(max(5_520, 100), VerdictStatus::Fail);
    // All of it may have gone to one journey, and then to no other.
    let p50 = |own_ms| touched(5_000, own_ms).verdict("p50 < 4900ms").0;
    assert_eq!((p50(400), p50(6_000)), (VerdictStatus::Fail, VerdictStatus::Inconclusive));
}
