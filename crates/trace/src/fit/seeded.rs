//! Random numbers for tests of fits, the same on each machine (splitmix64; G. Steele and others, 2014).

pub(super) struct Seeded(u64);

impl Seeded {
    pub(super) fn new(seed: u64) -> Seeded {
        Seeded(seed)
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Above 0 and at most 1.
    pub(super) fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// G. Box and M. Muller (1958).
    pub(super) fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }
}
