//! Sums of 1/kˢ, of any length, in constant time.

use libm::{expm1, log, pow};

/// So many terms are added one by one. Behind them the error of the series below is less than 1e-15 of the sum.
const HEAD: u64 = 256;

/// ζ(n, s) = Σ k⁻ˢ over k = 1 … n, for one exponent s > 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Zeta {
    s: f64,
    head: f64,
}

impl Zeta {
    pub(crate) fn of(s: f64) -> Zeta {
        Zeta { s, head: summed(s, HEAD) }
    }

    /// The sum of the first `n` terms. Those behind [`HEAD`] by the formula of Euler and Maclaurin:
    /// Σ f(k) over m < k ≤ n = ∫ f + (f(n) − f(m))/2 + (f′(n) − f′(m))/12 − (f‴(n) − f‴(m))/720 + …, with f(x) = x⁻ˢ.
    pub(crate) fn to(&self, n: u64) -> f64 {
        if n <= HEAD {
            return summed(self.s, n);
        }
        let (s, m, n) = (self.s, HEAD as f64, n as f64);
        let length = log(n / m);
        let integral = pow(m, 1.0 - s) * length * expm1_by_x((1.0 - s) * length);
        let behind = |x: f64| {
            let f = pow(x, -s);
            f / 2.0 - s * f / (12.0 * x) + s * (s + 1.0) * (s + 2.0) * f / (720.0 * x * x * x)
        };
        self.head + integral + behind(n) - behind(m)
    }
}

/// From the smallest term up, so that little is rounded away.
fn summed(s: f64, n: u64) -> f64 {
    (1..=n).rev().map(|k| pow(k as f64, -s)).sum()
}

/// (eˣ − 1)/x, which is 1 at 0.
pub(crate) fn expm1_by_x(x: f64) -> f64 {
    if x.abs() > 1e-8 { expm1(x) / x } else { 1.0 + x / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_the_sum() {
        for s in [0.01, 0.5, 0.99, 1.0, 1.000_001, 1.5, 3.0, 10.0] {
            let zeta = Zeta::of(s);
            for n in [1, 2, 255, 256, 257, 1_000, 100_000] {
                let (direct, series) = (summed(s, n), zeta.to(n));
                assert!((series / direct - 1.0).abs() < 1e-12, "{s}, {n}: {series} for {direct}");
            }
        }
    }

    #[test]
    fn published_values_are_met() {
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-11, "{a} for {b}");
        // YCSB's constant for 10^10 items, which its authors summed term by term.
        near(Zeta::of(0.99).to(10_000_000_000), 26.469_028_201_783_02);
        // ζ(3), Apéry's constant; the tail behind 10^9 is below 1e-18.
        near(Zeta::of(3.0).to(1_000_000_000), 1.202_056_903_159_594_2);
        // The harmonic number is ln n + γ + 1/2n.
        near(Zeta::of(1.0).to(1_000_000_000_000), 12.0 * std::f64::consts::LN_10 + 0.577_215_664_901_532_9);
    }
}
