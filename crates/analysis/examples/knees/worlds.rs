//! Servers whose capacity under an objective is known, and the search on them.

#[allow(dead_code)]
#[path = "../coverage/theory.rs"]
mod theory;

use unblink_analysis::experiment::knee::{Knee, Settings};
use unblink_analysis::experiment::{Criterion, SimulatedRunner, SimulatedSetup, drive};
use unblink_core::dispatch::Pool;
use unblink_core::schedule::Rate;
use unblink_core::sim::{Crowding, RandomWindows, ServerSpec, Service, WorldSpec};
use unblink_core::time::Nanos;

/// Work per second of every server but the one with five slots.
pub(crate) const PER_SECOND: f64 = 1_000.0;
const QUANTILE: f64 = 0.99;
/// Where 1 % of the response times of M/D/5 with 10 ms of service are above 200 ms: arrival k begins at the later of its
/// time and the departure of arrival k − 5; of three times 60 million arrivals at this rate 0.0100 were above (0.0083 half
/// a request per second lower, 0.0121 half a one higher).
const CAP_POISSON_PER_S: f64 = 488.0;

/// A server, its objective, and the exact rate.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) name: &'static str,
    pub(crate) server: ServerSpec,
    pub(crate) is_poisson: bool,
    pub(crate) limit: Nanos,
    /// The highest rate that meets the objective; `None`: it depends on the past, and no rate may be told.
    pub(crate) exact_per_s: Option<f64>,
}

/// All of them.
pub(crate) fn all() -> Vec<World> {
    let limit = Nanos::from_millis(50);
    let one = ServerSpec {
        slots: Some(1),
        ..ServerSpec::new(Service::Exponential { mean: Nanos::from_micros(1_000) })
    };
    // ln 100 times the mean 1/(μ − λ).
    let one_exact = PER_SECOND - 100f64.ln() / limit.as_secs_f64();
    let eight_limit = Nanos::from_millis(100);
    // Below the objective's rate hardly ever so many are in the system that the crowd would matter: 0.908^200.
    let crowd = |until_idle| ServerSpec {
        crowding: Some(Crowding { above: 200, times: 2.0, until_idle }),
        ..one.clone()
    };
    let pauses =
        RandomWindows { length: Nanos::from_secs(1), gap_min: Nanos::ZERO, gap_mean: Nanos::from_secs(60) };
    let world =
        |name, server: ServerSpec, exact_per_s| World { name, server, is_poisson: true, limit, exact_per_s };
    let cap = ServerSpec { slots: Some(5), ..ServerSpec::new(Service::Constant(Nanos::from_millis(10))) };
    vec![
        world("M/M/1", one.clone(), Some(one_exact)),
        World {
            limit: eight_limit,
            ..world(
                "M/M/8",
                ServerSpec {
                    slots: Some(8),
                    ..ServerSpec::new(Service::Exponential { mean: Nanos::from_millis(8) })
                },
                Some(highest(|rate| {
                    theory::mmc_ns(rate, PER_SECOND / 8.0, 8, QUANTILE) < eight_limit.0 as f64
                })),
            )
        },
        world(
            "M/D/1",
            ServerSpec { slots: Some(1), ..ServerSpec::new(Service::Constant(Nanos::from_millis(1))) },
            Some(highest(|rate| theory::md1_ns(rate, PER_SECOND, QUANTILE) < limit.0 as f64)),
        ),
        World { is_poisson: false, ..world("cap of 5, even arrivals", cap.clone(), Some(500.0)) },
        World { limit: Nanos::from_millis(200), ..world("cap of 5, Poisson", cap, Some(CAP_POISSON_PER_S)) },
        world("congestion collapse", crowd(None), Some(one_exact)),
        world("hysteresis, rested", crowd(Some(Nanos::from_secs(2))), Some(one_exact)),
        world("hysteresis, not rested", crowd(Some(Nanos::from_secs(60))), None),
        // 0.95 s of 60 s are more than 1 %.
        world("pauses at any rate", ServerSpec { shut_at_random: Some(pauses), ..one.clone() }, None),
    ]
}

/// The highest rate below the capacity for which `is_good`, which holds up to some rate.
fn highest(is_good: impl Fn(f64) -> bool) -> f64 {
    let (mut good, mut bad) = (1.0, PER_SECOND);
    for _ in 0..60 {
        let middle = (good + bad) / 2.0;
        if is_good(middle) { good = middle } else { bad = middle }
    }
    good
}

/// Searches with `seed`.
pub(crate) fn search(world: &World, seed: u64, settings: Settings) -> Knee {
    let mut runner = SimulatedRunner::new(
        WorldSpec { seed: seed + 1_000_000, ..WorldSpec::new(world.server.clone()) },
        SimulatedSetup {
            retry: None,
            criterion: Criterion { quantile: QUANTILE, limit: world.limit, of: None },
            is_poisson: world.is_poisson,
            seed: seed.wrapping_mul(0x2545_f491_4f6c_dd1d),
            timeout: Nanos::from_secs(30),
            pool: Pool::Auto { max: 1_000_000 },
            rest: settings.settle,
            mix: Default::default(),
            idempotent: vec![true],
            origins: Default::default(),
        },
    );
    let settings = Settings { limit: world.limit, seed, ..settings };
    let mut knee = Knee::new(settings);
    drive(&mut knee, &mut runner, |_| Ok(())).expect("a valid plan");
    knee
}

/// The defaults of `unblink knee`; the limit is the world's.
pub(crate) fn settings() -> Settings {
    Settings {
        quantile: QUANTILE,
        limit: Nanos::ZERO,
        start: Rate::per_second(100),
        max: Rate::per_second(1_000_000),
        resolution: 0.02,
        settle: Nanos::from_secs(5),
        measure: Nanos::from_secs(20),
        measure_max: Nanos::from_secs(160),
        seed: 1,
        then_latency: false,
        within: None,
        at_least: None,
    }
}
