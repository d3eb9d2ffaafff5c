//! What a worker has to do with one origin.

use super::Policy;
use super::arena::List;
use super::connections::Connections;
use super::overslept::Oversleep;
use super::own::OwnLine;
use super::sockets::Sockets;
use super::together::Failing;
use crate::record::Flight;
use crate::time::Instant;
use std::collections::VecDeque;

/// The index of the links that lead from one flight to the next by intended time.
pub(super) const BY_INTENDED: usize = 0;

/// The most lists of flights under way when there are retries: one for first attempts, one for second ones and so on.
/// All attempts from the last number on share one list. Attempts with the same number come nearly in order of intended
/// times; mixed ones do not.
pub(super) const ROUNDS_MAX: usize = 4;

/// Adds the list of requests that waited for their journey's own connection. They are older than those around them.
pub(super) const LISTS_MAX: usize = ROUNDS_MAX + 1;

/// The connections to one origin, and what is known about the arrivals that wait for them.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) connections: Connections,
    /// The flights under way, by intended time, in one list per attempt number. With one list for all lanes, a lane
    /// that catches up would have to insert what it sends before everything under way elsewhere.
    in_flight: [List<BY_INTENDED>; LISTS_MAX],
    /// How many of these lists are used for attempts.
    rounds: usize,
    /// How many of these lists are used in all.
    lists: usize,
    /// Not only arrivals that were never sent may wait, or what is sent holds its connection.
    pub(super) has_others: bool,
    /// What is to be sent a second time.
    pub(super) resend: VecDeque<Flight>,
    /// The requests of journeys with connections of their own, if there are such journeys.
    pub(super) own: Option<Box<OwnLine>>,
    pub(super) oversleep: Oversleep,
    /// Of requests that follow in journeys that hold a connection.
    pub(super) oversleep_held: Oversleep,
    /// Whether the worker was to wake at once when the next arrival fell due.
    pub(super) woke_for_due: bool,
    /// Since when something could have been sent or opened but was left for the next turn.
    pub(super) behind_since: Option<Instant>,
    /// An attempt to connect has failed, and not all of those that waited for it have ended yet.
    pub(super) failing: Option<Failing>,
    /// What journeys hold here, if its connections are theirs.
    pub(super) sockets: Option<Box<Sockets>>,
}

impl Lane {
    pub(super) fn new(policy: &Policy, origin: usize) -> Lane {
        let is_of_sockets = policy.origins.is_of_sockets(origin);
        let rounds = policy.retry.as_ref().map_or(1, |retry| ROUNDS_MAX.min(retry.attempts as usize));
        Lane {
            connections: Connections::new(policy, origin as u8),
            in_flight: [List::EMPTY; LISTS_MAX],
            rounds,
            lists: rounds + usize::from(policy.own.is_some()),
            own: policy.own.filter(|_| !is_of_sockets).map(|own| Box::new(OwnLine::new(own.under_way_max))),
            has_others: policy.retry.is_some() || policy.held.is_some() || is_of_sockets,
            resend: VecDeque::with_capacity(policy.flights_reserved()),
            oversleep: Oversleep::default(),
            oversleep_held: Oversleep::default(),
            woke_for_due: true,
            behind_since: None,
            failing: None,
            sockets: is_of_sockets.then(Box::default),
        }
    }

    /// The lists of flights under way, each by intended time.
    #[inline]
    pub(super) fn in_flight(&self) -> &[List<BY_INTENDED>] {
        &self.in_flight[..self.lists]
    }

    /// The number of the list for a flight after this many attempts.
    #[inline]
    pub(super) fn round(&self, repeats: u32) -> u8 {
        (repeats as usize).min(self.rounds - 1) as u8
    }

    /// The number of the list of those that waited for their journey's own connection.
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
