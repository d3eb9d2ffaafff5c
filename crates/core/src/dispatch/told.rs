//! What a connection says of itself: how much it takes, that it takes no more, and what nobody can make sense of.

use super::connections::Connection;
use super::{Actions, ConnId, Dispatch};
use crate::load::Load;
use crate::record::{Breach, ConnectionCounts, Recorder};
use crate::time::Instant;

impl<L: Load> Dispatch<L> {
    pub(super) fn room(
        &mut self,
        id: ConnId,
        places: u32,
        now: Instant,
        out: &mut Actions,
        rec: &mut Recorder,
    ) {
        let connections = &mut self.lane(id).connections;
        let Some(slot) = connections.resolve(id) else { return };
        connections.set_room(slot, places, now);
        let most = connections.places();
        let origin = usize::from(id.origin);
        rec.connections(origin).allowed_none += u64::from(places == 0);
        if self.lanes[origin].connections.at(slot).is_open {
            rec.allowed(origin, places.min(most));
            self.close_if_over(origin, slot, now, out, rec);
        }
    }

    /// This may come before the connection is open, which then ends as soon as it is.
    pub(super) fn retired(&mut self, id: ConnId, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        let connections = &mut self.lane(id).connections;
        let Some(slot) = connections.resolve(id) else { return };
        let conn = connections.at(slot);
        let (is_open, is_socket) = (conn.is_open, conn.owner.is_some());
        // A journey's WebSocket is opened for one step, which is sent on it and fails with it.
        if is_open || !is_socket {
            connections.retire(slot, now);
        }
        if is_open {
            // Whatever was open there, the target undoes it.
            connections.at_mut(slot).leaves_open = false;
            self.close_if_over(usize::from(id.origin), slot, now, out, rec);
        }
    }

    /// Nothing more is sent on it. It ends when what came before that is told, or with [`super::Event::Closed`].
    pub(super) fn broken(&mut self, id: ConnId, breach: Breach, now: Instant) {
        let connections = &mut self.lane(id).connections;
        let Some(slot) = connections.resolve(id).filter(|&slot| connections.at(slot).is_open) else { return };
        connections.retire(slot, now);
        connections.at_mut(slot).breach = Some(breach);
    }
}

/// Counts the end of an open connection to `origin`: of its breach of the protocol, or else as `otherwise` says.
pub(super) fn count_end(
    conn: &Connection,
    origin: usize,
    rec: &mut Recorder,
    otherwise: impl FnOnce(&mut ConnectionCounts) -> &mut u64,
) {
    match conn.breach {
        Some(breach) => rec.counters().closed_broken(origin, breach),
        None => *otherwise(rec.connections(origin)) += 1,
    }
}
