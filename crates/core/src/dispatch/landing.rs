//! Flights: how they begin and how they end.

use super::arena::{Arena, NONE};
use super::connections::Connection;
use super::lane::Lane;
use super::told::count_end;
use super::{Action, Actions, CloseKind, Closing, ConnId, Dispatch, FlightId, Loss};
use crate::arrival::Arrival;
use crate::failure::FailureKind;
use crate::load::Load;
use crate::outcome::Outcome;
use crate::record::{Answer, Events, Flight, Recorder, RetryCause, Then};
use crate::time::Instant;

/// A flight and the connection that it is bound to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    origin: u8,
    pub(super) conn: u32,
    /// The list that the flight is on.
    list: u8,
    /// It has ended for the load and the record, but keeps its place on the connection.
    is_abandoned: bool,
    /// Its attempt may be given up, and is on the list of such attempts.
    pub(super) is_timed: bool,
    pub(super) flight: Flight,
}

impl Bound {
    /// Its lane and its connection.
    pub(super) fn place(&self) -> (usize, u32) {
        (usize::from(self.origin), self.conn)
    }

    /// When it should have started, if its end is still awaited.
    pub(super) fn intended(&self) -> Option<Instant> {
        (!self.is_abandoned).then_some(self.flight.arrival.intended)
    }
}

/// Those of a worker.
pub(super) type Flights = Arena<Bound, 3>;

impl Lane {
    /// `flight` is under way on `conn`.
    #[inline(always)]
    pub(super) fn take_off(
        &mut self,
        flights: &mut Flights,
        flight: &Flight,
        origin: usize,
        conn: u32,
    ) -> FlightId {
        let list = self.round(flight.repeats);
        let id = self.list_flight(flights, flight, (origin, conn), list);
        self.connections.take_place(conn, flights, id.slot);
        id
    }

    #[inline(always)] // a flight is large
    fn list_flight(
        &mut self,
        flights: &mut Flights,
        flight: &Flight,
        (origin, conn): (usize, u32),
        list: u8,
    ) -> FlightId {
        let (slot, generation) = flights.take_by(|| Bound {
            origin: origin as u8,
            conn,
            list,
            is_abandoned: false,
            is_timed: false,
            flight: *flight,
        });
        // Sends of a lane come in the order of intended times but for the rare second send, so the walk from the tail is
        // short. Later attempts have lists of their own.
        let (in_flight, _) = self.list(list);
        let mut prev = in_flight.tail;
        while prev != NONE && flights[prev].flight.arrival.intended > flight.arrival.intended {
            prev = flights.prev(in_flight, prev);
        }
        flights.insert_after(in_flight, prev, slot);
        FlightId { slot, generation }
    }
}

impl<L: Load> Dispatch<L> {
    /// The arrival of a flight that is under way.
    #[inline]
    pub fn arrival(&self, id: FlightId) -> Option<&Arrival> {
        self.resolve(id).map(|slot| &self.flights[slot].flight.arrival)
    }

    /// The arrival of a flight that is under way, if its end is still awaited.
    pub fn awaited(&self, id: FlightId) -> Option<&Arrival> {
        let bound = &self.flights[self.resolve(id)?];
        (!bound.is_abandoned).then_some(&bound.flight.arrival)
    }

    /// The flight whose arrival should have started first, and when that was.
    pub(super) fn oldest(&self) -> Option<(Instant, u32)> {
        let mut oldest: Option<(Instant, u32)> = None;
        for lane in &self.lanes {
            for list in lane.in_flight().iter().filter(|list| !list.is_empty()) {
                let intended = self.flights[list.head].flight.arrival.intended;
                if oldest.is_none_or(|(before, _)| intended < before) {
                    oldest = Some((intended, list.head));
                }
            }
        }
        oldest
    }

    /// `flight` is under way on its journey's own connection. `waited` says whether it waited for that connection.
    pub(super) fn take_off_alone(
        &mut self,
        flight: &Flight,
        origin: usize,
        conn: u32,
        waited: bool,
    ) -> FlightId {
        let Dispatch { lanes, flights, .. } = self;
        let lane = &mut lanes[origin];
        let list = if waited { lane.waited() } else { lane.round(flight.repeats) };
        let id = lane.list_flight(flights, flight, (origin, conn), list);
        lane.connections.take_own_place(conn, flights, id.slot);
        id
    }

