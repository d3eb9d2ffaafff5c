//! An arrival on its way.

use super::progress::Progress;
use crate::arrival::Arrival;
use crate::time::{Instant, Nanos};

/// An arrival that has been bound to a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    /// What and when.
    pub arrival: Arrival,
    /// When the dispatcher first looked at the clock after the arrival had fallen due.
    pub noticed: Instant,
    /// Until when the plan held it back, if it did: as many journeys were under way as may be.
    pub held_until: Option<Instant>,
    /// Since when a usable connection was there.
    pub ready: Instant,
    /// First time that it was sent, once it was.
    pub sent: Option<Instant>,
    /// When the attempt that is under way was sent first; none while the next attempt is waited for.
    pub attempt: Option<Instant>,
    /// The generator's own lateness with the attempts after the first.
    pub late_again: Nanos,
    /// Attempts that were granted after the first.
    pub repeats: u32,
    /// The number of the address that the last attempt to be sent went to: see [`Recorder::address_of`](super::Recorder::address_of).
    pub address: u32,
    /// Its attempt is the last that it may have.
    pub is_last: bool,
    /// This attempt was sent a second time, after a reused connection had died.
    pub resent: bool,
    /// It goes over a connection of its journey's own.
    pub is_alone: bool,
    /// The pool was at its limit when the arrival fell due.
    pub pool_full: bool,
    /// How far its answer has come, if that comes event by event.
    pub progress: Progress,
    /// It was never sent, and neither because of the pool nor because the generator had something left to do: it waited for
    /// connections that the target did not accept.
    pub unaccepted: bool,
}

impl Flight {
    /// Of its time until it was sent at `sent`, what passed before the arrival was noticed or while a connection was
    /// usable: the generator's own lateness.
    #[inline]
    pub(super) fn late(&self, sent: Instant) -> Nanos {
        let intended = self.arrival.intended;
        // A pool that was busy all the time does not need to be looked at.
        let wait = self.ready.min(sent).since(intended.max(self.noticed));
        sent.since(intended) - wait
    }

    /// Something other than the generator kept it from being sent.
    pub(super) fn is_kept(&self) -> bool {
        self.pool_full || self.unaccepted
    }
}
