//! What a worker has to do with one origin, as it stands in the books.

use super::carried::Carried;
use super::paced::Paced;
use std::collections::VecDeque;
use unblink_core::dispatch::Room;
use unblink_core::time::Instant;

/// Its connections, and what waits for them. Lanes share nothing: whatever one of them is held up by, the others are not.
pub(super) struct Lane {
    pub(super) carried: Carried,
    pub(super) paced: Paced,
    /// Places in the books of what was never sent, in order of intended time, which stands before each.
    pub(super) waiting: VecDeque<(Instant, usize)>,
    /// The same of what may have another attempt now, by the time from which it may.
    pub(super) ready: VecDeque<(Instant, usize)>,
    /// Places of what is to be sent a second time.
    pub(super) second_sends: VecDeque<usize>,
    /// Connections that were opened, ever.
    pub(super) opened: u64,
    /// Most usable connections at once.
    pub(super) peak: usize,
    /// The pool has been at its limit.
    pub(super) was_full: bool,
    /// At the end of a turn after the schedule's zero, a connection was being opened or could have been.
    pub(super) was_growing: bool,
    /// Most that have ever waited for their first sending at once.
    pub(super) longest: usize,
}

impl Lane {
    pub(super) fn new(room: Room, is_paced: bool) -> Lane {
        Lane {
            carried: Carried::new(room),
            paced: Paced::new(is_paced),
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            second_sends: VecDeque::new(),
            opened: 0,
            peak: 0,
            was_full: false,
            was_growing: false,
            longest: 0,
        }
    }

    pub(super) fn falls_due(&mut self, intended: Instant, place: usize) {
        self.waiting.push_back((intended, place));
        self.longest = self.longest.max(self.waiting.len());
    }

    pub(super) fn backlog(&self) -> usize {
        self.waiting.len() + self.ready.len() + self.second_sends.len()
    }

    /// What is to be sent a second time comes first, then whatever could be sent first.
    pub(super) fn pop_waiting(&mut self) -> Option<usize> {
        if let Some(place) = self.second_sends.pop_front() {
            return Some(place);
        }
        let since = |queue: &VecDeque<(Instant, usize)>| queue.front().map(|(since, _)| *since);
        let again = since(&self.ready).is_some_and(|at| since(&self.waiting).is_none_or(|due| at <= due));
        let queue = if again { &mut self.ready } else { &mut self.waiting };
        queue.pop_front().map(|(_, place)| place)
    }

    /// Something could be sent.
    pub(super) fn could_send(&self) -> bool {
        self.backlog() > 0 && self.carried.have_room()
    }
}
