//! What is under way on each connection, from actions and events alone: no connection carries more than it takes, none is
//! used that takes nothing more, and the least loaded one comes first.

use super::journeys::Chains;
use super::owned::Owned;
use std::collections::{HashMap, HashSet};
use unblink_core::dispatch::{Action, ConnId, Event, FlightId, Room};
use unblink_core::record::{Breach, Gauges};
use unblink_core::time::{Instant, Nanos};

/// Nobody looks at the clock between the opening of a fixed pool and the start.
const START: Instant = Instant(1_000_000_000);

struct Conn {
    places: u32,
    is_retired: bool,
    carries: HashSet<FlightId>,
    /// Of these, and of those that it carried before.
    given_up: HashSet<FlightId>,
    opened_at: Instant,
    /// What came on it breaks the protocol.
    breach: Option<Breach>,
}

impl Conn {
    fn has_room(&self) -> bool {
        !self.is_retired && self.carries.len() < self.places as usize
    }
}

pub(crate) struct Books {
    room: Room,
    /// A connection is used for so long.
    age: Option<Nanos>,
    /// The world sends over other connections than the dispatcher has chosen.
    pub(super) are_routed: bool,
    opening: HashSet<ConnId>,
    /// What those that are being opened have said of their room.
    room_ahead: HashMap<ConnId, u32>,
    /// Those of them that have said that they take nothing more.
    retired_ahead: HashSet<ConnId>,
    open: HashMap<ConnId, Conn>,
    opened: HashMap<ConnId, u64>,
    digest: u64,
    pub(crate) chains: Chains,
    pub(crate) owned: Owned,
    /// Connections at once at the most.
    connections_max: usize,
    /// Most requests that a connection carried at once.
    pub(crate) carried_max: usize,
    /// Requests that were given up and could not be cancelled.
    pub(crate) kept: usize,
    /// Connections that ended because of what came on them, and those of them on which it had not been asked for.
    pub(crate) broken: u64,
    pub(crate) broken_unasked: u64,
    /// To be closed now.
    stuck: Option<ConnId>,
}

impl Books {
    pub(super) fn new(room: Room, age: Option<Nanos>, owned: Owned, connections_max: usize) -> Books {
        let chains = Chains::default();
        let (opening, open, opened) = (HashSet::new(), HashMap::new(), HashMap::new());
        Books {
            room,
            age,
            are_routed: false,
            room_ahead: HashMap::new(),
            retired_ahead: HashSet::new(),
            opening,
            open,
            opened,
            chains,
            owned,
            connections_max,
            digest: 0,
            carried_max: 0,
            kept: 0,
            broken: 0,
            broken_unasked: 0,
            stuck: None,
        }
    }

