//! Seeded draws. `libm` rather than the platform's functions: the same on every machine.

use crate::random::uniform;
use crate::time::Nanos;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// One stream of random numbers. Each part of the world owns one, so that a change in one part leaves what
/// the others draw as it was.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream `number` of `seed`.
    pub fn new(seed: u64, number: u64) -> Random {
        // An odd constant keeps the streams of neighbouring seeds apart; the generator mixes the rest. Tested in
        // `tests/random.rs`, also where the states of two streams have words in common.
        Random(Xoshiro256PlusPlus::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in (0, 1].
    pub fn uniform(&mut self) -> f64 {
        uniform(&mut self.0)
    }

    /// Uniform in 0..n, for `n` > 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// True once in `n` times on average; never when `n` is 0.
    pub fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }

    /// Exponential.
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        nanos(-libm::log(self.uniform()) * mean.0 as f64)
    }

    /// Standard normal (Box, Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(2.0 * core::f64::consts::PI * self.uniform())
    }
}

/// Whole nanoseconds; what is longer than any time of a run stays finite.
pub(super) fn nanos(ns: f64) -> Nanos {
    const LONGEST_NS: f64 = 1e18;
    Nanos(libm::round(ns.clamp(0.0, LONGEST_NS)) as u64)
}
