//! Requests of journeys that have connections of their own.
//!
//! Such a request does not wait for anybody else's connection, and nobody waits for its own. So these requests have
//! separate lines. The first request of a journey to an origin takes a connection that was opened for whoever comes
//! first. Later requests use that connection as soon as they are due. It is closed when the journey ends. If the
//! journey loses it earlier, a new one is opened.

use super::connections::Whose;
use super::overslept::{OVERSLEPT_FROM, Oversleep};
use super::told::count_end;
use super::{Action, Actions, CloseKind, Dispatch, LEFT_PER_CALL_MAX, SENDS_PER_CALL_MAX};
use crate::arrival::Arrival;
use crate::load::Load;
use crate::record::{Flight, Recorder};
use crate::time::Instant;
use std::collections::VecDeque;

/// What waits in a lane for journeys' own connections.
#[derive(Debug)]
pub(super) struct OwnLine {
    /// Requests to be sent a second time, or that follow. They go at once if their connection is there.
    pub(super) resend: VecDeque<Flight>,
    /// Requests that follow and have no connection, by intended time.
    pub(super) waiting: VecDeque<Flight>,
    pub(super) oversleep_starts: Oversleep,
    pub(super) oversleep_following: Oversleep,
}

impl OwnLine {
    pub(super) fn new(under_way_max: u16) -> OwnLine {
        let max = usize::from(under_way_max);
        OwnLine {
            resend: VecDeque::with_capacity(max),
            waiting: VecDeque::with_capacity(max),
            oversleep_starts: Oversleep::default(),
            oversleep_following: Oversleep::default(),
        }
    }

    /// Adds a request that waits. They come nearly in order.
    fn wait(&mut self, flight: Flight) {
        let before = |other: &&Flight| other.arrival.intended > flight.arrival.intended;
        let behind = self.waiting.iter().rev().take_while(before).count();
        self.waiting.insert(self.waiting.len() - behind, flight);
    }
}

impl<L: Load> Dispatch<L> {
    /// The line of following requests of journeys with connections of their own. Line numbers are those of the load.
    pub(super) fn following_line(&self, origin: usize) -> usize {
        self.lanes.len() + origin
    }

    /// The line of such journeys that are about to start.
    pub(super) fn starts_line(&self, origin: usize) -> usize {
        2 * self.lanes.len() + origin
    }

    /// The number of requests that need a connection of their own and have none.
    pub(super) fn waiting_for_own(&self, origin: usize) -> u64 {
        let Some(own) = &self.lanes[origin].own else { return 0 };
        let line = self.starts_line(origin);
        own.waiting.len() as u64 + self.load.as_ref().map_or(0, |load| load.waiting(line))
    }

    /// The number of all requests that wait in these lines.
    pub(super) fn waiting_own(&self, origin: usize) -> u64 {
        let Some(own) = &self.lanes[origin].own else { return 0 };
        let line = self.following_line(origin);
        let again = self.retrying.as_ref().map_or(0, |retrying| retrying.ready_of(line));
        let due = self.load.as_ref().map_or(0, |load| load.waiting(line));
        own.resend.len() as u64 + again + due + self.waiting_for_own(origin)
    }

    /// Closes the connections of journeys that have ended, or gives them back; as many as one call may.
    pub(super) fn close_left(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        for _ in 0..LEFT_PER_CALL_MAX {
            let Some(journey) = self.load.as_mut().and_then(|load| load.take_left(now)) else { return };
            for origin in 0..self.lanes.len() {
                self.close_socket(origin, journey, now, out);
                self.give_back_held(origin, journey, now, out, rec);
                if self.lanes[origin].own.is_none() {
                    continue;
                }
                let Some(conn) = self.lanes[origin].connections.left_by(journey) else { continue };
                let on = self.lanes[origin].connections.at(conn);
                count_end(on, origin, rec, |counts| &mut counts.closed_with_journey);
                self.close_own(origin, conn, now, out);
            }
        }
    }

    /// Whether there are journeys that have ended and whose connections are to be closed.
    pub(super) fn has_left(&self) -> bool {
        self.load.as_ref().is_some_and(Load::has_left)
    }

    fn close_own(&mut self, origin: usize, conn: u32, now: Instant, out: &mut Actions) {
        if !self.lanes[origin].connections.at(conn).flights.is_empty() {
            // A request was given up, and its place is not free yet.
            return self.abort(origin, conn, now, out);
        }
        let connections = &mut self.lanes[origin].connections;
        out.push(Action::Close(connections.id(conn), CloseKind::Graceful));
        connections.end(conn, now);
    }

