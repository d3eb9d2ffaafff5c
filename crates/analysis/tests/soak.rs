//! Drift on simulated servers: how often it is seen where there is none, and whether it is found where there is.

use unblink_analysis::quantile::Survival;
use unblink_analysis::shapes::soak::{Drift, Points, Watched, drift, settled};
use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::Series;
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{Random, ServerSpec, Service, WorldSpec, simulate};
use unblink_core::time::Nanos;

/// p50, p99 and connections of a soak.
fn soak(server: ServerSpec, per_s: u64, seconds: u64, seed: u64) -> [Drift; 3] {
    let length = Nanos::from_secs(seconds);
    let plan = Plan::new(PlanSpec::plain(
        LoadSpec::Open {
            phases: vec![Phase::hold(Rate::per_second(per_s), length)],
            process: Process::Poisson { seed },
        },
        Pool::Auto { max: 10_000 },
        Nanos::from_secs(30),
    ))
    .expect("a plan");
    let mut points: [Points; 3] = Default::default();
    simulate(&plan, &WorldSpec { seed, ..WorldSpec::new(server) }, |interval| {
        let survival = Survival::known(interval.bank.track(Series::Response));
        let values = [
            survival.quantile(0.5).map(|v| v.value_ns as f64),
            survival.quantile(0.99).map(|v| v.value_ns as f64),
            Some(interval.gauges.connections() as f64),
        ];
        for (points, value) in points.iter_mut().zip(values) {
            points.extend(value.map(|value| (interval.start, value)));
        }
    });
    let window = settled(Nanos::ZERO, length);
    let watched = [Watched::P50, Watched::P99, Watched::Connections];
    std::array::from_fn(|i| drift(watched[i], &points[i], window).expect("enough values"))
}

fn one(service: Service) -> ServerSpec {
    ServerSpec { slots: Some(1), ..ServerSpec::new(service) }
}

/// M/M/1 at 80 %, M/D/1 at 90 %, and one whose connections follow a long tail; the interval is one of 99 %.
#[test]
fn where_nothing_drifts_alarms_are_rare() {
    let exponential = Service::Exponential { mean: Nanos::from_millis(10) };
    let pareto = Service::Pareto { min: Nanos::from_millis(2), alpha: 1.8 };
    let worlds = [
        (one(exponential), 80),
        (one(Service::Constant(Nanos::from_millis(10))), 90),
        (ServerSpec::new(pareto), 100),
    ];
    const SEEDS: u64 = 30;
    for (i, (server, per_s)) in worlds.into_iter().enumerate() {
        let mut alarms = [0; 3];
        for seed in 0..SEEDS {
            let found = soak(server.clone(), per_s, 240, seed + 1);
            alarms.iter_mut().zip(found).for_each(|(n, drift)| *n += u64::from(drift.is_drift));
        }
        // At 1 % three or more of 30 come once in 300 times.
        assert!(alarms.iter().all(|&n| n <= 2), "world {i}: {alarms:?} of {SEEDS}");
    }
}

/// A service time that grows from 10 to 12 ms.
#[test]
fn a_drift_is_found_and_has_its_size() {
    let service = Service::Ramp {
        from: Nanos::from_millis(10),
        to: Nanos::from_millis(12),
        start: Nanos::ZERO,
        end: Nanos::from_secs(300),
    };
    for seed in 1..=10 {
        let [p50, p99, _] = soak(ServerSpec::new(service.clone()), 50, 300, seed);
        assert!(p50.is_drift && p99.is_drift, "seed {seed}: {p50:?}");
        // Nine tenths of it are looked at.
        assert!((p50.trend.change / 1.8e6 - 1.0).abs() < 0.05, "seed {seed}: {p50:?}");
    }
}

/// What is said to be findable is found in about four of five cases: independent and dependent noise around a line.
#[test]
fn what_is_findable_is_found_and_what_is_not_there_is_not() {
    for dependence in [0.0, 0.6] {
        let (mut found, mut false_alarms, mut findable) = (0, 0, 0.0);
        const RUNS: u64 = 400;
        let noise = |seed: u64| {
            let mut random = Random::new(seed, 9);
            let mut level = 0.0;
            let values = (0..300u32).map(move |_| {
                let sum: f64 = (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
                level = dependence * level + sum;
                level
            });
            values.collect::<Vec<f64>>()
        };
        let judge = |seed: u64, change: f64| {
            let line = |i: usize, noise: f64| {
                (Nanos::from_secs(i as u64), 100.0 + noise + change * i as f64 / 299.0)
            };
            let points: Points =
                noise(seed).into_iter().enumerate().map(|(i, noise)| line(i, noise)).collect();
            drift(Watched::Descriptors, &points, (Nanos::ZERO, Nanos::from_secs(300))).expect("a trend")
        };
        for seed in 0..RUNS {
            let flat = judge(seed, 0.0);
            findable += flat.trend.findable.expect("it varies") / RUNS as f64;
            false_alarms += u64::from(flat.trend.is_drift(0.0));
        }
        for seed in 0..RUNS {
            found += u64::from(judge(seed + RUNS, findable).is_drift);
        }
        let what =
            format!("{dependence}: {found} found, {false_alarms} false of {RUNS}, findable {findable}");
        assert!((0.70..=0.95).contains(&(found as f64 / RUNS as f64)), "{what}");
        assert!(false_alarms <= 12, "{what}");
    }
}
