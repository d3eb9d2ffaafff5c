//! Bytes of a server in pieces, as the checks of all codecs cut them.

use std::fmt::Debug;

/// A fixed sequence of lengths.
pub(crate) struct Cuts {
    state: u32,
}

impl Cuts {
    pub(crate) fn new(seed: u8) -> Cuts {
        Cuts { state: u32::from(seed) }
    }

    /// Mostly short, now and then long.
    pub(crate) fn next_len(&mut self) -> usize {
        let random = self.random();
        if random.is_multiple_of(8) { 1 + random % 97 } else { 1 + random % 7 }
    }

    fn random(&mut self) -> usize {
        // Knuth's MMIX multiplier cut to 32 bits: any sequence will do, if it is the same each time.
        self.state = self.state.wrapping_mul(0x4c95_7f2d).wrapping_add(0xf767_814f);
        (self.state >> 16) as usize
    }
}

/// Drives a connection with `bytes` bytes at once, in pieces of lengths that `seed` chooses, and one by one. `drive` is given
/// what yields the next length.
///
/// # Panics
/// If what comes of it depends on the cuts.
pub(crate) fn assert_same<O: PartialEq + Debug>(
    seed: u8,
    bytes: usize,
    mut drive: impl FnMut(&mut dyn FnMut() -> usize) -> O,
) {
    let whole = drive(&mut || bytes);
    let mut cuts = Cuts::new(seed);
    let cut = drive(&mut || 1 + cuts.random() % 97);
    let bytewise = drive(&mut || 1);
    for other in [cut, bytewise] {
        assert_eq!(whole, other, "the outcome depends on the cuts");
    }
}
