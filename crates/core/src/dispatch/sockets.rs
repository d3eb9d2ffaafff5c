//! WebSockets of journeys: whole lanes whose connections belong to journeys. One step opens one, those behind it use it, and it is closed when the journey has ended.
//!
//! A lane has only such connections, or none. Here binding is early: a connection that is being opened is for one step, which waits
//! for it and fails with it. A step that finds its connection gone fails of what has ended that.

use super::connections::{Connection, Whose};
use super::{Action, Actions, CloseKind, Dispatch, SENDS_PER_CALL_MAX, TIMEOUTS_PER_CALL_MAX};
use crate::failure::FailureKind;
use crate::load::Load;
use crate::origins;
use crate::record::{Ages, Flight, Recorder};
use crate::time::Instant;
use std::collections::VecDeque;
use std::num::NonZeroU16;

/// What journeys hold at one origin.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    /// Steps that wait until a connection may be opened for them.
    to_open: VecDeque<Flight>,
    /// By the place of the journey.
    held: Vec<Held>,
    /// Connections that are being opened.
    opening: u64,
}

/// What a journey has.
#[derive(Clone, Copy, Debug, Default)]
enum Held {
    #[default]
    Nothing,
    /// It is being opened for this step.
    Opening(Flight),
    Open(u32),
    /// It has ended, of this.
    Ended(FailureKind),
}

impl Sockets {
    /// Steps that have fallen due and were not sent.
    pub(super) fn waiting(&self) -> u64 {
        self.to_open.len() as u64 + self.opening
    }

    /// Those of them for which no connection is being opened.
    pub(super) fn to_open(&self) -> u64 {
        self.to_open.len() as u64
    }

    /// All of them, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Flight> {
        let opening = self.held.iter().filter_map(|held| match held {
            Held::Opening(flight) => Some(flight),
            _ => None,
        });
        self.to_open.iter().chain(opening)
    }

    /// Adds the ages of all of them. There are no more than journeys under way.
    pub(super) fn add_ages(&self, now: Instant, ages: &mut Ages) {
        self.all().for_each(|flight| ages.add(now.since(flight.arrival.intended), 1));
    }

    fn held(&mut self, owner: NonZeroU16) -> &mut Held {
        let place = usize::from(owner.get());
        if self.held.len() <= place {
            self.held.resize(place + 1, Held::Nothing);
        }
        &mut self.held[place]
    }

    /// The step for which the connection of this journey was being opened.
    fn take_opening(&mut self, owner: NonZeroU16) -> Option<Flight> {
        match *self.held(owner) {
            Held::Opening(flight) => {
                *self.held(owner) = Held::Nothing;
                self.opening -= 1;
                Some(flight)
            }
            _ => None,
        }
    }

    /// When the step should have started for which a connection has been being opened for longest.
    fn intended_of(&self, conn: &Connection) -> Option<Instant> {
        match self.held.get(usize::from(conn.owner?.get()))? {
            Held::Opening(flight) => Some(flight.arrival.intended),
            _ => None,
        }
    }
}

impl<L: Load> Dispatch<L> {
    fn sockets(&mut self, origin: usize) -> Option<&mut Sockets> {
        self.lanes[origin].sockets.as_deref_mut()
    }

    /// Takes what has fallen due: a step is sent on the connection of its journey, or waits until one is opened. False if this call
    /// has sent as much as it may.
    pub(super) fn pump_sockets(
        &mut self,
        origin: usize,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) -> bool {
        while self.load.as_ref().is_some_and(|load| load.waiting(origin) > 0) {
            if self.sends == SENDS_PER_CALL_MAX {
                return false;
            }
            let Some(flight) = self.take_head(origin) else { return true };
            let opens = self.policy.origins.socket_use(flight.arrival.operation) == origins::SocketUse::Opens;
            let (owner, is_late) = (flight.arrival.slot, self.is_late(&flight.arrival, now));
            let Some((sockets, owner)) = self.sockets(origin).zip(owner) else { return true };
            let held = *sockets.held(owner);
            match held {
                _ if is_late => self.give_up_waiting(&flight, now, rec),
                _ if opens => sockets.to_open.push_back(flight),
                Held::Open(conn) if self.lanes[origin].connections.at(conn).has_room() => {
                    out.push(self.lanes[origin].bind(&mut self.flights, flight, origin, conn));
                    self.sends += 1;
                }
                Held::Ended(kind) => self.end_unanswered(&flight, 0, Some(kind), now, rec),
                _ => self.end_unanswered(&flight, 0, Some(FailureKind::CLOSED_EARLY), now, rec),
            }
        }
        true
    }

    /// Begins to open the connection of the journey that has waited for longest.
    pub(super) fn open_socket(&mut self, origin: usize, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        let Some(flight) = self.sockets(origin).and_then(|sockets| sockets.to_open.pop_front()) else {
            return;
        };
        let Some(owner) = flight.arrival.slot else { return };
        if self.is_late(&flight.arrival, now) {
            return self.give_up_waiting(&flight, now, rec);
        }
        // If the journey had one that it has closed and that has not ended.
        self.close_socket(origin, owner, now, out);
        rec.connections(origin).attempted += 1;
        out.push(Action::Open(self.lanes[origin].connections.begin_opening(
            Whose::Everybody,
            Some(owner),
            now,
        )));
        if let Some(sockets) = self.sockets(origin) {
            *sockets.held(owner) = Held::Opening(flight);
            sockets.opening += 1;
        }
    }

