//! Objectives: the grammar, and verdicts on runs whose truth is known.

mod slo_support;

use slo_support::{World, uniform};
use unblink_analysis::interval::{EndedBy, History};
use unblink_analysis::moves::Moves;
use unblink_analysis::slo::*;
use unblink_core::record::{Interval, Track};
use unblink_core::time::{Nanos, SECOND_NS};

#[test]
fn a_percentile_is_judged_by_its_interval() {
    let world = World::new(60, uniform);
    assert_eq!(world.verdict("p99 < 200ms"), (VerdictStatus::Pass, Reason::Interval));
    assert_eq!(world.verdict("p50 < 40ms"), (VerdictStatus::Fail, Reason::Interval));
    assert_eq!(world.verdict("p50 < 50ms"), (VerdictStatus::Inconclusive, Reason::Straddles));
    let judgement = world.judge_in("p97 < 200ms", |_| ());
    let (low, high) = (judgement.low.expect("low"), judgement.high.expect("high"));
    assert!(
        low <= 97.1e6 && high >= 97e6 && high - low < 5e6,
        "a percentile that no table prints: {judgement:?}"
    );
    assert_eq!(judgement.samples, 60_000);
}

#[test]
fn censored_values_miss_a_low_limit_for_sure_and_never_meet_a_high_one() {
    // 2 % of all are known only to take longer than 5 s.
    let mut world = World::new(60, uniform);
    let mut cut = Track::default();
    (0..1_200).for_each(|_| cut.record(Nanos::from_secs(5)));
    world.censored = cut;
    world.counts.arrivals += 1_200;
    assert_eq!(world.verdict("p99 < 200ms").0, VerdictStatus::Fail);
    assert_eq!(world.verdict("p99 < 10s").0, VerdictStatus::Inconclusive);
    assert_eq!(world.verdict("max < 200ms").0, VerdictStatus::Fail);
    assert_eq!(world.verdict("max < 10s"), (VerdictStatus::Inconclusive, Reason::Censored));
    assert_eq!(world.verdict("p50 < 200ms").0, VerdictStatus::Pass, "what is below is known");
    assert!(world.judge_in("p99 < 10s", |_| ()).is_lower_bound);
}

/// The lower end of the interval lies among the censored as the figure does, so that it is no response time that was
/// known: "above 100 ms" would say nothing about a limit of 4 s, and yet the verdict is clear.
#[test]
fn the_bound_that_is_shown_is_the_one_that_decides() {
    let with_cut = |share_cut: usize| {
        let mut world = World::new(60, uniform);
        world.history = History::default();
        for second in 0..60 {
            let (mut track, mut cut): (Track<u64>, Track<u64>) = Default::default();
            uniform(second).into_iter().for_each(|ms| track.record(Nanos::from_millis(ms)));
            (0..share_cut).for_each(|_| cut.record(Nanos::from_secs(5)));
            world.history.add(Nanos::from_secs(second), Nanos::from_secs(1), 0, &track, &cut);
            world.censored.add(&cut);
            world.counts.arrivals += share_cut as u64;
        }
        world
    };
    let clear = with_cut(30).judge_in("p99 < 4s", |_| ());
    assert_eq!((clear.verdict, clear.reason), (VerdictStatus::Fail, Reason::Interval), "{clear:?}");
    assert_eq!((clear.low, clear.value), (Some(5e9), Some(5e9)));
    for cut in [8, 9, 10, 11, 12, 14, 30] {
        for limit in ["50ms", "98ms", "99ms", "4s", "10s"] {
            let slo = Slo::parse(&format!("p99 < {limit}")).expect("valid");
            let judgement = with_cut(cut).judge_in(&slo.to_string(), |_| ());
            let holds = |end: Option<f64>| end.is_none_or(|end| slo.objective.holds(end));
            match judgement.verdict {
                VerdictStatus::Fail => assert!(!holds(judgement.low), "{cut} {limit}: {judgement:?}"),
                VerdictStatus::Pass => {
                    assert!(judgement.high.is_some() && holds(judgement.high), "{judgement:?}")
                }
                VerdictStatus::Inconclusive => assert!(holds(judgement.low), "{cut} {limit}: {judgement:?}"),
            }
        }
    }
}

/// `seconds` of a load of 56 s, each with 100 response times of 10 ms, in windows of 10 s.
fn windows_of(seconds: std::ops::Range<u64>, part_of: impl Fn(u64) -> Stretch) -> WindowCounts {
    windows_with(Failures::Elsewhere, seconds, part_of)
}

