//! Carrying out what the dispatcher asks for.

use super::Worker;
use crate::composing::{Composing, Until};
use crate::conn::Conn;
use unblink_core::dispatch::{Action, CloseKind, Closing, ConnId, Event, FlightId, Loss};
use unblink_core::failure::FailureKind;
use unblink_core::load::Load;
use unblink_core::time::{Instant, Nanos};
use unblink_wire::blank::{Filler, NothingToFill};
use unblink_wire::protocol::Protocol;

/// An end that came of carrying out an action.
pub(super) enum Deferred {
    /// It could not be opened.
    NotOpened(ConnId, FailureKind),
    /// It was usable.
    Closed(ConnId, FailureKind),
    /// The place of a flight that was cancelled is free.
    Cancelled(FlightId),
    /// It could not be cancelled.
    Kept(FlightId),
    /// There is no row left for its arrival.
    WithoutRow(FlightId),
    /// The script has no request for its arrival.
    Unscripted(FlightId),
    /// The lease has ended before it was sent.
    Unsent(FlightId),
}

impl<L: Load, P: Protocol> Worker<L, P> {
    /// Carries out all that the dispatcher asked for.
    pub(super) fn act(&mut self) {
        self.carry_out();
        self.write_together();
    }

    /// Carries out what the dispatcher asked for, and leaves requests that share their connection to
    /// [`Worker::write_together`].
    pub(super) fn carry_out(&mut self) {
        let mut i = 0;
        while i < self.actions.len() {
            let action = &self.actions[i];
            i += 1;
            match *action {
                Action::Open(id) => self.open(id),
                Action::Send { conn, flight, operation, .. } => self.send(conn, flight, operation),
                Action::Cancel { conn, flight } => self.cancel(conn, flight),
                Action::Close(id, kind) => self.close(id, kind),
            }
        }
        self.actions.clear();
    }

    #[inline(always)]
    fn send(&mut self, id: ConnId, flight: FlightId, operation: u32) {
        match self.is_plain {
            true => self.send_filled(id, flight, operation, &mut NothingToFill),
            false => self.send_its_own(id, flight, operation),
        }
    }

    /// A request that differs from others, or of whose answer something is kept.
    #[inline(never)]
    fn send_its_own(&mut self, id: ConnId, flight: FlightId, operation: u32) {
        if self.script.is_some() {
            return self.send_scripted(id, flight, operation);
        }
        if self.common.hearing.follows_arrivals() {
            return self.send_followed(id, flight, operation);
        }
        self.send_one(id, flight, operation);
    }

    /// Some requests use what answers before them have brought, or answers are kept by arrival.
    #[inline(never)]
    fn send_followed(&mut self, id: ConnId, flight: FlightId, operation: u32) {
        let Some(&arrival) = self.dispatch.arrival(flight) else { return };
        self.common.hearing.begin_for(flight, &arrival);
        self.send_one(id, flight, operation);
        self.common.hearing.keep_for(flight, arrival.slot);
        let Worker { common, composer, job, .. } = self;
        common.hearing.note_target(flight, (operation, arrival.slot), |place, out| {
            if let (Some(composer), Some(values)) = (composer.as_mut(), &job.values) {
                composer.write(values, place, out);
            }
        });
    }

    #[inline(always)]
    fn send_one(&mut self, id: ConnId, flight: FlightId, operation: u32) {
        match &self.job.values {
            Some(values) if values.composition(operation).is_some() => {
                self.send_composed(id, flight, operation);
            }
            _ => {
                if P::ROUTES {
                    self.note_without_key(id);
                }
                self.send_filled(id, flight, operation, &mut NothingToFill);
            }
        }
    }

    #[inline(never)]
    fn send_composed(&mut self, id: ConnId, flight: FlightId, operation: u32) {
        let job = self.job.clone();
        let (Some(values), Some(mut composer)) = (&job.values, self.composer.take()) else { return };
        let arrival = self.dispatch.arrival(flight).copied().unwrap_or_default();
        let began = self.dispatch.began(&arrival);
        composer.look_up(values, &self.common.hearing.kept, &arrival);
        match Composing::begin(values, &mut composer, &job.plan, &arrival, (self.start, began)) {
            Some(mut composing) => {
                let id = if P::ROUTES { self.route(id, flight, operation, &mut composing) } else { id };
                self.send_filled(id, flight, operation, &mut composing);
            }
            None => self.deferred.push_back(Deferred::WithoutRow(flight)),
        }
        self.composer = Some(composer);
    }

    #[inline(always)]
    pub(super) fn send_filled(
        &mut self,
        id: ConnId,
        flight: FlightId,
        operation: u32,
        filler: &mut impl Filler,
    ) {
        // Only some protocols tell the target how long its answer is waited for.
        if P::DEADLINE.is_none() {
            return self.submit(id, flight, operation, filler);
        }
        let now = self.pacer.watch().last();
        let left = self.left(flight, now);
        self.submit(id, flight, operation, &mut Until { filler, left });
    }

