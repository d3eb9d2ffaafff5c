//! Zipf's law by rejection-inversion: exact, in constant time and memory for any number of keys.

use libm::{exp, log, log1p};

use super::zeta::{Zeta, expm1_by_x};
use crate::draws::Draws;

/// With more keys, steps of 2^-53 would be too coarse for a single key of the tail with the usual exponents.
pub(crate) const KEYS_MAX: u64 = 1_000_000_000_000;
/// With a larger exponent, the first key gets more than 99.9 % of the draws.
pub(crate) const EXPONENT_MAX: f64 = 10.0;

/// Ranks 1 to n with P(k) = k⁻ˢ ÷ ζ(n, s). W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM TOMACS 6 (1996).
///
/// With h(x) = x⁻ˢ and its integral H, a number is drawn evenly between H(3/2) − h(1) and H(n + ½), and H⁻¹ leads to an x.
/// The nearest k is accepted when the number lies in the last h(k) of the strip that ends at H(k + ½), so each k has a part
/// of length h(k). More than 3 of 4 numbers are accepted, whatever n and s are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Zipf {
    keys: u64,
    s: f64,
    /// H(3/2) − h(1)
    first: f64,
    /// H(n + ½)
    last: f64,
    /// x closer than this below its k needs no further look: true for k = 2, so for all behind it.
    sure: f64,
}

impl Zipf {
    /// Of `keys` from 1 to [`KEYS_MAX`], with an exponent in (0, [`EXPONENT_MAX`]].
    pub(crate) fn new(keys: u64, s: f64) -> Zipf {
        let mut zipf = Zipf { keys, s, first: 0.0, last: 0.0, sure: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.height(2.0));
        zipf.over(keys)
    }

    /// The same law over another number of keys.
    #[inline]
    pub(crate) fn over(self, keys: u64) -> Zipf {
        Zipf { keys, last: self.integral(keys as f64 + 0.5), ..self }
    }

    /// From 0, which is the most frequent, to the number of keys − 1.
    #[inline]
    pub(crate) fn rank(&self, draws: &mut Draws) -> u64 {
        loop {
            let area = self.last + draws.uniform() * (self.first - self.last);
            let x = self.inverse(area);
            let k = (x + 0.5).floor().clamp(1.0, self.keys as f64);
            if k - x <= self.sure || area >= self.integral(k + 0.5) - self.height(k) {
                return k as u64 - 1;
            }
        }
    }

    /// The share of the draws that the `top` most frequent keys get.
    pub(crate) fn share_of_top(&self, top: u64) -> f64 {
        let zeta = Zeta::of(self.s);
        zeta.to(top.min(self.keys)) / zeta.to(self.keys)
    }

    fn height(&self, x: f64) -> f64 {
        exp(-self.s * log(x))
    }

    /// H(x) = (x¹⁻ˢ − 1)/(1 − s), which is ln x for s = 1.
    fn integral(&self, x: f64) -> f64 {
        let log_x = log(x);
        expm1_by_x((1.0 - self.s) * log_x) * log_x
    }

    fn inverse(&self, area: f64) -> f64 {
        // Below −1 by rounding only.
        let t = (area * (1.0 - self.s)).max(-1.0);
        exp(if t.abs() > 1e-8 { log1p(t) / t } else { 1.0 - t / 2.0 } * area)
    }
}