    #[inline(always)] // for each request
    pub(super) fn sent(&mut self, id: FlightId, now: Instant, rec: &mut Recorder) {
        let bound = self.flights.tenant_mut(id.slot, id.generation).filter(|bound| !bound.is_abandoned);
        let Some(Bound { origin, conn, flight, .. }) = bound else { return };
        flight.address = rec.address_of(usize::from(*origin), *conn);
        if flight.sent.is_none() {
            (flight.sent, flight.attempt) = (Some(now), Some(now));
            rec.sent(flight);
        } else if flight.attempt.is_none() {
            flight.attempt = Some(now);
            flight.late_again += now.since(flight.ready);
            rec.sent_again(flight);
        } else {
            rec.connections(usize::from(*origin)).resent += 1;
        }
        if self.retrying.is_some() {
            self.time_attempt(id.slot);
        }
    }

    /// What arrives of the answer to a flight that was given up is ignored.
    #[inline(never)]
    pub(super) fn heard(&mut self, id: FlightId, events: Events, now: Instant, rec: &mut Recorder) {
        let Some(slot) = self.resolve(id).filter(|&slot| !self.flights[slot].is_abandoned) else { return };
        rec.heard(&mut self.flights[slot].flight, events, now);
    }

    #[inline]
    pub(super) fn answered(
        &mut self,
        id: FlightId,
        answer: &Answer,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) {
        let Some(slot) = self.resolve(id) else { return };
        let Bound { origin, conn, is_abandoned, .. } = &self.flights[slot];
        let (origin, conn) = (usize::from(*origin), *conn);
        if !is_abandoned {
            self.answers += 1;
            let checked;
            let answer = match answer.then {
                Then::Redirected(_) => {
                    checked = self.followed_or_failed(slot, answer);
                    &checked
                }
                _ => answer,
            };
            if answer.failure.is_none() || !self.is_answer_repeated(slot, answer, now, rec) {
                let Bound { flight, .. } = &self.flights[slot];
                let outcome = rec.answered(flight, conn, answer, now);
                match &mut self.load {
                    None => {}
                    Some(load) => match answer.then {
                        Then::NotYet if outcome == Outcome::Ok => load.not_yet(&flight.arrival, now, rec),
                        Then::Redirected(operation) if outcome == Outcome::Ok => {
                            load.redirected(&flight.arrival, operation, now, rec);
                        }
                        _ => load.ended(&flight.arrival, outcome, now, rec),
                    },
                }
            }
        }
        let mut is_retired = false;
        self.free(slot, now, |on| {
            (on.reused, on.leaves_open) = (true, answer.leaves_open);
            is_retired = on.is_retired;
        });
        if is_retired || !answer.reusable {
            self.lanes[origin].connections.retire(conn, now);
            self.close_if_over(origin, conn, now, out, rec);
        }
    }

    pub(super) fn lost(
        &mut self,
        id: FlightId,
        loss: Loss,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) {
        let Some(slot) = self.resolve(id) else { return };
        let Bound { origin, conn, .. } = self.flights[slot];
        if let Some(flight) = self.land(slot, now) {
            self.send_again_or_fail(flight, conn, loss.kind, loss.unprocessed, now, rec);
        }
        self.close_if_over(usize::from(origin), conn, now, out, rec);
    }

    /// Nothing can be cancelled any more. A connection whose places are all stuck is of no use.
    pub(super) fn kept(&mut self, id: FlightId, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        let Some(slot) = self.resolve(id) else { return };
        let Bound { origin, conn, .. } = self.flights[slot];
        let origin = usize::from(origin);
        if self.lanes[origin].connections.at(conn).is_stuck() {
            rec.connections(origin).closed_on_timeout += 1;
            self.abort(origin, conn, now, out);
        }
    }

