//! What waits for a connection to an origin, and how it is sent.

use super::again::{Again, Retrying};
use super::landing::Flights;
use super::lane::Lane;
use super::overslept::OVERSLEPT_FROM;
use super::{Action, Actions, Dispatch, SENDS_PER_CALL_MAX};
use crate::arrival::Arrival;
use crate::load::Load;
use crate::record::{Flight, Recorder};
use crate::time::Instant;

impl<L: Load> Dispatch<L> {
    /// Sends what waits in one lane. Returns false if this call has sent as much as it may and something is left.
    #[inline(always)] // for each request
    pub(super) fn pump_lane(
        &mut self,
        origin: usize,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) -> bool {
        loop {
            let Dispatch { load, lanes, flights, policy, sends, .. } = &mut *self;
            let lane = &mut lanes[origin];
            lane.connections.look_at_block(now);
            if lane.has_others || !lane.resend.is_empty() {
                return self.pump_others(origin, now, out, rec);
            }
            let Some(load) = load else { return true };
            let late = loop {
                let Some(conn) = lane.connections.least_loaded() else { return true };
                if *sends == SENDS_PER_CALL_MAX {
                    return load.waiting(origin) == 0;
                }
                let Some(arrival) = load.take(origin) else { return true };
                if now.since(arrival.intended) > policy.timeout {
                    break arrival;
                }
                // Made where it will lie, because a flight is large: nothing else may take its address.
                let flight = lane.flight_of(load, arrival);
                out.push(lane.bind(flights, flight, origin, conn));
                *sends += 1;
            };
            self.give_up_arrival(late, origin, now, rec);
        }
    }

    /// The same in a lane in which not only arrivals that were never sent may wait.
    #[inline(never)]
    fn pump_others(&mut self, origin: usize, now: Instant, out: &mut Actions, rec: &mut Recorder) -> bool {
        if self.lanes[origin].sockets.is_some() {
            return self.pump_sockets(origin, now, out, rec);
        }
        while self.waiting(origin) > 0 {
            let Some(conn) = self.lanes[origin].connections.least_loaded() else { break };
            if self.sends == SENDS_PER_CALL_MAX {
                return false;
            }
            let Some(flight) = self.take_waiting(origin) else { break };
            if self.is_late(&flight.arrival, now) {
                self.give_up_waiting(&flight, now, rec);
                continue;
            }
            let arrival = flight.arrival;
            out.push(self.lanes[origin].bind(&mut self.flights, flight, origin, conn));
            self.hold(&arrival, origin, conn, now, rec);
            self.sends += 1;
        }
        true
    }

    /// An arrival has timed out just before it would have been sent.
    #[cold]
    fn give_up_arrival(&mut self, arrival: Arrival, origin: usize, now: Instant, rec: &mut Recorder) {
        let Some(load) = &self.load else { return };
        let flight = self.lanes[origin].flight_of(load, arrival);
        self.give_up_waiting(&flight, now, rec);
    }

    #[inline]
    pub(super) fn waiting(&self, origin: usize) -> u64 {
        let again = self.retrying.as_ref().map_or(0, |retrying| retrying.ready_of(origin));
        let resend = self.lanes[origin].resend.len() as u64;
        let sockets = self.lanes[origin].sockets.as_ref().map_or(0, |sockets| sockets.waiting());
        resend + again + sockets + self.load.as_ref().map_or(0, |load| load.waiting(origin))
    }

    /// The next flight to send: second sends first, then the one that could be sent first, a further attempt or an
    /// arrival.
    pub(super) fn take_waiting(&mut self, origin: usize) -> Option<Flight> {
        if self.may_go_before_head(origin)
            && let Some(flight) = self.take_before_head(origin)
        {
            return Some(flight);
        }
        self.take_head(origin)
    }

