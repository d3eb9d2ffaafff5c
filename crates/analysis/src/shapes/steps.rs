//! Response times by intended time, in steps that hold enough arrivals to speak of their median.

use unblink_core::heat::{BINS, CENSORED_ROW, FAILED_ROW, HeatGrid, bin_edge_ns};
use unblink_core::time::Nanos;

/// A step holds this many arrivals, at the lowest rate of the load.
const ARRIVALS: f64 = 20.0;
/// And this many at least, where the stretch is too short for twice [`STEPS`] of those.
const ARRIVALS_MIN: f64 = 5.0;
/// So few steps can't show that anything holds.
pub(super) const STEPS: usize = 5;

/// Arrivals that were due in a short stretch of time.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Begin, after t = 0.
    pub start: Nanos,
    /// End, after t = 0.
    pub end: Nanos,
    /// `ok` arrivals by latency bin.
    cells: Vec<u64>,
    /// Known only to be longer than their age.
    pub censored: u64,
    /// Failed.
    pub failed: u64,
}

/// The steps between two moments, cut at the grid's columns. Their width follows from `per_s`, the lowest rate at which
/// arrivals are due.
pub fn steps(heat: &HeatGrid, from: Nanos, to: Nanos, per_s: f64) -> Vec<Step> {
    let width = heat.column_width();
    let in_column = per_s.max(1e-3) * width.as_secs_f64();
    let first = from.0.div_ceil(width.0) as usize;
    let end = ((to.0 / width.0) as usize).max(first);
    let usual = (ARRIVALS / in_column).ceil().max(1.0) as usize;
    let least = (ARRIVALS_MIN / in_column).ceil().max(1.0) as usize;
    // As many again, so that those that hold have room behind the first of them.
    let columns = usual.min(((end - first) / (2 * STEPS)).max(least));
    let at = |column: usize| Nanos(column as u64 * width.0);
    let step = |begin: usize| {
        let mut step = Step::empty(at(begin), at(begin + columns));
        (begin..begin + columns).filter(|&i| i < heat.columns_used()).for_each(|i| step.add(heat.column(i)));
        step
    };
    // What is left at the end is too short for a step.
    (first..end).step_by(columns).take_while(|begin| begin + columns <= end).map(step).collect()
}

impl Step {
    fn empty(start: Nanos, end: Nanos) -> Step {
        Step { start, end, cells: vec![0; BINS], censored: 0, failed: 0 }
    }

    fn add(&mut self, column: &[u32]) {
        self.cells.iter_mut().zip(column).for_each(|(cell, &n)| *cell += u64::from(n));
        self.censored += u64::from(column[CENSORED_ROW]);
        self.failed += u64::from(column[FAILED_ROW]);
    }

    /// `ok` and censored arrivals.
    pub fn count(&self) -> u64 {
        self.cells.iter().sum::<u64>() + self.censored
    }

    /// Failed and censored ones as a share of all, 0 to 1.
    pub fn lost_share(&self) -> f64 {
        let all = self.count() + self.failed;
        if all == 0 { 0.0 } else { (self.failed + self.censored) as f64 / all as f64 }
    }

    /// Failed ones as a share of all, 0 to 1.
    pub fn failed_share(&self) -> f64 {
        let all = self.count() + self.failed;
        if all == 0 { 0.0 } else { self.failed as f64 / all as f64 }
    }

    /// The time that the share `q` of the arrivals does not exceed, in nanoseconds; without end where it lies among the
    /// censored, `None` without arrivals. Within a bin arrivals are taken to lie evenly on the log scale.
    pub fn quantile_ns(&self, q: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = q * count as f64;
        let mut below = 0.0;
        for (bin, &n) in self.cells.iter().enumerate().filter(|(_, n)| **n > 0) {
            if below + n as f64 >= rank {
                return Some(within(bin, (rank - below) / n as f64));
            }
            below += n as f64;
        }
        Some(f64::INFINITY)
    }

    /// Do more arrivals than one minus `quantile` take longer than `limit_ns`? Censored ones do.
    pub fn exceeds(&self, limit_ns: u64, quantile: f64) -> bool {
        let count = self.count() as f64;
        let longer: f64 =
            self.cells.iter().enumerate().map(|(bin, &n)| n as f64 * share_above(bin, limit_ns)).sum();
        count > 0.0 && longer + self.censored as f64 > (1.0 - quantile) * count + 1e-9
    }
}

/// The ends of a bin. The first and the last are open-ended; they are taken to be as wide as the others.
fn ends(bin: usize) -> (f64, f64) {
    let low = bin_edge_ns(bin) as f64;
    (low, low * 10f64.powf(1.0 / 12.0))
}

fn within(bin: usize, share: f64) -> f64 {
    let (low, high) = ends(bin);
    low * (high / low).powf(share.clamp(0.0, 1.0))
}

/// Which share of a bin's arrivals is longer than `limit_ns`.
fn share_above(bin: usize, limit_ns: u64) -> f64 {
    let (low, high) = ends(bin);
    let below = ((limit_ns.max(1) as f64).ln() - low.ln()) / (high.ln() - low.ln());
    (1.0 - below).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(values: &[(u64, u64)]) -> HeatGrid {
        let mut grid = HeatGrid::default();
        for &(at_ms, ns) in values {
            let row = grid.bin_of(Nanos(ns));
            grid.record(Nanos::from_millis(at_ms), row);
        }
        grid
    }

    #[test]
    fn steps_are_wide_enough_for_the_lowest_rate() {
        let grid = grid(&[(0, 10_000_000), (950, 10_000_000)]);
        let wide = steps(&grid, Nanos::ZERO, Nanos::from_secs(5), 40.0);
        assert_eq!(wide.iter().map(|s| s.end.0 - s.start.0).collect::<Vec<_>>(), [500_000_000; 10]);
        assert_eq!(wide.iter().map(Step::count).take(3).collect::<Vec<_>>(), [1, 1, 0]);
        // Of a short stretch there are ten, as long as each holds five arrivals.
        let count = |per_s: f64| steps(&grid, Nanos::ZERO, Nanos::from_secs(2), per_s).len();
        assert_eq!([40.0, 20.0, 10.0, 5.0, 2.0].map(count), [10, 6, 4, 2, 0]);
        assert_eq!(steps(&grid, Nanos::ZERO, Nanos::from_secs(1), 1e6).len(), 10);
        // A step that begins before, or ends after, is none.
        assert_eq!(steps(&grid, Nanos::from_millis(50), Nanos::from_millis(399), 1e6).len(), 2);
    }

    #[test]
    fn a_quantile_lies_in_its_bin_and_beyond_the_known_without_end() {
        let mut grid = grid(&[(0, 10_000_000); 9]);
        grid.record(Nanos::ZERO, CENSORED_ROW);
        let step = &steps(&grid, Nanos::ZERO, Nanos::from_millis(100), 1e6)[0];
        let median = step.quantile_ns(0.5).unwrap();
        assert!((10e6..12.2e6).contains(&median), "{median}");
        assert_eq!(step.quantile_ns(0.95), Some(f64::INFINITY));
        assert!(step.exceeds(1_000_000_000, 0.95) && !step.exceeds(1_000_000_000, 0.5));
        assert!(step.exceeds(9_000_000, 0.5));
    }
}