fn windows_with(
    failures: Failures,
    seconds: std::ops::Range<u64>,
    part_of: impl Fn(u64) -> Stretch,
) -> WindowCounts {
    let slo = Slo::parse("p99 < 200ms in 90% of 10s").expect("valid");
    let windows = slo.windows.expect("windows");
    let mut watch = WindowWatch::new(slo.objective, failures, &windows, Nanos::ZERO);
    for second in seconds {
        let (start, load_to) = (Nanos::from_secs(second), Nanos::from_secs(56));
        watch.add(start, Nanos::from_secs(1), load_to, &part_of(second));
    }
    watch.counts()
}

#[test]
fn part_of_a_window_is_none() {
    let good = |_| Stretch { samples: 100, ended: 100, due: 100, ..Stretch::default() };
    let five = WindowCounts { good: 5, ..WindowCounts::default() };
    assert_eq!(windows_of(0..56, good), five, "the last 6 s belong to the window before");
    let late = |s| Stretch { beyond: if s == 55 { 100 } else { 0 }, ..good(s) };
    assert_eq!(windows_of(0..56, late), WindowCounts { good: 4, bad: 1, ..five }, "and count there");
    assert_eq!(windows_of(0..20, good), WindowCounts { good: 2, ..five });
    let cut = WindowCounts { good: 2, unknown: 1, cut_short: 1, ..five };
    assert_eq!(windows_of(0..23, good), cut, "the run was ended");
}

#[test]
fn windows_that_hold_only_failures_are_bad() {
    let failed = |own| {
        move |_| Stretch {
            ended: 100,
            errors: 100,
            errors_own: own,
            failed_own: own,
            failed: 100,
            due: 100,
            ..Stretch::default()
        }
    };
    let bad = WindowCounts { bad: 5, ..WindowCounts::default() };
    assert_eq!(windows_with(Failures::Unanswered, 0..56, failed(0)), bad);
    assert_eq!(windows_with(Failures::Elsewhere, 0..56, failed(0)), bad);
    let counts = windows_of(0..56, failed(100));
    assert_eq!(counts, WindowCounts { unknown: 5, unanswered: 5, ..WindowCounts::default() });
    let slo = Slo::parse("p99 < 200ms in 90% of 10s").expect("valid");
    let judgement =
        Judgement { windows: Some(counts), ..World::new(1, uniform).judge_in("max < 1s", |_| ()) };
    let message = Judgement { reason: Reason::Windows, ..judgement }.message(&slo, Subject::Arrivals);
    assert_eq!(message, "It held in 0 of 5 windows, 5 could not be told (5 without an answer).");
}

#[test]
fn a_window_that_the_generator_may_have_spoilt_is_not_told() {
    let slow = |own| {
        move |_| Stretch {
            samples: 100,
            ended: 100,
            due: 100,
            beyond: 5,
            beyond_own: own,
            ..Stretch::default()
        }
    };
    let five = |bad, unknown| WindowCounts { bad, unknown, ..WindowCounts::default() };
    assert_eq!(windows_of(0..56, slow(0)), five(5, 0));
    // One of a thousand may lie beyond: of 50 slow ones 10 at most are the generator's.
    assert_eq!(windows_of(0..56, slow(1)), five(5, 0));
    assert_eq!(windows_of(0..56, slow(5)), five(0, 5));
    let unseen = |_| Stretch { is_unseen: true, ..slow(0)(0) };
    assert_eq!(windows_of(0..56, unseen), five(0, 5));
}

#[test]
fn a_rule_does_not_stop_a_run_for_the_generators_own_pause() {
    let rule = AbortRule::parse("errors > 50% for 2s").expect("valid");
    let fires = |errors_own: u64| {
        let mut watch = AbortWatch::new(&rule);
        let part = Stretch { ended: 100, errors: 80, errors_own, due: 100, ..Stretch::default() };
        (0..3).any(|_| watch.look(Nanos(SECOND_NS), &part))
    };
    assert!(fires(0) && fires(20) && !fires(60));
}

#[test]
fn too_few_samples_meet_nothing_but_can_miss() {
    // 100 samples a run: an upper bound of p99 takes 368.
    let few = World::new(50, |_| vec![5, 5]);
    assert_eq!(few.verdict("p99 < 200ms"), (VerdictStatus::Inconclusive, Reason::FewSamples));
    let slow = World::new(50, |_| vec![500, 500]);
    assert_eq!(slow.verdict("p99 < 200ms"), (VerdictStatus::Fail, Reason::ThisRun));
    let none = World::new(50, |_| vec![]);
    assert_eq!(none.verdict("p99 < 200ms"), (VerdictStatus::Inconclusive, Reason::FewSamples));
    assert_eq!(none.verdict("errors < 1%"), (VerdictStatus::Inconclusive, Reason::FewSamples));
    assert_eq!(none.verdict("max < 1s"), (VerdictStatus::Inconclusive, Reason::FewSamples));
}

