//! The simulated world itself: what a seed decides, and what a generator that is late leads to.

use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{Limit, ServerSpec, Service, Windows, WorldSpec, simulate};
use unblink_core::time::Nanos;

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn plan(load: LoadSpec, pool: Pool) -> Plan {
    Plan::new(PlanSpec::plain(load, pool, Nanos::from_secs(3600))).unwrap()
}

fn open(per_s: u64, seconds: u64) -> LoadSpec {
    let phases = vec![Phase::hold(Rate::per_second(per_s), Nanos::from_secs(seconds))];
    LoadSpec::Open { phases, process: Process::Even }
}

const AUTO: Pool = Pool::Auto { max: 20_000 };

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

/// One token that takes T to come back is a server of one place that is busy for T (Erlang's loss): at λ it takes
/// 1/(1 + λT) of what comes, in renewals of mean T + 1/λ and deviation 1/λ.
#[test]
fn a_rate_limit_turns_away_what_theory_says() {
    const LENGTH_S: u64 = 3_600;
    for per_s in [25, 50, 200] {
        let phases = vec![Phase::hold(Rate::per_second(per_s), Nanos::from_secs(LENGTH_S))];
        let load = LoadSpec::Open { phases, process: Process::Poisson { seed: 3 } };
        let limit = Some(Limit { rate: Rate::per_second(50), burst: 0 });
        let world = WorldSpec::new(ServerSpec { limit, ..ServerSpec::new(Service::Constant(ms(1))) });
        let mut totals: Bank<u64> = Bank::new(1);
        simulate(&plan(load, AUTO), &world, |interval| totals.add(&interval.bank));
        let measured = &totals.counters.measured;
        assert_eq!(measured.ok + measured.failed_total(), measured.due);
        let (deviation, token) = (1.0 / per_s as f64, 0.02);
        let mean = token + deviation;
        let expected = LENGTH_S as f64 / mean;
        let error = (LENGTH_S as f64 * deviation * deviation / mean.powi(3)).sqrt();
        let ok = measured.ok as f64;
        assert!((ok - expected).abs() < 4.0 * error, "{per_s}/s: {ok} taken, expected {expected} ± {error}");
    }
}

/// As in a real run: what was away for 50 ms in each second was late by as much, and says so.
#[test]
fn a_generator_that_pauses_says_so() {
    let mut world = WorldSpec::new(ServerSpec::new(Service::Constant(ms(10))));
    let every = Windows { first: ms(500), length: ms(50), every: Some(ms(1000)), count: None };
    world.generator.pauses = Some(every);
    let mut totals: Bank<u64> = Bank::new(1);
    let mut pauses = Vec::new();
    simulate(&plan(open(1000, 5), AUTO), &world, |interval| {
        pauses.push(interval.bank.counters.own.pause_max);
        totals.add(&interval.bank);
    });
    // Due at 500 ms, seen at 550 ms: it was to look again at 500 ms.
    let own = totals.counters.own;
    assert_eq!((own.pause_max, own.paused, own.busy), (ms(50), ms(250), Nanos::ZERO));
    assert_eq!((own.total, pauses[..5].iter().all(|&pause| pause == ms(50))), (ms(5009), true), "{pauses:?}");
    assert_eq!(totals.track(Series::GeneratorLate).max_ns, ms(50).0);
    // While nothing is due it is asked to wait, and nobody can tell that it was away for a part of that.
    let mut own = Bank::<u64>::new(1);
    let seldom = Windows { first: ms(500), length: ms(50), every: Some(ms(1000)), count: None };
    world.generator.pauses = Some(seldom);
    simulate(&plan(open(1, 5), AUTO), &world, |interval| own.add(&interval.bank));
    assert_eq!(own.counters.own.pause_max, Nanos::ZERO);
}

/// Each request is noticed, sent and answered: three times 100 µs in each ms.
#[test]
fn a_generator_without_headroom_says_so() {
    let mut world = WorldSpec::new(ServerSpec::new(Service::Constant(Nanos::from_micros(250))));
    world.generator.cpu_per_event = Nanos::from_micros(100);
    let busy_share = |world: &WorldSpec| {
        let (mut totals, mut most) = (Bank::<u64>::new(1), 0.0f64);
        let fixed = plan(open(1000, 5), Pool::Fixed { n: 10 });
        simulate(&fixed, world, |interval| {
            let own = interval.bank.counters.own;
            assert!(own.busy <= own.total, "{own:?}");
            most = most.max(own.busy.0 as f64 / own.total.0 as f64);
            totals.add(&interval.bank);
        });
        let own = totals.counters.own;
        (own.busy.0 as f64 / own.total.0 as f64, most)
    };
    let (share, most) = busy_share(&world);
    assert!((share - 0.3).abs() < 0.001 && most < 0.31, "{share} {most}");
    world.generator.cpu_per_event = Nanos::from_micros(500);
    let (share, most) = busy_share(&world);
    assert!(share > 0.98 && most > 0.999, "{share} {most}");
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
        peak = interval.gauges.origins[0].connections_peak;
        left = interval.gauges.backlog + interval.gauges.in_flight;
    });
    assert_eq!((totals.counters.measured.ok, left), (80_000, 0));
    // 400 arrivals fell due during the pause.
    assert!(peak < 300, "{peak} connections");
}

#[test]
fn what_a_stall_has_opened_is_closed_when_it_is_not_needed() {
    let shut = vec![Windows::once(Nanos::from_secs(5), Nanos::from_secs(1))];
    let server = ServerSpec { shut, ..ServerSpec::new(Service::Constant(Nanos::from_millis(10))) };
    let mut totals: Bank<u64> = Bank::new(1);
    simulate(&plan(open(1000, 60), AUTO), &WorldSpec::new(server), |interval| totals.add(&interval.bank));
    let connections = totals.counters.connections();
    assert!(connections.opened > 900, "{connections:?}");
    // Ten are in flight at any time.
    let left = connections.opened - connections.closed_unneeded;
    assert!((10..=30).contains(&left), "{connections:?}");
    assert_eq!(totals.counters.measured.ok, 60_000);
}
