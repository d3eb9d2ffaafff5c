//! A simulated run of a few stretches of load, as the analysis of shapes sees it.

use unblink_analysis::quantile::Survival;
use unblink_analysis::shapes::{Row, Seen, Stretch};
use unblink_core::dispatch::Pool;
use unblink_core::heat::HeatGrid;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Series, Track};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, WorldSpec, simulate};
use unblink_core::time::Nanos;

pub(crate) struct Recorded {
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) rows: Vec<Row>,
    pub(crate) heat: HeatGrid,
    pub(crate) before: Survival,
    pub(crate) plan: Plan,
}

/// Stretches as (rate at the begin, rate at the end, seconds).
pub(crate) fn run(
    server: ServerSpec,
    stretches: &[(u64, u64, u64)],
    process: Process,
    timeout_s: u64,
) -> Recorded {
    let phases: Vec<Phase> = stretches
        .iter()
        .map(|&(from, to, seconds)| Phase {
            from: Rate::per_second(from),
            to: Rate::per_second(to),
            duration: Nanos::from_secs(seconds),
        })
        .collect();
    let plan = Plan::new(PlanSpec::plain(
        LoadSpec::Open { phases: phases.clone(), process },
        Pool::Auto { max: 1_000_000 },
        Nanos::from_secs(timeout_s),
    ))
    .expect("a plan");
    let mut from = Nanos::ZERO;
    let stretches = phases.iter().map(|phase| {
        let to = from + phase.duration;
        let stretch = Stretch { from, to, from_per_s: phase.from.as_per_s(), to_per_s: phase.to.as_per_s() };
        from = to;
        stretch
    });
    let stretches: Vec<Stretch> = stretches.collect();
    let settled = stretches[0].settled();
    let (mut known, mut censored) = (Track::default(), Track::default());
    let seed = process.seed().unwrap_or(1);
    let (mut rows, mut heat) = (Vec::new(), HeatGrid::default());
    simulate(&plan, &WorldSpec { seed, ..WorldSpec::new(server) }, |interval| {
        rows.push(Row::of(interval));
        heat.merge(&interval.bank.heat);
        if interval.start >= settled.0 && interval.start + interval.length <= settled.1 {
            known.add(interval.bank.track(Series::Response));
            censored.add(interval.bank.track(Series::ResponseCensored));
        }
    });
    let before = Survival::new(&known, &censored);
    Recorded { stretches, rows, heat, before, plan }
}

impl Recorded {
    pub(crate) fn seen(&self) -> Seen<'_> {
        Seen { heat: &self.heat, rows: &self.rows, before: &self.before, load_to: self.plan.load_length() }
    }
}
