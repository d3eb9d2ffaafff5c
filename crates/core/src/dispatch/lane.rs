//! What a worker has to do with one origin.

use super::Policy;
use super::arena::List;
use super::connections::Connections;
use super::overslept::Oversleep;
use super::own::OwnLine;
use super::sockets::Sockets;
use crate::record::Flight;
use crate::time::Instant;
use std::collections::VecDeque;

/// Which of a flight's links go from one to the next by intended time.
pub(super) const BY_INTENDED: usize = 0;

/// Lists of what is under way, with retries: of first attempts, of second ones and so on; all from the last on share one.
/// Attempts with the same number come nearly in order of intended times, and mixed ones do not.
pub(super) const ROUNDS_MAX: usize = 4;

/// With the list of requests that waited for a connection of their journey's own: they are older than those around them.
pub(super) const LISTS_MAX: usize = ROUNDS_MAX + 1;

/// Connections to one origin, and what is known of those that wait for them.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) connections: Connections,
    /// What is under way, by intended time. Were there one list for all lanes, one that catches up would have to put what it
    /// sends before all that is under way elsewhere. By the number of the attempt.
    in_flight: [List<BY_INTENDED>; LISTS_MAX],
    /// How many of these lists are used for attempts.
    rounds: usize,
    /// How many are used.
    lists: usize,
    /// What is to be sent a second time.
    pub(super) resend: VecDeque<Flight>,
    /// Where some journeys have connections of their own: their requests.
    pub(super) own: Option<Box<OwnLine>>,
    pub(super) oversleep: Oversleep,
    /// What falls due next was to be looked at at once.
    pub(super) woke_for_due: bool,
    /// Since when something could have been sent, or opened, and was left for the next turn.
    pub(super) behind_since: Option<Instant>,
    /// What journeys hold here, if its connections are theirs.
    pub(super) sockets: Option<Box<Sockets>>,
}

impl Lane {
    pub(super) fn new(policy: &Policy, origin: usize) -> Lane {
        let rounds = policy.retry.as_ref().map_or(1, |retry| ROUNDS_MAX.min(retry.attempts as usize));
        Lane {
            connections: Connections::new(policy, origin as u8),
            in_flight: [List::EMPTY; LISTS_MAX],
            rounds,
            lists: rounds + usize::from(policy.own.is_some()),
            own: policy
                .own
                .filter(|_| !policy.origins.is_own(origin))
                .map(|own| Box::new(OwnLine::new(own.under_way_max))),
            resend: VecDeque::with_capacity(policy.flights_reserved()),
            oversleep: Oversleep::default(),
            woke_for_due: true,
            behind_since: None,
            sockets: policy.origins.is_own(origin).then(Box::default),
        }
    }

    /// What is under way, each by intended time.
    #[inline]
    pub(super) fn in_flight(&self) -> &[List<BY_INTENDED>] {
        &self.in_flight[..self.lists]
    }

    /// The number of the list of a flight after so many attempts.
    #[inline]
    pub(super) fn round(&self, repeats: u32) -> u8 {
        (repeats as usize).min(self.rounds - 1) as u8
    }

    /// The number of the list of those that waited for a connection of their own.
    pub(super) fn waited(&self) -> u8 {
        self.rounds as u8
    }

    /// The list with this number, and the connections.
    #[inline]
    pub(super) fn list(&mut self, number: u8) -> (&mut List<BY_INTENDED>, &mut Connections) {
        (&mut self.in_flight[usize::from(number)], &mut self.connections)
    }

    /// Takes note of how things stand after an event, with so many arrivals due that were never sent, and so many to be tried
    /// again. True if connections are to be opened.
    #[inline(always)] // after each event
    pub(super) fn look_at(&mut self, due: u64, again: u64, now: Instant) -> bool {
        if let Some(sockets) = &self.sockets {
            return self.look_at_sockets(sockets.to_open(), due, now);
        }
        let waiting = due + again + self.resend.len() as u64;
        if waiting == 0 && self.connections.owed == 0 {
            self.connections.note_fullness(now, 0);
            (self.woke_for_due, self.behind_since) = (true, None);
            return false;
        }
        // What could neither be sent nor cause a connection needs no turn of its own.
        self.woke_for_due = due == 0 || self.connections.can_open();
        let wants_to_open = self.connections.want_more(waiting, now);
        self.connections.note_fullness(now, waiting);
        let is_behind = wants_to_open || (self.connections.have_room() && waiting > 0);
        self.behind_since = is_behind.then(|| self.behind_since.unwrap_or(now));
        wants_to_open
    }
    /// The same where connections belong to journeys, of which so many wait for one to be opened.
    #[inline(never)]
    fn look_at_sockets(&mut self, to_open: u64, due: u64, now: Instant) -> bool {
        self.woke_for_due = true;
        let wants_to_open = to_open > 0 && self.connections.can_open();
        self.connections.note_fullness(now, to_open);
        let is_behind = wants_to_open || due > 0;
        self.behind_since = is_behind.then(|| self.behind_since.unwrap_or(now));
        wants_to_open
    }
}
