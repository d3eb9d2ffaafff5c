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
}

impl Watch {
    /// Nothing without a goal.
    pub(crate) fn new(goal: Option<&PrecisionGoal>) -> Option<Watch> {
        let goal = goal?.clone();
        let stopping = Stopping::new(goal.share);
        Some(Watch { goal, stopping, is_reached: false })
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
        self.is_reached_now(tally).then_some(End::Enough)
    }
}
