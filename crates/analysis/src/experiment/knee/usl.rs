//! The Universal Scalability Law: X(N) = γN / (1 + σ(N − 1) + κN(N − 1)) (N. J. Gunther, "A General Theory of
//! Computational Scalability Based on Rational Functions", 2008), over the mean number in flight.
//!
//! N/X = (1 + σ(N − 1) + κN(N − 1))/γ is linear in 1/γ, σ/γ and κ/γ, and is the mean response time, which varies in
//! proportion to itself: least squares with weights X²/N². An interval holds what fits to trials that are drawn again
//! (bootstrap, with seeded draws) give, and what Student's distribution gives for the linear fit without a bound at 0:
//! a parameter that can't be told from 0 has an interval that begins there. How far the trials are off the curve is
//! told, and a law that does not fit is none: latency of many workers, which is flat and then bends, is such a case.

use crate::interval::exact::{ONE_LOOK, student};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_core::sim::Random;

/// Three parameters leave nothing to judge them by with fewer trials.
const POINTS_MIN: usize = 5;
/// The number in flight must differ by this factor, or the curve is not seen.
const RANGE_MIN: f64 = 2.0;
const RESAMPLES: usize = 1_000;
/// A law is no law when the trials' response times are further off than this share of them (root mean square).
const RESIDUAL_MAX: f64 = 0.15;
/// A peak is told only when some trial had this share of its number in flight: further out it is a guess.
const SEEN_SHARE: f64 = 0.5;

/// A value with its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Interval95 {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The law's parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Usl {
    /// γ: throughput of one in flight, per second.
    pub gamma_per_s: Interval95,
    /// σ: contention, 0 to 1.
    pub sigma: Interval95,
    /// κ: coherency; above 0 throughput has a peak.
    pub kappa: Interval95,
    /// Trials that it was fitted to.
    pub points: usize,
    /// Root mean square of how far their response times are off the curve, as a share of them.
    pub residual: f64,
    /// Most in flight in any of them.
    pub most_in_flight: f64,
}

impl Usl {
    /// The trials lie near enough to the curve.
    pub fn fits(&self) -> bool {
        self.residual <= RESIDUAL_MAX
    }

    /// Number in flight at which throughput is greatest; nothing without a κ that is surely above 0, or when the trials did
    /// not come near that number.
    pub fn peak_in_flight(&self) -> Option<f64> {
        let peak = ((1.0 - self.sigma.value).max(0.0) / self.kappa.value).sqrt();
        (self.kappa.low > 0.0 && self.most_in_flight >= SEEN_SHARE * peak).then_some(peak)
    }

    /// Throughput per second with `n` in flight.
    pub fn throughput_per_s(&self, n: f64) -> f64 {
        let slowing = 1.0 + self.sigma.value * (n - 1.0) + self.kappa.value * n * (n - 1.0);
        self.gamma_per_s.value * n / slowing
    }
}

/// Fits the law to (mean in flight, throughput per second); nothing when there are too few or they are too alike.
pub fn fit(points: &[(f64, f64)]) -> Option<Usl> {
    let least = points.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|p| p.0).fold(0.0, f64::max);
    if points.len() < POINTS_MIN || most < RANGE_MIN * least {
        return None;
    }
    let ([gamma, sigma, kappa], squares) = least_squares(points)?;
    let mut random = Random::new(points.len() as u64, 13);
    let mut all: [Vec<f64>; 3] = Default::default();
    for _ in 0..RESAMPLES {
        let drawn: Vec<(f64, f64)> =
            points.iter().map(|_| points[random.below(points.len() as u64) as usize]).collect();
        if let Some((found, _)) = least_squares(&drawn) {
            all.iter_mut().zip(found).for_each(|(values, value)| values.push(value));
        }
    }
    let free = unbounded(points);
    let mut interval = |i: usize, value: f64| {
        all[i].sort_unstable_by(f64::total_cmp);
        let at = |share: f64| all[i].get((share * all[i].len() as f64) as usize).copied();
        let (mut low, mut high) = (at(0.025)?.min(value), at(0.975)?.max(value));
        if let Some((found, reach)) = free.map(|all| all[i]) {
            (low, high) = (low.min(found - reach).max(0.0), high.max(found + reach));
        }
        Some(Interval95 { value, low, high })
    };
    let (gamma_per_s, sigma, kappa) = (interval(0, gamma)?, interval(1, sigma)?, interval(2, kappa)?);
    let residual = (squares / points.len() as f64).sqrt();
    Some(Usl { gamma_per_s, sigma, kappa, points: points.len(), residual, most_in_flight: most })
}