    #[inline(always)]
    fn submit(&mut self, id: ConnId, flight: FlightId, operation: u32, filler: &mut impl Filler) {
        let Some(conn) = self.conns.get_mut(id) else { return };
        if !self.is_serial {
            conn.submit(&self.job, &mut self.common, flight, operation, filler);
            if conn.unwritten.is_empty() {
                self.unwritten.push(id);
            }
            conn.unwritten.push(flight);
            self.unwritten_requests += 1;
            return;
        }
        // The moment just before the first byte is written.
        let sent = self.pacer.watch().now();
        // The process may have been stopped in the middle of a turn.
        if !self.controls.may_send(sent) {
            return self.deferred.push_back(Deferred::Unsent(flight));
        }
        conn.submit(&self.job, &mut self.common, flight, operation, filler);
        let written = conn.write_out(&self.job);
        // Noted only now: nothing comes between that moment and the write that need not.
        if let Some(recorder) = &mut self.recorder {
            self.dispatch.handle(sent, Event::Sent(flight), &mut self.actions, recorder);
        }
        if let Err(closing) = written {
            // Rare: only a TLS session can fail here. The socket's own failures show when it is read.
            self.deferred.push_back(Deferred::Closed(id, closing.kind));
        } else if !P::TAKES_TURNS && conn.is_settled() {
            // In the next turn.
            self.read_later(id);
        }
    }

    /// How long the end of a flight is waited for from `now` on.
    pub(super) fn left(&self, flight: FlightId, now: Instant) -> Nanos {
        let timeout = self.job.plan.spec().timeout;
        self.dispatch.arrival(flight).map_or(Nanos::ZERO, |arrival| (arrival.intended + timeout).since(now))
    }

    /// Requests on one connection leave in one write.
    #[inline(always)]
    pub(super) fn write_together(&mut self) {
        if !self.unwritten.is_empty() {
            self.write_unwritten();
        }
    }

    #[inline(never)]
    fn write_unwritten(&mut self) {
        for i in 0..self.unwritten.len() {
            let id = self.unwritten[i];
            let Some(conn) = self.conns.get_mut(id).filter(|conn| conn.generation == id.generation) else {
                continue;
            };
            // The moment just before the first byte is written.
            let sent = self.pacer.watch().now();
            let written = conn.write_on(&self.job);
            for flight in conn.unwritten.drain(..) {
                if let Some(recorder) = &mut self.recorder {
                    self.dispatch.handle(sent, Event::Sent(flight), &mut self.actions, recorder);
                }
            }
            if let Err(closing) = written {
                self.deferred.push_back(Deferred::Closed(id, closing.kind));
            } else if conn.is_settled() {
                // In the next turn.
                self.read_later(id);
            }
        }
        self.unwritten.clear();
        self.unwritten_requests = 0;
    }

    fn cancel(&mut self, id: ConnId, flight: FlightId) {
        let (job, now) = (self.job.clone(), self.pacer.watch().last());
        let Some(conn) = self.conn(id) else { return };
        let is_free = conn.cancel(flight, now);
        let written = conn.write_on(&job);
        self.deferred.push_back(if is_free { Deferred::Cancelled(flight) } else { Deferred::Kept(flight) });
        if let Err(closing) = written {
            self.deferred.push_back(Deferred::Closed(id, closing.kind));
        }
    }

    pub(super) fn close(&mut self, id: ConnId, kind: CloseKind) {
        if let Some(conn) = self.conns.take_if(id, |conn| conn.generation == id.generation) {
            // Given up by the dispatcher; an attempt that has failed closes gracefully.
            if conn.is_connecting() && kind == CloseKind::Abort {
                let address = conn.attempt().address;
                let way = &mut self.ways[usize::from(id.origin)];
                way.failed(address, FailureKind::CONNECT_TIMEOUT);
                way.addresses.avoid_silent(address, self.pacer.watch().last());
            }
            if let Some(routes) = &mut self.ways[usize::from(id.origin)].routes {
                routes.ended(id, conn.attempt().address);
            }
            conn.close(kind);
        }
    }

    pub(super) fn feed_deferred(&mut self, now: Instant) {
        // Handling one may defer another; those wait for the next turn.
        for _ in 0..self.deferred.len() {
            let event = match self.deferred.pop_front() {
                None => return,
                Some(Deferred::Closed(id, kind)) => {
                    self.close(id, CloseKind::Abort);
                    Event::Closed(id, Closing { kind, answered: false })
                }
                Some(Deferred::NotOpened(id, kind)) => {
                    self.close(id, CloseKind::Abort);
                    Event::ConnectFailed(id, kind)
                }
                Some(Deferred::WithoutRow(flight)) => {
                    Event::Lost(flight, Loss { kind: FailureKind::NO_ROW, unprocessed: false })
                }
                Some(Deferred::Kept(flight)) => Event::Kept(flight),
                Some(Deferred::Unscripted(flight)) => {
                    Event::Lost(flight, Loss { kind: FailureKind::SCRIPT_FAILED, unprocessed: false })
                }
                Some(Deferred::Unsent(flight)) => Event::Unsent(flight),
                Some(Deferred::Cancelled(flight)) => {
                    Event::Lost(flight, Loss { kind: FailureKind::CLOSED_EARLY, unprocessed: false })
                }
            };
            self.handle(now, event);
        }
    }

    /// The connection, if `id` is still its name.
    pub(super) fn conn(&mut self, id: ConnId) -> Option<&mut Conn<P>> {
        self.conns.get_mut(id).filter(|conn| conn.generation == id.generation)
    }
}