    pub(super) fn closed(&mut self, id: ConnId, closing: Closing, now: Instant, rec: &mut Recorder) {
        let origin = usize::from(id.origin);
        let connections = &self.lanes[origin].connections;
        let Some(slot) = connections.resolve(id) else { return };
        let conn = *connections.at(slot);
        if !conn.is_open {
            return self.connect_failed(id, closing.kind, now, rec);
        }
        count_end(&conn, origin, rec, |counts| &mut counts.closed_by_target);
        let died = matches!(closing.kind, FailureKind::RESET | FailureKind::CLOSED_EARLY);
        // A connection that took one at a time was idle before (RFC 9112 §9.3.1). Of several nobody knows which were looked at.
        let was_idle = self.policy.room.places == 1 && conn.reused;
        while let Some(flight) = self.first_of(origin, slot) {
            let Some(flight) = self.land(flight, now) else { continue };
            let operation = flight.arrival.operation as usize;
            let idempotent = self.policy.idempotent.get(operation).copied().unwrap_or(false);
            let again = was_idle && idempotent && died && !closing.answered;
            self.send_again_or_fail(flight, slot, closing.kind, again, now, rec);
        }
        self.end_connection(origin, slot, Some(closing.kind), now);
    }

    /// The flight has taken too long. Its connection goes on if the request can be cancelled, or if another request
    /// still finds a place.
    pub(super) fn abandon(&mut self, slot: u32, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        let Bound { conn, flight, .. } = self.flights[slot];
        let outcome = rec.timed_out(&flight, conn, now);
        self.ended(&flight, outcome, now, rec);
        self.let_go(slot, now, out, rec);
    }

    /// Nobody waits for the answer to this flight any more.
    pub(super) fn let_go(&mut self, slot: u32, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        self.forget_attempt(slot);
        let Bound { origin, conn, list, .. } = self.flights[slot];
        let origin = usize::from(origin);
        let (in_flight, connections) = self.lanes[origin].list(list);
        self.flights.unlink(in_flight, slot);
        self.flights[slot].is_abandoned = true;
        connections.at_mut(conn).abandoned += 1;
        let connections = &self.lanes[origin].connections;
        if self.policy.room.cancels {
            let flight = FlightId { slot, generation: self.flights.generation(slot) };
            out.push(Action::Cancel { conn: connections.id(conn), flight });
        } else if connections.at(conn).is_stuck() {
            rec.connections(origin).closed_on_timeout += 1;
            self.abort(origin, conn, now, out);
        }
    }

    /// Ends all flights, because the run ends.
    pub(super) fn end_flights(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        while let Some((_, slot)) = self.oldest() {
            let Bound { origin, conn, .. } = self.flights[slot];
            let origin = usize::from(origin);
            let Some(flight) = self.land(slot, now) else { return };
            self.end_unanswered(&flight, conn, None, now, rec);
            let left = self.lanes[origin].connections.at(conn);
            if left.flights.len == left.abandoned {
                // This is the last flight of the connection. Those before it were later still.
                let is_late = self.is_late(&flight.arrival, now);
                rec.connections(origin).closed_on_timeout += u64::from(is_late);
                self.abort(origin, conn, now, out);
            }
        }
    }

    /// `flight` ended without an answer: it failed, or (without a kind) the run ended first. If it had already taken
    /// too long, it counts as timed out, whatever else happened to it before anyone looked.
    pub(super) fn end_unanswered(
        &mut self,
        flight: &Flight,
        conn: u32,
        failed: Option<FailureKind>,
        now: Instant,
        rec: &mut Recorder,
    ) {
        let outcome = match failed {
            _ if self.is_late(&flight.arrival, now) => rec.timed_out(flight, conn, now),
            Some(kind) => rec.failed(flight, conn, kind, None, now),
            None => rec.cut_off(flight, conn, now),
        };
        self.ended(flight, outcome, now, rec);
    }

    /// Tells the load which arrival ended and how: a user comes again, or a journey goes on or ends.
    pub(super) fn ended(&mut self, flight: &Flight, outcome: Outcome, now: Instant, rec: &mut Recorder) {
        if let Some(load) = &mut self.load {
            load.ended(&flight.arrival, outcome, now, rec);
        }
    }

    fn send_again_or_fail(
        &mut self,
        flight: Flight,
        conn: u32,
        kind: FailureKind,
        again: bool,
        now: Instant,
        rec: &mut Recorder,
    ) {
        // What went before it on a connection that is held is gone with that.
        let again = again && !(flight.arrival.follows() && self.holds(&flight.arrival));
        if again && !flight.resent && !self.is_late(&flight.arrival, now) {
            let origin = self.policy.origins.of(flight.arrival.operation);
            let lane = &mut self.lanes[origin];
            let own = lane.own.as_mut().filter(|_| flight.is_alone);
            let line = own.map_or(&mut lane.resend, |own| &mut own.resend);
            line.push_back(Flight { resent: true, ..flight });
        } else if !self.is_tried_again(&flight, RetryCause::Failed(kind), None, now, rec) {
            self.end_unanswered(&flight, conn, Some(kind), now, rec);
        }
    }

