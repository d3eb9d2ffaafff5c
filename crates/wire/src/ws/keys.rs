//! Numbers that a server can't foresee: the key of a handshake, and those by which frames are masked.

use std::hash::{BuildHasher, RandomState};

/// A connection's own generator, seeded by the system (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Keys(u64);

impl Keys {
    pub(super) fn new() -> Keys {
        Keys(RandomState::new().hash_one(0))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The key of the next frame.
    #[inline]
    pub(super) fn mask(&mut self) -> [u8; 4] {
        ((self.next() >> 32) as u32).to_ne_bytes()
    }

    /// The nonce of a handshake.
    pub(super) fn nonce(&mut self) -> [u8; 16] {
        (u128::from(self.next()) << 64 | u128::from(self.next())).to_ne_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_connections_have_the_same_keys() {
        let (mut one, mut other) = (Keys::new(), Keys::new());
        assert_ne!(one.nonce(), other.nonce());
        assert_ne!(one.nonce(), one.nonce());
        let masks: std::collections::HashSet<_> = (0..1000).map(|_| one.mask()).collect();
        assert!(masks.len() > 990);
    }
}
