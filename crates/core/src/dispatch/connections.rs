//! The connections of a worker to one origin: which have room, which are being opened, and how many there may be.

mod aging;
mod moving;
mod own;
mod pace;
mod wanting;

use super::arena::{Arena, List, NONE};
use super::fullness::Fullness;
use super::spread::{Carried, Spread};
use super::{ConnId, IDLE_MAX, Policy, Pool};
use crate::record::Breach;
use crate::share::Share;
use crate::time::{Instant, Nanos};
use own::OwnConnections;
pub(super) use own::Whose;
pub(super) use pace::Pace;
use std::num::NonZeroU16;

/// The initial limit on connects in progress at once. A flood of them overflows the target's queue, and a dropped SYN
/// costs a second. Each success allows one more, so a distant or slow target does not limit the load.
const OPENING_MIN: u32 = 128;

/// The pause after a connection that was owed and could not be opened.
const OWED_PAUSE: Nanos = Nanos::from_secs(1);

/// The index of the links that lead from one flight of a connection to the next.
pub(super) const OF_CONNECTION: usize = 1;

/// The index of the links that lead from one connection to the next, by the time at which they have grown too old.
const BY_AGE: usize = 1;

/// A connection as the dispatcher sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    pub(super) is_open: bool,
    /// When opening began. For an open connection: since when it has had room.
    pub(super) since: Instant,
    /// Since when nothing has been under way on it.
    rested_from: Instant,
    /// It has answered before.
    pub(super) reused: bool,
    /// How many requests it takes at once: none while it is not open, or once it is retired.
    room: u32,
    /// How many requests it takes once it is open. A journey's own connection takes them only from its journey, and has
    /// no room for others.
    room_when_open: u32,
    /// It ends with its last request.
    pub(super) is_retired: bool,
    /// It ends so because it has grown too old.
    pub(super) is_aged: bool,
    /// What came on it breaks the protocol so: it ends of that, whatever else may end it.
    pub(super) breach: Option<Breach>,
    /// When it will have grown too old.
    aged_from: Instant,
    /// Whose requests it carries.
    pub(super) whose: Whose,
    /// While it is being opened: nobody waits for it; it replaces one that has grown too old, or fills a fixed pool.
    pub(super) is_owed: bool,
    /// Its requests, in the order in which they were bound to it.
    pub(super) flights: List<OF_CONNECTION>,
    /// How many of these were given up and keep their places.
    pub(super) abandoned: u32,
    carried: Carried,
    /// It ends so that another can be opened elsewhere.
    pub(super) gives_way: bool,
    /// Its last answer left something open.
    pub(super) leaves_open: bool,
    /// In a lane of WebSockets: the place of the journey that it belongs to.
    pub(super) owner: Option<NonZeroU16>,
}

impl Connection {
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.flights.len < self.room
    }

    /// Everything on it was given up, and nothing else fits.
    pub(super) fn is_stuck(&self) -> bool {
        self.abandoned == self.flights.len && !self.has_room()
    }

    /// Nothing is under way on it, and its target allows it nothing.
    fn is_shut(&self) -> bool {
        let is_idle = self.is_open && !self.is_retired && self.flights.is_empty();
        is_idle && self.room == 0 && self.whose == Whose::Everybody
    }
}

