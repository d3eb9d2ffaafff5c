//! What is under way on which connection, as an outsider sees it.

use super::hold;
use std::collections::{HashMap, HashSet};
use unblink_core::dispatch::{ConnId, FlightId, Room};
use unblink_core::time::Instant;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum State {
    Closed,
    Opening(Instant),
    Open,
}

#[derive(Clone, Debug)]
struct Conn {
    generation: u32,
    state: State,
    has_answered: bool,
    /// Since when nothing has been under way on it.
    rested_since: Instant,
    /// In the order of their sending; of those that were given up, nothing but the name.
    carries: Vec<(FlightId, Option<usize>)>,
}

/// What was left of a connection.
pub(super) struct Remains {
    pub(super) has_answered: bool,
    /// Entries of the books.
    pub(super) carried: Vec<usize>,
}

/// All connections of a worker to one origin.
pub(super) struct Carried {
    room: Room,
    conns: Vec<Conn>,
    flights: HashMap<FlightId, u32>,
    /// Flights that ended with their connections, or were cancelled: whatever is heard of them is to be ignored.
    dropped: HashSet<FlightId>,
    /// How many connections with room have so many requests.
    by_load: Vec<usize>,
    pub(super) open: usize,
    pub(super) opening: usize,
    pub(super) in_flight: usize,
    /// Since when one has had room at every moment.
    pub(super) room_since: Instant,
}

impl Carried {
    pub(super) fn new(room: Room) -> Carried {
        Carried {
            room,
            conns: Vec::new(),
            flights: HashMap::new(),
            dropped: HashSet::new(),
            by_load: vec![0; room.places as usize],
            open: 0,
            opening: 0,
            in_flight: 0,
            room_since: Instant(0),
        }
    }

    pub(super) fn total(&self) -> usize {
        self.open + self.opening
    }

    pub(super) fn have_room(&self) -> bool {
        self.by_load.iter().any(|&n| n > 0)
    }

    /// Nothing is under way on so many.
    pub(super) fn resting(&self) -> usize {
        self.by_load[0]
    }

    /// The state of a connection; none if `id` is closed, and so whatever is heard of it is to be ignored.
    pub(super) fn state_of(&self, id: ConnId) -> Option<State> {
        let conn = self.conns.get(id.slot as usize)?;
        (conn.generation == id.generation && conn.state != State::Closed).then_some(conn.state)
    }

    pub(super) fn begin_opening(&mut self, id: ConnId, now: Instant) -> Result<(), String> {
        let slot = id.slot as usize;
        hold!(slot <= self.conns.len(), "{id:?}: the slots before are not all taken");
        if let Some(old) = self.conns.get(slot) {
            hold!(old.state == State::Closed, "{id:?} is opened, and the slot is in use: {old:?}");
            hold!(id.generation > old.generation, "{id:?} bears a name that was used before");
            self.conns.remove(slot);
        }
        let state = State::Opening(now);
        let (generation, carries) = (id.generation, Vec::new());
        self.conns.insert(slot, Conn { generation, state, has_answered: false, rested_since: now, carries });
        self.opening += 1;
        Ok(())
    }

    pub(super) fn opened(&mut self, slot: u32, now: Instant) {
        self.opening -= 1;
        self.open += 1;
        let conn = &mut self.conns[slot as usize];
        (conn.state, conn.rested_since) = (State::Open, now);
        self.gained_room(now, 0);
    }

    pub(super) fn give_up_opening(&mut self, slot: u32) {
        self.opening -= 1;
        self.conns[slot as usize].state = State::Closed;
    }

