//! `--precision`: the run goes on until a percentile is known well enough.

use crate::args::load::LoadArgs;
use crate::args::steady::{PrecisionArgs, Warmup};
use crate::errors::refuse;
use crate::observe::{End, Observer};
use crate::value::Shape;
use anyhow::Result;
use unblink_analysis::precision::{CONFIRMED_AFTER, MINIMUM, Stopping};
use unblink_artifact::document::{PrecisionGoal, RunPlan};
use unblink_artifact::tally::Tally;
use unblink_core::record::Interval;
use unblink_core::time::Nanos;
use unblink_report::format;

/// Refuses what can't go together.
fn check(args: &PrecisionArgs, load: &LoadArgs) -> Result<()> {
    if args.precision.is_none() {
        if args.precision_of.is_some() || args.max_duration.is_some() {
            refuse!(
                ["precision-of", "max-duration"],
                "--precision-of and --max-duration belong to --precision: add --precision 5%, say, or leave them out \
                 (-d is how long a run lasts)"
            );
        }
        return Ok(());
    }
    if !load.loads.is_empty() {
        refuse!(
            ["precision"],
            "--precision needs one load that holds its rate, and [[loads]] have a length each: leave it out, or put one \
             load into [load]"
        );
    }
    if matches!(load.rate, Some(Shape::Ramp(..) | Shape::Steps(_))) || load.trace.trace.is_some() {
        refuse!(
            ["precision", "rate", "trace"],
            "--precision needs one constant rate: the percentiles of a ramp, of steps or of a trace settle nowhere"
        );
    }
    if load.warmup == Warmup::Auto {
        refuse!(
            ["precision", "warmup"],
            "--precision and --warmup auto exclude each other: give --warmup a time"
        );
    }
    let max = args.max_duration();
    let first = Nanos(MINIMUM.0.saturating_mul(CONFIRMED_AFTER));
    if max <= first {
        let said = |ns: Nanos| format::plain(&format::moment(ns.0));
        refuse!(
            ["max-duration", "precision"],
            "--max-duration is {}: --precision looks after {} for the first time and confirms what it saw after {}, so \
             let the load last for at least {}",
            said(max),
            said(MINIMUM),
            said(first),
            said(first + Nanos::from_secs(1))
        );
    }
    Ok(())
}

/// The load's flags; with a goal the load lasts until it is stopped, at most for `--max-duration`.
pub(crate) fn lasting(args: &PrecisionArgs, load: &LoadArgs) -> Result<LoadArgs> {
    check(args, load)?;
    let duration = args.precision.map(|_| args.max_duration()).or(load.duration);
    Ok(LoadArgs { duration, ..load.clone() })
}

/// Adds the goal, if there is one, to what is said of the run.
pub(crate) fn describe(args: &PrecisionArgs, plan: &mut RunPlan) {
    let Some(share) = args.precision else { return };
    let quantile = args.quantile();
    plan.summary += &format!(
        " at most, until {} is known within {}",
        format::quantile_label(quantile),
        format::percent(share)
    );
    plan.precision = Some(PrecisionGoal { quantile, share, minimum_ns: MINIMUM.0 });
}

/// Sees when the goal of a run is reached.
pub(crate) struct Watch {
    goal: PrecisionGoal,
    stopping: Stopping,
    is_reached: bool,
    /// A machine of several has no part in what comes.
    lacks_a_machine: bool,
    is_passed_over: bool,
}

impl Watch {
    /// Nothing without a goal.
    pub(crate) fn new(goal: Option<&PrecisionGoal>) -> Option<Watch> {
        let goal = goal?.clone();
        let stopping = Stopping::new(goal.share);
        Some(Watch { goal, stopping, is_reached: false, lacks_a_machine: false, is_passed_over: false })
    }

    /// From here on a machine is missing: what the others know says nothing of all.
    pub(crate) fn lacks_a_machine(&mut self) {
        self.lacks_a_machine = true;
    }

