//! The smallest effect that a comparison could have found.
//!
//! A test that finds nothing says little unless it is known what it would have found. With normal noise of the
//! logarithms each draw of the noise has one threshold: the smallest shift of the candidate that the permutation
//! test still finds in it, since a slower candidate is never less significant. The quantile of these thresholds at
//! the wanted power is the answer, without a search. The noise itself is known only from the runs at hand; a
//! threshold is therefore measured in units of a standard deviation that is estimated from as many other runs, so
//! that what is printed holds on average over all printed figures, not only for those who know the true noise
//! (a prediction interval; G. J. Hahn, W. Q. Meeker, "Statistical Intervals", 1991).

use super::permutation::{Splits, difference, own, splits};
use super::{ALARM_LEVEL, POWER};
use unblink_core::sim::Random;

/// Draws of the noise, where splits are few …
const DRAWS_MAX: u64 = 10_000;
/// … and where they are many.
const DRAWS_MIN: u64 = 400;
/// Splits that are gone through in all.
const SPLITS_BUDGET: u64 = 40_000_000;
/// The same figure for the same runs.
const SEED: u64 = 1;

/// What this many runs can find, for noise of any size.
#[derive(Clone, Debug)]
pub struct Power {
    draws: Vec<Draw>,
}

/// One draw of the noise, over an independent estimate of its own standard deviation.
#[derive(Clone, Copy, Debug)]
struct Draw {
    /// The smallest shift that the test finds.
    threshold: f64,
    /// Candidate − baseline by chance alone.
    difference: f64,
}

impl Power {
    /// For `n` runs of the baseline and `m` of the candidate; `None` where the alarm level can't be reached.
    pub fn new(n: usize, m: usize) -> Option<Power> {
        let all = splits(n, m);
        let rank = (ALARM_LEVEL / 2.0 * all as f64).floor() as usize;
        if rank == 0 {
            return None;
        }
        let mut random = Random::new(SEED, 0);
        let count = (SPLITS_BUDGET / all).clamp(DRAWS_MIN, DRAWS_MAX);
        let freedom = n + m - 2;
        let draws = (0..count).map(|_| {
            let noise: Vec<f64> = (0..n + m).map(|_| random.normal()).collect();
            let squares: f64 = (0..freedom).map(|_| random.normal().powi(2)).sum();
            let estimate = (squares / freedom as f64).sqrt();
            Draw {
                threshold: threshold(&noise, n, rank) / estimate,
                difference: difference(&noise, n, own(n, m)) / estimate,
            }
        });
        Some(Power { draws: draws.collect() })
    }

    /// The smallest difference of logarithms that is found with the power [`POWER`], where runs differ by the
    /// standard deviation `sd` and less than `effect_min` is not a regression (both of logarithms).
    pub fn smallest(&self, sd: f64, effect_min: f64) -> f64 {
        let needed = |draw: &Draw| (draw.threshold * sd).max(effect_min - draw.difference * sd);
        let mut needed: Vec<f64> = self.draws.iter().map(needed).collect();
        let place = ((needed.len() as f64 * POWER).ceil() as usize).clamp(1, needed.len()) - 1;
        *needed.select_nth_unstable_by(place, f64::total_cmp).1
    }
}

/// The smallest shift of all but the first `n` values at which fewer than `rank` other splits differ as much.
///
/// A split in which k of the candidate's runs have changed sides gains less than the measured one from a shift, by
/// k·(1/n + 1/m) of it, so that each is overtaken at one shift of its own.
fn threshold(values: &[f64], n: usize, rank: usize) -> f64 {
    let m = values.len() - n;
    let own = own(n, m);
    let measured = difference(values, n, own);
    let per_change = 1.0 / n as f64 + 1.0 / m as f64;
    let mut overtaken: Vec<f64> = Splits::new(n, m)
        .filter(|&split| split != own)
        .map(|split| {
            let changed = (own & !split).count_ones();
            (difference(values, n, split) - measured) / (f64::from(changed) * per_change)
        })
        .collect();
    // The measured split itself is one of the `rank` that may differ as much.
    *overtaken.select_nth_unstable_by(rank - 1, |a, b| b.total_cmp(a)).1
}

#[cfg(test)]
mod tests {
    use super::super::permutation::test;
    use super::*;

    #[test]
    fn the_threshold_is_where_the_test_begins_to_find() {
        let mut random = Random::new(7, 0);
        for (n, m) in [(5, 5), (6, 5), (5, 8), (7, 7)] {
            let rank = (ALARM_LEVEL / 2.0 * splits(n, m) as f64).floor() as usize;
            for _ in 0..20 {
                let noise: Vec<f64> = (0..n + m).map(|_| random.normal()).collect();
                let threshold = threshold(&noise, n, rank);
                let found = |shift: f64| {
                    let candidate: Vec<f64> = noise[n..].iter().map(|value| value + shift).collect();
                    test(&noise[..n], &candidate).slower <= ALARM_LEVEL / 2.0
                };
                assert!(found(threshold + 1e-6) && !found(threshold - 1e-6), "{n} + {m}: {threshold}");
            }
        }
    }

    #[test]
    fn five_and_five_need_complete_separation() {
        let noise = [0.3, -1.0, 0.8, 0.1, 0.0, -0.4, 0.9, 0.2, 1.5, 0.6];
        assert!((threshold(&noise, 5, 1) - (0.8 + 0.4)).abs() < 1e-12);
        assert!(Power::new(4, 4).is_none() && Power::new(4, 5).is_none());
    }

    #[test]
    fn without_noise_the_least_effect_that_counts_is_found() {
        let power = Power::new(5, 5).expect("5 + 5 reach 1 %");
        assert_eq!(power.smallest(0.0, 0.05), 0.05);
        // About 3.1 standard deviations if the noise were known, and more since it is not.
        let smallest = power.smallest(1.0, 0.0);
        assert!((3.2..4.0).contains(&smallest), "{smallest}");
        assert!((power.smallest(0.01, 0.0) - 0.01 * smallest).abs() < 1e-9);
        assert!(power.smallest(0.01, 0.1) > 0.1);
    }
}
