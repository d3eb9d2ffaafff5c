//! Simulated runs at one rate, and what is recorded of their response times.

use unblink_analysis::interval::History;
use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Interval, Series, Track};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{WorldSpec, simulate};
use unblink_core::time::Nanos;

/// Response times of one run, by interval and together.
#[derive(Default)]
pub(crate) struct Responses {
    pub(crate) history: History,
    pub(crate) completed: Track<u64>,
    pub(crate) censored: Track<u64>,
}

/// A load at one rate. There is a connection for everyone, and everyone waits for the answer.
pub(crate) struct Load {
    pub(crate) rate_per_s: u64,
    pub(crate) process: Process,
    pub(crate) warmup: Nanos,
    pub(crate) length: Nanos,
}

impl Load {
    /// What comes of it in `world`; each interval is shown to `see`.
    pub(crate) fn responses(self, world: &WorldSpec, mut see: impl FnMut(&Interval)) -> Responses {
        let Load { rate_per_s, process, warmup, length } = self;
        let phases = vec![Phase::hold(Rate::per_second(rate_per_s), length)];
        let load = LoadSpec::Open { phases, process };
        let plain = PlanSpec::plain(load, Pool::Auto { max: 20_000 }, Nanos::from_secs(600));
        let plan = Plan::new(PlanSpec { warmup, ..plain }).expect("a valid plan");
        let mut all = Responses::default();
        simulate(&plan, world, |interval| {
            let of = |series| interval.bank.track(series);
            let (known, open) = (of(Series::Response), of(Series::ResponseCensored));
            let level = interval.gauges.in_flight + interval.gauges.backlog;
            all.history.add(interval.start, interval.length, level, known, open);
            all.completed.add(known);
            all.censored.add(open);
            see(interval);
        });
        all
    }
}