    /// A connection is usable: if it is a journey's own, its step is sent.
    pub(super) fn socket_opened(
        &mut self,
        origin: usize,
        slot: u32,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) {
        let Some(owner) = self.lanes[origin].connections.at(slot).owner else { return };
        let Some(sockets) = self.sockets(origin) else { return };
        let flight = sockets.take_opening(owner);
        *sockets.held(owner) = Held::Open(slot);
        match flight {
            Some(flight) if self.is_late(&flight.arrival, now) => self.give_up_waiting(&flight, now, rec),
            Some(flight) => out.push(self.lanes[origin].bind(&mut self.flights, flight, origin, slot)),
            None => {}
        }
    }

    /// The attempt to open one has failed of `kind`; without one, this machine lacked something, and the step waits for another.
    pub(super) fn socket_not_opened(
        &mut self,
        origin: usize,
        owner: NonZeroU16,
        kind: Option<FailureKind>,
        now: Instant,
        rec: &mut Recorder,
    ) {
        let Some(sockets) = self.sockets(origin) else { return };
        let Some(flight) = sockets.take_opening(owner) else { return };
        match kind {
            None => sockets.to_open.push_front(flight),
            Some(kind) => {
                let flight = Flight { unaccepted: !kind.is_local(), ..flight };
                self.end_unanswered(&flight, 0, Some(kind), now, rec);
            }
        }
    }

    /// When the first of those that wait should have started.
    pub(super) fn first_socket(&self, origin: usize) -> Option<Instant> {
        let sockets = self.lanes[origin].sockets.as_ref()?;
        let to_open = sockets.to_open.front().map(|flight| flight.arrival.intended);
        let connections = &self.lanes[origin].connections;
        let opening =
            connections.first_opening().and_then(|(slot, _)| sockets.intended_of(connections.at(slot)));
        [to_open, opening].into_iter().flatten().min()
    }

    /// Steps that have waited for too long, and what is being opened for them. Both are nearly in order of intended time; each is
    /// also looked at before it is sent.
    pub(super) fn expire_sockets(
        &mut self,
        origin: usize,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) {
        for _ in 0..TIMEOUTS_PER_CALL_MAX {
            let timeout = self.policy.timeout;
            let is_late = |intended: Instant| now.since(intended) > timeout;
            let lane = &mut self.lanes[origin];
            let Some(sockets) = lane.sockets.as_deref_mut() else { return };
            if sockets.to_open.front().is_some_and(|flight| is_late(flight.arrival.intended)) {
                if let Some(flight) = sockets.to_open.pop_front() {
                    self.give_up_waiting(&flight, now, rec);
                }
                continue;
            }
            let connections = &mut lane.connections;
            let Some((slot, _)) = connections.first_opening() else { return };
            let conn = connections.at(slot);
            let Some(owner) = conn.owner.filter(|_| sockets.intended_of(conn).is_some_and(is_late)) else {
                return;
            };
            rec.connections(origin).failed += 1;
            connections.slow_down_opening();
            out.push(Action::Close(connections.id(slot), CloseKind::Abort));
            connections.give_up_opening(slot, now);
            if let Some(flight) = sockets.take_opening(owner) {
                self.give_up_waiting(&flight, now, rec);
            }
        }
        self.more_to_do = true;
    }

    /// One that waits, for the end of the run.
    pub(super) fn take_socket(&mut self, origin: usize) -> Option<Flight> {
        let sockets = self.sockets(origin)?;
        if let Some(flight) = sockets.to_open.pop_front() {
            return Some(flight);
        }
        if sockets.opening == 0 {
            return None;
        }
        let place = sockets.held.iter().position(|held| matches!(held, Held::Opening(_)))?;
        sockets.take_opening(NonZeroU16::new(place as u16)?)
    }

    /// A connection is no more, whose flights are gone. Of what ended it the journey may hear later.
    pub(super) fn end_connection(
        &mut self,
        origin: usize,
        slot: u32,
        kind: Option<FailureKind>,
        now: Instant,
    ) {
        let owner = self.lanes[origin].connections.at(slot).owner;
        self.lanes[origin].connections.end(slot, now);
        if let Some((sockets, owner)) = self.sockets(origin).zip(owner) {
            *sockets.held(owner) = kind.map_or(Held::Nothing, Held::Ended);
        }
    }

    /// The journey has ended: closes its connection to `origin`, if it has one here.
    pub(super) fn close_socket(&mut self, origin: usize, owner: NonZeroU16, now: Instant, out: &mut Actions) {
        let Some(sockets) = self.sockets(origin) else { return };
        let Held::Open(slot) = std::mem::take(sockets.held(owner)) else { return };
        let connections = &mut self.lanes[origin].connections;
        if !connections.at(slot).flights.is_empty() {
            // A step was given up, and its place is not free yet.
            return self.abort(origin, slot, now, out);
        }
        out.push(Action::Close(connections.id(slot), CloseKind::Graceful));
        connections.end(slot, now);
    }
}
