//! What a worker has to do with one origin.

use super::Policy;
use super::arena::List;
use super::connections::Connections;
use super::overslept::{OVERSLEPT_MAX, Overslept};
use crate::record::Flight;
use crate::time::Instant;
use std::collections::VecDeque;

/// Which of a flight's links go from one to the next by intended time.
pub(super) const BY_INTENDED: usize = 0;

/// Connections to one origin, and what is known of those that wait for them.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) connections: Connections,
    /// What is under way, by intended time. Were there one list for all lanes, one that catches up would have to put what it
    /// sends before all that is under way elsewhere.
    pub(super) in_flight: List<BY_INTENDED>,
    /// What is to be sent a second time.
    pub(super) resend: VecDeque<Flight>,
    /// Stretches in which nobody looked at the clock while arrivals fell due.
    pub(super) overslept: VecDeque<Overslept>,
    /// What has fallen due in this turn.
    pub(super) falling_due: Option<Overslept>,
    /// What falls due next was to be looked at at once.
    pub(super) woke_for_due: bool,
    /// Since when something could have been sent, or opened, and was left for the next turn.
    pub(super) behind_since: Option<Instant>,
}

impl Lane {
    pub(super) fn new(policy: &Policy, origin: usize) -> Lane {
        Lane {
            connections: Connections::new(policy, origin as u8),
            in_flight: List::EMPTY,
            resend: VecDeque::with_capacity(policy.flights_reserved()),
            overslept: VecDeque::with_capacity(OVERSLEPT_MAX),
            falling_due: None,
            woke_for_due: true,
            behind_since: None,
        }
    }

    /// Takes note of how things stand after an event, with so many arrivals due that were never sent. True if connections
    /// are to be opened.
    #[inline]
    pub(super) fn look_at(&mut self, due: u64, now: Instant) -> bool {
        let waiting = due + self.resend.len() as u64;
        // What could neither be sent nor cause a connection needs no turn of its own.
        self.woke_for_due = due == 0 || self.connections.can_open();
        let wants_to_open = self.connections.want_more(waiting, now);
        self.connections.note_fullness(now, waiting);
        let is_behind = wants_to_open || (self.connections.have_room() && waiting > 0);
        self.behind_since = is_behind.then(|| self.behind_since.unwrap_or(now));
        wants_to_open
    }
}
