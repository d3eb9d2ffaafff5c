//! Sending requests to nodes that have what they ask for.

use super::Worker;
use unblink_core::dispatch::{Action, ConnId, FlightId};
use unblink_core::load::Load;
use unblink_core::time::Instant;
use unblink_wire::blank::Filler;
use unblink_wire::protocol::Protocol;

/// Of so many connections, one is opened elsewhere in a second.
const EVENED_OUT_OF: usize = 16;

impl<L: Load, P: Protocol> Worker<L, P> {
    /// Takes a flight that is about to be sent from the connection that it is bound to, to the least loaded of those that lead to where
    /// its arrival's row is. If none of them has room, it stays. Gives the connection that it is bound to now.
    #[inline(never)]
    pub(super) fn route(
        &mut self,
        id: ConnId,
        flight: FlightId,
        operation: u32,
        filler: &mut impl Filler,
    ) -> ConnId {
        let way = &mut self.ways[usize::from(id.origin)];
        if way.routes.is_none() {
            return id;
        }
        way.look_up();
        let (Some(routes), Some(recorder)) = (&way.routes, &mut self.recorder) else { return id };
        let counts = recorder.connections(usize::from(id.origin));
        let Some(conn) = self.conns.get_mut(id) else { return id };
        let request = &self.job.operations[operation as usize];
        let Some(token) = conn.protocol().token(&mut self.common.of_protocol, request, filler) else {
            counts.without_key += 1;
            return id;
        };
        counts.routed += 1;
        // It has the least loaded connection of all.
        if routes.is_replica(token, conn.attempt().address) {
            return id;
        }
        let dispatch = &mut self.dispatch;
        let with_room = routes.leading_to(token).filter_map(|to| Some((dispatch.load_of(to)?, to)));
        if let Some((_, to)) = with_room.min_by_key(|(load, _)| *load) {
            dispatch.rebind(flight, to);
            return to;
        }
        // What is bound there and not sent yet may want to be elsewhere.
        let is_later =
            |action: &&mut Action| !matches!(action, Action::Send { flight: one, .. } if *one == flight);
        for action in self.actions.iter_mut().skip_while(is_later).skip(1) {
            if let Action::Send { conn: its, flight: other, .. } = action
                && its.origin == id.origin
                && self
                    .conns
                    .get_mut(*its)
                    .is_some_and(|conn| routes.is_replica(token, conn.attempt().address))
            {
                dispatch.exchange(flight, *other);
                return std::mem::replace(its, id);
            }
        }
        counts.routed -= 1;
        counts.missed += 1;
        id
    }

    /// A request that says nothing of where its row is.
    pub(super) fn note_without_key(&mut self, id: ConnId) {
        let origin = usize::from(id.origin);
        if let Some(recorder) = self.recorder.as_mut().filter(|_| self.ways[origin].routes.is_some()) {
            recorder.connections(origin).without_key += 1;
        }
    }

    /// Once a second: where a node has fewer connections than others since it came, others give way, a few at a time.
    #[inline(never)]
    pub(super) fn even_out(&mut self, now: Instant) {
        for origin in 0..self.ways.len() {
            let way = &mut self.ways[origin];
            way.look_up();
            let Some(routes) = &mut way.routes else { continue };
            let Some(recorder) = &mut self.recorder else { continue };
            for _ in 0..routes.usable().div_ceil(EVENED_OUT_OF) {
                let Some((id, address)) = routes.surplus() else { break };
                routes.rests(id, address);
                self.dispatch.give_way(id, now, &mut self.actions, recorder);
            }
        }
        self.act();
    }
}