    /// If an answer redirects its arrival more often than allowed, it is a failure.
    #[cold]
    fn followed_or_failed(&self, slot: u32, answer: &Answer) -> Answer {
        let may_follow = |load: &L| load.may_follow(&self.flights[slot].flight.arrival);
        match self.load.as_ref().is_some_and(may_follow) {
            true => *answer,
            false => Answer {
                failure: answer.failure.or(Some(FailureKind::TOO_MANY_REDIRECTS)),
                then: Then::Done,
                ..*answer
            },
        }
    }

    /// Whether the arrival of the flight at `slot` goes on after its failed answer.
    #[cold]
    fn is_answer_repeated(&mut self, slot: u32, answer: &Answer, now: Instant, rec: &mut Recorder) -> bool {
        let flight = self.flights[slot].flight;
        let tried_again =
            |kind| self.is_tried_again(&flight, RetryCause::Failed(kind), answer.code, now, rec);
        answer.failure.is_some_and(tried_again)
    }

    #[inline]
    pub(super) fn resolve(&self, id: FlightId) -> Option<u32> {
        self.flights.holds(id.slot, id.generation).then_some(id.slot)
    }

    /// The lane of a connection.
    pub(super) fn lane(&mut self, id: ConnId) -> &mut Lane {
        &mut self.lanes[usize::from(id.origin)]
    }

    fn first_of(&self, origin: usize, conn: u32) -> Option<u32> {
        let slot = self.lanes[origin].connections.at(conn).flights.head;
        (slot != NONE).then_some(slot)
    }

    /// Takes a flight off its connection. Returns `None` if it was given up before.
    pub(super) fn land(&mut self, slot: u32, now: Instant) -> Option<Flight> {
        let Bound { is_abandoned, flight, .. } = self.flights[slot];
        self.free(slot, now, |_| {});
        (!is_abandoned).then_some(flight)
    }

    /// Frees the place of a flight. What it leaves on its connection is noted by `note`.
    #[inline(always)]
    fn free(&mut self, slot: u32, now: Instant, note: impl FnOnce(&mut Connection)) {
        self.forget_attempt(slot);
        let Bound { origin, conn, list, is_abandoned, .. } = self.flights[slot];
        let (in_flight, connections) = self.lanes[usize::from(origin)].list(list);
        if !is_abandoned {
            self.flights.unlink(in_flight, slot);
        }
        connections.free_place(conn, &mut self.flights, slot, now, |conn| {
            conn.abandoned -= u32::from(is_abandoned);
            note(conn);
        });
        self.flights.release(slot);
    }

    /// Closes a connection that takes no more requests and has none.
    pub(super) fn close_if_over(
        &mut self,
        origin: usize,
        slot: u32,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) {
        let connections = &mut self.lanes[origin].connections;
        let conn = connections.at(slot);
        if conn.is_retired && conn.flights.is_empty() {
            count_end(conn, origin, rec, |counts| match conn {
                Connection { is_aged: true, .. } => &mut counts.closed_by_age,
                Connection { gives_way: true, .. } => &mut counts.closed_to_spread,
                // The target goes on with it; a transaction that nobody goes on with is to be undone.
                Connection { leaves_open: true, .. } => &mut counts.closed_open,
                _ => &mut counts.closed_by_target,
            });
            out.push(Action::Close(connections.id(slot), CloseKind::Graceful));
            self.end_connection(origin, slot, None, now);
        } else if conn.abandoned > 0 && conn.is_stuck() && !self.policy.room.cancels {
            rec.connections(origin).closed_on_timeout += 1;
            self.abort(origin, slot, now, out);
        }
    }

    /// Closes a connection whose flights were all given up.
    pub(super) fn abort(&mut self, origin: usize, slot: u32, now: Instant, out: &mut Actions) {
        while let Some(flight) = self.first_of(origin, slot) {
            self.land(flight, now);
        }
        let connections = &mut self.lanes[origin].connections;
        out.push(Action::Close(connections.id(slot), CloseKind::Abort));
        self.end_connection(origin, slot, None, now);
    }
}
