//! Objectives where machines were lost: a verdict stands only if it does whatever became of their arrivals.

mod slo_support;

use slo_support::{World, uniform};
use unblink_analysis::slo::judge;
use unblink_analysis::slo::{Reason, Slo, VerdictStatus, WindowCounts};
use unblink_core::time::Nanos;

const SECONDS: u64 = 20;

/// The verdict of 20 s in which 1,000/s took 1 to 100 ms, with so many more that were lost.
fn with_lost(text: &str, lost: u64) -> (VerdictStatus, Reason) {
    let judged = World::new(SECONDS, uniform).judge_in(text, |run| run.lost = lost);
    (judged.verdict, judged.reason)
}

#[test]
fn what_can_be_turned_by_what_was_lost_is_not_told() {
    for (text, verdict, few, many) in [
        // 20,000 are known. 1 % of all may be longer than anything.
        ("p99 < 150ms", VerdictStatus::Pass, 100, 300),
        // p12.5 of those that are known is the median of all if 15,000 more were answered at once.
        ("p50 < 20ms", VerdictStatus::Fail, 100, 15_000),
        ("mean < 40ms", VerdictStatus::Fail, 100, 15_000),
        ("errors < 1%", VerdictStatus::Pass, 20, 300),
        ("achieved >= 90%", VerdictStatus::Pass, 1_000, 5_000),
        ("achieved >= 2000/s", VerdictStatus::Fail, 10_000, 25_000),
    ] {
        assert_eq!(with_lost(text, 0).0, verdict, "{text}");
        assert_eq!(with_lost(text, few).0, verdict, "{text} with {few}");
        assert_eq!(with_lost(text, many), (VerdictStatus::Inconclusive, Reason::Lost), "{text} with {many}");
    }
    // One that never came is the longest, whatever the others say; one that came at once changes no maximum.
    assert_eq!(with_lost("max < 1s", 1), (VerdictStatus::Inconclusive, Reason::Lost));
    assert_eq!(with_lost("mean < 60ms", 1), (VerdictStatus::Inconclusive, Reason::Lost));
    assert_eq!(with_lost("max < 50ms", 1_000_000).0, VerdictStatus::Fail);
    assert_eq!(with_lost("achieved >= 900/s", 1_000_000).0, VerdictStatus::Pass);
}

/// Where the rate changes, arrivals without an end and lost ones were each allowed the whole limit.
#[test]
fn what_is_open_and_what_is_lost_may_fail_together() {
    let told = |open, lost| {
        let mut world = World::new(SECONDS, uniform);
        world.counts.open = open;
        let judged = world.judge_in("errors < 1%", |run| (run.lost, run.is_steady) = (lost, false));
        (judged.verdict, judged.reason)
    };
    for (open, lost) in [(160, 0), (0, 140), (80, 80)] {
        assert_eq!(told(open, lost), (VerdictStatus::Pass, Reason::ThisRun), "{open} {lost}");
    }
    assert_eq!(told(160, 140), (VerdictStatus::Inconclusive, Reason::Lost));
}

#[test]
fn windows_may_each_have_what_was_lost() {
    let slo = Slo::parse("p99 < 200ms in 90% of 10s").expect("valid");
    let windows = slo.windows.expect("windows");
    let verdict = |good, bad, lost| {
        let mut run = None;
        World::new(1, uniform).judge_in("max < 1s", |facts| run = Some(*facts));
        let run = unblink_analysis::slo::Run { lost, ..run.expect("judged") };
        let counts = WindowCounts { good, bad, ..WindowCounts::default() };
        judge::judge_windows(&slo.objective, &windows, counts, 1, &run).verdict
    };
    assert_eq!([verdict(10, 0, 0), verdict(5, 5, 0)], [VerdictStatus::Pass, VerdictStatus::Fail]);
    assert_eq!([verdict(10, 0, 1), verdict(5, 5, 1)], [VerdictStatus::Inconclusive; 2]);
}

/// The same arrivals with the lost ones among them, at their two extremes: no verdict is the opposite of the one without them.
#[test]
fn no_fate_of_the_lost_reverses_a_verdict() {
    let limits = [1, 5, 20, 49, 50, 51, 90, 98, 99, 100, 101, 150];
    for lost_per_s in [1, 5, 10, 11, 50, 300] {
        for (q, limit) in
            ["p50", "p90", "p99", "mean", "max"].into_iter().flat_map(|q| limits.map(|limit| (q, limit)))
        {
            let text = format!("{q} < {limit}ms");
            let known = World::new(SECONDS, uniform);
            let told = known.judge_in(&text, |run| run.lost = lost_per_s * SECONDS).verdict;
            for fate_ms in [0, 3_600_000] {
                let fate = |second| {
                    let mut all = uniform(second);
                    all.extend((0..lost_per_s).map(|_| fate_ms));
                    all
                };
                let truth = World::new(SECONDS, fate).judge_in(&text, |_| ()).verdict;
                let is_opposite = matches!(
                    (told, truth),
                    (VerdictStatus::Pass, VerdictStatus::Fail) | (VerdictStatus::Fail, VerdictStatus::Pass)
                );
                assert!(!is_opposite, "{text}: {told:?} of {lost_per_s}/s lost, {truth:?} at {fate_ms} ms");
            }
        }
    }
}

#[test]
fn ranges_of_percentiles_are_exact() {
    use unblink_analysis::quantile::Survival;
    let world = World::new(1, uniform);
    let known = Survival::known(&world.completed);
    for (q, lost) in
        [(0.5, 10), (0.5, 999), (0.5, 1_001), (0.99, 9), (0.99, 10), (0.99, 11), (0.999, 1), (0.999, 2)]
    {
        let value_among = |fate_ns: u64| {
            let mut track = world.completed.clone();
            (0..lost).for_each(|_| track.record(Nanos(fate_ns)));
            Survival::known(&track).quantile(q).expect("samples").value_ns
        };
        let (at_once, never) = known.with_lost(q, lost).expect("samples");
        // But for where in its bin a value is told.
        let is_same = |one: u64, other: u64| world.completed.histogram.equivalent(one.max(1), other.max(1));
        assert!(is_same(at_once, value_among(0)), "{q} {lost}: {at_once}");
        let longest = 3_600_000_000_000;
        match (never, value_among(longest)) {
            (None, value) => assert!(value > longest / 2, "{q} {lost}: {value}"),
            (Some(never), value) => assert!(is_same(never, value), "{q} {lost}: {never} {value}"),
        }
    }
}

/// Neither a best nor a worst is known.
#[test]
fn where_it_is_not_known_how_much_was_lost_nothing_is_told() {
    for text in ["p99 < 150ms", "p50 < 20ms", "max < 50ms", "errors < 1%", "achieved >= 900/s"] {
        let told = |is_unbounded| {
            World::new(SECONDS, uniform).judge_in(text, |run| run.loss_is_unbounded = is_unbounded)
        };
        assert_ne!(told(false).verdict, VerdictStatus::Inconclusive, "{text}");
        let judged = told(true);
        assert_eq!((judged.verdict, judged.reason), (VerdictStatus::Inconclusive, Reason::Lost), "{text}");
    }
}
