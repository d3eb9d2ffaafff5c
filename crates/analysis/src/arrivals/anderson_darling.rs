//! The Anderson–Darling test of a fully specified distribution (case 0), by values mapped to the uniform one.
//!
//! Sources: T. W. Anderson, D. A. Darling, "A Test of Goodness of Fit", 1954; the probability by
//! G. Marsaglia, J. Marsaglia, "Evaluating the Anderson-Darling Distribution", Journal of Statistical
//! Software 9(2), 2004. The 0.1 % point of the limit is 6.000 (D'Agostino, Stephens, "Goodness-of-Fit
//! Techniques", 1986, table 4.2).

/// A² of `gaps` against Exp(1). They must be ascending and above 0.
pub(super) fn statistic_exponential(gaps: &[f64]) -> f64 {
    let n = gaps.len();
    let sum: f64 = (0..n)
        .map(|i| {
            // ln F(x) and ln(1 − F(y)) of the exponential; exp_m1 keeps the small ones exact.
            let ln_below = (-(-gaps[i]).exp_m1()).ln();
            let ln_above = -gaps[n - 1 - i];
            (2 * i + 1) as f64 * (ln_below + ln_above)
        })
        .sum();
    -(n as f64) - sum / n as f64
}

/// Probability of at least `a2` with `n` values when the distribution is the one that is claimed; to about
/// 2e-5.
pub(super) fn p_value(n: usize, a2: f64) -> f64 {
    if a2 <= 0.0 {
        return 1.0;
    }
    let limit = limit_distribution(a2);
    (1.0 - limit - correction(n as f64, limit)).clamp(0.0, 1.0)
}

/// Their `adinf`.
fn limit_distribution(z: f64) -> f64 {
    if z < 2.0 {
        let terms = [2.00012, 0.247105, -0.0649821, 0.0347962, -0.011672, 0.00168691];
        (-1.2337141 / z).exp() / z.sqrt() * polynomial(&terms, z)
    } else {
        let terms = [1.0776, -2.30695, 0.43424, -0.082433, 0.008056, -0.0003146];
        (-polynomial(&terms, z).exp()).exp()
    }
}

/// Their `errfix`: what a finite n adds.
fn correction(n: f64, x: f64) -> f64 {
    if x > 0.8 {
        return polynomial(&[-130.2137, 745.2337, -1705.091, 1950.646, -1116.360, 255.7844], x) / n;
    }
    let c = 0.01265 + 0.1757 / n;
    if x < c {
        let t = x / c;
        return t.sqrt() * (1.0 - t) * (49.0 * t - 102.0) * (0.0037 / (n * n) + 0.00078 / n + 0.00006) / n;
    }
    let t = (x - c) / (0.8 - c);
    let g = polynomial(&[-0.00022633, 6.54034, -14.6538, 14.458, -8.259, 1.91864], t);
    g * (0.04213 / n + 0.01365 / (n * n))
}

/// Σ terms[i]·xⁱ.
fn polynomial(terms: &[f64], x: f64) -> f64 {
    terms.iter().rev().fold(0.0, |sum, term| sum * x + term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_points_of_the_limit() {
        // D'Agostino & Stephens, table 4.2, whose points are rounded and in part simulated.
        let points =
            [(1.248, 0.25), (1.933, 0.10), (2.492, 0.05), (3.070, 0.025), (3.857, 0.01), (6.0, 0.001)];
        for (a2, published) in points {
            let p = p_value(1_000_000, a2);
            assert!((p / published - 1.0).abs() < 0.04, "{a2}: {p}");
        }
        assert_eq!(p_value(10, 0.0), 1.0);
        assert!(p_value(900, 1e6) < 1e-5);
    }

    /// Anderson and Darling's series for the limit (1952, equation 4.35), its integrals by the trapezoidal
    /// rule, which is exact to rounding for such bells.
    fn series(z: f64) -> f64 {
        use std::f64::consts::PI;
        let (mut sum, mut coefficient) = (0.0, 1.0);
        for j in 0..12 {
            let odd = f64::from(4 * j + 1);
            let bell = odd * odd * PI * PI / (8.0 * z);
            let step = 0.002 / bell.sqrt();
            let at = |i: i32| {
                let w2 = (f64::from(i) * step).powi(2);
                (z / (8.0 * (w2 + 1.0)) - bell * w2 - bell).exp()
            };
            let integral = step * (0.5 * at(0) + (1..10_000).map(at).sum::<f64>());
            sum += coefficient * odd * integral;
            coefficient *= -(f64::from(j) + 0.5) / f64::from(j + 1);
        }
        (2.0 * PI).sqrt() / z * sum
    }

    #[test]
    fn the_limit_is_that_of_the_series() {
        for i in 1..=40 {
            let z = 0.25 * f64::from(i);
            let (exact, here) = (series(z), limit_distribution(z));
            assert!((exact - here).abs() < 2e-5, "{z}: {exact} {here}");
        }
    }

    #[test]
    fn the_statistic_of_three_values() {
        // By hand from the definition, with u = 1 − e^−x.
        let gaps = [0.1_f64, 0.7, 2.0];
        let u: Vec<f64> = gaps.iter().map(|x| 1.0 - (-x).exp()).collect();
        let sum = 1.0 * (u[0].ln() + (1.0 - u[2]).ln())
            + 3.0 * (u[1].ln() + (1.0 - u[1]).ln())
            + 5.0 * (u[2].ln() + (1.0 - u[0]).ln());
        assert!((statistic_exponential(&gaps) - (-3.0 - sum / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn small_samples_have_their_own_points() {
        // Marsaglia & Marsaglia: the limit is approached from near by; every part of the correction is small
        // and continuous where its parts meet.
        for n in [8.0, 64.0, 960.0] {
            let c = 0.01265 + 0.1757 / n;
            for x in [c, 0.8] {
                let (below, above) = (correction(n, x - 1e-9), correction(n, x + 1e-9));
                assert!((below - above).abs() < 1e-4, "n {n}, x {x}: {below} {above}");
            }
            assert!((1..100).all(|i| correction(n, f64::from(i) / 100.0).abs() < 0.08 / n));
        }
    }
}
