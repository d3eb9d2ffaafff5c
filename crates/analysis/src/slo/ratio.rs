//! A ratio of sums over time (errors of arrivals, a sum of times of their number) and its 95 % interval.

use crate::interval::BLOCKS_MIN;
use crate::interval::exact::{ONE_LOOK, student};

/// The normal distribution's point for 95 %.
const NORMAL: f64 = ONE_LOOK.normal;
/// Stretches at most; in a longer run neighbours are joined. A multiple of twice [`BLOCKS_MIN`].
const STRETCHES_MAX: usize = 240;

/// Two sums, stretch by stretch, in memory that does not grow with the run.
#[derive(Clone, Debug)]
pub struct RatioHistory {
    stretches: Vec<Stretch>,
    intervals_per_stretch: u32,
}

#[derive(Clone, Copy, Default, Debug)]
struct Stretch {
    intervals: u32,
    top: f64,
    bottom: f64,
}

impl Default for RatioHistory {
    fn default() -> Self {
        RatioHistory { stretches: Vec::new(), intervals_per_stretch: 1 }
    }
}

impl RatioHistory {
    /// Takes in the next interval's sums.
    pub fn add(&mut self, top: f64, bottom: f64) {
        let next = Stretch { intervals: 1, top, bottom };
        match self.stretches.last_mut().filter(|last| last.intervals < self.intervals_per_stretch) {
            Some(last) => last.join(&next),
            None => {
                if self.stretches.len() == STRETCHES_MAX {
                    self.fold();
                }
                self.stretches.push(next);
            }
        }
    }

    /// Σ top / Σ bottom; `None` when there is nothing below.
    pub fn value(&self) -> Option<f64> {
        let (top, bottom) = self.sums();
        (bottom > 0.0).then(|| top / bottom)
    }

    /// Variance of the ratio by blocks (the ratio estimator; W. G. Cochran, "Sampling Techniques", 1977, section
    /// 6.3), with its degrees of freedom; `None` with fewer than 20 stretches that hold something.
    fn variance(&self) -> Option<(f64, f64)> {
        let used: Vec<&Stretch> = self.stretches.iter().filter(|s| s.bottom > 0.0).collect();
        let (top, bottom) = self.sums();
        if used.len() < BLOCKS_MIN || bottom <= 0.0 {
            return None;
        }
        let (ratio, n) = (top / bottom, BLOCKS_MIN);
        let block = |i: usize| &used[i * used.len() / n..(i + 1) * used.len() / n];
        let off = |block: &[&Stretch]| block.iter().map(|s| s.top - ratio * s.bottom).sum::<f64>().powi(2);
        let sum: f64 = (0..n).map(|i| off(block(i))).sum();
        let freedom = n as f64 - 1.0;
        Some((sum * n as f64 / freedom / bottom.powi(2), freedom))
    }

    /// Where a mean lies in 95 of 100 runs; `None` in a run that is too short.
    pub fn mean_interval(&self) -> Option<(f64, f64)> {
        let (variance, freedom) = self.variance()?;
        let (value, half) = (self.value()?, student(freedom, NORMAL) * variance.sqrt());
        Some(((value - half).max(0.0), value + half))
    }

    /// Where a share lies in 95 of 100 runs. Errors come in bursts, so that many arrivals say less than as many
    /// independent ones: their number is divided by how much more the share varies (L. Kish, "Survey Sampling",
    /// 1965, section 8.2), and the interval is that of E. B. Wilson, 1927. `None` in a run that is too short.
    pub fn share_interval(&self) -> Option<(f64, f64)> {
        let (variance, freedom) = self.variance()?;
        let (share, (_, n)) = (self.value()?, self.sums());
        let independent = share * (1.0 - share) / n;
        let effect = if independent > 0.0 { (variance / independent).max(1.0) } else { 1.0 };
        // Without dependence the blocks say nothing that ranks do not.
        let z = if effect > 1.0 { student(freedom, NORMAL) } else { NORMAL };
        Some(wilson(share, n / effect, z))
    }

