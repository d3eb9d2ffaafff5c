//! Requests of journeys that hold a connection of the pool.
//!
//! The first request of such a journey waits like any other, and takes whichever connection has room. Until the journey
//! ends, nobody else's request goes over that connection. What follows is sent on it as soon as it is due, and nowhere
//! else: if the journey has lost its connection, its next request fails. When the journey ends, the connection is
//! everybody's again. If the last answer on it has left something open, such as a transaction, it is closed instead, so
//! that the target undoes what was begun.

use super::SENDS_PER_CALL_MAX;
use super::told::count_end;
use super::{Action, Actions, CloseKind, Dispatch};
use crate::arrival::Arrival;
use crate::failure::FailureKind;
use crate::load::Load;
use crate::record::{Flight, Recorder};
use crate::time::Instant;
use std::num::NonZeroU16;

impl<L: Load> Dispatch<L> {
    /// The arrival is a request of a journey that holds its connection.
    pub(super) fn holds(&self, arrival: &Arrival) -> bool {
        self.policy.held.is_some_and(|held| held.has(arrival))
    }

    /// Requests that follow in such journeys, and wait for their turn alone.
    pub(super) fn waiting_held(&self, origin: usize) -> u64 {
        if self.policy.held.is_none() {
            return 0;
        }
        self.load.as_ref().map_or(0, |load| load.waiting(self.following_line(origin)))
    }

    /// The first request of a journey has just been put on the connection: the journey holds it from now on.
    pub(super) fn hold(
        &mut self,
        arrival: &Arrival,
        origin: usize,
        conn: u32,
        now: Instant,
        rec: &mut Recorder,
    ) {
        if !self.holds(arrival) {
            return;
        }
        let Some(journey) = arrival.slot else { return };
        self.lanes[origin].connections.hold(conn, journey, now);
        rec.connections(origin).held += 1;
    }

    /// Takes the next request that follows.
    pub(super) fn take_held(&mut self, origin: usize) -> Option<Flight> {
        self.policy.held?;
        let line = self.following_line(origin);
        let load = self.load.as_mut()?;
        let arrival = load.head(line)?;
        load.pop(line);
        let noticed = self.lanes[origin].oversleep_held.noticed(&arrival);
        Some(Flight { arrival, noticed, ..Flight::default() })
    }

    /// Sends what follows on the connections that are held. Returns false if this call has sent as much as it may.
    pub(super) fn pump_held(
        &mut self,
        origin: usize,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) -> bool {
        loop {
            if self.sends == SENDS_PER_CALL_MAX {
                return false;
            }
            let Some(mut flight) = self.take_held(origin) else { return true };
            if self.is_late(&flight.arrival, now) {
                self.give_up_waiting(&flight, now, rec);
                continue;
            }
            let held = flight.arrival.slot.and_then(|journey| self.lanes[origin].connections.own_of(journey));
            match held {
                Some((conn, true)) => {
                    self.bind_own(&mut flight, origin, conn, false, out);
                    self.sends += 1;
                }
                // What was begun on it is gone, and must not go on by halves.
                _ => self.end_unanswered(&flight, 0, Some(FailureKind::CLOSED_EARLY), now, rec),
            }
        }
    }

    /// The journey has ended: what it holds at `origin` is everybody's again, or closed.
    pub(super) fn give_back_held(
        &mut self,
        origin: usize,
        journey: NonZeroU16,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) {
        if self.policy.held.is_none() {
            return;
        }
        let connections = &mut self.lanes[origin].connections;
        let held = connections.held_by(journey);
        if let Some(conn) = held {
            let on = connections.at(conn);
            if !on.flights.is_empty() {
                // A request was given up, and its place is not free yet.
                self.abort(origin, conn, now, out);
            } else if on.leaves_open {
                count_end(on, origin, rec, |counts| &mut counts.closed_open);
                out.push(Action::Close(connections.id(conn), CloseKind::Graceful));
                connections.end_held(conn, now);
            } else {
                connections.give_back(conn, now);
                self.close_if_over(origin, conn, now, out, rec);
            }
        }
        self.lanes[origin].connections.forget_held(journey);
    }
}
