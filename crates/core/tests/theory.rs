//! The simulated world against queueing theory: the share of response times up to x, at the bin edges of the
//! histogram next to three percentiles.
//!
//! The tolerance is four standard errors of that share, found from the run itself by batch means: response times of
//! neighbours resemble each other, those of batches of many relaxation times hardly do. The runs are seeded, so that
//! the outcome is always the same.

use unblink_core::dispatch::Pool;
use unblink_core::origins::Origins;
use unblink_core::plan::{LoadSpec, OpenPart, Plan, PlanSpec};
use unblink_core::record::{Series, histogram};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, WorldSpec, simulate};
use unblink_core::time::Nanos;

const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
/// What all servers of a queue can do together, per second.
const CAPACITY_PER_S: f64 = 1_000.0;
const WARMUP_S: u64 = 5;
const BATCHES: u64 = 40;
const ERRORS_MAX: f64 = 4.0;

/// Poisson arrivals at the share `utilisation` of the capacity, at an origin of their own; `within` is the exact share of
/// response times up to so many seconds.
struct Queue<'a> {
    utilisation: f64,
    within: &'a dyn Fn(f64) -> f64,
}

/// One queue, for `length_s` seconds.
fn check(utilisation: f64, slots: u32, service: Service, length_s: u64, within: impl Fn(f64) -> f64) {
    check_beside(&[Queue { utilisation, within: &within }], slots, service, length_s);
}

/// Several beside each other, each with so many slots.
fn check_beside(queues: &[Queue<'_>], slots: u32, service: Service, length_s: u64) {
    let edges = |queue: &Queue<'_>| {
        let exact = QUANTILES.map(|q| (inverse(queue.within, q) * 1e9) as u64);
        exact.map(|ns| histogram::<u64>().highest_equivalent(ns))
    };
    let edges: Vec<_> = queues.iter().map(edges).collect();
    let server = ServerSpec { slots: Some(slots), ..ServerSpec::new(service.clone()) };
    let mut batches = vec![vec![[0.0; 4]; BATCHES as usize]; queues.len()];
    simulate(&plan(queues, length_s), &WorldSpec::new(server), |interval| {
        let second = interval.start.0 / 1_000_000_000;
        let batch = (second.saturating_sub(WARMUP_S) * BATCHES / length_s).min(BATCHES - 1);
        for (i, (batches, edges)) in batches.iter_mut().zip(&edges).enumerate() {
            let bins: Vec<(u64, u64)> = match queues.len() {
                1 => interval.bank.track(Series::Response).bins().collect(),
                _ => interval.bank.operations.bins(i, Series::Response).collect(),
            };
            let up_to =
                |edge| bins.iter().filter(|(top, _)| *top <= edge).map(|(_, n)| *n as f64).sum::<f64>();
            let [all, counts @ ..] = &mut batches[batch as usize];
            *all += up_to(u64::MAX);
            counts.iter_mut().zip(edges).for_each(|(count, &edge)| *count += up_to(edge));
        }
    });
    for ((queue, batches), edges) in queues.iter().zip(&batches).zip(edges) {
        let count: f64 = batches.iter().map(|[all, ..]| all).sum();
        for (i, edge) in edges.into_iter().enumerate() {
            let share = batches.iter().map(|batch| batch[i + 1]).sum::<f64>() / count;
            // Of a ratio of two sums, since batches differ in size: by the residuals.
            let squares: f64 = batches.iter().map(|batch| (batch[i + 1] - share * batch[0]).powi(2)).sum();
            let batches = BATCHES as f64;
            let error = (squares * batches / (batches - 1.0)).sqrt() / count;
            let exact = (queue.within)(edge as f64 / 1e9);
            let place = format!("{service:?}, {slots} slots, ρ = {}, {edge} ns", queue.utilisation);
            assert!(
                (share - exact).abs() <= ERRORS_MAX * error,
                "{place}: {share:.4} ± {error:.4}, exact {exact:.4}"
            );
            // A tolerance that lets everything pass would be no test.
            assert!(error < 0.012, "{place}: the run is too short to say anything: ± {error}");
        }
    }
}

