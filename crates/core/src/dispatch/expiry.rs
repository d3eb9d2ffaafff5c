//! What has taken too long: flights, connection attempts, waiting arrivals.

use super::{
    Action, Actions, CloseKind, Dispatch, EXPIRIES_PER_CALL_MAX, IDLE_CLOSED_PER_TICK_MAX,
    TIMEOUTS_PER_CALL_MAX,
};
use crate::arrival::Arrival;
use crate::load::Load;
use crate::record::{Flight, Recorder};
use crate::time::Instant;

impl<L: Load> Dispatch<L> {
    #[inline]
    pub(super) fn is_late(&self, arrival: &Arrival, now: Instant) -> bool {
        now.since(arrival.intended) > self.policy.timeout
    }

    /// Ends what has taken too long.
    #[inline(never)]
    pub(super) fn expire(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        self.expire_flights(now, out, rec);
        self.give_up_attempts(now, out, rec);
        for origin in 0..self.lanes.len() {
            if let Some(pace) = &mut self.lanes[origin].connections.pace {
                pace.look(now);
                self.fail_the_rest(origin, now, rec);
            }
            self.expire_waiting(origin, now, rec);
            if self.policy.own.is_some() {
                self.expire_own(origin, now, rec);
            }
            self.expire_opening(origin, now, out, rec);
            self.close_unneeded(origin, now, out, rec);
            if self.policy.connection_age.is_some() {
                self.retire_aged(origin, now, out, rec);
            }
        }
    }

    fn expire_flights(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        for _ in 0..TIMEOUTS_PER_CALL_MAX {
            let oldest = self.oldest().filter(|&(intended, _)| now.since(intended) > self.policy.timeout);
            let Some((_, slot)) = oldest else { return };
            self.abandon(slot, now, out, rec);
        }
        self.more_to_do = true;
    }

    pub(super) fn expire_opening(
        &mut self,
        origin: usize,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) {
        if self.lanes[origin].sockets.is_some() {
            return self.expire_sockets(origin, now, out, rec);
        }
        let connections = &mut self.lanes[origin].connections;
        for _ in 0..TIMEOUTS_PER_CALL_MAX {
            let timeout = self.policy.timeout;
            let first = connections.first_opening();
            let Some((slot, _)) = first.filter(|(_, since)| now.since(*since) > timeout) else { return };
            rec.connections(origin).failed += 1;
            connections.slow_down_opening();
            out.push(Action::Close(connections.id(slot), CloseKind::Abort));
            connections.give_up_opening(slot, now);
        }
        self.more_to_do = true;
    }

    /// Closes connections that have become unneeded, a few at a time.
    pub(super) fn close_unneeded(
        &mut self,
        origin: usize,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) {
        let connections = &mut self.lanes[origin].connections;
        for _ in 0..IDLE_CLOSED_PER_TICK_MAX {
            let Some((slot, _)) = connections.unneeded().filter(|(_, at)| *at <= now) else { return };
            rec.connections(origin).closed_unneeded += 1;
            out.push(Action::Close(connections.id(slot), CloseKind::Graceful));
            connections.end(slot, now);
        }
    }

    /// Connections that have been open long enough take no more requests, a few at a time.
    pub(super) fn retire_aged(&mut self, origin: usize, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        self.lanes[origin].connections.begin_aging(now);
        for _ in 0..IDLE_CLOSED_PER_TICK_MAX {
            let connections = &mut self.lanes[origin].connections;
            let Some((slot, _)) = connections.first_to_age().filter(|(_, at)| *at <= now) else { return };
            connections.age(slot, now);
            self.close_if_over(origin, slot, now, out, rec);
        }
    }

    /// Expires waiting arrivals that have timed out. The queues of second sends and of further attempts are nearly in
    /// order, so only their fronts are checked here. Each entry is checked again when it is about to be sent.
    pub(super) fn expire_waiting(&mut self, origin: usize, now: Instant, rec: &mut Recorder) {
        for _ in 0..EXPIRIES_PER_CALL_MAX {
            let resend = &self.lanes[origin].resend;
            let resend = resend.front().is_some_and(|f| self.is_late(&f.arrival, now));
            let again =
                self.first_ready(origin).is_some_and(|again| self.is_late(&again.flight.arrival, now));
            let oldest = self.load.as_ref().and_then(|load| load.oldest(origin));
            let flight = match (resend, again, oldest.is_some_and(|a| self.is_late(&a, now))) {
                (true, ..) => self.lanes[origin].resend.pop_front(),
                (_, true, _) => self.take_again(origin),
                (.., true) => self.take_oldest(origin),
                _ => return,
            };
            let Some(flight) = flight else { return };
            self.give_up_waiting(&flight, now, rec);
        }
        self.more_to_do = true;
    }

    /// A waiting arrival has timed out.
    #[cold]
    pub(super) fn give_up_waiting(&mut self, flight: &Flight, now: Instant, rec: &mut Recorder) {
        let flight = self.with_cause(flight, now);
        let outcome = rec.timed_out(&flight, 0, now);
        self.ended(&flight, outcome, now, rec);
    }

    /// Adds what kept a waiting arrival from being sent, if that was not the generator: the generator had nothing left
    /// to do, or no connection was accepted for half of the timeout. A generator that is merely slow always has
    /// something left to do, and sees attempts succeed all the time.
    pub(super) fn with_cause(&self, flight: &Flight, now: Instant) -> Flight {
        let lane = &self.lanes[self.policy.origins.of(flight.arrival.operation)];
        let is_silent =
            lane.connections.unaccepted_since.is_some_and(|at| now.since(at).0 > self.policy.timeout.0 / 2);
        let is_behind = lane.behind_since.is_some_and(|at| at < now);
        // No connection of ours would have been allowed more.
        let pool_full = flight.pool_full && !lane.connections.are_shut();
        Flight { pool_full, unaccepted: is_silent || !is_behind, ..*flight }
    }
}
