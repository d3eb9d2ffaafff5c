//! Sizes: a lognormal law by maximum likelihood, and how far it is from what was recorded.

use super::normal::normal_below;
use libm::{exp, log, pow, sqrt};

/// From one bin to the next.
const STEP: f64 = 1.02;
/// Bins of all sizes below 2⁶⁴, and one for 0.
const BINS: usize = 2_242;

/// Sizes of one kind of requests or answers.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeFit {
    /// How many were recorded.
    pub count: u64,
    /// Of these, how many were 0; they are in no other figure.
    pub empty: u64,
    /// The smallest above 0.
    pub min: u64,
    /// The largest.
    pub max: u64,
    /// The median of the lognormal law: e to the power of the mean logarithm.
    pub median: f64,
    /// The standard deviation of the logarithm; 0 where all are the same.
    pub sigma: f64,
    /// The largest difference between the distribution function of the law and that of the record (Kolmogorov–Smirnov).
    pub distance: f64,
    /// Sizes with how often they came, each the middle of its 2 %.
    pub histogram: Vec<(u64, u64)>,
}

impl SizeFit {
    /// All are the same.
    pub fn is_constant(&self) -> bool {
        self.min == self.max
    }
}

#[derive(Default)]
pub(super) struct Sizes {
    bins: Vec<u64>,
    count: u64,
    empty: u64,
    min: u64,
    max: u64,
    mean: f64,
    squares: f64,
}

fn bin(size: u64) -> usize {
    (log(size as f64) / log(STEP) + 1e-9) as usize
}

impl Sizes {
    pub(super) fn add(&mut self, size: Option<u64>) {
        let Some(size) = size else { return };
        self.count += 1;
        if size == 0 {
            self.empty += 1;
            return;
        }
        if self.bins.is_empty() {
            self.bins = vec![0; BINS];
            self.min = size;
        }
        (self.min, self.max) = (self.min.min(size), self.max.max(size));
        self.bins[bin(size).min(BINS - 1)] += 1;
        let (x, n) = (log(size as f64), (self.count - self.empty) as f64);
        // B. Welford (1962).
        let before = x - self.mean;
        self.mean += before / n;
        self.squares += before * (x - self.mean);
    }

    /// None where no size above 0 was recorded.
    pub(super) fn fit(&self) -> Option<SizeFit> {
        let n = self.count - self.empty;
        if n == 0 {
            return None;
        }
        let sigma = sqrt(self.squares / n as f64);
        let mut fit = SizeFit {
            count: self.count,
            empty: self.empty,
            min: self.min,
            max: self.max,
            median: exp(self.mean),
            sigma,
            distance: 0.0,
            histogram: self.histogram(),
        };
        if fit.is_constant() {
            return Some(SizeFit { sigma: 0.0, median: self.min as f64, ..fit });
        }
        let mut sum = 0;
        for (place, count) in self.bins.iter().enumerate() {
            let below = |size: f64| normal_below((log(size.max(0.5)) - self.mean) / sigma);
            // Sizes are whole numbers: what lies below the bin ends half of one before its first.
            let edge = pow(STEP, place as f64).ceil() - 0.5;
            let difference = (sum as f64 / n as f64 - below(edge)).abs();
            fit.distance = fit.distance.max(difference);
            sum += count;
        }
        Some(fit)
    }

    fn histogram(&self) -> Vec<(u64, u64)> {
        let filled = self.bins.iter().enumerate().filter(|(_, count)| **count > 0);
        let middle = |place: usize| {
            let size = pow(STEP, place as f64 + 0.5).round() as u64;
            size.clamp(self.min, self.max)
        };
        let mut all: Vec<(u64, u64)> = Vec::new();
        for (place, &count) in filled {
            match all.last_mut() {
                Some((size, sum)) if *size == middle(place) => *sum += count,
                _ => all.push((middle(place), count)),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::seeded::Seeded;

    #[test]
    fn a_lognormal_law_is_found() {
        for (median, sigma) in [(4_096.0, 1.2), (300.0, 0.4), (1e6, 2.0)] {
            let (mut random, mut sizes) = (Seeded::new(7), Sizes::default());
            for _ in 0..50_000 {
                sizes.add(Some((median * (sigma * random.normal()).exp()).round() as u64));
            }
            sizes.add(None);
            sizes.add(Some(0));
            let fit = sizes.fit().unwrap();
            assert!((fit.median / median - 1.0).abs() < 0.03, "{}", fit.median);
            assert!((fit.sigma - sigma).abs() < 0.02, "{}", fit.sigma);
            // 1.63/√n is exceeded by one in a hundred.
            assert!(fit.distance < 1.63 / 50_000f64.sqrt() + 0.002, "{}", fit.distance);
            assert!(fit.count == 50_001 && fit.empty >= 1, "{} {}", fit.count, fit.empty);
            assert_eq!(fit.histogram.iter().map(|(_, n)| n).sum::<u64>(), fit.count - fit.empty);
        }
    }

    #[test]
    fn one_size_and_two_sizes() {
        let mut sizes = Sizes::default();
        assert_eq!(sizes.fit(), None);
        (0..100).for_each(|_| sizes.add(Some(612)));
        let fit = sizes.fit().unwrap();
        assert!(fit.is_constant() && fit.distance == 0.0 && fit.histogram == [(612, 100)], "{fit:?}");
        (0..100).for_each(|_| sizes.add(Some(61_200)));
        assert!(sizes.fit().unwrap().distance > 0.2);
        sizes.add(Some(u64::MAX));
        assert_eq!(sizes.fit().unwrap().max, u64::MAX);
    }
}
