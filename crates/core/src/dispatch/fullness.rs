//! When the connections to an origin were at their limit.

use crate::time::{Instant, Nanos};

/// For so long the limit goes on keeping arrivals waiting while connections are opened in the place of others that have ended. Where
/// none is accepted for longer, it is the target that does.
const REPLACED_WITHIN: Nanos = Nanos::from_millis(100);

/// What was seen in a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Seen {
    #[default]
    /// Something has room, or will have it for all that wait, or there may be more connections.
    Room,
    /// Connections have ended, and more wait than those in their place will take.
    Replacing,
    /// The pool is at its limit, and nothing has room.
    Full,
}

/// What was seen, turn by turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fullness {
    /// What was noted last: seen again, it changes nothing.
    last: (bool, Seen),
    /// Since when the pool has been at its limit with all connections open.
    settled_since: Option<Instant>,
    /// The latest stretch in which the pool was at its limit and nothing had room.
    since: Option<Instant>,
    until: Option<Instant>,
    /// Since when, in that stretch, connections are opened in the place of others.
    replacing_since: Option<Instant>,
}

impl Fullness {
    #[inline]
    pub(super) fn note(&mut self, now: Instant, is_settled: bool, seen: Seen) {
        // Only those that are replaced may have taken too long meanwhile.
        if (is_settled, seen) != self.last || seen == Seen::Replacing {
            self.note_change(now, is_settled, seen);
        }
    }

    #[inline(never)]
    fn note_change(&mut self, now: Instant, is_settled: bool, seen: Seen) {
        self.last = (is_settled, seen);
        self.settled_since = is_settled.then(|| self.settled_since.unwrap_or(now));
        self.look_at_replacing(now);
        match (seen, self.since, self.until) {
            (Seen::Full, None, _) | (Seen::Full, Some(_), Some(_)) => {
                (self.since, self.until) = (Some(now), None)
            }
            (Seen::Replacing, Some(_), None) => {
                self.replacing_since.get_or_insert(now);
                return;
            }
            (Seen::Room, Some(_), None) => self.until = Some(now),
            _ => {}
        }
        self.replacing_since = None;
    }

    /// Ends the stretch if no connection has come in the place of others for too long. Also asked for when one has come, before
    /// anything is sent on it.
    #[inline]
    pub(super) fn look_at_replacing(&mut self, now: Instant) {
        if let Some(from) = self.replacing_since
            && now.since(from) > REPLACED_WITHIN
        {
            (self.until, self.replacing_since) = (Some(from), None);
        }
    }

    /// False while it was never at its limit. Quick.
    #[inline]
    pub(super) fn was_ever_full(&self) -> bool {
        self.since.is_some()
    }

    /// What was seen last is that there is room, and that more may be opened.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.last == (false, Seen::Room)
    }

    /// What was seen last is that all connections are open, and that none has room.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.last == (true, Seen::Full)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Instant {
        Instant(at * 1_000_000)
    }

    /// Each answer ends its connection: one that fell due before the last of them still waits because of the limit.
    #[test]
    fn connections_that_are_replaced_leave_the_pool_full() {
        let mut fullness = Fullness::default();
        for turn in 0..50 {
            fullness.note(ms(10 * turn), true, Seen::Full);
            fullness.note(ms(10 * turn + 1), false, Seen::Replacing);
            fullness.look_at_replacing(ms(10 * turn + 2));
        }
        assert!(fullness.was_full_at(ms(0)) && fullness.was_full_at(ms(480)));
        fullness.note(ms(500), true, Seen::Room);
        assert!(fullness.was_full_at(ms(499)) && !fullness.was_full_at(ms(500)));
    }

    /// If none is accepted for a while, the limit has kept nobody waiting since the last of them.
    #[test]
    fn a_target_that_accepts_nothing_is_not_a_full_pool() {
        let mut fullness = Fullness::default();
        fullness.note(ms(0), true, Seen::Full);
        fullness.note(ms(10), false, Seen::Replacing);
        fullness.note(ms(100), false, Seen::Replacing);
        assert!(fullness.was_full_at(ms(50)));
        fullness.look_at_replacing(ms(1_000));
        assert!(fullness.was_full_at(ms(9)) && !fullness.was_full_at(ms(10)));
        fullness.note(ms(1_000), true, Seen::Full);
        assert!(!fullness.was_full_at(ms(999)) && fullness.was_full_at(ms(1_000)));
        // What is only replaced was never full.
        let mut fresh = Fullness::default();
        fresh.note(ms(0), false, Seen::Replacing);
        assert!(!fresh.was_ever_full() && !fresh.was_full_at(ms(0)));
    }
}
