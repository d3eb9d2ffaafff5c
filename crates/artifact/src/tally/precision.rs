//! What became of a run that was to go on until a percentile is known well enough.

use super::intervals::Measured;
use super::{Ending, Tally};
use crate::document::{Distribution, Precision, RunStatus};
use unblink_analysis::precision::relative_width;
use unblink_core::time::Nanos;

impl Tally {
    /// A whole run that was to stop when a percentile is known well enough, and whose load ended before its time.
    pub(super) fn may_have_stopped(&self, to: Nanos) -> bool {
        let load = &self.header.plan;
        let has_goal = load.precision.is_some() && self.part.is_none();
        has_goal && to < Nanos(load.warmup_ns + load.duration_ns)
    }

    /// How well a percentile of response time is known while the run goes on: its value, and its 95 % interval for a load
    /// that ends when that is narrow enough.
    pub fn known_so_far(&self, quantile: f64) -> Option<(u64, (u64, u64))> {
        let ending = Ending::unknown(&self.header, self.end);
        let account = self.account(&ending);
        let (from, to) = self.load_window(&ending);
        let validity = super::judge::validity(&self.assess(&ending, &account, from, to));
        let measured = Measured::new(&validity, (from, to), account.without_ending, self.in_flight);
        self.interval_so_far(quantile, &measured)
    }

    /// Of a whole run: the load ended before its time and nobody interrupted it, so the goal was reached. Where machines were lost, it
    /// was reached for the others alone.
    pub(super) fn precision(
        &self,
        status: RunStatus,
        response: &Distribution,
        &Measured { from, to, has_lost, .. }: &Measured<'_>,
    ) -> Option<Precision> {
        let load = &self.header.plan;
        let goal = load.precision.as_ref().filter(|_| self.part.is_none())?;
        let quantile = response.quantiles.iter().find(|quantile| quantile.q == goal.quantile);
        let share_found = quantile.and_then(|quantile| {
            let (low, high) = quantile.low.zip(quantile.high)?;
            Some((relative_width(quantile.value, low, high) * 1e6).round() / 1e6)
        });
        Some(Precision {
            quantile: goal.quantile,
            share: goal.share,
            share_found,
            reached: status == RunStatus::Complete && !has_lost && self.may_have_stopped(to),
            after_ns: (to - from).0,
        })
    }
}
