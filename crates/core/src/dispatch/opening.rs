//! Connections: when one more is opened, and what comes of it.

use super::connections::Whose;
use super::{Action, Actions, CloseKind, ConnId, ConnectTimes, Dispatch, OPENS_PER_TICK_MAX};
use crate::failure::FailureKind;
use crate::load::Load;
use crate::record::{Flight, Recorder, RetryCause};
use crate::time::{Instant, Nanos};

/// The pause after a connection for which this machine had no port or descriptor.
const LOCAL_LIMIT_PAUSE: Nanos = Nanos::from_millis(100);

impl<L: Load> Dispatch<L> {
    pub(super) fn connected(
        &mut self,
        id: ConnId,
        times: ConnectTimes,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) {
        let connections = &mut self.lane(id).connections;
        let Some(slot) = connections.resolve(id) else { return };
        let places = connections.places_once_open(slot);
        connections.opened(slot, now);
        rec.allowed(usize::from(id.origin), places);
        rec.connected(usize::from(id.origin), times.connect, times.tls);
        // Whoever still waits goes over this one.
        self.lanes[usize::from(id.origin)].failing = None;
        self.socket_opened(usize::from(id.origin), slot, now, out, rec);
        // It may have been told so meanwhile.
        self.close_if_over(usize::from(id.origin), slot, now, out, rec);
    }

    pub(super) fn connect_failed(&mut self, id: ConnId, kind: FailureKind, now: Instant, rec: &mut Recorder) {
        let origin = usize::from(id.origin);
        let connections = &mut self.lanes[origin].connections;
        let Some(slot) = connections.resolve(id) else { return };
        let (was_owed, whose) = (connections.at(slot).is_owed, connections.at(slot).whose);
        let owner = connections.at(slot).owner;
        connections.give_up_opening(slot, now);
        let local = kind.is_local();
        let counts = &mut rec.connections(origin);
        counts.failed += 1;
        counts.refused += u64::from(kind == FailureKind::CONNECT_REFUSED);
        counts.local_limit += u64::from(local);
        if kind == FailureKind::CONNECT_TIMEOUT {
            connections.slow_down_opening();
        }
        // This machine's limit is not the target's fault: the arrival waits, as at the pool's limit, and another attempt is made
        // a little later.
        let waits = local && connections.total() > 0;
        if waits {
            connections.blocked_until = Some(now + LOCAL_LIMIT_PAUSE);
        }
        if let Some(owner) = owner {
            return self.socket_not_opened(origin, owner, (!waits).then_some(kind), now, rec);
        }
        if waits {
            return;
        }
        if connections.pace.is_some() {
            return self.fail_together(origin, whose, kind, now, rec);
        }
        if was_owed && connections.total() > 0 {
            // No arrival has asked for it.
            return;
        }
        // The failed attempt costs an arrival that still had time.
        self.expire_waiting(origin, now, rec);
        let flight = match whose {
            Whose::Everybody => self.take_waiting(origin),
            _ => {
                self.expire_own(origin, now, rec);
                self.take_for_own(origin)
            }
        };
        if let Some(flight) = flight {
            let flight = Flight { unaccepted: !local, ..flight };
            if !self.is_tried_again(&flight, RetryCause::Failed(kind), None, now, rec) {
                self.end_unanswered(&flight, 0, Some(kind), now, rec);
            }
        }
    }

    /// Opens connections for what waits, a few per tick and so per turn of the loop. Answers that are already there
    /// free connections more cheaply: opening one costs the generator as much as several requests. Without this bound,
    /// a burst makes a busy generator open ever more connections instead of catching up.
    ///
    /// The more answers a turn brought, the fewer connections it opens, but at least one. Only an overloaded loop has
    /// many answers in a turn. There the pool grows by one a turn while connections come free, and at full speed when
    /// they don't, as in a stall. A loop with time to spare takes another turn at once, and nobody waits for it.
    pub(super) fn open_connections(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        let answers = std::mem::take(&mut self.answers);
        for _ in 0..OPENS_PER_TICK_MAX.saturating_sub(answers).max(1) {
            let Some((origin, whose)) = self.lane_to_open(now) else { return };
            if self.lanes[origin].sockets.is_some() {
                self.open_socket(origin, now, out, rec);
                self.first_to_open = self.lane_after(origin);
                continue;
            }
            let connections = &mut self.lanes[origin].connections;
            if let Some(idle) = connections.idle_to_swap().filter(|_| whose != Whose::Everybody) {
                rec.connections(origin).closed_unneeded += 1;
                out.push(Action::Close(connections.id(idle), CloseKind::Graceful));
                connections.end(idle, now);
            }
            rec.connections(origin).attempted += 1;
            out.push(Action::Open(connections.begin_opening(whose, None, now)));
            self.first_to_open = self.lane_after(origin);
        }
    }

    /// The lane and kind of the next connection to open. Lanes take turns.
    fn lane_to_open(&self, now: Instant) -> Option<(usize, Whose)> {
        let mut origin = self.first_to_open;
        for _ in 0..self.lanes.len() {
            if self.finished {
                return None;
            }
            if let Some(whose) = self.to_open_for(origin, now) {
                return Some((origin, whose));
            }
            origin = self.lane_after(origin);
        }
        None
    }
}