#[test]
fn one_event_misses_a_limit_in_this_run_and_promises_nothing_beyond() {
    // One second in 60 of which every answer takes 1 s.
    let world = World::new(60, |s| if s == 30 { vec![1_000; 1_000] } else { uniform(s) });
    assert_eq!(world.verdict("p99 < 200ms"), (VerdictStatus::Fail, Reason::ThisRun));
    assert_eq!(world.verdict("p99 < 2s").0, VerdictStatus::Pass, "not one was longer");
    let mixed = World::new(60, |s| if s == 30 { (0..1_000).map(|i| i + 1).collect() } else { uniform(s) });
    assert_eq!(mixed.verdict("p99 < 900ms"), (VerdictStatus::Inconclusive, Reason::NoInterval));
}

#[test]
fn a_short_run_passes_only_where_nothing_is_beyond() {
    let short = World::new(5, uniform);
    assert_eq!(short.verdict("p99 < 200ms"), (VerdictStatus::Pass, Reason::ThisRun));
    assert_eq!(short.verdict("p90 < 95ms"), (VerdictStatus::Inconclusive, Reason::NoInterval));
    assert_eq!(short.verdict("mean < 200ms"), (VerdictStatus::Pass, Reason::ThisRun));
    assert_eq!(short.verdict("mean < 60ms"), (VerdictStatus::Inconclusive, Reason::NoInterval));
    assert_eq!(short.verdict("errors < 1%"), (VerdictStatus::Pass, Reason::ThisRun));
    assert_eq!(short.verdict("errors < 0.01%"), (VerdictStatus::Inconclusive, Reason::FewSamples));
}

#[test]
fn where_the_rate_changes_this_run_is_judged() {
    let world = World::new(60, uniform);
    let ramp = |text: &str| {
        let judgement = world.judge_in(text, |run| run.is_steady = false);
        assert_eq!((judgement.low, judgement.high), (None, None), "{text}");
        (judgement.verdict, judgement.reason)
    };
    assert_eq!(ramp("p99 < 200ms"), (VerdictStatus::Pass, Reason::ThisRun));
    assert_eq!(ramp("p90 < 95ms"), (VerdictStatus::Pass, Reason::ThisRun));
    assert_eq!(ramp("p50 < 40ms"), (VerdictStatus::Fail, Reason::ThisRun));
    assert_eq!(ramp("mean < 60ms"), (VerdictStatus::Pass, Reason::ThisRun));
    assert_eq!(ramp("mean < 40ms"), (VerdictStatus::Fail, Reason::ThisRun));
}

#[test]
fn errors_are_judged_by_how_they_come() {
    let spread = World::with_errors(60, uniform, |s| u64::from(s % 2 == 0));
    assert_eq!(spread.verdict("errors < 0.5%"), (VerdictStatus::Pass, Reason::Interval));
    assert_eq!(spread.verdict("errors < 0.01%"), (VerdictStatus::Fail, Reason::Interval));
    assert_eq!(spread.verdict("errors < 0.05%"), (VerdictStatus::Inconclusive, Reason::Straddles));
    // As many in one burst are less sure of what they are typical for.
    let burst = World::with_errors(60, uniform, |s| if s == 7 { 30 } else { 0 });
    assert_eq!(burst.verdict("errors < 0.1%"), (VerdictStatus::Inconclusive, Reason::Straddles));
}

