//! What has taken too long: flights, connection attempts, waiting arrivals.

use super::slab::NONE;
use super::{
    Action, Actions, CloseKind, Dispatch, EXPIRIES_PER_CALL_MAX, IDLE_CLOSED_PER_TICK_MAX, IDLE_MAX, Pool,
    TIMEOUTS_PER_CALL_MAX,
};
use crate::arrival::Arrival;
use crate::failure::FailureKind;
use crate::load::Load;
use crate::record::{Flight, Recorder};
use crate::time::Instant;

impl<L: Load> Dispatch<L> {
    pub(super) fn is_late(&self, arrival: &Arrival, now: Instant) -> bool {
        now.since(arrival.intended) > self.policy.timeout
    }

    /// `flight` ended without an answer: it failed, or (without a kind) the run ended first. If it had taken too
    /// long already it is timed out, whatever else befell it before anyone looked.
    pub(super) fn end_unanswered(
        &mut self,
        flight: &Flight,
        slot: u32,
        failed: Option<FailureKind>,
        now: Instant,
        rec: &mut Recorder,
    ) {
        let outcome = match failed {
            _ if self.is_late(&flight.arrival, now) => rec.timed_out(flight, slot, 0, now),
            Some(kind) => rec.failed(flight, slot, kind, 0, now),
            None => rec.cut_off(flight, slot, now),
        };
        self.ended(flight, outcome, now);
    }

    pub(super) fn expire_flights(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        for _ in 0..TIMEOUTS_PER_CALL_MAX {
            let slot = self.flights.head;
            if slot == NONE || now.since(self.slab.at(slot).flight.arrival.intended) <= self.policy.timeout {
                return;
            }
            let flight = self.end_flight(slot);
            let outcome = rec.timed_out(&flight, slot, 0, now);
            self.ended(&flight, outcome, now);
            rec.counters().connections.closed_on_timeout += 1;
            out.push(Action::Close(self.slab.id(slot), CloseKind::Abort));
            self.slab.release(slot);
        }
        self.more_to_do = true;
    }

    pub(super) fn expire_opening(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        for _ in 0..TIMEOUTS_PER_CALL_MAX {
            let slot = self.opening.head;
            if slot == NONE || now.since(self.slab.at(slot).since) <= self.policy.timeout {
                return;
            }
            self.slab.unlink(&mut self.opening, slot);
            rec.counters().connections.failed += 1;
            self.slow_down_opening();
            out.push(Action::Close(self.slab.id(slot), CloseKind::Abort));
            self.slab.release(slot);
        }
        self.more_to_do = true;
    }

    /// Idle connections are taken newest first, so that the oldest has been one too many since it became idle. The
    /// last one is kept: a load of few arrivals would open one for each.
    pub(super) fn unneeded_at(&self) -> Option<Instant> {
        let shrinks = matches!(self.policy.pool, Pool::Auto { .. }) && self.idle.len > 1;
        shrinks.then(|| self.slab.at(self.idle.tail).since + IDLE_MAX)
    }

    /// Closes what has become unneeded, a few at a time.
    pub(super) fn close_unneeded(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        for _ in 0..IDLE_CLOSED_PER_TICK_MAX {
            if self.unneeded_at().is_none_or(|at| now < at) {
                return;
            }
            let slot = self.idle.tail;
            self.slab.unlink(&mut self.idle, slot);
            rec.counters().connections.closed_unneeded += 1;
            out.push(Action::Close(self.slab.id(slot), CloseKind::Graceful));
            self.slab.release(slot);
        }
    }

    /// Waiting arrivals whose time is over. The queue of second sends is nearly in order: its front
    /// decides, and each is also looked at when it is about to be sent.
    pub(super) fn expire_waiting(&mut self, now: Instant, rec: &mut Recorder) {
        for _ in 0..EXPIRIES_PER_CALL_MAX {
            let resend = self.resend.front().is_some_and(|f| self.is_late(&f.arrival, now));
            let head = self.load.as_ref().and_then(Load::head).is_some_and(|a| self.is_late(&a, now));
            let flight = match (resend, head) {
                (true, _) => self.resend.pop_front(),
                (_, true) => self.take_head(),
                _ => return,
            };
            let Some(flight) = flight else { return };
            self.give_up_waiting(flight, now, rec);
        }
        self.more_to_do = true;
    }

    /// A waiting arrival has timed out.
    pub(super) fn give_up_waiting(&mut self, flight: Flight, now: Instant, rec: &mut Recorder) {
        let flight = self.with_cause(flight, now);
        let outcome = rec.timed_out(&flight, 0, 0, now);
        self.ended(&flight, outcome, now);
    }

    /// With what kept a waiting arrival from being sent, as far as that is not the generator: it had nothing left to do,
    /// or no connection was accepted for half of the timeout. A generator that is merely slow always has something left,
    /// and sees attempts succeed all the time.
    pub(super) fn with_cause(&self, flight: Flight, now: Instant) -> Flight {
        let is_silent = self.unaccepted_since.is_some_and(|at| now.since(at).0 > self.policy.timeout.0 / 2);
        let is_behind = self.behind_since.is_some_and(|at| at < now);
        Flight { unaccepted: is_silent || !is_behind, ..flight }
    }
}