    pub(super) fn take_off(&mut self, id: ConnId, flight: FlightId, place: usize) -> Result<(), String> {
        hold!(
            self.state_of(id) == Some(State::Open),
            "{flight:?} is sent on {id:?}: {:?}",
            self.state_of(id)
        );
        let load = self.conns[id.slot as usize].carries.len();
        hold!(load < self.room.places as usize, "{flight:?} is sent on {id:?}, which carries {load}");
        let least = self.by_load.iter().position(|&n| n > 0);
        hold!(least == Some(load), "{flight:?} is sent on {id:?}, which carries {load}, another {least:?}");
        let is_new = !self.dropped.contains(&flight) && self.flights.insert(flight, id.slot).is_none();
        hold!(is_new, "{flight:?} bears a name that was used before");
        self.by_load[load] -= 1;
        if load + 1 < self.room.places as usize {
            self.by_load[load + 1] += 1;
        }
        self.conns[id.slot as usize].carries.push((flight, Some(place)));
        self.in_flight += 1;
        Ok(())
    }

    /// The entry of a flight, and its connection's slot; no entry if it was given up. Nothing if it ended with its
    /// connection.
    pub(super) fn land(
        &mut self,
        flight: FlightId,
        now: Instant,
    ) -> Result<Option<(Option<usize>, u32)>, String> {
        let Some(slot) = self.flights.remove(&flight) else {
            hold!(self.dropped.contains(&flight), "news of {flight:?}, which is not under way");
            return Ok(None);
        };
        let conn = &mut self.conns[slot as usize];
        let position = conn.carries.iter().position(|(carried, _)| *carried == flight);
        let Some(position) = position else { return Err(format!("{flight:?} is not on {conn:?}")) };
        let (_, place) = conn.carries.remove(position);
        let load = conn.carries.len();
        if load == 0 {
            conn.rested_since = now;
        }
        if load + 1 < self.room.places as usize {
            self.by_load[load + 1] -= 1;
            self.by_load[load] += 1;
        } else {
            self.gained_room(now, load);
        }
        self.in_flight -= usize::from(place.is_some());
        Ok(Some((place, slot)))
    }

    /// Its answer may come all the same.
    pub(super) fn ignore(&mut self, flight: FlightId) {
        self.dropped.insert(flight);
    }

    pub(super) fn note_answer(&mut self, slot: u32) {
        self.conns[slot as usize].has_answered = true;
    }

    /// The entry has been given up: says on which connection, under which name, and whether all is now over there.
    pub(super) fn abandon(&mut self, place: usize) -> Option<(u32, FlightId, bool)> {
        let slot = self.conns.iter().position(|conn| conn.carries.iter().any(|(_, p)| *p == Some(place)))?;
        let conn = &mut self.conns[slot];
        let (flight, entry) = conn.carries.iter_mut().find(|(_, p)| *p == Some(place))?;
        *entry = None;
        let flight = *flight;
        self.in_flight -= 1;
        let given_up = conn.carries.iter().all(|(_, place)| place.is_none());
        let is_full = conn.carries.len() == self.room.places as usize;
        Some((slot as u32, flight, given_up && is_full))
    }

    /// How the connection in a slot is called.
    pub(super) fn name(&self, origin: usize, slot: u32) -> ConnId {
        ConnId { origin: origin as u8, slot, generation: self.conns[slot as usize].generation }
    }

    /// A connection ends, and with it what it carried.
    pub(super) fn end(&mut self, slot: u32) -> Remains {
        let conn = &mut self.conns[slot as usize];
        conn.state = State::Closed;
        self.open -= 1;
        if let Some(n) = self.by_load.get_mut(conn.carries.len()) {
            *n -= 1;
        }
        let carries = std::mem::take(&mut conn.carries);
        for (flight, _) in &carries {
            self.flights.remove(flight);
            self.dropped.insert(*flight);
        }
        let carried: Vec<usize> = carries.into_iter().filter_map(|(_, place)| place).collect();
        self.in_flight -= carried.len();
        Remains { has_answered: conn.has_answered, carried }
    }

    /// Since when nothing has been under way on it; none if something is.
    pub(super) fn rested_since(&self, slot: u32) -> Option<Instant> {
        let conn = &self.conns[slot as usize];
        conn.carries.is_empty().then_some(conn.rested_since)
    }

    fn gained_room(&mut self, now: Instant, load: usize) {
        if !self.have_room() {
            self.room_since = now;
        }
        self.by_load[load] += 1;
    }
}
