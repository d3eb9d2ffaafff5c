//! When the connections to an origin were at their limit.

use crate::time::Instant;

/// What was seen, turn by turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fullness {
    /// Since when the pool has been at its limit with all connections open.
    settled_since: Option<Instant>,
    /// The latest stretch in which the pool was at its limit and nothing had room.
    since: Option<Instant>,
    until: Option<Instant>,
}

impl Fullness {
    #[inline]
    pub(super) fn note(&mut self, now: Instant, is_settled: bool, is_full: bool) {
        self.settled_since = is_settled.then(|| self.settled_since.unwrap_or(now));
        match (is_full, self.since, self.until) {
            (true, None, _) | (true, Some(_), Some(_)) => (self.since, self.until) = (Some(now), None),
            (false, Some(_), None) => self.until = Some(now),
            _ => {}
        }
    }

    /// False while it was never at its limit. Quick.
    #[inline]
    pub(super) fn was_ever_full(&self) -> bool {
        self.since.is_some()
    }

    /// Nothing was ever seen.
    #[inline]
    pub(super) fn is_blank(&self) -> bool {
        self.settled_since.is_none() && self.since.is_none()
    }

    #[inline]
    pub(super) fn was_settled_at(&self, at: Instant) -> bool {
        self.settled_since.is_some_and(|since| since <= at)
    }

    #[inline]
    pub(super) fn was_full_at(&self, at: Instant) -> bool {
        self.since.is_some_and(|since| since <= at) && self.until.is_none_or(|until| at < until)
    }
}
