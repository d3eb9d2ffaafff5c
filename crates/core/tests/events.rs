//! Answers that come event by event, in virtual time, against what follows from the server's own law.

use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, EventCounts, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{EventSpec, GeneratorSpec, ServerSpec, Service, Windows, WorldSpec, simulate};
use unblink_core::time::Nanos;

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn server(count: u32, gap: Service) -> ServerSpec {
    let events = Some(EventSpec { count, gap });
    ServerSpec { events, ..ServerSpec::new(Service::Constant(ms(10))) }
}

/// One arrival a second for `seconds`, from 0 s on.
fn run(world: &WorldSpec, seconds: u64, timeout: Nanos) -> Bank<u64> {
    run_warmed(world, Nanos::ZERO, seconds, timeout)
}

/// The same, after so long a warm-up, which begins at 0 s.
fn run_warmed(world: &WorldSpec, warmup: Nanos, seconds: u64, timeout: Nanos) -> Bank<u64> {
    let plan = Plan::new(PlanSpec {
        warmup,
        ..PlanSpec::plain(
            LoadSpec::Open {
                phases: vec![Phase::hold(Rate::per_second(1), Nanos::from_secs(seconds))],
                process: Process::Even,
            },
            Pool::Auto { max: 1_000 },
            timeout,
        )
    });
    let mut totals = Bank::new(1);
    simulate(&plan.unwrap(), world, |interval| totals.add(&interval.bank));
    let counters = &totals.counters;
    assert_eq!((counters.measured.ended(), counters.warmup.ended()), (seconds, warmup.0 / 1_000_000_000));
    assert_eq!(
        (counters.events.open(), counters.warmup_events.open()),
        (Some(0), Some(0)),
        "the run has an end"
    );
    totals
}

fn all(bank: &Bank<u64>, series: Series) -> Vec<(u64, u64)> {
    bank.track(series).bins().collect()
}

/// Every duration of `series` is this, as exactly as a histogram holds it.
#[track_caller]
fn assert_only(bank: &Bank<u64>, series: Series, n: u64, value: Nanos) {
    let track = bank.track(series);
    assert_eq!((track.count(), track.max_ns), (n, value.0), "{}", series.name());
    assert_eq!(track.sum_ns, u128::from(n) * u128::from(value.0), "{}", series.name());
}

#[test]
fn a_steady_stream_has_its_first_event_its_gaps_and_its_end() {
    let world = WorldSpec::new(server(5, Service::Constant(ms(100))));
    let bank = run(&world, 20, Nanos::from_secs(30));
    assert_only(&bank, Series::FirstEvent, 20, ms(10));
    assert_only(&bank, Series::FirstEventService, 20, ms(10));
    assert_only(&bank, Series::FirstByte, 20, ms(10));
    assert_only(&bank, Series::EventGap, 80, ms(100));
    assert_only(&bank, Series::Response, 20, ms(410));
    let counts = EventCounts {
        begun: 20,
        over: 20,
        events: 100,
        keep_alives: 0,
        whole: 20,
        events_of_whole: 100,
        in_load: 100,
    };
    assert_eq!(bank.counters.events, counts);
    for series in [Series::FirstEventCensored, Series::EventGapCensored, Series::EventGapHindered] {
        assert_eq!(all(&bank, series), [], "{}", series.name());
    }
}

/// Answers of five events, 10 ms, 510 ms and so on up to 2,010 ms after their requests, of one request a second.
#[test]
fn events_in_the_load_are_those_that_came_while_it_lasted() {
    let world = WorldSpec::new(server(5, Service::Constant(ms(500))));
    // Of the requests at 2 s and at 3 s, an event comes at 4.01 s, and events from 4.01 s to 5.01 s.
    let bank = run(&world, 4, Nanos::from_secs(30));
    let events = bank.counters.events;
    assert_eq!((events.begun, events.events, events.in_load), (4, 20, 20 - 1 - 3));
    // From 2 s to 4 s: four of the requests before 2 s, four of that at 2 s, and two of that at 3 s.
    let bank = run_warmed(&world, Nanos::from_secs(2), 2, Nanos::from_secs(30));
    let events = bank.counters.events;
    assert_eq!((events.begun, events.over, events.events, events.in_load), (2, 2, 10, 4 + 4 + 2));
    let before = bank.counters.warmup_events;
    assert_eq!((before.begun, before.over, before.events, before.in_load), (2, 2, 10, 0));
}

