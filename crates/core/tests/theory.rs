//! The simulated world against queueing theory: the share of response times up to x, at the bin edges of the
//! histogram next to three percentiles.
//!
//! The tolerance is four standard errors of that share, found from the run itself by batch means: response times of
//! neighbours resemble each other, those of batches of many relaxation times hardly do. The runs are seeded, so that
//! the outcome is always the same.

use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Series, histogram};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, WorldSpec, simulate};
use unblink_core::time::Nanos;

const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
/// What all servers of a queue can do together, per second.
const CAPACITY_PER_S: f64 = 1_000.0;
const BATCHES: u64 = 40;
const ERRORS_MAX: f64 = 4.0;

/// Poisson arrivals at the share `utilisation` of the capacity for `length_s` seconds; `within` is the exact share of
/// response times up to so many seconds.
fn check(utilisation: f64, slots: u32, service: Service, length_s: u64, within: impl Fn(f64) -> f64) {
    let edges = QUANTILES.map(|q| histogram::<u64>().highest_equivalent((inverse(&within, q) * 1e9) as u64));
    let length = Nanos::from_secs(length_s);
    let rate = Rate::per_second((utilisation * CAPACITY_PER_S) as u64);
    let plan = Plan::new(PlanSpec {
        load: LoadSpec::Open {
            phases: vec![Phase::hold(rate, length)],
            process: Process::Poisson { seed: 11 },
        },
        // The queue is empty at first. Its relaxation time is 0.4 s at the most, that of M/M/1 at ρ = 0.9.
        warmup: Nanos::from_secs(5),
        limit: None,
        timeout: Nanos::from_secs(3600),
        drain: None,
        pool: Pool::Auto { max: 60_000 },
        threads: 1,
        idempotent: vec![true],
        origins: Default::default(),
        rate_cap: None,
    })
    .unwrap();
    let server = ServerSpec { slots: Some(slots), ..ServerSpec::new(service.clone()) };
    let mut batches = vec![[0.0; 4]; BATCHES as usize];
    simulate(&plan, &WorldSpec::new(server), |interval| {
        let second = interval.start.0 / 1_000_000_000;
        let batch = (second.saturating_sub(5) * BATCHES / length_s).min(BATCHES - 1);
        let track = interval.bank.track(Series::Response);
        let [all, up_to @ ..] = &mut batches[batch as usize];
        *all += track.count() as f64;
        up_to.iter_mut().zip(edges).for_each(|(n, edge)| *n += track.histogram.count_between(0, edge) as f64);
    });
    let count: f64 = batches.iter().map(|[all, ..]| all).sum();
    for (i, edge) in edges.into_iter().enumerate() {
        let share = batches.iter().map(|batch| batch[i + 1]).sum::<f64>() / count;
        // Of a ratio of two sums, since batches differ in size: by the residuals.
        let squares: f64 = batches.iter().map(|batch| (batch[i + 1] - share * batch[0]).powi(2)).sum();
        let batches = BATCHES as f64;
        let error = (squares * batches / (batches - 1.0)).sqrt() / count;
        let exact = within(edge as f64 / 1e9);
        let place = format!("{service:?}, {slots} slots, ρ = {utilisation}, {edge} ns");
        assert!(
            (share - exact).abs() <= ERRORS_MAX * error,
            "{place}: {share:.4} ± {error:.4}, exact {exact:.4}"
        );
        // A tolerance that lets everything pass would be no test.
        assert!(error < 0.012, "{place}: the run is too short to say anything: ± {error}");
    }
}

fn exponential(rate_per_s: f64) -> Service {
    Service::Exponential { mean: Nanos((1e9 / rate_per_s) as u64) }
}

/// The time at which `within` reaches `q`, in seconds.
fn inverse(within: impl Fn(f64) -> f64, q: f64) -> f64 {
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
