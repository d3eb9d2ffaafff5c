//! Connections that belong to one journey.

use super::{Connection, Connections};
use crate::dispatch::Policy;
use crate::dispatch::arena::{Arena, List, NONE};
use crate::dispatch::fullness::{Fullness, Seen};
use crate::time::Instant;
use std::num::NonZeroU16;

/// Whose requests a connection carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::dispatch) enum Whose {
    /// Those of every journey that has no connection of its own.
    Everybody,
    /// Those of the journey that takes it first.
    Nobody,
    /// Those of the journey in this slot, until it ends. If journeys hold connections of all, everybody's before and after.
    Journey(NonZeroU16),
}

/// Stands in place of a connection: the journey had one, and it has ended.
const LOST: u32 = NONE - 1;

/// What is known about the connections to one origin that belong to journeys.
#[derive(Debug)]
pub(in crate::dispatch) struct OwnConnections {
    /// The connection of each journey, by the journey's slot.
    by_journey: Vec<u32>,
    /// Open connections that belong to nobody so far.
    unclaimed: List<0>,
    /// How many connections that are being opened will belong to journeys.
    pub(super) opening: u32,
    /// How many that are open belong to them, or to nobody so far.
    open: u32,
    /// When journeys could not get a connection.
    pub(in crate::dispatch) fullness: Fullness,
    is_full: bool,
    /// Connections of journeys are those of all, which they hold.
    are_held: bool,
}

impl OwnConnections {
    pub(super) fn new(policy: &Policy) -> OwnConnections {
        let bound = policy.own.or(policy.held);
        OwnConnections {
            by_journey: vec![NONE; bound.map_or(0, |bound| usize::from(bound.under_way_max))],
            unclaimed: List::EMPTY,
            opening: 0,
            open: 0,
            fullness: Fullness::default(),
            is_full: false,
            are_held: policy.held.is_some(),
        }
    }

    /// Connections that journeys will get.
    fn ahead(&self) -> u64 {
        u64::from(self.opening) + u64::from(self.unclaimed.len)
    }

    fn place(&mut self, journey: NonZeroU16) -> &mut u32 {
        &mut self.by_journey[usize::from(journey.get()) - 1]
    }
}

impl Connection {
    /// Whether its journey can send on it.
    fn has_own_room(&self) -> bool {
        !self.is_retired && self.flights.len < self.room_when_open
    }
}

impl Connections {
    /// A connection that belongs to nobody so far is usable.
    pub(super) fn opened_own(&mut self, slot: u32, now: Instant) {
        let conn = &mut self.conns[slot];
        (conn.is_open, conn.rested_from) = (true, now);
        self.own.opening -= 1;
        self.own.open += 1;
        self.conns.push_back(&mut self.own.unclaimed, slot);
    }

    /// From now on it takes `room` requests of its journey at once.
    pub(super) fn set_own_room(&mut self, slot: u32, room: u32, now: Instant) {
        let conn = &mut self.conns[slot];
        let had_room = conn.has_own_room();
        conn.room_when_open = room;
        if conn.is_open && !had_room && conn.has_own_room() {
            conn.rested_from = now;
        }
    }

    /// A connection has ended. If it belonged to a journey, the journey has lost it.
    pub(super) fn end_own(&mut self, slot: u32) {
        let is_own = !self.own.are_held && self.conns[slot].whose != Whose::Everybody;
        self.own.open -= u32::from(is_own);
        match self.conns[slot].whose {
            Whose::Everybody => {}
            Whose::Nobody => self.conns.unlink(&mut self.own.unclaimed, slot),
            Whose::Journey(journey) => *self.own.place(journey) = LOST,
        }
    }

    /// Connections, open or being opened, that whoever has none of its own may use, now or when a journey gives them back.
    pub(in crate::dispatch) fn of_everybody(&self) -> u32 {
        self.total() - self.own.open - self.own.opening
    }

    /// No connection will soon be there for a journey that wants one of its own.
    pub(in crate::dispatch) fn has_none_for_own(&self) -> bool {
        self.own.ahead() == 0
    }

    /// The connection of the journey in a slot, and whether the journey can send on it.
    pub(in crate::dispatch) fn own_of(&mut self, journey: NonZeroU16) -> Option<(u32, bool)> {
        let slot = *self.own.place(journey);
        (slot < LOST).then(|| (slot, self.conns[slot].has_own_room()))
    }

    /// A connection that a journey may take.
    pub(in crate::dispatch) fn unclaimed(&self) -> Option<u32> {
        let mut slot = self.own.unclaimed.head;
        while slot != NONE && !self.conns[slot].has_own_room() {
            slot = self.conns.next(&self.own.unclaimed, slot);
        }
        (slot != NONE).then_some(slot)
    }