/// Whole numbers from a seed (G. Steele, D. Lea, C. Flood: SplitMix64, 2014).
fn splitmix(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// An objective whose limit is the true share is met or missed by luck alone: in one run of 20, whether errors are
/// independent or come a hundred at a time.
#[test]
fn a_limit_at_the_true_share_is_decided_in_few_runs() {
    const RUNS: u64 = 400;
    for (each, seconds) in [(1, 60), (100, 400)] {
        let mut decided = 0;
        for seed in 0..RUNS {
            let (mut state, mut history) = (seed, RatioHistory::default());
            for _ in 0..seconds {
                let chances = 1_000 / each;
                let errors = (0..chances).filter(|_| splitmix(&mut state) < 0.01).count() as u64 * each;
                history.add(errors as f64, 1_000.0);
            }
            let (low, high) = history.share_interval().expect("long enough");
            decided += u64::from(low > 0.01 || high < 0.01);
        }
        // 5 % and four standard deviations.
        assert!((2..=37).contains(&decided), "{decided} of {RUNS}, {each} errors at a time");
    }
}

#[test]
fn achieved_counts_the_last_answers_for_neither_side() {
    let world = World::new(60, uniform);
    assert_eq!(world.verdict("achieved >= 99%"), (VerdictStatus::Pass, Reason::ThisRun));
    assert_eq!(world.verdict("achieved >= 99.95%"), (VerdictStatus::Inconclusive, Reason::Straddles));
    assert_eq!(world.verdict("achieved >= 2000/s"), (VerdictStatus::Fail, Reason::ThisRun));
    assert_eq!(world.verdict("achieved > 900/s"), (VerdictStatus::Pass, Reason::ThisRun));
    let closed = world.judge_in("achieved >= 99%", |run| run.offered_per_s = None);
    assert_eq!(closed.reason, Reason::NotThere);
}

#[test]
fn windows_are_counted_and_the_undecided_decide_nothing() {
    let slo = Slo::parse("p99 < 200ms in 90% of 10s").expect("valid");
    let windows = slo.windows.expect("windows");
    let mut watch = WindowWatch::new(slo.objective, Failures::Elsewhere, &windows, Nanos::from_secs(5));
    let load_to = Nanos::from_secs(105);
    for second in 0..107 {
        let mut track: Track<u64> = Track::default();
        let ms = if (40..43).contains(&second) { 300 } else { 10 };
        (0..100).for_each(|_| track.record(Nanos::from_millis(ms)));
        let part = Stretch::of_times(&slo.objective, &track, &Track::default());
        watch.add(Nanos::from_secs(second), Nanos::from_secs(1), load_to, &part);
    }
    let counts = watch.counts();
    assert_eq!(
        counts,
        WindowCounts { good: 9, bad: 1, ..WindowCounts::default() },
        "warm-up left out, the drain in the last"
    );
    let run = World::new(1, uniform).judge_in("max < 1s", |_| ());
    assert_eq!(run.verdict, VerdictStatus::Pass);
    let facts = Run {
        is_accounted: true,
        moves: Moves::default(),
        errors_are_judged: false,
        is_steady: true,
        from: Nanos::ZERO,
        to: Nanos::from_secs(1),
        ended: EndedBy::Plan,
        offered_per_s: None,
        achieved_per_s: 0.0,
        users: None,
        bursts: None,
        lost: 0,
        loss_is_unbounded: false,
        achieved_in_load_per_s: 0.0,
    };
    let verdict = |counts| judge::judge_windows(&slo.objective, &windows, counts, 1, &facts).verdict;
    assert_eq!(verdict(counts), VerdictStatus::Pass);
    let of = |good, bad, unknown| WindowCounts { good, bad, unknown, ..WindowCounts::default() };
    assert_eq!(verdict(of(8, 2, 0)), VerdictStatus::Fail);
    assert_eq!(verdict(of(8, 1, 1)), VerdictStatus::Inconclusive);
    assert_eq!(verdict(of(18, 1, 1)), VerdictStatus::Pass);
    assert_eq!(verdict(WindowCounts::default()), VerdictStatus::Inconclusive);
}

#[test]
fn a_rule_waits_for_its_hold_time_without_a_break() {
    let rule = AbortRule::parse("p99 > 2s for 3s").expect("valid");
    let mut watch = AbortWatch::new(&rule);
    let part = |beyond| Stretch { beyond, samples: 100, ..Stretch::default() };
    let second = Nanos(SECOND_NS - 40_000);
    let looks = [5, 5, 0, 5, 5, 5].map(|beyond| watch.look(second, &part(beyond)));
    assert_eq!(looks, [false, false, false, false, false, true]);
}

/// One arrival every other second: too few for a percentile, but all of them take too long.
#[test]
fn a_rule_sees_what_hurts_at_a_low_rate() {
    let rule = AbortRule::parse("p99 > 1s for 3s").expect("valid");
    let looks = |parts: &[(u64, u64)]| -> Vec<bool> {
        let mut watch = AbortWatch::new(&rule);
        let part = |&(beyond, samples): &(u64, u64)| Stretch {
            beyond,
            samples,
            ended: samples,
            ..Stretch::default()
        };
        parts.iter().map(|of| watch.look(Nanos(SECOND_NS), &part(of))).collect()
    };
    assert_eq!(looks(&[(1, 1), (0, 0), (1, 1), (0, 0), (1, 1)]), [false, false, false, false, true]);
    // A fast one is a break.
    assert_eq!(looks(&[(1, 1), (1, 1), (0, 1), (1, 1)]), [false; 4]);
    // One of two is not all.
    assert_eq!(looks(&[(1, 2), (1, 2), (1, 2)]), [false; 3]);
}

#[test]
fn what_hangs_is_seen_before_it_is_recorded() {
    // 100 a second; from 10 s on nothing is answered. Older than 2 s at 14 s are those of 10 s and 11 s.
    let mut outstanding = Outstanding::longer_than(Measure::Response, Nanos::from_secs(2));
    let second = Nanos::from_secs(1);
    let seen: Vec<u64> = (0..14)
        .map(|s: u64| {
            let mut interval = Interval { start: Nanos::from_secs(s), length: second, ..Interval::empty(1) };
            interval.bank.counters.measured.due = 100;
            interval.gauges.in_flight = s.saturating_sub(9) * 100;
            outstanding.add(&interval).0
        })
        .collect();
    assert_eq!(seen[..12], [0; 12]);
    assert_eq!(seen[12..], [100, 200]);
    let rule = AbortRule::parse("p99 > 2s for 1s").expect("valid");
    let stuck = Stretch { stuck: 200, due: 100, ..Stretch::default() };
    assert!(AbortWatch::new(&rule).look(second, &stuck));
}

#[test]
fn errors_of_the_grammar_point_at_what_is_wrong() {
    for (text, at, part) in [
        ("", 0, "expected a figure"),
        ("p99", 3, "expected <"),
        ("p99 < 200", 6, "no unit"),
        ("p99 < 200 apples", 6, "\"apples\" is not a unit"),
        ("p99 < 5%", 6, "a time"),
        ("p99 > 200ms", 4, "write `p99 <= 200ms`"),
        ("p100 < 1s", 0, "not a percentile"),
        ("pfoo < 1s", 0, "not a figure"),
        ("latency < 1s", 0, "p50, p99"),
        ("errors < 200ms", 9, "a share"),
        ("errors <= 0%", 10, "0"),
        ("achieved >= 100%", 12, "below 100%"),
        ("achieved >= 99% in 95% of 10s", 16, "whole run"),
        (": p99 < 1s", 0, "no name"),
        ("p99 < 200ms in 95%", 18, "of"),
        ("p99 < 200ms in 0% of 10s", 15, "share of windows"),
        ("p99 < 200ms in 95% of 10ms", 22, "at least 1s"),
        ("p99 < 200ms for 5s", 12, "--abort-on"),
        ("p99 < 200ms now", 12, "one word too many"),
        ("p99 < 200ms in 95% of 10s !", 26, "nothing may follow"),
        ("p99 < 0ms", 6, "higher"),
        ("max < 2h", 6, "1h"),
        ("checkout: p99 < ", 16, "a number"),
    ] {
        let error = Slo::parse(text).expect_err(text);
        assert_eq!(error.at.start, at, "{text}: {error}");
        assert!(error.message.contains(part), "{text}: {error}");
        assert!(error.at.end <= text.len(), "{text}: {error:?}");
    }
    for (text, at, part) in [
        ("p99 > 2s", 8, "how long"),
        ("p99 < 2s for 5s", 4, "write `p99 >= 2s`"),
        ("p99 > 2s in 5s", 9, "for TIME"),
        ("p99 > 2s for 5ms", 13, "at least 1s"),
    ] {
        let error = AbortRule::parse(text).expect_err(text);
        assert_eq!(error.at.start, at, "{text}: {error}");
        assert!(error.message.contains(part), "{text}: {error}");
    }
}

#[test]
fn what_is_written_is_what_was_meant() {
    let slo = Slo::parse("GET /a:b?c=1 : p99.9<=1.5 s in 99.5% of 1m").expect("valid");
    assert_eq!(slo.name.as_deref(), Some("GET /a:b?c=1"));
    assert_eq!(
        slo.objective,
        Objective { figure: Figure::Quantile(0.999), relation: Relation::AtMost, limit: 1.5e9 }
    );
    assert_eq!(slo.windows, Some(Windows { share: 0.995, length: Nanos::from_secs(60) }));
    assert_eq!(slo.to_string(), "GET /a:b?c=1: p99.9 <= 1.5s in 99.5% of 60s");
    let achieved = Slo::parse("achieved≥1_000/s").expect("valid");
    assert_eq!(achieved.objective.figure, Figure::AchievedRate);
    assert_eq!(achieved.to_string(), "achieved >= 1000/s");
}
