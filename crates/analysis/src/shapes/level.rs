//! The level before, and when a target is back at it.

use super::Row;
use super::steps::{STEPS, Step};
use crate::quantile::Survival;
use unblink_core::time::Nanos;

/// One value in this many before may lie above the level: the odd one does not raise it.
const ODD_ONE_IN: usize = 20;
/// As before is what exceeds the level by no more than this factor.
const SLACK: f64 = 1.25;
/// What has no answer may exceed it by this many more: levels of a few are mostly chance.
const LEVEL_SLACK: f64 = 2.0;
/// More failures than before by this share of the arrivals are not as before.
const FAILED_SLACK: f64 = 0.01;
/// A recovery holds for so long, and for this many steps, at least.
const HOLDS: Nanos = Nanos::from_secs(2);
const HOLDS_STEPS: usize = 10;
/// Of the steps within that time so many are as before.
const HOLDS_SHARE: f64 = 0.9;

/// How a target does before anything grows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Before {
    /// Median response time.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Due and without an answer, but for one row in twenty at most.
    pub level: u64,
    /// The median of a step, but for one in twenty at most.
    pub(super) median_ns: f64,
    /// The share of a step that failed, but for one in twenty at most.
    pub(super) usual_failed_share: f64,
    /// The share of all that failed.
    pub failed_share: f64,
}

/// When a target is back at the level before.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Recovery {
    /// From this moment on, after t = 0.
    pub at: Nanos,
}

impl Before {
    /// From response times, steps and what had no answer at the ends of rows, all of the stretch before.
    pub(super) fn of(response: &Survival, steps: &[Step], levels: Vec<u64>) -> Option<Before> {
        let known = |q| response.quantile(q).filter(|value| !value.censored).map(|value| value.value_ns);
        let medians = steps.iter().filter_map(|step| step.quantile_ns(0.5)).collect();
        let failed: u64 = steps.iter().map(|step| step.failed).sum();
        let ended = failed + steps.iter().map(Step::count).sum::<u64>();
        let levels = levels.into_iter().map(|level| level as f64).collect();
        Some(Before {
            p50_ns: known(0.5)?,
            p99_ns: known(0.99)?,
            level: usual(levels)? as u64,
            median_ns: usual(medians).filter(|ns| ns.is_finite())?,
            failed_share: failed as f64 / ended.max(1) as f64,
            usual_failed_share: usual(steps.iter().map(Step::failed_share).collect())?,
        })
    }

    fn is_as_before(&self, step: &Step) -> bool {
        let is_fast = step.quantile_ns(0.5).is_none_or(|ns| ns <= self.median_ns * SLACK);
        is_fast && step.failed_share() <= self.usual_failed_share + FAILED_SLACK
    }

    fn level_max(&self) -> f64 {
        self.level as f64 * SLACK + LEVEL_SLACK
    }

    /// When both response times and what has no answer are as before, from `from` on. `steps` begin there.
    pub(super) fn recovery(&self, steps: &[Step], rows: &[Row], from: Nanos) -> Option<Recovery> {
        let (latency, level) = (self.latency_at(steps)?, self.level_at(rows, from)?);
        Some(Recovery { at: latency.max(level).max(from) })
    }

    /// The first step from which on steps are as before.
    fn latency_at(&self, steps: &[Step]) -> Option<Nanos> {
        let good: Vec<bool> = steps.iter().map(|step| self.is_as_before(step)).collect();
        let width = steps.first().map(|step| step.end - step.start)?;
        let holds = HOLDS_STEPS.max(HOLDS.0.div_ceil(width.0.max(1)) as usize);
        let is_back = |i: usize| {
            let window = &good[i..good.len().min(i + holds)];
            let as_before = window.iter().filter(|good| **good).count();
            good[i] && window.len() >= STEPS && as_before as f64 >= HOLDS_SHARE * window.len() as f64
        };
        (0..good.len()).find(|&i| is_back(i)).map(|i| steps[i].start)
    }

    /// When no more is without an answer than before. Between the ends of two rows what piled up is taken to go on
    /// melting as fast as in the row before: it ends where it reaches the level, long before the row may.
    fn level_at(&self, rows: &[Row], from: Nanos) -> Option<Nanos> {
        let most = self.level_max();
        let is_back = |i: usize| {
            let holds = |row: &Row| row.level as f64 <= most;
            holds(&rows[i]) && rows.get(i + 1).is_none_or(holds)
        };
        let first = rows.iter().rposition(|row| row.end() <= from).unwrap_or(0);
        let back = (first..rows.len()).find(|&i| is_back(i))?;
        if back == first {
            return Some(from);
        }
        let (above, below) = (&rows[back - 1], &rows[back]);
        let falls_per_ns = |from: &Row, to: &Row| {
            (from.level as f64 - to.level as f64) / (to.end() - from.end()).0.max(1) as f64
        };
        let melting = match back.checked_sub(2).filter(|&i| i >= first) {
            Some(i) => falls_per_ns(&rows[i], above),
            None => 0.0,
        };
        let per_ns = melting.max(falls_per_ns(above, below));
        let takes = Nanos(((above.level as f64 - most).max(0.0) / per_ns.max(1e-12)).round() as u64);
        Some((above.end() + takes).min(below.end()))
    }
}

/// The highest value but for one in [`ODD_ONE_IN`].
fn usual(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let odd = values.len() / ODD_ONE_IN;
    values.len().checked_sub(1 + odd).map(|i| values[i])
}
