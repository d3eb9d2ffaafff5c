//! Opening connections, at one address of their origin after the other.

use super::Worker;
use super::acting::Deferred;
use super::slots::token_of;
use crate::conn::{Attempt, Conn, kind_of_connect_error};
use rustix::event::epoll::{self, EventData, EventFlags};
use unblink_core::dispatch::ConnId;
use unblink_core::failure::FailureKind;
use unblink_core::load::Load;
use unblink_wire::protocol::Protocol;

impl<L: Load, P: Protocol> Worker<L, P> {
    pub(super) fn open(&mut self, id: ConnId) {
        let began = self.pacer.watch().now();
        let way = &mut self.ways[usize::from(id.origin)];
        way.look_up();
        let (address, source) = (way.next(began), way.source(id.slot));
        let attempt = Attempt { address, source, tried: 0, began };
        if let Err(kind) = self.connect(id, attempt) {
            self.deferred.push_back(Deferred::NotOpened(id, kind));
        }
    }

    fn connect(&mut self, id: ConnId, attempt: Attempt) -> Result<(), FailureKind> {
        let origin = usize::from(id.origin);
        let address = self.ways[origin].addresses.at(attempt.address);
        let conn = Conn::begin(&self.job, origin, address, id.generation, attempt)
            .map_err(|error| kind_of_connect_error(&error))
            .and_then(|conn| {
                let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
                epoll::add(self.pacer.epoll(), conn.fd(), EventData::new_u64(token_of(id)), flags)
                    .map_err(|_| FailureKind::NO_FILE_DESCRIPTOR)?;
                Ok(conn)
            });
        match conn {
            Ok(conn) => {
                self.conns.put(id, conn);
                if let Some(routes) = &mut self.ways[origin].routes {
                    routes.begins(attempt.address);
                }
                Ok(())
            }
            Err(kind) => self.connect_elsewhere(id, attempt, kind),
        }
    }

    /// After a failure to connect: the next address of the target, as a user's client would try it, until
    /// all have failed.
    pub(super) fn connect_elsewhere(
        &mut self,
        id: ConnId,
        failed: Attempt,
        kind: FailureKind,
    ) -> Result<(), FailureKind> {
        let way = &mut self.ways[usize::from(id.origin)];
        way.failed(failed.address, kind);
        if kind.is_local() || failed.tried + 1 >= way.addresses.len() {
            return Err(kind);
        }
        way.addresses.avoid(failed.address, self.pacer.watch().now());
        let address = way.after(failed.address);
        self.connect(id, Attempt { address, tried: failed.tried + 1, ..failed })
    }
}