/// The server falls silent for 2 s in the middle of the answer to the fourth request. Those that are asked meanwhile have a
/// late first event, and no gap that is longer for it.
#[test]
fn a_stall_in_mid_stream_is_one_gap_and_a_late_end() {
    let mut server = server(10, Service::Constant(ms(50)));
    // Its events are due at 3.01 s, 3.06 s and so on.
    server.shut.push(Windows::once(ms(3_250), ms(2_000)));
    let bank = run(&WorldSpec::new(server), 10, Nanos::from_secs(30));
    let gaps = bank.track(Series::EventGap);
    // 3.21 s, and then 5.25 s instead of 3.26 s.
    assert_eq!((gaps.count(), gaps.max_ns), (90, ms(2_040).0));
    assert_eq!(gaps.histogram.count_between(ms(51).0, u64::MAX), 1);
    let firsts = bank.track(Series::FirstEvent);
    // Asked at 4 s and at 5 s, answered from 5.25 s on.
    assert_eq!((firsts.count(), firsts.max_ns), (10, ms(1_250).0));
    assert_eq!(firsts.histogram.count_between(ms(11).0, u64::MAX), 2);
    assert_eq!(bank.track(Series::Response).max_ns, ms(2_450).0);
}

/// A gap that is open when the arrival times out is known to be longer than until then, and so is a first event.
#[test]
fn what_is_open_at_a_timeout_is_censored() {
    let mut server = server(100, Service::Constant(ms(50)));
    server.shut.push(Windows::once(ms(3_250), Nanos::from_secs(60)));
    let bank = run(&WorldSpec::new(server), 6, Nanos::from_secs(8));
    // Of the answers to the first three, which take 4.96 s, the last events are at 3.21 s; the timeout is 8 s after 0 s, 1 s
    // and 2 s. The fourth had 5 events, and the two after it none.
    assert_eq!(bank.counters.measured.timed_out, 6);
    let gaps = bank.track(Series::EventGapCensored);
    assert_eq!((gaps.count(), gaps.max_ns), (4, ms(11_000 - 3_210).0));
    assert_eq!(gaps.sum_ns, u128::from(ms(8_000 + 9_000 + 10_000 + 11_000 - 4 * 3_210).0));
    assert_only(&bank, Series::FirstEventCensored, 2, ms(8_000));
    assert_only(&bank, Series::FirstEventServiceCensored, 2, ms(8_000));
    assert_only(&bank, Series::FirstEvent, 4, ms(10));
    assert_eq!(bank.counters.events.begun, 4);
    assert_eq!(bank.counters.events.whole, 0);
}

/// Of n independent gaps, the share that is shorter than x is off by more than √(ln(2/α)/2n) with probability α at the most
/// (P. Massart, 1990).
#[test]
fn gaps_follow_the_law_of_the_server() {
    let world = WorldSpec::new(server(200, Service::Exponential { mean: ms(20) }));
    let bank = run(&world, 100, Nanos::from_secs(60));
    let gaps = bank.track(Series::EventGap);
    let n = 199 * 100;
    assert_eq!(gaps.count(), n);
    let bound = (f64::ln(2.0 / 1e-6) / (2.0 * n as f64)).sqrt();
    let mut below = 0;
    for (ns, count) in gaps.bins() {
        below += count;
        let law = 1.0 - f64::exp(-(ns as f64) / ms(20).0 as f64);
        assert!((below as f64 / n as f64 - law).abs() < bound + 0.001, "{ns} ns: {below} of {n}, law {law}");
    }
}

/// Gaps in which the generator was away are known, so that no objective is missed for them.
#[test]
fn a_pause_of_the_generator_is_not_the_servers() {
    let mut world = WorldSpec::new(server(10, Service::Constant(ms(50))));
    world.generator =
        GeneratorSpec { pauses: Some(Windows::once(ms(3_250), ms(100))), ..GeneratorSpec::default() };
    let bank = run(&world, 10, Nanos::from_secs(30));
    let gaps = bank.track(Series::EventGap);
    assert_eq!(gaps.count(), 90);
    let hindered = bank.track(Series::EventGapHindered);
    // 3.21 s, and then two events at 3.35 s.
    assert_eq!((gaps.max_ns, hindered.max_ns), (ms(140).0, ms(140).0));
    assert_eq!(bank.track(Series::FirstEventHindered).count(), 0);
}

/// An event takes its way through the network like an answer, and none overtakes another.
#[test]
fn events_keep_their_order_on_a_way_that_trembles() {
    let mut world = WorldSpec::new(server(50, Service::Constant(ms(1))));
    world.network.jitter = ms(5);
    let bank = run(&world, 50, Nanos::from_secs(30));
    assert_eq!(bank.counters.events.events_of_whole, 50 * 50);
    assert_eq!(bank.track(Series::EventGap).count(), 49 * 50);
    let (first, gaps, end) = (Series::FirstEvent, Series::EventGap, Series::Response);
    let parts = bank.track(first).sum_ns + bank.track(gaps).sum_ns;
    assert!(parts <= bank.track(end).sum_ns, "{parts}");
}
