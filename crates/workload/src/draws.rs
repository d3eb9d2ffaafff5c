//! Random numbers of one value of one arrival.

use unblink_core::arrival::Key;
use unblink_core::random::{below, mixed};

/// Keeps these draws apart from those of arrival times and operations, which are seeded by the same number.
const VALUES: u64 = 0x7661_6c75_6573_0000;

/// What a value is drawn for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drawing {
    /// Of which unit of the load: whatever it draws follows from this and the seed.
    pub key: Key,
    /// Its number among the arrivals that draw from the same source, over all workers. Two arrivals never have the same; they
    /// are not in order of time, and may have gaps. Rows of files are taken by it.
    pub ordinal: u64,
    /// How many inserts are expected by the arrival's intended time: what the newest record is known by.
    pub inserted: u64,
}

/// What was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Drawn {
    pub(crate) value: u64,
    /// Of a key its rank by popularity, from 0, where the law has ranks; of a size the size.
    pub(crate) place: u64,
}

/// A stream of random numbers that follows from a seed, the name of a value, and a key. SplitMix64 (Steele, Lea and Flood,
/// 2014), whose state is a counter: streams of different keys start at places that are far apart with all but certainty.
#[derive(Clone, Debug)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// The seed of a value: of the run's seed and of what the value is called.
    pub fn seed_of(seed: u64, name: &str) -> u64 {
        name.bytes().fold(mixed(seed ^ VALUES), |hash, byte| mixed(hash ^ u64::from(byte)))
    }

    /// The numbers of a value, whose seed is `value`, for a key.
    #[inline]
    pub fn new(value: u64, key: Key) -> Draws {
        let of_load = mixed(value ^ u64::from(key.load));
        Draws { state: mixed(mixed(of_load ^ key.unit) ^ u64::from(key.step)) }
    }

    /// Any number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let drawn = mixed(self.state);
        self.state = self.state.wrapping_add(1);
        drawn
    }

    /// From 0 to `end` − 1, each as likely to within `end` ÷ 2^64.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        below(self.next_u64(), end)
    }

    /// In (0, 1], in steps of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_names_keys_and_draws_differ() {
        let first = |seed, name, unit, step| {
            Draws::new(Draws::seed_of(seed, name), Key { load: 0, unit, step }).next_u64()
        };
        let base = first(1, "item", 5, 0);
        assert_eq!(base, first(1, "item", 5, 0));
        for other in
            [first(2, "item", 5, 0), first(1, "user", 5, 0), first(1, "item", 6, 0), first(1, "item", 5, 1)]
        {
            assert_ne!(base, other);
        }
        let mut draws = Draws::new(7, Key::single(3));
        let some: std::collections::HashSet<u64> = (0..1_000).map(|_| draws.next_u64()).collect();
        assert_eq!(some.len(), 1_000);
    }
}