/// γ, σ, κ without a bound at 0, and how far their 95 % intervals reach: the linear fit's covariance (its unit vectors
/// solved for), and the delta method for the ratios.
fn unbounded(points: &[(f64, f64)]) -> Option<[(f64, f64); 3]> {
    let freedom = points.len().checked_sub(3).filter(|&freedom| freedom > 0)? as f64;
    let [a, b, c] = solve(points, &[0, 1, 2])?;
    let variance = squares(points, [a, b, c]) / freedom;
    let mut covariance = [[0.0; 3]; 3];
    for (i, column) in covariance.iter_mut().enumerate() {
        let mut unit = [0.0; 3];
        unit[i] = variance;
        *column = solve_normal(points, &[0, 1, 2], Some(unit))?;
    }
    let student = student(freedom, ONE_LOOK.normal);
    let reach = |gradient: [f64; 3]| {
        let pairs = (0..3).flat_map(|i| (0..3).map(move |j| (i, j)));
        let square: f64 = pairs.map(|(i, j)| gradient[i] * covariance[i][j] * gradient[j]).sum();
        student * square.max(0.0).sqrt()
    };
    let all = [
        (1.0 / a, reach([-1.0 / (a * a), 0.0, 0.0])),
        (b / a, reach([-b / (a * a), 1.0 / a, 0.0])),
        (c / a, reach([-c / (a * a), 0.0, 1.0 / a])),
    ];
    (a > 0.0).then_some(all)
}

/// 1, N − 1 and N(N − 1), the columns of the linear fit.
const COLUMNS: [fn(f64) -> f64; 3] = [|_| 1.0, |n| n - 1.0, |n| n * (n - 1.0)];

/// Sum of the squares by which response times are off a fit, as shares of them.
fn squares(points: &[(f64, f64)], fit: [f64; 3]) -> f64 {
    let fitted = |n: f64| (0..3).map(|i| fit[i] * COLUMNS[i](n)).sum::<f64>();
    points.iter().map(|&(n, x)| ((n / x - fitted(n)) / (n / x)).powi(2)).sum()
}

/// γ, σ, κ, and the sum of squares. Contention and coherency can't be negative: a parameter that would be is held at 0.
fn least_squares(points: &[(f64, f64)]) -> Option<([f64; 3], f64)> {
    let mut best: Option<(f64, [f64; 3])> = None;
    // Of three parameters there are four ways to hold some of the last two at 0.
    for used in [&[0, 1, 2][..], &[0, 1], &[0, 2], &[0]] {
        let Some(solved) = solve(points, used) else { continue };
        let [a, b, c] = solved;
        if a <= 0.0 || b < 0.0 || c < 0.0 {
            continue;
        }
        let error = squares(points, solved);
        if best.is_none_or(|(least, _)| error < least) {
            best = Some((error, [1.0 / a, b / a, c / a]));
        }
    }
    best.map(|(error, parameters)| (parameters, error))
}

fn solve(points: &[(f64, f64)], used: &[usize]) -> Option<[f64; 3]> {
    solve_normal(points, used, None)
}