/// The connections of a worker to one origin.
#[derive(Debug)]
pub(super) struct Connections {
    origin: u8,
    conns: Arena<Connection, 2>,
    max: u32,
    grows: bool,
    /// One is opened in the place of each that ends.
    keeps_size: bool,
    /// Whether each is the WebSocket of a journey.
    are_sockets: bool,
    /// The most requests that one connection takes at once.
    places: u32,
    /// The most that the target allowed when it last said so, or was asked for.
    allowed: u32,
    /// How many have nothing under way and are allowed nothing.
    shut: u32,
    pub(super) open: u32,
    pub(super) open_peak: u32,
    pub(super) opening: List<0>,
    /// Connections with room, by how many requests they have. The one that came last is first.
    with_room: Vec<List<0>>,
    /// No connection with room has fewer requests.
    least: usize,
    /// How many have room.
    roomy: u32,
    /// Since when one has had room at every moment.
    pub(super) room_from: Instant,
    /// To be opened whether anything waits or not.
    pub(super) owed: u32,
    /// How long a connection is used.
    age_max: Option<Nanos>,
    by_age: List<BY_AGE>,
    share: Share,
    has_started: bool,
    are_aging: bool,
    /// When connections that are owed and could not be opened may be tried again.
    owed_from: Instant,
    /// The limit on connects in progress at once. It grows with each that succeeds and shrinks when attempts vanish.
    opening_max: u32,
    /// When the current streak of unsuccessful attempts began.
    pub(super) unaccepted_since: Option<Instant>,
    /// This machine had no port or descriptor: there is no attempt before then.
    pub(super) blocked_until: Option<Instant>,
    /// Of an origin whose attempts come at a pace.
    pub(super) pace: Option<Pace>,
    pub(super) fullness: Fullness,
    pub(super) own: OwnConnections,
    /// What the connections that have ended carried.
    spread: Spread,
}

impl Connections {
    pub(super) fn new(policy: &Policy, origin: u8) -> Connections {
        let are_sockets = policy.origins.is_of_sockets(usize::from(origin));
        let (max, owed, grows) = match policy.pool {
            Pool::Auto { max } | Pool::Fixed { n: max } if are_sockets => (max, 0, false),
            Pool::Auto { max } => (max, 0, true),
            // Connections of journeys are opened when they are needed, and they need places that others would have
            // taken.
            Pool::Fixed { n } if policy.own.is_some() => (n, 0, true),
            Pool::Fixed { n } => (n, n, false),
        };
        Connections {
            origin,
            conns: Arena::new(max as usize),
            max,
            grows,
            keeps_size: false,
            are_sockets,
            places: policy.room.places,
            allowed: policy.room.places,
            shut: 0,
            open: 0,
            open_peak: 0,
            opening: List::EMPTY,
            with_room: vec![List::EMPTY; policy.room.places as usize],
            least: 0,
            roomy: 0,
            room_from: Instant(0),
            owed,
            age_max: policy.connection_age.filter(|_| !are_sockets),
            by_age: List::EMPTY,
            share: policy.share,
            has_started: false,
            are_aging: false,
            owed_from: Instant(0),
            opening_max: OPENING_MIN,
            unaccepted_since: None,
            blocked_until: None,
            pace: policy.origins.is_paced(usize::from(origin)).then(Pace::default),
            fullness: Fullness::default(),
            own: OwnConnections::new(policy),
            spread: Spread::default(),
        }
    }

    #[inline]
    pub(super) fn at(&self, slot: u32) -> &Connection {
        &self.conns[slot]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, slot: u32) -> &mut Connection {
        &mut self.conns[slot]
    }

    #[inline]
    pub(super) fn id(&self, slot: u32) -> ConnId {
        ConnId { origin: self.origin, slot, generation: self.conns.generation(slot) }
    }

    /// The slot, if `id` is still its tenant.
    pub(super) fn resolve(&self, id: ConnId) -> Option<u32> {
        self.conns.holds(id.slot, id.generation).then_some(id.slot)
    }

    /// The number of connections, open or being opened.
    #[inline]
    pub(super) fn total(&self) -> u32 {
        self.open + self.opening.len
    }

    #[inline]
    pub(super) fn have_room(&self) -> bool {
        self.roomy > 0
    }

    /// The least loaded of the connections with room. Among equals, the one that came last.
    #[inline]
    pub(super) fn least_loaded(&mut self) -> Option<u32> {
        if self.roomy == 0 {
            return None;
        }
        loop {
            match self.with_room[self.least].head {
                NONE => self.least += 1,
                slot => return Some(slot),
            }
        }
    }

