//! What each stretch of a run did to the estimated distribution, and how uncertain that makes it.
//!
//! The influence of stretch i on F̂(x), the share that takes at most x, by Kaplan and Meier, is
//! e_i(x) = S(x) · Σ_{s ≤ x} (d_i(s) − d(s)·Y_i(s)/Y(s)) / (Y(s) − d(s)), where d counts completions, Y those
//! that took at least s, and S = 1 − F̂. Without censoring it is (y_i(x) − F̂(x)·n_i)/n. The influences sum to 0,
//! and the limit of infinitely many circular block resamples of the stretches has the variance
//! (1/L) · Σ (Σ_{i in block} e_i)² over the n circular blocks of L stretches.
//!
//! Sources: R. D. Gill, "Large Sample Behaviour of the Product-Limit Estimator on the Whole Line", 1983 (the
//! influence); D. N. Politis, J. P. Romano, "A Circular Block-Resampling Procedure for Stationary Data", 1992;
//! M. S. Meketon, B. Schmeiser, "Overlapping Batch Means: Something for Nothing?", 1984.

use super::history::{Counts, Stretch};

/// The estimate at the top of one bin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) bin: u32,
    /// F̂.
    pub(super) below: f64,
    /// Variance of F̂ by blocks.
    pub(super) block: f64,
    /// The same if all samples were independent (M. Greenwood, 1926).
    pub(super) independent: f64,
}

/// The state of the sweep after the bin in which a quantile is reached.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) below: f64,
    pub(super) independent: f64,
    /// By stretch.
    pub(super) influence: Vec<f64>,
    /// Samples longer than the bin, by stretch.
    pub(super) above: Vec<f64>,
    /// Samples of each stretch.
    pub(super) samples: Vec<f64>,
}

/// Goes through the bins from below. `block` is the length of a block in stretches.
pub(super) fn sweep(stretches: &[Stretch], quantiles: &[f64], block: usize) -> (Vec<Point>, Vec<Snapshot>) {
    let completions = by_bin(stretches, |s| &s.completed);
    let censorings = by_bin(stretches, |s| &s.censored);
    let samples: Vec<f64> = stretches
        .iter()
        .map(|s| s.completed.iter().chain(&s.censored).map(|(_, n)| *n as f64).sum())
        .collect();
    let mut at_risk = samples.clone();
    let mut influence = vec![0.0; stretches.len()];
    let (mut all, mut survival, mut greenwood) = (samples.iter().sum::<f64>(), 1.0, 0.0);
    let (mut points, mut snapshots) = (Vec::new(), Vec::new());
    let mut ages = censorings.iter().peekable();
    let mut completed_in = vec![0.0; stretches.len()];
    for of_bin in completions.chunk_by(|a, b| a.0 == b.0) {
        let bin = of_bin[0].0;
        while let Some(&(_, i, n)) = ages.next_if(|age| age.0 < bin) {
            at_risk[i] -= n;
            all -= n;
        }
        completed_in.fill(0.0);
        let mut completed = 0.0;
        for &(_, i, n) in of_bin {
            completed_in[i] = n;
            completed += n;
        }
        // The product form, which has no division by what is left: it may be nothing.
        let stays = (all - completed) / all;
        for i in 0..stretches.len() {
            let here = (completed_in[i] - completed * at_risk[i] / all) / all;
            influence[i] = influence[i] * stays + survival * here;
            at_risk[i] -= completed_in[i];
        }
        if all > completed {
            greenwood += completed / (all * (all - completed));
        }
        all -= completed;
        survival *= stays;
        let independent = survival * survival * greenwood;
        let below = 1.0 - survival;
        while quantiles.get(snapshots.len()).is_some_and(|q| below >= q - 1e-12) {
            snapshots.push(Snapshot {
                below,
                independent,
                influence: influence.clone(),
                above: at_risk.clone(),
                samples: samples.clone(),
            });
        }
        points.push(Point { bin, below, block: variance(&influence, block), independent });
    }
    (points, snapshots)
}

