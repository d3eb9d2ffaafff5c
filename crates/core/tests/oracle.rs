//! The dispatcher and the recorder in virtual time against the exact values of the scenarios.
//!
//! Expected values in ms come from an independent exact event simulation of the same server models.

mod world;

use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::{MILLISECOND_NS, Nanos, SECOND_NS};
use world::Server;

const MINUTE: Nanos = Nanos::from_secs(60);

fn spec(load: LoadSpec, pool: Pool) -> PlanSpec {
    PlanSpec {
        load,
        warmup: Nanos::ZERO,
        limit: None,
        timeout: Nanos::from_secs(3600),
        drain: None,
        pool,
        threads: 1,
        idempotent: vec![true],
        rate_cap: None,
    }
}

fn open(pool: Pool, server: Server) -> Box<Bank<u32>> {
    let load =
        LoadSpec::Open { phases: vec![Phase::hold(Rate::per_second(1000), MINUTE)], process: Process::Even };
    let plan = Plan::new(spec(load, pool)).unwrap();
    world::run(&plan, |start| plan.open_load(start, 0).unwrap(), 0, server, None).0
}

fn closed(users: u32, server: Server) -> Box<Bank<u32>> {
    let load = LoadSpec::Closed { users, think: Nanos::ZERO, duration: MINUTE };
    let plan = Plan::new(spec(load, Pool::Auto { max: users })).unwrap();
    world::run(&plan, |start| plan.closed_load(start, 0).unwrap(), 0, server, None).0
}

fn stall() -> Server {
    Server { gates: vec![(30 * SECOND_NS, 31 * SECOND_NS)], ..Server::constant_10ms() }
}

fn ramp() -> Server {
    Server {
        baseline: |t| match t {
            0..=20_000_000_000 => 10_000_000,
            50_000_000_000.. => 100_000_000,
            _ => 10_000_000 + (t - 20_000_000_000) * 90 / 30_000,
        },
        ..Server::constant_10ms()
    }
}

fn pauses() -> Server {
    let gates = (1..=6).map(|k| ((10_000 * k - 500) * MILLISECOND_NS, (10_000 * k - 300) * MILLISECOND_NS));
    Server { gates: gates.collect(), ..Server::constant_10ms() }
}

/// p50, p90, p95, p98, p99, p99.9, p99.99 in ms, each within the histogram's 0.1 %.
#[track_caller]
fn expect(bank: &Bank<u32>, series: Series, n: u64, expected_ms: [f64; 7]) {
    let track = bank.track(series);
    // The reference adds up floating-point times in closed loops: it may count one more request a user.
    assert!(track.count().abs_diff(n) <= 10, "{} samples against {n}", track.count());
    for (q, expected) in [0.5, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999].into_iter().zip(expected_ms) {
        let got = track.histogram.value_at_quantile(q) as f64 / 1e6;
        assert!((got - expected).abs() <= expected * 0.0011, "p{}: {got} against {expected}", q * 100.0);
    }
}

#[test]
fn stall_open() {
    let bank = open(Pool::Auto { max: 20_000 }, stall());
    expect_oracle("stall-open", &bank);
    let outcomes = bank.counters.measured;
    assert_eq!((outcomes.due, outcomes.sent, outcomes.ok), (60_000, 60_000, 60_000));
    assert_eq!(bank.track(Series::GeneratorLate).max_ns, 0);
}

#[test]
fn stall_closed() {
    let bank = closed(10, stall());
    // Each user: 3,000 requests until the gate shuts, 2,900 from its opening to the end.
    assert_eq!(bank.track(Series::Response).count(), 59_000);
    expect_oracle("stall-closed-10", &bank);
}

#[test]
fn stall_with_fixed_pools() {
    let ten = open(Pool::Fixed { n: 10 }, stall());
    assert!(ten.counters.lag.no_connection > 0 && ten.counters.lag.connecting == 0);
    let fifty = open(Pool::Fixed { n: 50 }, stall());
    // A pool of 50 drains the backlog of a second at 5,000/s.
    expect_oracle("stall-pool-10", &ten);
    expect_oracle("stall-pool-50", &fifty);
}

#[test]
fn ramp_open_and_closed() {
    expect_oracle("ramp-open", &open(Pool::Auto { max: 20_000 }, ramp()));
    expect_oracle("ramp-closed-10", &closed(10, ramp()));
}

#[test]
fn pauses_open_and_closed() {
    expect_oracle("pauses-open", &open(Pool::Auto { max: 20_000 }, pauses()));
    expect_oracle("pauses-closed-10", &closed(10, pauses()));
}

#[test]
fn saturation_cap_5() {
    let capped = || Server { slots: Some(5), ..Server::constant_10ms() };
    expect_oracle("cap5-closed-10", &closed(10, capped()));
    expect_oracle("cap5-open-no-timeout", &open(Pool::Auto { max: 60_000 }, capped()));
}

#[track_caller]
fn expect_oracle(case: &str, bank: &Bank<u32>) {
    let (_, n, values) = ORACLE.iter().find(|(name, ..)| *name == case).expect("a known case");
    expect(bank, Series::Response, *n, *values);
}

/// Exact values: (case, samples, percentiles in ms).
const ORACLE: &[(&str, u64, [f64; 7])] = &[
    ("stall-open", 60000, [10.0, 10.0, 10.0, 10.0, 410.0, 950.0, 1004.0]),
    ("stall-closed-10", 59010, [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1005.0]),
    ("stall-pool-10", 60000, [1001.0, 1009.0, 1010.0, 1010.0, 1010.0, 1010.0, 1010.0]),
    ("stall-pool-50", 60000, [10.0, 10.0, 10.0, 45.0, 525.0, 960.0, 1004.0]),
    ("ramp-open", 60000, [39.997, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0]),
    ("ramp-closed-10", 28687, [10.0, 57.132, 87.788, 100.0, 100.0, 100.0, 100.0]),
    ("pauses-open", 60000, [10.0, 10.0, 10.0, 10.0, 110.0, 200.0, 209.0]),
    // In integers: users come back exactly when the gate shuts, where floating-point sums go either way.
    ("pauses-closed-10", 58800, [10.0, 10.0, 10.0, 10.0, 10.0, 202.0, 210.0]),
    ("cap5-closed-10", 30006, [20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0]),
    ("cap5-open-no-timeout", 60000, [30005.0, 54005.0, 57005.0, 58805.0, 59405.0, 59945.0, 60000.0]),
];
