//! Rules and windows on first events and gaps, in virtual time.

use unblink_analysis::slo::{
    AbortRule, AbortWatch, Failures, Outstanding, Slo, Stretch, WindowCounts, WindowWatch,
};
use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::Interval;
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{EventSpec, ServerSpec, Service, Windows, WorldSpec, simulate};
use unblink_core::time::Nanos;

const WARMUP: Nanos = Nanos::from_secs(5);
const LENGTH: Nanos = Nanos::from_secs(60);

/// Twenty requests a second for 60 s. Their answers begin after 10 ms and last for 10 s, with an event every 50 ms. From 20 s to
/// 28 s no event leaves the server.
fn each_interval(mut look: impl FnMut(&Interval)) {
    let plan = Plan::new(PlanSpec {
        warmup: WARMUP,
        ..PlanSpec::plain(
            LoadSpec::Open {
                phases: vec![Phase::hold(Rate::per_second(20), LENGTH)],
                process: Process::Even,
            },
            Pool::Auto { max: 10_000 },
            Nanos::from_secs(30),
        )
    });
    let gap = Service::Constant(Nanos::from_millis(50));
    let mut server = ServerSpec {
        events: Some(EventSpec { count: 200, gap }),
        ..ServerSpec::new(Service::Constant(Nanos::from_millis(10)))
    };
    server.shut.push(Windows::once(Nanos::from_secs(20), Nanos::from_secs(8)));
    simulate(&plan.unwrap(), &WorldSpec::new(server), |interval| look(interval));
}

/// The second at whose end `rule` has held for its time.
fn fires(rule: &str) -> Option<u64> {
    let rule = AbortRule::parse(rule).expect("valid");
    let mut watch = AbortWatch::new(&rule);
    let mut outstanding = Outstanding::beyond(rule.measure, &rule.condition, true);
    let mut fired = None;
    each_interval(|interval| {
        let end = interval.start + interval.length;
        let stuck = outstanding.as_mut().map_or((0, 0), |outstanding| outstanding.add(interval));
        if interval.start < WARMUP || end > LENGTH || fired.is_some() {
            return;
        }
        let part = Stretch::of_interval(watch.good(), rule.measure, interval, None).with_stuck(stuck);
        fired = watch.look(interval.length, &part).then_some(end.as_secs_f64().round() as u64);
    });
    fired
}

#[test]
fn a_rule_on_events_fires_while_the_server_is_silent() {
    // No gap has ended, and from 21 s on each that is open is longer than a second.
    assert_eq!(fires("gap max > 1s for 3s"), Some(23));
    assert_eq!(fires("gap p50 > 1s for 3s"), Some(23));
    // Longer than 4 s from 24 s on.
    assert_eq!(fires("gap p99 > 4s for 2s"), Some(25));
    // Whoever asks at 20 s has no event for longer than a second from 21 s on.
    assert_eq!(fires("first p50 > 1s for 3s"), Some(24));
    assert_eq!(fires("first max > 900ms for 1s"), Some(22));
}

#[test]
fn a_rule_that_does_not_hold_does_not_fire() {
    for rule in [
        "gap p50 > 9s for 1s",
        "first max > 9s for 1s",
        // It holds for 8 s.
        "gap p50 > 1s for 10s",
        // Once the server goes on, one gap of many was long.
        "gap mean > 5s for 1s",
    ] {
        assert_eq!(fires(rule), None, "{rule}");
    }
}

/// By windows of a second each.
fn windows(slo: &str) -> WindowCounts {
    let slo = Slo::parse(slo).expect("valid");
    let length = slo.windows.as_ref().expect("windows");
    let mut watch = WindowWatch::new(slo.objective, Failures::Unanswered, length, WARMUP);
    let mut outstanding = Outstanding::beyond(slo.measure, &slo.objective, true);
    each_interval(|interval| {
        let stuck = outstanding.as_mut().map_or((0, 0), |outstanding| outstanding.add(interval));
        let part = Stretch::of_interval(&slo.objective, slo.measure, interval, None).with_stuck(stuck);
        watch.add(interval.start, interval.length, LENGTH, &part);
    });
    watch.counts()
}

#[test]
fn windows_of_a_silence_are_bad_before_a_gap_has_ended() {
    // At the end of each second from 20 s to 28 s, every gap is longer than a second, and in the second from 28 s on these
    // gaps are recorded.
    let of = |good, bad, unknown| WindowCounts { good, bad, unknown, ..WindowCounts::default() };
    assert_eq!(windows("gap max < 1s in 80% of 1s"), of(46, 9, 0));
    assert_eq!(windows("gap p50 < 1s in 80% of 1s"), of(47, 8, 0));
}

#[test]
fn windows_of_first_events_count_those_who_still_wait() {
    // Who asks from 20 s on waits for longer than a second from 21 s on. In the second from 28 s on they have their events.
    // In the one from 20 s on there is nothing to judge by.
    let counts = windows("first max < 1s in 80% of 1s");
    assert_eq!((counts.good, counts.bad, counts.unknown), (46, 8, 1));
}
