//! Numbers that look random and are the same on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// One draw from the uniform distribution over (0, 1].
pub(crate) fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// A number's place in the sequence of SplitMix64 (Steele, Lea and Flood, 2014).
#[inline]
pub fn mixed(n: u64) -> u64 {
    let z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 0 to `end` − 1, each as likely: the upper half of a product takes the place of a division.
#[inline]
pub fn below(random: u64, end: u64) -> u64 {
    ((u128::from(random) * u128::from(end)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of SplitMix64 from the state 0, as published with it.
    #[test]
    fn the_authors_own_test_vectors() {
        assert_eq!([mixed(0), mixed(1)], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }
}