    /// The first waiting arrival.
    pub(super) fn take_head(&mut self, origin: usize) -> Option<Flight> {
        let Dispatch { load: Some(load), lanes, retrying, .. } = self else { return None };
        let arrival = take_arrival(load, retrying.as_deref_mut(), origin)?;
        Some(lanes[origin].flight_of(load, arrival))
    }

    /// Whether something may go before the first waiting arrival. Quick.
    #[inline]
    fn may_go_before_head(&self, origin: usize) -> bool {
        self.retrying.is_some() || !self.lanes[origin].resend.is_empty()
    }

    /// A second send or a further attempt that goes before the first waiting arrival.
    #[inline(never)]
    fn take_before_head(&mut self, origin: usize) -> Option<Flight> {
        if let Some(flight) = self.lanes[origin].resend.pop_front() {
            return Some(flight);
        }
        let again = self.first_ready(origin)?;
        let head = self.load.as_ref().and_then(|load| load.head(origin));
        if head.is_none_or(|arrival| again.at <= arrival.intended) { self.take_again(origin) } else { None }
    }

    /// The attempt after the first that may be sent to `origin` and has waited longest.
    pub(super) fn first_ready(&self, origin: usize) -> Option<&Again> {
        self.retrying.as_ref()?.first_ready(origin)
    }

    pub(super) fn take_again(&mut self, origin: usize) -> Option<Flight> {
        self.retrying.as_mut()?.pop_ready(origin)
    }

    /// Takes the oldest arrival, which will not be sent.
    pub(super) fn take_oldest(&mut self, origin: usize) -> Option<Flight> {
        let load = self.load.as_mut()?;
        let arrival = load.oldest(origin)?;
        load.pop_oldest(origin);
        Some(self.lanes[origin].flight_of(load, arrival))
    }
}

/// Takes the first waiting arrival, which has not been sent yet.
#[inline(always)]
fn take_arrival<L: Load>(load: &mut L, retrying: Option<&mut Retrying>, origin: usize) -> Option<Arrival> {
    let arrival = load.take(origin)?;
    if let Some(retrying) = retrying {
        retrying.begins();
    }
    Some(arrival)
}

impl Lane {
    #[inline(always)] // a flight is large
    fn flight_of<L: Load>(&mut self, load: &L, arrival: Arrival) -> Flight {
        let held_until = load.held_until(&arrival);
        let noticed = self.oversleep.noticed(&arrival);
        Flight {
            arrival,
            noticed,
            held_until,
            // Arrivals that are noticed in one turn may find the pool filled by the first of them.
            pool_full: self.connections.fullness.was_ever_full()
                && (self.connections.fullness.was_full_at(noticed)
                    || self.connections.fullness.was_full_at(noticed + OVERSLEPT_FROM)),
            ..Flight::default()
        }
    }

    /// `flight` is sent on `conn`, which has room.
    #[inline(always)] // a flight is large
    pub(super) fn bind(
        &mut self,
        flights: &mut Flights,
        mut flight: Flight,
        origin: usize,
        conn: u32,
    ) -> Action {
        let connections = &self.connections;
        // Any connection with room would have done. So only the time in which none had room counts as waiting for a
        // connection. For an attempt after the first, the time before that attempt was ready does not count either. For
        // a journey's WebSocket, no other connection would have done.
        let since = connections.at(conn).since;
        let ready = if self.sockets.is_some() { since } else { since.min(connections.room_from) };
        let ready = if flight.repeats > 0 { ready.max(flight.ready) } else { ready };
        // Time in which the plan held the arrival back was not spent waiting for a connection alone.
        let ready = flight.held_until.map_or(ready, |until| ready.max(until));
        // The arrival has waited for room, and the pool neither grew nor could grow.
        flight.pool_full |= ready > flight.noticed && connections.fullness.was_settled_at(flight.noticed);
        flight.ready = ready;
        let id = connections.id(conn);
        let Arrival { operation, index, .. } = flight.arrival;
        let flight = self.take_off(flights, &flight, origin, conn);
        Action::Send { conn: id, flight, operation, arrival: index }
    }
}
