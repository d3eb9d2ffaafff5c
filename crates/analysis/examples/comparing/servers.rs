//! Simulated servers whose runs are compared.

use super::responses::{Load, Responses};
use unblink_analysis::compare::{Run, RunParts, Slice};
use unblink_analysis::quantile::Survival;
use unblink_core::schedule::Process;
use unblink_core::sim::{RandomWindows, ServerSpec, Service, WorldSpec};
use unblink_core::time::Nanos;

/// A server and how it is loaded.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    rate_per_s: u64,
    process: fn(u64) -> Process,
    spec: ServerSpec,
    warmup_s: u64,
    pub(crate) length_s: u64,
    /// Servers have seeds of their own: with the same draws, what chance does to one would be told of all of them.
    first_seed: u64,
}

/// Runs of one server at most.
const SEEDS: u64 = 1 << 32;

/// What was recorded of one run.
pub(crate) struct Recorded {
    responses: Responses,
    slices: Vec<Slice>,
    load: (Nanos, Nanos),
}

/// Queues with one server and a capacity of 1,000/s, a server without limits, and one that stalls.
pub(crate) fn all() -> Vec<Server> {
    let poisson = |seed| Process::Poisson { seed };
    let one_slot = |mean| ServerSpec { slots: Some(1), ..ServerSpec::new(Service::Exponential { mean }) };
    let lognormal = Service::LogNormal { median: Nanos::from_millis(10), sigma: 0.5 };
    let stall = Nanos::from_millis(300);
    let windows = RandomWindows { length: stall, gap_min: stall, gap_mean: Nanos::from_secs(5) };
    let stalls = ServerSpec {
        slots: Some(1),
        shut_at_random: Some(windows),
        ..ServerSpec::new(Service::Constant(Nanos::from_millis(5)))
    };
    let mean = Nanos::from_millis(1);
    let mut servers = vec![
        server("M/M/1, ρ = 0.5", 500, poisson, one_slot(mean), 20),
        server("M/M/1, ρ = 0.8", 800, poisson, one_slot(mean), 20),
        server("lognormal, σ = 0.5", 500, poisson, ServerSpec::new(lognormal), 20),
        server("stalls of 0.3 s at random", 100, |_| Process::Even, stalls, 120),
    ];
    for (server, number) in servers.iter_mut().zip(1..) {
        server.first_seed = number * SEEDS;
    }
    servers
}

fn server(
    name: &'static str,
    rate_per_s: u64,
    process: fn(u64) -> Process,
    spec: ServerSpec,
    length_s: u64,
) -> Server {
    Server { name, rate_per_s, process, spec, warmup_s: 2, length_s, first_seed: 0 }
}

impl Server {
    /// Run `number`, from seeds of its own for its arrivals and for its server.
    pub(crate) fn record(&self, number: u64) -> Recorded {
        let seed = self.first_seed + 2 * number;
        let (warmup, length) = (Nanos::from_secs(self.warmup_s), Nanos::from_secs(self.length_s));
        let mut world = WorldSpec::new(self.spec.clone());
        world.seed = seed + 1;
        let load = Load { rate_per_s: self.rate_per_s, process: (self.process)(seed), warmup, length };
        let measured = warmup..warmup + length;
        let mut slices = Vec::new();
        let responses = load.responses(&world, |interval| {
            if measured.contains(&interval.start) {
                let outcomes = &interval.bank.counters.measured;
                slices.push(Slice {
                    length_s: interval.length.as_secs_f64(),
                    ok: outcomes.ok,
                    not_ok: outcomes.failed_total() + outcomes.timed_out,
                });
            }
        });
        Recorded { responses, slices, load: (measured.start, measured.end) }
    }
}

impl Recorded {
    /// ln of a percentile in ns.
    pub(crate) fn log_quantile(&self, q: f64) -> f64 {
        let value =
            Survival::new(&self.responses.completed, &self.responses.censored).quantile(q).expect("samples");
        (value.value_ns as f64).ln()
    }

    /// Ready to be compared.
    pub(crate) fn run(&self, number: u64) -> Run {
        let length_s = (self.load.1 - self.load.0).as_secs_f64();
        let parts = RunParts {
            completed: &self.responses.completed,
            censored: &self.responses.censored,
            history: &self.responses.history,
            load: self.load,
            slices: &self.slices,
            achieved_per_s: self.responses.completed.count() as f64 / length_s,
            error_share: 0.0,
            failed_share: 0.0,
        };
        Run::new(&parts, number)
    }
}