    /// The connection belongs to the journey from now on. Returns true if it replaces one that was lost.
    pub(in crate::dispatch) fn claim(&mut self, slot: u32, journey: NonZeroU16) -> bool {
        self.conns.unlink(&mut self.own.unclaimed, slot);
        self.conns[slot].whose = Whose::Journey(journey);
        std::mem::replace(self.own.place(journey), slot) == LOST
    }

    /// The journey has ended. Returns its connection, if it has one.
    pub(in crate::dispatch) fn left_by(&mut self, journey: NonZeroU16) -> Option<u32> {
        let slot = std::mem::replace(self.own.place(journey), NONE);
        (slot < LOST).then(|| {
            // The next journey in this slot has never had the connection.
            self.conns[slot].whose = Whose::Nobody;
            self.conns.push_back(&mut self.own.unclaimed, slot);
            slot
        })
    }

    /// The connection, which takes one request at a time and has taken the journey's first, carries nobody else's until the
    /// journey gives it back.
    pub(in crate::dispatch) fn hold(&mut self, slot: u32, journey: NonZeroU16, now: Instant) {
        self.change(slot, now, |conn| conn.room = 0);
        self.conns[slot].whose = Whose::Journey(journey);
        *self.own.place(journey) = slot;
    }

    /// A journey holds the connection.
    pub(in crate::dispatch) fn is_held(&self, slot: u32) -> bool {
        self.own.are_held && matches!(self.conns[slot].whose, Whose::Journey(_))
    }

    /// The connection that the journey in a slot holds.
    pub(in crate::dispatch) fn held_by(&mut self, journey: NonZeroU16) -> Option<u32> {
        let slot = *self.own.place(journey);
        (slot < LOST).then_some(slot)
    }

    /// The journey has ended: the next one in its slot holds nothing.
    pub(in crate::dispatch) fn forget_held(&mut self, journey: NonZeroU16) {
        *self.own.place(journey) = NONE;
    }

    /// The connection is everybody's again.
    pub(in crate::dispatch) fn give_back(&mut self, slot: u32, now: Instant) {
        self.change(slot, now, |conn| {
            conn.whose = Whose::Everybody;
            conn.room = if conn.is_retired { 0 } else { conn.room_when_open };
        });
        if self.conns[slot].is_aged && !self.conns[slot].is_retired {
            self.retire(slot, now);
        }
    }

    /// A connection ends that a journey held. Of a fixed pool another is opened in its place.
    pub(in crate::dispatch) fn end_held(&mut self, slot: u32, now: Instant) {
        let is_replaced = !self.grows && !self.conns[slot].is_aged;
        self.end(slot, now);
        self.owed += u32::from(is_replaced);
    }

    /// Since when the journey could have sent on it.
    pub(in crate::dispatch) fn rested_from(&self, slot: u32) -> Instant {
        self.conns[slot].rested_from
    }

    /// Puts a flight of the connection's journey on it.
    pub(in crate::dispatch) fn take_own_place<T>(
        &mut self,
        slot: u32,
        flights: &mut Arena<T, 3>,
        flight: u32,
    ) {
        let conn = &mut self.conns[slot];
        flights.push_back(&mut conn.flights, flight);
        conn.carried.count(conn.flights.len);
    }

    /// Whether a connection should be opened for this many waiting requests. With `may_swap`, an idle connection may be
    /// closed to make room.
    pub(in crate::dispatch) fn want_own(&self, waiting: u64, may_swap: bool) -> bool {
        let is_wanted = self.own.ahead() < waiting;
        is_wanted && (self.can_open() || may_swap && self.idle_to_swap().is_some())
    }

    /// At the limit: a connection that everybody may use and nobody does.
    pub(in crate::dispatch) fn idle_to_swap(&self) -> Option<u32> {
        let idle = self.with_room[0].tail;
        (self.may_open() && self.total() >= self.max && idle != NONE).then_some(idle)
    }

    /// Takes note of whether journeys have to wait because of the limit; `waiting` are without a connection. Once they
    /// have to wait, this holds until a connection is being opened for each. A connection that ends while another
    /// begins at the limit changes nothing.
    pub(in crate::dispatch) fn note_own_fullness(&mut self, now: Instant, waiting: u64) {
        let ahead = self.own.ahead();
        let is_short = waiting > ahead || ahead == 0;
        let could_have_none =
            self.is_at_limit() && self.with_room[0].is_empty() && self.own.unclaimed.is_empty();
        self.own.is_full = is_short && (could_have_none || self.own.is_full && waiting > 0);
        let is_full = self.own.is_full;
        let seen = if is_full { Seen::Full } else { Seen::Room };
        self.own.fullness.note(now, self.open >= self.max, seen);
    }
}
