//! A phase at its place in the schedule, with Λ in whole units.

use super::Phase;
use crate::time::Nanos;

/// A phase whose ends have their own Λ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlacedPhase {
    pub(super) phase: Phase,
    /// Requests in D seconds at its start.
    pub(super) from: u64,
    /// And at its end.
    pub(super) to: u64,
    pub(super) start_ns: u64,
    pub(super) units_before: u128,
    pub(super) units_after: u128,
    /// 128 bits hold the product of its rate and the square of its length. Days at a high rate have longer ones.
    squares_fit: bool,
}

impl PlacedPhase {
    /// With so many requests in D seconds at its start and at its end, behind phases that end at `start_ns` and have
    /// `units_before`.
    pub(super) fn new(phase: Phase, [from, to]: [u64; 2], start_ns: u64, units_before: u128) -> PlacedPhase {
        let span = i128::from(phase.duration.0);
        // No side of the inequality that `inverse` solves is above 2·r·T².
        let square =
            span.checked_mul(span).and_then(|square| square.checked_mul(2 * i128::from(from.max(to))));
        let units_after = units_before + u128::from(from + to) * u128::from(phase.duration.0);
        PlacedPhase { phase, from, to, start_ns, units_before, units_after, squares_fit: square.is_some() }
    }

    /// ⌈Λ⌉ at `t` after its start, for a `t` up to its length.
    pub(super) fn units_until(&self, t: u64) -> u128 {
        let straight = 2 * i128::from(self.from) * i128::from(t);
        self.units_before + (straight + self.bend(t)) as u128
    }

    /// ⌈(r₁−r₀)·t²/T⌉, for either sign.
    fn bend(&self, t: u64) -> i128 {
        let change = i128::from(self.to) - i128::from(self.from);
        let (square, span) = (u128::from(t) * u128::from(t), i128::from(self.phase.duration.0));
        let divided = |product: i128| product.div_euclid(span) + i128::from(product.rem_euclid(span) != 0);
        if self.squares_fit {
            return divided(change * square as i128);
        }
        // t² = q·T + r: q and r are below T, and with a rate below 2⁵⁷ neither product has more than 105 bits.
        let (whole, rest) = (square / span as u128, square % span as u128);
        change * whole as i128 + divided(change * rest as i128)
    }

    /// When Λ has reached `units`, which lie in this phase, after the schedule's zero.
    pub(super) fn due(&self, units: u128) -> Nanos {
        Nanos(self.start_ns + self.inverse(units - self.units_before))
    }

    /// Largest t with Λ(t) ≤ `units`, for `units` below the phase's own.
    fn inverse(&self, units: u128) -> u64 {
        let (r0, r1) = (self.from, self.to);
        if r0 == r1 {
            let per_ns = 2 * r0;
            return match u64::try_from(units) {
                // 64-bit division is several times faster, and most phases are that short.
                Ok(units) => units / per_ns,
                Err(_) => (units / u128::from(per_ns)) as u64,
            };
        }
        let span = self.phase.duration.0;
        let slope = (r1 as f64 - r0 as f64) / span as f64;
        let root = (r0 as f64 * r0 as f64 + slope * units as f64).max(0.0).sqrt();
        let guess = (units as f64 / (r0 as f64 + root)).clamp(0.0, span as f64) as u64;
        // The guess is off by a few ns at most where the rate is not near 0; the integer inequality decides.
        let holds = |t: u64| {
            if !self.squares_fit {
                return self.units_until(t) - self.units_before <= units;
            }
            let (t, span) = (i128::from(t), i128::from(span));
            2 * i128::from(r0) * t * span + (i128::from(r1) - i128::from(r0)) * t * t <= units as i128 * span
        };
        let (mut low, mut high, mut step) = (guess, guess, 1u64);
        while low > 0 && !holds(low) {
            high = low;
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 1;
        while high < span && holds(high) {
            low = high;
            high = (high + step).min(span);
            step *= 2;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if holds(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}