    /// Sends what can be sent on journeys' own connections. Returns false if something is left for the next call: this one
    /// has sent as much as it may, or a journey has ended in it. The connection of a journey must be closed before the
    /// next journey takes its slot, and each call begins with that.
    pub(super) fn pump_own(
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
            let Some(mut flight) = self.take_following(origin) else { break };
            if self.is_late(&flight.arrival, now) {
                self.give_up_waiting(&flight, now, rec);
                return false;
            }
            let Some(journey) = flight.arrival.slot else { continue };
            match self.lanes[origin].connections.own_of(journey) {
                Some((conn, true)) => {
                    self.bind_own(&mut flight, origin, conn, false, out);
                    self.sends += 1;
                    continue;
                }
                Some((conn, false)) => {
                    // A request that was given up keeps its place on it, or the target told it to take nothing.
                    let on = self.lanes[origin].connections.at(conn);
                    count_end(on, origin, rec, |counts| &mut counts.closed_on_timeout);
                    self.abort(origin, conn, now, out);
                }
                None => {}
            }
            self.lanes[origin].own.iter_mut().for_each(|own| own.wait(flight));
        }
        while self.waiting_for_own(origin) > 0 {
            let Some(conn) = self.lanes[origin].connections.unclaimed() else { return true };
            if self.sends == SENDS_PER_CALL_MAX {
                return false;
            }
            let Some(mut flight) = self.take_for_own(origin) else { return true };
            if self.is_late(&flight.arrival, now) {
                self.give_up_waiting(&flight, now, rec);
                return false;
            }
            let Some(journey) = flight.arrival.slot else { return true };
            let is_another = self.lanes[origin].connections.claim(conn, journey);
            let counts = rec.connections(origin);
            counts.own += 1;
            counts.own_again += u64::from(is_another);
            self.bind_own(&mut flight, origin, conn, true, out);
            self.sends += 1;
        }
        // These were opened for requests that have given up.
        while let Some(conn) = self.lanes[origin].connections.unclaimed() {
            rec.connections(origin).closed_unneeded += 1;
            self.close_own(origin, conn, now, out);
        }
        true
    }

    /// Puts a flight on the connection that its journey has or holds. `waited` says whether it waited for that connection.
    pub(super) fn bind_own(
        &mut self,
        flight: &mut Flight,
        origin: usize,
        conn: u32,
        waited: bool,
        out: &mut Actions,
    ) {
        let connections = &self.lanes[origin].connections;
        let ready = connections.rested_from(conn);
        let ready = if flight.repeats > 0 { ready.max(flight.ready) } else { ready };
        let ready = flight.held_until.map_or(ready, |until| ready.max(until));
        flight.pool_full |= ready > flight.noticed && connections.own.fullness.was_full_at(flight.noticed);
        (flight.ready, flight.is_alone) = (ready, true);
        let id = connections.id(conn);
        let Arrival { operation, index, .. } = flight.arrival;
        let flight = self.take_off_alone(flight, origin, conn, waited);
        out.push(Action::Send { conn: id, flight, operation, arrival: index });
    }

    /// Takes a following request, whether its connection is there or not.
    fn take_following(&mut self, origin: usize) -> Option<Flight> {
        if let Some(flight) = self.lanes[origin].own.as_mut()?.resend.pop_front() {
            return Some(flight);
        }
        let line = self.following_line(origin);
        if let Some(flight) = self.retrying.as_mut().and_then(|retrying| retrying.pop_ready(line)) {
            return Some(flight);
        }
        self.take_own_head(origin, line)
    }

    /// Of the requests that need a connection, takes the one that has waited longest.
    pub(super) fn take_for_own(&mut self, origin: usize) -> Option<Flight> {
        let line = self.starts_line(origin);
        let own = self.lanes[origin].own.as_mut()?;
        let start = self.load.as_ref().and_then(|load| load.head(line));
        let is_first = |flight: &Flight| start.is_none_or(|start| flight.arrival.intended <= start.intended);
        match own.waiting.front().is_some_and(is_first) {
            true => own.waiting.pop_front(),
            false => self.take_own_head(origin, line),
        }
    }

    /// Takes any waiting request, because the run ends.
    pub(super) fn take_any_own(&mut self, origin: usize) -> Option<Flight> {
        self.take_following(origin).or_else(|| self.take_for_own(origin))
    }

    fn take_own_head(&mut self, origin: usize, line: usize) -> Option<Flight> {
        let load = self.load.as_mut()?;
        let arrival = load.head(line)?;
        load.pop(line);
        if let Some(retrying) = &mut self.retrying {
            retrying.begins();
        }
        self.own_flight_of(arrival, origin)
    }

    fn own_flight_of(&mut self, arrival: Arrival, origin: usize) -> Option<Flight> {
        let held_until = self.load.as_ref().and_then(|load| load.held_until(&arrival));
        let lane = &mut self.lanes[origin];
        let own = lane.own.as_mut()?;
        let oversleep =
            if arrival.starts_journey() { &mut own.oversleep_starts } else { &mut own.oversleep_following };
        let noticed = oversleep.noticed(&arrival);
        let fullness = &lane.connections.own.fullness;
        // Requests that are noticed in one turn may find the pool filled by the first of them.
        let pool_full = fullness.was_full_at(noticed) || fullness.was_full_at(noticed + OVERSLEPT_FROM);
        Some(Flight { arrival, noticed, held_until, pool_full, ..Flight::default() })
    }

    /// Expires the requests that waited for a connection of their own and have timed out.
    pub(super) fn expire_own(&mut self, origin: usize, now: Instant, rec: &mut Recorder) {
        for _ in 0..super::EXPIRIES_PER_CALL_MAX {
            let Some(own) = &mut self.lanes[origin].own else { return };
            let timeout = self.policy.timeout;
            let is_late = |arrival: &Arrival| now.since(arrival.intended) > timeout;
            if own.waiting.front().is_some_and(|flight| is_late(&flight.arrival)) {
                let Some(flight) = own.waiting.pop_front() else { return };
                self.give_up_waiting(&flight, now, rec);
                continue;
            }
            let line = self.starts_line(origin);
            let Some(load) = &mut self.load else { return };
            let Some(arrival) = load.oldest(line).filter(is_late) else { return };
            load.pop_oldest(line);
            let Some(flight) = self.own_flight_of(arrival, origin) else { return };
            self.give_up_waiting(&flight, now, rec);
        }
        self.more_to_do = true;
    }

    /// When the oldest of those requests should have started.
    pub(super) fn oldest_for_own(&self, origin: usize) -> Option<Instant> {
        let own = self.lanes[origin].own.as_ref()?;
        let start = self.load.as_ref().and_then(|load| load.oldest(self.starts_line(origin)));
        let waiting = own.waiting.front().map(|flight| flight.arrival.intended);
        [start.map(|start| start.intended), waiting].into_iter().flatten().min()
    }

    /// For whom the next connection should be opened, if for anybody.
    pub(super) fn to_open_for(&self, origin: usize, now: Instant) -> Option<Whose> {
        let connections = &self.lanes[origin].connections;
        if let Some(sockets) = &self.lanes[origin].sockets {
            return (sockets.to_open() > 0 && connections.can_open()).then_some(Whose::Everybody);
        }
        let waiting = self.waiting(origin);
        let for_all = connections.want_more(waiting, now);
        if self.lanes[origin].own.is_none() {
            return for_all.then_some(Whose::Everybody);
        }
        let for_one = connections.want_own(self.waiting_for_own(origin), waiting == 0);
        match (for_all, for_one) {
            (false, false) => None,
            (true, false) => Some(Whose::Everybody),
            (false, true) => Some(Whose::Nobody),
            (true, true) => {
                // At the limit, whoever has waited longest goes first.
                let others = self.load.as_ref().and_then(|load| load.oldest(origin));
                let others = others.map_or(now, |arrival| arrival.intended);
                let is_first = self.oldest_for_own(origin).is_some_and(|at| at < others);
                Some(if is_first { Whose::Nobody } else { Whose::Everybody })
            }
        }
    }

    /// Takes note of the state after an event. Returns true if connections are to be opened.
    pub(super) fn look_at_own(&mut self, origin: usize, now: Instant) -> bool {
        let (waiting, may_swap) = (self.waiting_for_own(origin), self.waiting(origin) == 0);
        let lane = &mut self.lanes[origin];
        // A following request can be sent whatever the limit is.
        lane.woke_for_due = true;
        let wants_to_open = lane.connections.want_own(waiting, may_swap);
        lane.connections.note_own_fullness(now, waiting);
        if wants_to_open || waiting > 0 && lane.connections.unclaimed().is_some() {
            lane.behind_since.get_or_insert(now);
        }
        wants_to_open
    }
}