/// The block variance of a sum of influences, unbiased for independent stretches: the influences sum to 0, which
/// takes the share L/n of it away.
pub(super) fn variance(influence: &[f64], block: usize) -> f64 {
    let n = influence.len();
    let mut sum: f64 = influence[..block.min(n)].iter().sum();
    let mut squares = 0.0;
    for i in 0..n {
        squares += sum * sum;
        sum += influence[(i + block) % n] - influence[i];
    }
    squares / block as f64 / (1.0 - block as f64 / n as f64)
}

fn by_bin(stretches: &[Stretch], of: impl Fn(&Stretch) -> &Counts) -> Vec<(u32, usize, f64)> {
    let mut all: Vec<(u32, usize, f64)> = Vec::new();
    for (i, stretch) in stretches.iter().enumerate() {
        all.extend(of(stretch).iter().map(|&(bin, n)| (bin, i, n as f64)));
    }
    all.sort_unstable_by_key(|&(bin, i, _)| (bin, i));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::time::Nanos;

    /// Weeks in remission of 21 patients with 6-mercaptopurine, and whether it ended then (E. J. Freireich et al.,
    /// 1963): the textbooks' example of Kaplan and Meier's estimate and Greenwood's variance.
    const WEEKS: [(u32, bool); 21] = [
        (6, true),
        (6, true),
        (6, true),
        (6, false),
        (7, true),
        (9, false),
        (10, true),
        (10, false),
        (11, false),
        (13, true),
        (16, true),
        (17, false),
        (19, false),
        (20, false),
        (22, true),
        (23, true),
        (25, false),
        (32, false),
        (32, false),
        (34, false),
        (35, false),
    ];

    /// The samples, this many to a stretch.
    fn stretches(samples: &[(u32, bool)], in_each: usize) -> Vec<Stretch> {
        let stretch = |samples: &[(u32, bool)]| {
            let of = |wanted: bool| -> Counts {
                samples.iter().filter(|(_, ended)| *ended == wanted).map(|&(bin, _)| (bin, 1)).collect()
            };
            let (start, end) = (Nanos::ZERO, Nanos::from_secs(1));
            Stretch { start, end, level: 0, completed: of(true), censored: of(false) }
        };
        samples.chunks(in_each).map(stretch).collect()
    }

    #[test]
    fn greenwood_is_that_of_the_textbooks() {
        // D. R. Cox, D. Oakes, "Analysis of Survival Data", 1984: the share still in remission, its standard error.
        let expected = [
            (6, 0.857, 0.0764),
            (7, 0.807, 0.0869),
            (10, 0.753, 0.0963),
            (13, 0.690, 0.1068),
            (16, 0.627, 0.1141),
            (22, 0.538, 0.1282),
            (23, 0.448, 0.1346),
        ];
        for in_each in [1, 3, 21] {
            let (points, _) = sweep(&stretches(&WEEKS, in_each), &[], 1);
            assert_eq!(points.len(), expected.len());
            for (point, (week, share, error)) in points.iter().zip(expected) {
                assert_eq!(point.bin, week);
                assert!((1.0 - point.below - share).abs() < 0.000_6, "{point:?}");
                assert!((point.independent.sqrt() - error).abs() < 0.000_06, "{point:?}");
            }
        }
    }

    #[test]
    fn blocks_of_one_sample_each_have_greenwoods_variance() {
        // The squares of the influences of single samples add up to it, censored or not.
        let (points, _) = sweep(&stretches(&WEEKS, 1), &[], 1);
        let unbiased = 1.0 - 1.0 / WEEKS.len() as f64;
        for point in &points {
            assert!((point.block * unbiased / point.independent - 1.0).abs() < 1e-12, "{point:?}");
        }
    }

    #[test]
    fn greenwood_without_censoring_is_the_binomial() {
        let samples: Vec<(u32, bool)> = (1..=40).map(|week| (week / 3, true)).collect();
        let (points, _) = sweep(&stretches(&samples, 4), &[], 1);
        // Beyond the last sample nothing is left to vary.
        for point in &points {
            let binomial = point.below * (1.0 - point.below) / samples.len() as f64;
            assert!((point.independent - binomial).abs() < 1e-12, "{point:?}");
        }
    }
}
