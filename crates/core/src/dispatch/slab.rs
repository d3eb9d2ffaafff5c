//! Connections as the dispatcher sees them: a slab with generations and intrusive lists through it.

use crate::record::Flight;
use crate::time::Instant;

/// Names a connection. A slot is used again; the generation tells the old tenant's events from the new
/// one's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct ConnId {
    /// Place in the slab.
    pub slot: u32,
    /// How many tenants the place had before.
    pub generation: u32,
}

pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Free,
    Opening,
    Idle,
    Busy,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Conn {
    pub(super) generation: u32,
    pub(super) state: State,
    prev: u32,
    next: u32,
    /// Opening began, or the connection became usable.
    pub(super) since: Instant,
    /// It has answered before.
    pub(super) reused: bool,
    pub(super) flight: Flight,
}

/// A doubly linked list of connections: each is on the one list that its state names.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) len: u32,
}

impl List {
    pub(super) const EMPTY: List = List { head: NONE, tail: NONE, len: 0 };
}

#[derive(Debug)]
pub(super) struct Slab {
    conns: Vec<Conn>,
    free: Vec<u32>,
}

impl Slab {
    /// Room for `max` connections. The memory is reserved, and touched only as connections are made.
    pub(super) fn new(max: usize) -> Slab {
        Slab { conns: Vec::with_capacity(max), free: Vec::with_capacity(max) }
    }

    pub(super) fn at(&self, slot: u32) -> &Conn {
        &self.conns[slot as usize]
    }

    pub(super) fn at_mut(&mut self, slot: u32) -> &mut Conn {
        &mut self.conns[slot as usize]
    }

    /// The slot, if `id` is still its tenant.
    pub(super) fn resolve(&self, id: ConnId) -> Option<u32> {
        self.conns
            .get(id.slot as usize)
            .filter(|c| c.generation == id.generation && c.state != State::Free)
            .map(|_| id.slot)
    }

    pub(super) fn id(&self, slot: u32) -> ConnId {
        ConnId { slot, generation: self.at(slot).generation }
    }

    pub(super) fn take(&mut self, now: Instant) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.conns.push(Conn {
                generation: 0,
                state: State::Free,
                prev: NONE,
                next: NONE,
                since: now,
                reused: false,
                flight: Flight::default(),
            });
            self.conns.len() as u32 - 1
        });
        let conn = self.at_mut(slot);
        conn.since = now;
        conn.reused = false;
        slot
    }

    pub(super) fn release(&mut self, slot: u32) {
        let conn = self.at_mut(slot);
        conn.generation = conn.generation.wrapping_add(1);
        conn.state = State::Free;
        self.free.push(slot);
    }

    pub(super) fn push_front(&mut self, list: &mut List, slot: u32) {
        self.insert_between(list, NONE, list.head, slot);
    }

    pub(super) fn push_back(&mut self, list: &mut List, slot: u32) {
        self.insert_between(list, list.tail, NONE, slot);
    }

    /// Inserts a flight so that intended times stay in order. Sends come in that order but for the rare
    /// second send, so the walk from the tail is short.
    pub(super) fn insert_by_intended(&mut self, list: &mut List, slot: u32) {
        let intended = self.at(slot).flight.arrival.intended;
        let (mut prev, mut next) = (list.tail, NONE);
        while prev != NONE && self.at(prev).flight.arrival.intended > intended {
            next = prev;
            prev = self.at(prev).prev;
        }
        self.insert_between(list, prev, next, slot);
    }

    pub(super) fn unlink(&mut self, list: &mut List, slot: u32) {
        let Conn { prev, next, .. } = *self.at(slot);
        match prev {
            NONE => list.head = next,
            _ => self.at_mut(prev).next = next,
        }
        match next {
            NONE => list.tail = prev,
            _ => self.at_mut(next).prev = prev,
        }
        list.len -= 1;
    }

    fn insert_between(&mut self, list: &mut List, prev: u32, next: u32, slot: u32) {
        let conn = self.at_mut(slot);
        (conn.prev, conn.next) = (prev, next);
        match prev {
            NONE => list.head = slot,
            _ => self.at_mut(prev).next = slot,
        }
        match next {
            NONE => list.tail = slot,
            _ => self.at_mut(next).prev = slot,
        }
        list.len += 1;
    }
}
