//! Distributions that fits are held against.

use libm::{cbrt, erfc, exp, sqrt};

/// Above it, a Poisson distribution is as good as its approximation.
const EXACT_MAX: f64 = 300.0;

/// P(Z ≤ z) of the standard normal distribution.
pub(super) fn normal_below(z: f64) -> f64 {
    erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

/// P(X ≤ k) of Poisson's distribution with this mean, for each k of `to`, which grow. Above a mean of 300 by the
/// transformation of E. Wilson and M. Hilferty (1931), whose error is below one in a thousand there.
pub(super) fn poisson_to(mean: f64, to: &[f64], out: &mut Vec<f64>) {
    out.clear();
    if mean > EXACT_MAX {
        out.extend(to.iter().map(|&k| {
            if k < 0.0 {
                return 0.0;
            }
            let shape = k + 1.0;
            let z = (cbrt(mean / shape) - 1.0 + 1.0 / (9.0 * shape)) * 3.0 * sqrt(shape);
            normal_below(-z)
        }));
        return;
    }
    let (mut k, mut term) = (0.0, exp(-mean));
    let mut sum = term;
    for &end in to {
        if end < 0.0 {
            out.push(0.0);
            continue;
        }
        // Behind it, nothing is left.
        let last = mean + 12.0 * sqrt(mean) + 30.0;
        while k < end && k < last {
            k += 1.0;
            term *= mean / k;
            sum += term;
        }
        out.push(if k < end { 1.0 } else { sum.min(1.0) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_is_the_same_by_terms_and_by_its_approximation() {
        let mut out = Vec::new();
        poisson_to(2.0, &[-1.0, 0.0, 1.0, 3.0, 50.0], &mut out);
        let e2 = (-2.0f64).exp();
        for (got, want) in out.iter().zip([0.0, e2, 3.0 * e2, e2 * (5.0 + 4.0 / 3.0), 1.0]) {
            assert!((got - want).abs() < 1e-12, "{out:?}");
        }
        let (mut exact, mut near) = (Vec::new(), Vec::new());
        let to = [250.0, 290.0, 300.0, 310.0, 350.0];
        poisson_to(EXACT_MAX, &to, &mut exact);
        poisson_to(EXACT_MAX + 1e-9, &to, &mut near);
        assert!(exact.iter().zip(&near).all(|(a, b)| (a - b).abs() < 1e-3), "{exact:?} {near:?}");
    }
}