    pub(super) fn begin_opening(&mut self, whose: Whose, owner: Option<NonZeroU16>, now: Instant) -> ConnId {
        let is_owed = whose == Whose::Everybody && self.owed > 0 && now >= self.owed_from;
        self.owed -= u32::from(is_owed);
        self.own.opening += u32::from(whose != Whose::Everybody);
        let slot = self.conns.take(Connection {
            is_open: false,
            since: now,
            rested_from: now,
            reused: false,
            room: 0,
            room_when_open: self.places,
            is_retired: false,
            is_aged: false,
            breach: None,
            aged_from: Instant(u64::MAX),
            whose,
            is_owed,
            flights: List::EMPTY,
            abandoned: 0,
            carried: Carried::default(),
            gives_way: false,
            leaves_open: false,
            owner,
        });
        self.conns.push_back(&mut self.opening, slot);
        self.unaccepted_since.get_or_insert(now);
        self.pace.iter_mut().for_each(|pace| pace.begins(now));
        self.id(slot)
    }

    /// An attempt has succeeded.
    pub(super) fn opened(&mut self, slot: u32, now: Instant) {
        self.conns.unlink(&mut self.opening, slot);
        self.fullness.look_at_replacing(now);
        self.open += 1;
        match self.conns[slot].whose {
            Whose::Everybody => {
                let Connection { room_when_open, is_retired, .. } = self.conns[slot];
                let room = if is_retired { 0 } else { room_when_open };
                self.change(slot, now, |conn| {
                    (conn.is_open, conn.room, conn.rested_from) = (true, room, now)
                });
            }
            _ => self.opened_own(slot, now),
        }
        self.opening_max = self.opening_max.saturating_add(1);
        self.pace.iter_mut().for_each(Pace::succeeds);
        self.unaccepted_since = (self.opening.len > 0).then_some(now);
        self.open_peak = self.open_peak.max(self.open);
        if let Some(age) = self.age_max.filter(|_| self.are_aging) {
            self.grows_old(slot, now + age);
        }
    }

    /// The load begins. A connection that is not open by now is opened when it is needed.
    pub(super) fn start(&mut self) {
        self.owed = if self.keeps_size { self.max.saturating_sub(self.total()) } else { 0 };
        self.has_started = true;
    }

    /// An attempt has come to nothing.
    pub(super) fn give_up_opening(&mut self, slot: u32, now: Instant) {
        let Connection { is_owed, since, .. } = self.conns[slot];
        if is_owed && self.has_started {
            self.owed += 1;
            self.owed_from = now + OWED_PAUSE;
        }
        // Before the load each is tried once.
        self.pace.iter_mut().filter(|_| self.has_started).for_each(|pace| pace.fails(since, now));
        self.own.opening -= u32::from(self.conns[slot].whose != Whose::Everybody);
        self.conns.unlink(&mut self.opening, slot);
        self.conns.release(slot);
    }

    /// An open connection is no more. Its flights must be gone.
    pub(super) fn end(&mut self, slot: u32, now: Instant) {
        self.change(slot, now, |conn| (conn.room, conn.is_open) = (0, false));
        if self.conns[slot].aged_from != Instant(u64::MAX) {
            self.conns.unlink(&mut self.by_age, slot);
        }
        self.end_own(slot);
        // A fixed pool keeps its size.
        self.owed +=
            u32::from(self.keeps_size && self.has_started || self.conns[slot].is_aged && !self.grows);
        self.open -= 1;
        self.spread.add_one(self.conns[slot].carried);
        self.conns.release(slot);
    }

    /// Requests at once on a connection, as they were asked for.
    pub(super) fn places(&self) -> u32 {
        self.places
    }

    /// How many requests at once the connection takes when it opens.
    pub(super) fn places_once_open(&self, slot: u32) -> u32 {
        self.conns[slot].room_when_open
    }

    /// From now on the connection takes `room` requests at once, but no more than were asked for.
    pub(super) fn set_room(&mut self, slot: u32, room: u32, now: Instant) {
        let room = room.min(self.places);
        self.allowed = room;
        if self.conns[slot].whose != Whose::Everybody {
            self.set_own_room(slot, room, now);
        } else if !self.conns[slot].is_open {
            self.conns[slot].room_when_open = room;
        } else if !self.conns[slot].is_retired {
            self.change(slot, now, |conn| conn.room = room);
        }
    }

