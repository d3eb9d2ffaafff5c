//! What became of a run that was to go on until a percentile is known well enough.

use super::Tally;
use crate::document::{Distribution, Precision, RunStatus};
use unblink_analysis::precision::relative_width;
use unblink_core::time::Nanos;

impl Tally {
    /// Of a whole run: the load ended before its time and nobody interrupted it, so the goal was reached.
    pub(super) fn precision(
        &self,
        status: RunStatus,
        response: &Distribution,
        from: Nanos,
        to: Nanos,
    ) -> Option<Precision> {
        let load = &self.header.load;
        let goal = load.precision.as_ref().filter(|_| self.part.is_none())?;
        let quantile = response.quantiles.iter().find(|quantile| quantile.q == goal.quantile);
        let share_found = quantile.and_then(|quantile| {
            let (low, high) = quantile.low.zip(quantile.high)?;
            Some((relative_width(quantile.value, low, high) * 1e6).round() / 1e6)
        });
        let planned_end = Nanos(load.warmup_ns + load.duration_ns);
        Some(Precision {
            quantile: goal.quantile,
            share: goal.share,
            share_found,
            reached: status == RunStatus::Complete && to < planned_end,
            after_ns: (to - from).0,
        })
    }
}