/// Weighted normal equations by Gaussian elimination with pivoting; those of unused columns stay 0. `right`: another right
/// side than the response times'.
fn solve_normal(points: &[(f64, f64)], used: &[usize], right: Option<[f64; 3]>) -> Option<[f64; 3]> {
    let size = used.len();
    let mut rows = vec![vec![0.0; size + 1]; size];
    for &(n, x) in points {
        let (time, weight) = (n / x, (x / n).powi(2));
        for i in 0..size {
            for j in 0..size {
                rows[i][j] += weight * COLUMNS[used[i]](n) * COLUMNS[used[j]](n);
            }
            rows[i][size] += weight * COLUMNS[used[i]](n) * time;
        }
    }
    if let Some(right) = right {
        (0..size).for_each(|i| rows[i][size] = right[used[i]]);
    }
    let scale: Vec<f64> = (0..size).map(|i| rows[i][i].abs()).collect();
    for i in 0..size {
        let pivot = (i..size).max_by(|&a, &b| rows[a][i].abs().total_cmp(&rows[b][i].abs()))?;
        rows.swap(i, pivot);
        if rows[i][i].abs() <= 1e-12 * scale[i] {
            return None;
        }
        let pivot = rows[i].clone();
        for row in &mut rows[i + 1..] {
            let factor = row[i] / pivot[i];
            row.iter_mut().zip(&pivot).for_each(|(value, above)| *value -= factor * above);
        }
    }
    let mut found = [0.0; 3];
    for i in (0..size).rev() {
        let rest: f64 = (i + 1..size).map(|k| rows[i][k] * found[used[k]]).sum();
        found[used[i]] = (rows[i][size] - rest) / rows[i][i];
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Interval95, value: f64, share: f64) -> bool {
        (found.value - value).abs() <= share * value.abs().max(0.01)
    }

    #[test]
    fn the_law_is_found_in_its_own_points() {
        let (gamma, sigma, kappa) = (1_000.0, 0.03, 0.000_5);
        let x = |n: f64| gamma * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
        let points: Vec<(f64, f64)> = [1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0].map(|n| (n, x(n))).to_vec();
        let usl = fit(&points).unwrap();
        assert!(near(usl.gamma_per_s, gamma, 1e-6), "{usl:?}");
        assert!(near(usl.sigma, sigma, 1e-6) && near(usl.kappa, kappa, 1e-6), "{usl:?}");
        let peak = usl.peak_in_flight().unwrap();
        assert!((peak - (0.97f64 / 0.000_5).sqrt()).abs() < 1e-3, "{peak}");
        assert!((usl.throughput_per_s(5.0) - x(5.0)).abs() < 1e-6);
        assert!(usl.fits() && usl.residual < 1e-6, "{usl:?}");
    }

    /// N = ρ/(1 − ρ) gives X = μN/(1 + N): γ = μ/2, σ = 1/2, κ = 0.
    #[test]
    fn one_queue_is_contention_alone() {
        let mut random = Random::new(1, 1);
        let points: Vec<(f64, f64)> = (1..=12)
            .map(|i| {
                let x = f64::from(i) * 80.0;
                let n = x / (1_000.0 - x);
                (n * (1.0 + 0.02 * random.normal()), x)
            })
            .collect();
        let usl = fit(&points).unwrap();
        assert!(near(usl.gamma_per_s, 500.0, 0.05) && near(usl.sigma, 0.5, 0.1), "{usl:?}");
        assert!(usl.gamma_per_s.low <= 500.0 && 500.0 <= usl.gamma_per_s.high, "{usl:?}");
        assert!(usl.sigma.low <= 0.5 && 0.5 <= usl.sigma.high, "{usl:?}");
        assert!(usl.peak_in_flight().is_none() && usl.kappa.low == 0.0, "{usl:?}");
        assert!(usl.fits() && usl.residual < 0.05, "{usl:?}");
    }

    #[test]
    fn a_curve_of_another_kind_does_not_fit() {
        // Fifty workers: flat, then a wall.
        let time = |n: f64| if n < 50.0 { 0.01 } else { 0.01 + (n - 50.0) / 1_000.0 };
        let points = [1.0, 5.0, 10.0, 20.0, 30.0, 49.0, 60.0, 80.0, 100.0].map(|n| (n, n / time(n)));
        let usl = fit(&points).unwrap();
        assert!(!usl.fits() && usl.peak_in_flight().is_none(), "{usl:?}");
    }

    #[test]
    fn too_little_gives_nothing() {
        assert!(fit(&[(1.0, 10.0), (2.0, 18.0), (4.0, 30.0), (8.0, 40.0)]).is_none());
        assert!(fit(&[(1.0, 10.0); 9]).is_none());
    }
}
