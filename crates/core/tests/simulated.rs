//! The real dispatcher and recorder against a simulated server: the published figures, from oracle.py.

use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, Windows, WorldSpec, simulate};
use unblink_core::time::Nanos;

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn plan(load: LoadSpec, pool: Pool) -> Plan {
    Plan::new(PlanSpec {
        load,
        warmup: Nanos::ZERO,
        limit: None,
        timeout: Nanos::from_secs(3600),
        drain: None,
        pool,
        threads: 1,
        idempotent: vec![true],
        rate_cap: None,
    })
    .unwrap()
}

fn open(per_s: u64, seconds: u64) -> LoadSpec {
    let phases = vec![Phase::hold(Rate::per_second(per_s), Nanos::from_secs(seconds))];
    LoadSpec::Open { phases, process: Process::Even }
}

fn totals(load: LoadSpec, pool: Pool, server: ServerSpec) -> Bank<u64> {
    let mut totals = Bank::new(1);
    let mut end = Nanos::ZERO;
    simulate(&plan(load, pool), &WorldSpec::new(server), |interval| {
        assert_eq!(interval.start, end);
        end = interval.start + interval.length;
        totals.add(&interval.bank);
    });
    totals
}

/// Percentiles in ms at 0.5, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999.
fn check(bank: &Bank<u64>, series: Series, n: u64, expected: [f64; 7]) {
    let track = bank.track(series);
    assert_eq!(track.count(), n);
    for (q, want) in [0.5, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999].into_iter().zip(expected) {
        let got = track.histogram.value_at_quantile(q) as f64 / 1e6;
        assert!((got - want).abs() <= want * 0.001 + 0.001, "p{}: {got} ms, expected {want} ms", q * 100.0);
    }
}

const AUTO: Pool = Pool::Auto { max: 20_000 };

fn constant() -> ServerSpec {
    ServerSpec::new(Service::Constant(ms(10)))
}

fn stall() -> ServerSpec {
    ServerSpec { shut: vec![Windows::once(ms(30_000), ms(1000))], ..constant() }
}

#[test]
fn a_stall_is_felt_as_the_oracle_says() {
    let bank = totals(open(1000, 60), AUTO, stall());
    check(&bank, Series::Response, 60_000, [10.0, 10.0, 10.0, 10.0, 410.0, 950.0, 1004.0]);
}

#[test]
fn a_pool_queues_during_a_stall() {
    let bank = totals(open(1000, 60), Pool::Fixed { n: 50 }, stall());
    check(&bank, Series::Response, 60_000, [10.0, 10.0, 10.0, 45.0, 525.0, 960.0, 1004.0]);
    check(&bank, Series::Service, 60_000, [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1004.0]);
}

#[test]
fn one_server_with_pauses() {
    let server = ServerSpec {
        slots: Some(1),
        every_nth: Some((ms(200), 500)),
        ..ServerSpec::new(Service::Constant(ms(1)))
    };
    let bank = totals(open(450, 30), AUTO, server);
    check(&bank, Series::Response, 13_500, [1.0, 137.667, 169.444, 187.778, 193.889, 200.0, 200.0]);
}

#[test]
fn a_closed_population_coordinates() {
    let load = LoadSpec::Closed { users: 10, think: Nanos::ZERO, duration: Nanos::from_secs(60) };
    // oracle.py, whose floating-point sums count 59,010, says the same percentiles.
    check(
        &totals(load, AUTO, stall()),
        Series::Response,
        59_000,
        [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1005.0],
    );
}

#[test]
fn a_ramp_and_a_cap() {
    let service = Service::Ramp { from: ms(10), to: ms(100), start: ms(20_000), end: ms(50_000) };
    let bank = totals(open(1000, 60), AUTO, ServerSpec::new(service));
    check(&bank, Series::Response, 60_000, [39.997, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
    let capped = ServerSpec { slots: Some(5), ..constant() };
    let bank = totals(open(1000, 60), Pool::Auto { max: 60_000 }, capped);
    let expected = [30_005.0, 54_005.0, 57_005.0, 58_805.0, 59_405.0, 59_945.0, 60_000.0];
    check(&bank, Series::Response, 60_000, expected);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let server = ServerSpec {
            slots: Some(2),
            slow_one_in: Some((ms(50), 100)),
            ..ServerSpec::new(Service::Exponential { mean: ms(1) })
        };
        let world = WorldSpec { seed, ..WorldSpec::new(server) };
        let mut totals: Bank<u64> = Bank::new(1);
        simulate(&plan(open(1000, 5), AUTO), &world, |interval| totals.add(&interval.bank));
        (totals.track(Series::Response).sum_ns, totals.counters)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).0, run(8).0);
}

/// A generator that is busy half of the time pauses; what fell due meanwhile is caught up with the connections
/// that there are and some more, not with one for each.
#[test]
fn a_pause_of_a_busy_generator_opens_no_storm_of_connections() {
    let mut world = WorldSpec::new(ServerSpec::new(Service::Constant(Nanos::from_micros(50))));
    world.generator.cpu_per_event = Nanos::from_micros(6);
    world.generator.pauses = Some(Windows::once(ms(500), ms(10)));
    let (mut peak, mut left) = (0, 0);
    let mut totals: Bank<u64> = Bank::new(1);
    simulate(&plan(open(40_000, 2), AUTO), &world, |interval| {
        totals.add(&interval.bank);
        peak = interval.gauges.connections_peak;
        left = interval.gauges.backlog + interval.gauges.in_flight;
    });
    assert_eq!((totals.counters.measured.ok, left), (80_000, 0));
    // 400 arrivals fell due during the pause.
    assert!(peak < 300, "{peak} connections");
}