/// A load for each queue, which asks for an operation of its own. All have one seed.
fn plan(queues: &[Queue<'_>], length_s: u64) -> Plan {
    let load = |(operation, queue): (u32, &Queue<'_>)| {
        let rate = Rate::per_second((queue.utilisation * CAPACITY_PER_S) as u64);
        let phases = vec![Phase::hold(rate, Nanos::from_secs(length_s))];
        OpenPart { only: Some(vec![operation]), ..OpenPart::whole(phases, Process::Poisson { seed: 11 }) }
    };
    let of_operation: Vec<u8> = (0..queues.len() as u8).collect();
    Plan::new(PlanSpec {
        // The queue is empty at first. Its relaxation time is 0.4 s at the most, that of M/M/1 at ρ = 0.9.
        warmup: Nanos::from_secs(WARMUP_S),
        idempotent: vec![true; queues.len()],
        origins: Origins::new(&of_operation).unwrap(),
        ..PlanSpec::plain(
            LoadSpec::Several((0..).zip(queues).map(load).collect()),
            Pool::Auto { max: 60_000 },
            Nanos::from_secs(3600),
        )
    })
    .unwrap()
}

fn exponential(rate_per_s: f64) -> Service {
    Service::Exponential { mean: Nanos((1e9 / rate_per_s) as u64) }
}

/// The time at which `within` reaches `q`, in seconds.
fn inverse(within: &dyn Fn(f64) -> f64, q: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if within(middle) < q { low = middle } else { high = middle }
    }
    high
}

/// M/M/1: exponential with the rate μ − λ.
fn mm1(utilisation: f64) -> impl Fn(f64) -> f64 {
    move |t| 1.0 - (-(1.0 - utilisation) * CAPACITY_PER_S * t).exp()
}

#[test]
fn mm1_at_moderate_load() {
    for (utilisation, length_s) in [(0.5, 300), (0.7, 600)] {
        check(utilisation, 1, exponential(CAPACITY_PER_S), length_s, mm1(utilisation));
    }
}

#[test]
fn mm1_at_heavy_load() {
    for (utilisation, length_s) in [(0.8, 1_200), (0.9, 2_400)] {
        check(utilisation, 1, exponential(CAPACITY_PER_S), length_s, mm1(utilisation));
    }
}

/// Two servers at origins of their own know nothing of each other, though the arrivals of both are drawn from one seed.
#[test]
fn two_mm1_beside_each_other() {
    let (light, heavy) = (mm1(0.5), mm1(0.8));
    let queues = [Queue { utilisation: 0.5, within: &light }, Queue { utilisation: 0.8, within: &heavy }];
    check_beside(&queues, 1, exponential(CAPACITY_PER_S), 1_200);
}

/// A. K. Erlang (1909): P(W ≤ t) = (1 − ρ) Σ e^{λ(t − kD)} (−λ(t − kD))^k / k! over k ≤ t/D. The terms alternate: in
/// doubles good for λt up to about 12.
#[test]
fn md1() {
    for (utilisation, length_s) in [(0.5, 300), (0.8, 900)] {
        let within = |t: f64| {
            // In services.
            let wait = t * CAPACITY_PER_S - 1.0;
            let term = |k: u32| {
                let x = utilisation * (wait - f64::from(k));
                (1..=k).fold(x.exp(), |term, i| term * -x / f64::from(i))
            };
            match wait < 0.0 {
                true => 0.0,
                false if wait > 14.0 => 1.0,
                false => (1.0 - utilisation) * (0..=wait as u32).map(term).sum::<f64>(),
            }
        };
        check(utilisation, 1, Service::Constant(Nanos::from_millis(1)), length_s, within);
    }
}

/// M/M/c: service after a wait that is 0, or (with Erlang's C, 1917) exponential with the rate cμ − λ.
#[test]
fn mmc() {
    for (servers, utilisation, length_s) in [(2, 0.7, 300), (4, 0.8, 900), (16, 0.8, 900)] {
        let served = CAPACITY_PER_S / f64::from(servers);
        let offered = utilisation * f64::from(servers);
        let busy = (1..=servers).fold(1.0, |b, k| offered * b / (f64::from(k) + offered * b));
        let waits = busy / (1.0 - utilisation * (1.0 - busy));
        let drain = (1.0 - utilisation) * CAPACITY_PER_S;
        let within = |t: f64| {
            let (service, wait) = ((-served * t).exp(), (-drain * t).exp());
            1.0 - (1.0 - waits) * service - waits * (drain * service - served * wait) / (drain - served)
        };
        check(utilisation, servers, exponential(served), length_s, within);
    }
}
