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