    /// The narrowest interval that a share could have: that of independent arrivals.
    pub fn independent_share(&self) -> Option<(f64, f64)> {
        Some(wilson(self.value()?, self.sums().1, NORMAL))
    }

    fn sums(&self) -> (f64, f64) {
        self.stretches.iter().fold((0.0, 0.0), |(top, bottom), s| (top + s.top, bottom + s.bottom))
    }

    fn fold(&mut self) {
        self.intervals_per_stretch *= 2;
        let pairs = self.stretches.chunks(2).map(|pair| {
            let mut joined = pair[0];
            pair[1..].iter().for_each(|next| joined.join(next));
            joined
        });
        self.stretches = pairs.collect();
    }
}

impl Stretch {
    fn join(&mut self, next: &Stretch) {
        self.intervals += next.intervals;
        self.top += next.top;
        self.bottom += next.bottom;
    }
}

/// The interval of a share of which `n` independent arrivals show nothing.
pub(super) fn clean_share(n: u64) -> (f64, f64) {
    wilson(0.0, n as f64, NORMAL)
}

/// The interval of a share of which `some` of `n` independent arrivals are.
pub(super) fn binomial_share(some: u64, n: u64) -> (f64, f64) {
    wilson(some as f64 / n as f64, n as f64, NORMAL)
}

fn wilson(share: f64, n: f64, z: f64) -> (f64, f64) {
    let z2 = z * z;
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_errors_have_the_interval_of_the_tables() {
        // Wilson 1927: 10 of 100 at 95 % lie between 5.52 and 17.44 %.
        let (low, high) = wilson(0.1, 100.0, NORMAL);
        assert!((low - 0.0552).abs() < 1e-4 && (high - 0.1744).abs() < 1e-4, "{low} {high}");
        let mut none = RatioHistory::default();
        (0..60).for_each(|_| none.add(0.0, 1_000.0));
        let (low, high) = none.share_interval().expect("long enough");
        assert_eq!(low, 0.0);
        assert!((high - 3.8415 / 60_003.84).abs() < 1e-8, "{high}");
    }

    #[test]
    fn a_burst_counts_as_one_event() {
        // 60 errors of 60,000, one a second, or all within one second: the second is far less known.
        let (mut spread, mut burst) = (RatioHistory::default(), RatioHistory::default());
        for second in 0..60 {
            spread.add(1.0, 1_000.0);
            burst.add(if second == 30 { 60.0 } else { 0.0 }, 1_000.0);
        }
        assert_eq!(spread.value(), burst.value());
        let width = |history: &RatioHistory| history.share_interval().map(|(low, high)| high - low);
        assert!(width(&burst) > Some(6.0 * width(&spread).expect("an interval")));
    }

    #[test]
    fn a_short_run_has_no_interval_and_a_long_one_is_folded() {
        let mut history = RatioHistory::default();
        (0..19).for_each(|_| history.add(1.0, 2.0));
        assert_eq!((history.share_interval(), history.mean_interval()), (None, None));
        (0..100_000).for_each(|_| history.add(1.0, 2.0));
        assert!(history.stretches.len() <= STRETCHES_MAX);
        assert_eq!(history.value(), Some(0.5));
        assert_eq!(history.sums().1, 200_038.0);
    }

    #[test]
    fn a_mean_of_independent_blocks_has_students_interval() {
        // 20 blocks, 10 of mean 1 and 10 of mean 3: s² = 20/19, the mean's standard error √(s²/20).
        let mut history = RatioHistory::default();
        (0..20).for_each(|i| history.add(if i % 2 == 0 { 10.0 } else { 30.0 }, 10.0));
        let (low, high) = history.mean_interval().expect("20 blocks");
        let half = student(19.0, NORMAL) * (1.0f64 / 19.0).sqrt();
        assert!((low - (2.0 - half)).abs() < 1e-9 && (high - (2.0 + half)).abs() < 1e-9, "{low} {high}");
    }
}
