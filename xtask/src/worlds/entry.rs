//! An arrival as it stands in the books.

use unblink_core::outcome::Outcome;
use unblink_core::time::Instant;

/// An arrival that has fallen due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The number of its load.
    pub(super) load: u32,
    pub(super) index: u64,
    pub(super) intended: Instant,
    pub(super) operation: u32,
    pub(super) measured: bool,
    /// The first of a closed population's user.
    pub(super) begins: bool,
    /// Just before its first byte, the first time.
    pub(super) sent: Option<Instant>,
    /// How often it was sent.
    pub(super) sends: u32,
    /// Since when a connection had been usable at every moment before it was first sent.
    pub(super) usable_since: Instant,
    pub(super) end: Option<End>,
}

/// How an arrival ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) at: Instant,
    pub(super) outcome: Outcome,
    /// Of its answer; 0 without one.
    pub(super) status: u16,
    /// Of its connection; 0 without one.
    pub(super) slot: u32,
}
