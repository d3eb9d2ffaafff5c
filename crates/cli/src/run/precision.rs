//! `--precision`: the run goes on until a percentile is known well enough.

use crate::args::run::RunArgs;
use crate::args::steady::Warmup;
use crate::args::value::Shape;
use anyhow::{Result, bail};
use std::sync::Arc;
use unblink_analysis::precision::{CONFIRMED_AFTER, MINIMUM, Stopping};
use unblink_artifact::document::PrecisionGoal;
use unblink_artifact::tally::{Ending, Tally};
use unblink_core::time::Nanos;
use unblink_engine::run::Controls;
use unblink_report::format;

/// Refuses what can't go together.
pub(super) fn check(args: &RunArgs) -> Result<()> {
    if args.precision.precision.is_none() {
        if args.precision.precision_of.is_some() || args.precision.max_duration.is_some() {
            bail!(
                "--precision-of and --max-duration belong to --precision: add --precision 5%, say, or leave them out \
                 (-d is how long a run lasts)"
            );
        }
        return Ok(());
    }
    if matches!(args.load.rate, Some(Shape::Ramp(..) | Shape::Steps(_))) {
        bail!("--precision needs one constant rate: the percentiles of a ramp or of steps settle nowhere");
    }
    if args.load.warmup == Warmup::Auto {
        bail!("--precision and --warmup auto exclude each other: give --warmup a time");
    }
    let max = args.precision.max_duration();
    let first = Nanos(MINIMUM.0.saturating_mul(CONFIRMED_AFTER));
    if max <= first {
        let said = |ns: Nanos| format::plain(&format::moment(ns.0));
        bail!(
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

/// For the run's header.
pub(super) fn goal(args: &RunArgs) -> Option<PrecisionGoal> {
    let share = args.precision.precision?;
    Some(PrecisionGoal { quantile: args.precision.quantile(), share, minimum_ns: MINIMUM.0 })
}

/// Stops the run when its goal is reached.
pub(super) struct Watch {
    goal: PrecisionGoal,
    stopping: Stopping,
    controls: Arc<Controls>,
    /// The load ended because the goal was reached, and nobody else had asked for that before.
    pub(super) has_stopped: bool,
}

impl Watch {
    /// Nothing without a goal.
    pub(super) fn new(goal: Option<&PrecisionGoal>, controls: Arc<Controls>) -> Option<Watch> {
        let goal = goal?.clone();
        let stopping = Stopping::new(goal.share);
        Some(Watch { goal, stopping, controls, has_stopped: false })
    }

    /// Looks at what was recorded, when it is time to.
    pub(super) fn look(&mut self, tally: &Tally) {
        let load = &tally.header().load;
        let planned_end = Nanos(load.warmup_ns + load.duration_ns);
        let after = tally.end() - Nanos(load.warmup_ns);
        if self.has_stopped || tally.end() >= planned_end || !self.stopping.is_due(after) {
            return;
        }
        let response = tally.document(&Ending::unknown(tally.header(), tally.end())).response_time;
        let Some(quantile) = response.quantiles.iter().find(|quantile| quantile.q == self.goal.quantile)
        else {
            return;
        };
        let interval = quantile.low.zip(quantile.high);
        if self.stopping.look(after, quantile.value, interval) {
            self.has_stopped = self.controls.stop();
        }
    }
}