    /// The goal was reached, and passed over for that; told once.
    pub(crate) fn passed_over(&mut self) -> bool {
        std::mem::take(&mut self.is_passed_over)
    }

    /// True once: the load may end now.
    fn is_reached_now(&mut self, tally: &Tally) -> bool {
        let plan = &tally.header().plan;
        let planned_end = Nanos(plan.warmup_ns + plan.duration_ns);
        let after = tally.end() - Nanos(plan.warmup_ns);
        if self.is_reached || tally.end() >= planned_end || !self.stopping.is_due(after) {
            return false;
        }
        let known = tally.known_so_far(self.goal.quantile);
        let value = known.map_or(0, |(value, _)| value);
        self.is_reached = self.stopping.look(after, value, known.map(|(_, interval)| interval));
        self.is_reached
    }
}

impl Observer for Watch {
    /// Looks at what was recorded when it is time to.
    fn look(&mut self, _: &Interval, tally: &mut Tally) -> Option<End> {
        let is_reached = self.is_reached_now(tally);
        self.is_passed_over |= is_reached && self.lacks_a_machine;
        (is_reached && !self.lacks_a_machine).then_some(End::Enough)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_artifact::header::RunHeader;
    use unblink_core::dispatch::Pool;
    use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
    use unblink_core::schedule::{Phase, Process, Rate};
    use unblink_core::sim::{ServerSpec, Service, WorldSpec, simulate};

    const SECONDS: u64 = 80;

    fn header() -> RunHeader {
        let duration_ns = Nanos::from_secs(SECONDS).0;
        let phases =
            serde_json::json!([{"from_per_s": 100.0, "to_per_s": 100.0, "duration_ns": duration_ns}]);
        let json = serde_json::json!({
            "tool": {"name": "unblink", "version": "0.1.0"}, "started_at": "2026-11-20T09:15:00Z", "command": [],
            "environment": {"kernel": "", "cpu": "", "cores": 1, "file_descriptors_max": 1, "local_ports": 1},
            "plan": {"summary": "", "phases": phases, "warmup_ns": 0, "duration_ns": duration_ns, "timeout_ns": 1,
                "drain_ns": 1, "threads": 1},
            "loads": [{"model": "open", "process": {"name": "even"}, "phases": phases, "start_ns": 0}],
            "origins": [{"scheme": "http", "host": "h", "port": 80, "connections": {"mode": "fixed", "limit": 1}}],
            "targets": [], "protocol_failures": [], "operations": [], "objectives": {"slos": [], "abort_on": []},
        });
        serde_json::from_value(json).expect("a header")
    }

    /// How often the load was ended, and how often that was passed over; a machine is missing from this second on.
    fn ended(lacking_from_s: u64) -> (usize, usize) {
        let phases = vec![Phase::hold(Rate::per_second(100), Nanos::from_secs(SECONDS))];
        let load = LoadSpec::Open { phases, process: Process::Even };
        let plan = Plan::new(PlanSpec::plain(load, Pool::Auto { max: 1_000 }, Nanos::from_secs(5)))
            .expect("a valid plan");
        let world = WorldSpec::new(ServerSpec::new(Service::Constant(Nanos::from_millis(10))));
        let goal = PrecisionGoal { quantile: 0.5, share: 0.05, minimum_ns: MINIMUM.0 };
        let mut watch = Watch::new(Some(&goal)).expect("a goal");
        let mut tally = Tally::new(header());
        let (mut ended, mut passed_over) = (0, 0);
        simulate(&plan, &world, |interval| {
            tally.add(interval);
            if interval.start >= Nanos::from_secs(lacking_from_s) {
                watch.lacks_a_machine();
            }
            ended += usize::from(watch.look(interval, &mut tally).is_some());
            passed_over += usize::from(watch.passed_over());
        });
        (ended, passed_over)
    }

    #[test]
    fn the_load_goes_on_while_a_machine_is_missing() {
        assert_eq!(ended(SECONDS), (1, 0));
        assert_eq!(ended(10), (0, 1));
    }
}