    /// The connection takes no more requests.
    pub(super) fn retire(&mut self, slot: u32, now: Instant) {
        self.change(slot, now, |conn| (conn.room, conn.is_retired) = (0, true));
    }

    /// Puts a flight on a connection with room.
    #[inline(always)] // for each request
    pub(super) fn take_place<T>(&mut self, slot: u32, flights: &mut Arena<T, 3>, flight: u32) {
        let conn = &mut self.conns[slot];
        let load = conn.flights.len;
        flights.push_back(&mut conn.flights, flight);
        conn.carried.count(load + 1);
        let still_has_room = conn.has_room();
        self.conns.unlink(&mut self.with_room[load as usize], slot);
        match still_has_room {
            true => self.conns.push_front(&mut self.with_room[load as usize + 1], slot),
            false => self.roomy -= 1,
        }
    }

    /// Takes a flight off a connection, which may be used again now. What the flight leaves there is noted by `note`.
    #[inline(always)] // for each request
    pub(super) fn free_place<T>(
        &mut self,
        slot: u32,
        flights: &mut Arena<T, 3>,
        flight: u32,
        now: Instant,
        note: impl FnOnce(&mut Connection),
    ) {
        let conn = &mut self.conns[slot];
        let had_room = conn.has_room();
        flights.unlink(&mut conn.flights, flight);
        note(conn);
        let load = conn.flights.len;
        if load == 0 {
            conn.rested_from = now;
            self.shut += u32::from(conn.is_shut());
        }
        if conn.has_room() {
            if had_room {
                self.conns.unlink(&mut self.with_room[load as usize + 1], slot);
            } else {
                conn.since = now;
                if self.roomy == 0 {
                    self.room_from = now;
                }
                self.roomy += 1;
            }
            self.conns.push_front(&mut self.with_room[load as usize], slot);
            self.least = self.least.min(load as usize);
        }
    }

    /// Changes what an open connection takes, and keeps the lists in step.
    fn change(&mut self, slot: u32, now: Instant, change: impl FnOnce(&mut Connection)) {
        let conn = &mut self.conns[slot];
        let (had_room, load) = (conn.has_room(), conn.flights.len as usize);
        self.shut -= u32::from(conn.is_shut());
        change(conn);
        self.shut += u32::from(conn.is_shut());
        match (had_room, conn.has_room()) {
            (true, false) => {
                self.conns.unlink(&mut self.with_room[load], slot);
                self.roomy -= 1;
            }
            (false, true) => {
                conn.since = now;
                if self.roomy == 0 {
                    self.room_from = now;
                }
                self.conns.push_front(&mut self.with_room[load], slot);
                self.least = self.least.min(load);
                self.roomy += 1;
            }
            _ => {}
        }
    }

    /// The connection that has been idle longest, and when that is too long. Only for a pool that grows, and never for
    /// the last idle one: a load of few arrivals would otherwise open a connection for each arrival.
    pub(super) fn unneeded(&self) -> Option<(u32, Instant)> {
        let resting = self.with_room[0];
        let shrinks = self.grows && resting.len > 1;
        shrinks.then(|| (resting.tail, self.conns[resting.tail].rested_from + IDLE_MAX))
    }

    /// The attempt that has been under way longest, and when it began.
    pub(super) fn first_opening(&self) -> Option<(u32, Instant)> {
        let slot = self.opening.head;
        (slot != NONE).then(|| (slot, self.conns[slot].since))
    }

    /// What all connections that were ever open have carried.
    pub(super) fn spread(&self) -> Spread {
        let mut spread = self.spread.clone();
        for slot in (0..self.conns.len()).filter(|&slot| self.conns.is_taken(slot)) {
            let conn = &self.conns[slot];
            if conn.is_open {
                spread.add_one(conn.carried);
            }
        }
        spread
    }
}
