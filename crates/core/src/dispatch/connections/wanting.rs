//! Whether one more connection is wanted, and whether the limits are to blame that there is none.

use super::{Connections, OPENING_MIN, Pace};
use crate::dispatch::fullness::Seen;
use crate::time::Instant;

impl Connections {
    #[inline]
    pub(in crate::dispatch) fn can_open(&self) -> bool {
        self.total() < self.max && self.may_open()
    }

    /// As far as it is not a matter of how many there are.
    #[inline]
    pub(super) fn may_open(&self) -> bool {
        let is_pausing = self.pace.as_ref().is_some_and(Pace::is_pausing);
        self.opening.len < self.opening_max && self.blocked_until.is_none() && !is_pausing
    }

    /// Ends the pause after a connection for which this machine had no port or descriptor.
    #[inline(always)] // in each turn
    pub(in crate::dispatch) fn look_at_block(&mut self, now: Instant) {
        if self.blocked_until.is_some_and(|until| until <= now) {
            self.blocked_until = None;
        }
    }

    /// Whether connections should be opened for this many waiting arrivals.
    #[inline]
    pub(in crate::dispatch) fn want_more(&self, waiting: u64, now: Instant) -> bool {
        // Where the target allows a connection nothing, another one would be of no more use.
        let is_wanted =
            self.places_ahead() < waiting && !self.are_shut() || (self.owed > 0 && now >= self.owed_from);
        is_wanted && self.can_open()
    }

    /// When connections that are owed are tried again.
    pub(in crate::dispatch) fn owed_at(&self) -> Option<Instant> {
        (self.owed > 0 && self.has_started).then_some(self.owed_from)
    }

    /// Requests that the connections being opened will take, if the target goes on allowing as many as it last did.
    #[inline]
    fn places_ahead(&self) -> u64 {
        u64::from(self.opening.len - self.own.opening) * u64::from(self.allowed.max(1))
    }

    /// The same of all that may be opened, now or later.
    #[inline]
    fn places_free(&self) -> u64 {
        u64::from(self.max.saturating_sub(self.open)) * u64::from(self.allowed.max(1))
    }

    /// The target allows a connection nothing that has nothing under way.
    #[inline]
    pub(in crate::dispatch) fn are_shut(&self) -> bool {
        self.shut > 0
    }

    /// Attempts vanish, so fewer are made at once.
    pub(in crate::dispatch) fn slow_down_opening(&mut self) {
        self.opening_max = (self.opening_max / 2).max(OPENING_MIN);
    }

    #[inline]
    pub(super) fn is_at_limit(&self) -> bool {
        // If most connections are still being opened, it is the target that has not accepted them. A larger pool would
        // only have more of them waiting.
        let in_use = self.total() >= self.max && self.open >= self.opening.len;
        in_use || self.blocked_until.is_some()
    }

    #[inline(always)] // after each event
    pub(in crate::dispatch) fn note_fullness(&mut self, now: Instant, waiting: u64) {
        if self.roomy == 0 && self.open >= self.max && self.opening.is_empty() && !self.are_sockets {
            // It is full, and that is known.
            if self.fullness.is_full() {
                return;
            }
        } else if self.total() < self.max && self.blocked_until.is_none() && !self.are_shut() {
            // It is not at its limit, and that is known.
            if self.fullness.has_room() {
                return;
            }
        }
        self.look_at_fullness(now, waiting);
    }

    #[inline(never)]
    fn look_at_fullness(&mut self, now: Instant, waiting: u64) {
        let at_limit = self.is_at_limit() || self.are_shut();
        // Whoever has a connection of its own being opened waits for that one. A closed population whose users have a
        // connection each is never short of them.
        let all_served = self.opening.len > self.own.opening && waiting <= self.places_ahead();
        let is_short = if self.are_sockets { waiting > 0 } else { self.roomy == 0 && !all_served };
        let seen = match is_short {
            true if at_limit => Seen::Full,
            true if !self.are_sockets && waiting > self.places_free() => Seen::Replacing,
            _ => Seen::Room,
        };
        self.fullness.note(now, self.open >= self.max, seen);
    }
}
