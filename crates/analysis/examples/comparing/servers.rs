//! Simulated servers whose runs are compared.

use unblink_analysis::compare::{Run, RunParts, Slice};
use unblink_analysis::interval::History;
use unblink_analysis::quantile::Survival;
use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Series, Track};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{RandomWindows, ServerSpec, Service, WorldSpec, simulate};
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
    completed: Track<u64>,
    censored: Track<u64>,
    history: History,
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
        let plan = Plan::new(PlanSpec {
            warmup,
            ..PlanSpec::plain(
                LoadSpec::Open {
                    phases: vec![Phase::hold(Rate::per_second(self.rate_per_s), length)],
                    process: (self.process)(seed),
                },
                Pool::Auto { max: 20_000 },
                Nanos::from_secs(600),
            )
        })
        .expect("a valid plan");
        let mut world = WorldSpec::new(self.spec.clone());
        world.seed = seed + 1;
        let mut recorded = Recorded {
            completed: Track::default(),
            censored: Track::default(),
            history: History::default(),
            slices: Vec::new(),
            load: (warmup, warmup + length),
        };
        simulate(&plan, &world, |interval| {
            let of = |series| interval.bank.track(series);
            let (known, open) = (of(Series::Response), of(Series::ResponseCensored));
            let level = interval.gauges.in_flight + interval.gauges.backlog;
            recorded.history.add(interval.start, interval.length, level, known, open);
            recorded.completed.add(known);
            recorded.censored.add(open);
            if (recorded.load.0..recorded.load.1).contains(&interval.start) {
                let outcomes = &interval.bank.counters.measured;
                recorded.slices.push(Slice {
                    length_s: interval.length.as_secs_f64(),
                    ok: outcomes.ok,
                    not_ok: outcomes.failed_total() + outcomes.timed_out,
                });
            }
        });
        recorded
    }
}

impl Recorded {
    /// ln of a percentile in ns.
    pub(crate) fn log_quantile(&self, q: f64) -> f64 {
        let value = Survival::new(&self.completed, &self.censored).quantile(q).expect("samples");
        (value.value_ns as f64).ln()
    }

    /// Ready to be compared.
    pub(crate) fn run(&self, number: u64) -> Run {
        let length_s = (self.load.1 - self.load.0).as_secs_f64();
        let parts = RunParts {
            completed: &self.completed,
            censored: &self.censored,
            history: &self.history,
            load: self.load,
            slices: &self.slices,
            achieved_per_s: self.completed.count() as f64 / length_s,
            error_share: 0.0,
            failed_share: 0.0,
        };
        Run::new(&parts, number)
    }
}