    /// What the dispatcher asked for and when, as one number. Connections count by the order in which they were opened,
    /// so that it does not matter how they are named.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    pub(super) fn hear(&mut self, now: Instant, event: &Event) {
        match *event {
            Event::Connected(id, _) => {
                let conn = Conn {
                    places: self.room_ahead.remove(&id).unwrap_or(self.room.places),
                    is_retired: self.retired_ahead.remove(&id),
                    carries: HashSet::new(),
                    given_up: HashSet::new(),
                    opened_at: now.max(START),
                    breach: None,
                };
                // It may have been given up meanwhile.
                if self.opening.remove(&id) {
                    self.open.insert(id, conn);
                }
            }
            Event::Answered(id, answer) => {
                // An answer of a connection that has closed meanwhile reaches nobody.
                if self.open.values().any(|conn| conn.carries.contains(&id)) {
                    self.chains.answered(now, id, answer.failure.is_none());
                }
                if let Some(conn) = self.free(id) {
                    conn.is_retired |= !answer.reusable;
                }
            }
            Event::Lost(id, _) | Event::Unsent(id) => drop(self.free(id)),
            Event::Closed(id, _) => self.end(id),
            Event::Room(id, places) => {
                let places = places.min(self.room.places);
                if self.opening.contains(&id) {
                    self.room_ahead.insert(id, places);
                }
                self.open.get_mut(&id).into_iter().for_each(|conn| conn.places = places);
            }
            Event::Kept(id) => {
                self.kept += usize::from(self.open.values().any(|conn| conn.carries.contains(&id)));
                let is_stuck = |conn: &Conn| !conn.has_room() && conn.carries.is_subset(&conn.given_up);
                let on = self.open.iter().find(|(_, conn)| conn.carries.contains(&id) && is_stuck(conn));
                self.stuck = on.map(|(conn, _)| *conn);
            }
            Event::Heard(..) => {}
            Event::Retired(id) => {
                if self.opening.contains(&id) {
                    self.retired_ahead.insert(id);
                }
                self.open.get_mut(&id).into_iter().for_each(|conn| conn.is_retired = true);
            }
            Event::Broken(id, breach) => {
                self.open.get_mut(&id).into_iter().for_each(|conn| {
                    (conn.is_retired, conn.breach) = (true, Some(breach));
                });
            }
            Event::ConnectFailed(id, _) => drop(self.opening.remove(&id)),
            Event::Tick | Event::Sent(_) => {}
        }
    }

    fn end(&mut self, id: ConnId) {
        let Some(breach) = self.open.remove(&id).and_then(|conn| conn.breach) else { return };
        self.broken += 1;
        self.broken_unasked += u64::from(breach.is_unasked);
    }

    fn free(&mut self, id: FlightId) -> Option<&mut Conn> {
        self.open.values_mut().find_map(|conn| conn.carries.remove(&id).then_some(conn))
    }

    pub(super) fn note(&mut self, now: Instant, action: &Action) {
        let opened = self.opened.len() as u64;
        let (kind, conn, what) = match *action {
            Action::Open(id) => {
                self.opening.insert(id);
                assert!(self.opening.len() + self.open.len() <= self.connections_max, "too many connections");
                (1, *self.opened.entry(id).or_insert(opened), 0)
            }
            Action::Send { conn, flight, operation, arrival } => {
                self.send(now, conn, flight);
                self.chains.sent(now, flight, operation, arrival);
                self.owned.sent(conn, operation, arrival, |conn| self.open.contains_key(conn));
                (2 + u64::from(operation), self.opened[&conn], arrival)
            }
            Action::Cancel { conn, flight } => {
                assert!(self.room.cancels && self.open[&conn].carries.contains(&flight));
                self.open.get_mut(&conn).expect("it is open").given_up.insert(flight);
                (u64::MAX, self.opened[&conn], 0)
            }
            Action::Close(id, kind) => {
                self.opening.remove(&id);
                self.end(id);
                self.stuck.take_if(|stuck| *stuck == id);
                (0, self.opened[&id], kind as u64)
            }
        };
        for word in [now.0, kind, conn, what] {
            // FNV-1a, by words.
            self.digest = (self.digest ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn send(&mut self, now: Instant, id: ConnId, flight: FlightId) {
        let least = self.open.values().filter(|conn| conn.has_room()).map(|conn| conn.carries.len()).min();
        assert!(self.open.values().all(|conn| !conn.carries.contains(&flight)), "{flight:?} is taken");
        let conn = self.open.get_mut(&id).expect("an open connection");
        assert!(conn.has_room(), "{id:?} takes no more");
        match self.age {
            // One that a journey will have may rest meanwhile.
            None if self.owned.are_any() || self.are_routed => {}
            None => assert_eq!(Some(conn.carries.len()), least, "{id:?} is not the least loaded"),
            // The least loaded may have been told to end.
            Some(age) => assert!(now.since(conn.opened_at) <= age, "{id:?} is too old"),
        }
        conn.carries.insert(flight);
        self.carried_max = self.carried_max.max(conn.carries.len());
    }

    /// Connections that are open.
    pub(super) fn open_ids(&self) -> impl Iterator<Item = ConnId> + '_ {
        self.open.keys().copied()
    }

    /// Connections of journeys' own that are open.
    pub(crate) fn owned_and_open(&self) -> usize {
        self.open.keys().filter(|id| self.owned.by.contains_key(id)).count()
    }

    /// What was given up is not in flight, and may keep its place. Arrivals that wait before another attempt are on no
    /// connection.
    pub(super) fn agree_with(&self, gauges: &Gauges) {
        assert_eq!(
            self.stuck, None,
            "everything on it was given up and keeps its place, and it is still open"
        );
        assert_eq!(gauges.connections(), self.open.len() as u64);
        let carried: usize = self.open.values().map(|conn| conn.carries.len()).sum();
        let in_flight: u64 = gauges.lanes.iter().map(|lane| lane.in_flight).sum();
        assert!(
            in_flight <= carried as u64 && in_flight <= gauges.in_flight,
            "{gauges:?}, {carried} carried"
        );
        if self.room == Room::SINGLE {
            assert_eq!(in_flight, carried as u64);
        }
    }
}
