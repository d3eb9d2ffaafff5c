//! An arrival as it stands in the books.

use unblink_core::arrival::Key;
use unblink_core::code::Code;
use unblink_core::outcome::Outcome;
use unblink_core::record::RetryCounts;
use unblink_core::time::{Instant, Nanos};

/// Attempts of an arrival that may be given up, at the most.
pub(super) const GIVEN_UP_MAX: usize = 4;

/// An arrival that has fallen due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// What is drawn for it is a function of.
    pub(super) key: Key,
    pub(super) index: u64,
    pub(super) intended: Instant,
    pub(super) operation: u32,
    pub(super) measured: bool,
    /// The first of a closed population's user.
    pub(super) begins: bool,
    /// Just before its first byte, the first time.
    pub(super) sent: Option<Instant>,
    /// The same of the attempt that is under way.
    pub(super) attempt: Option<Instant>,
    /// Attempts that were granted after the first.
    pub(super) repeats: u32,
    /// This attempt was sent a second time, or is to be.
    pub(super) resent: bool,
    /// An attempt after the first may be sent from then on.
    pub(super) ready_at: Instant,
    /// After how long its attempts were given up.
    pub(super) given_up: [Option<Nanos>; GIVEN_UP_MAX],
    /// What its attempts count for.
    pub(super) tries: RetryCounts,
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
    pub(super) code: Option<Code>,
    /// Of its connection; 0 without one.
    pub(super) slot: u32,
}
