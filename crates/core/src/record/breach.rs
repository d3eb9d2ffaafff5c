//! Connections that are closed because of what came on them.

use super::counted::Summed;
use crate::failure::FailureKind;

/// What is wrong with what came on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Breach {
    /// What of it can't be.
    pub kind: FailureKind,
    /// It answers nothing that was asked, and might have been taken for the answer to something that was.
    pub is_unasked: bool,
}

/// Connections that were closed so, by [`FailureKind::index`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Breaches(pub [u64; FailureKind::COUNT]);

impl Summed for Breaches {
    const ZERO: Breaches = Breaches([0; FailureKind::COUNT]);

    fn sum(&mut self, other: &Breaches) {
        self.0.sum(&other.0);
    }
}

impl Default for Breaches {
    fn default() -> Breaches {
        Breaches::ZERO
    }
}
