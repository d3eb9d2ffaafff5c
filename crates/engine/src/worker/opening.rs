//! Opening connections, at one address of the target after the other.

use super::Worker;
use super::acting::Deferred;
use crate::conn::{Attempt, Conn, kind_of_connect_error};
use rustix::event::epoll::{self, EventData, EventFlags};
use unblink_core::dispatch::ConnId;
use unblink_core::failure::FailureKind;
use unblink_core::load::Load;
use unblink_wire::protocol::Protocol;

impl<L: Load, P: Protocol> Worker<L, P> {
    pub(super) fn open(&mut self, id: ConnId) {
        let began = self.pacer.watch().now();
        if let Some(addresses) = self.directory.changed(&mut self.directory_seen) {
            self.addresses.replace(&addresses);
        }
        // Slots are taken from the lowest on, so that no source has more connections than its share.
        let source = self.slots_per_source.map_or(0, |n| id.slot / n);
        let attempt = Attempt { address: self.addresses.next(began), source, tried: 0, began };
        if let Err(kind) = self.connect(id, attempt) {
            self.deferred.push_back(Deferred::NotOpened(id, kind));
        }
    }

    fn connect(&mut self, id: ConnId, attempt: Attempt) -> Result<(), FailureKind> {
        let conn = Conn::begin(&self.job, self.addresses.at(attempt.address), id.generation, attempt)
            .map_err(|error| kind_of_connect_error(&error))
            .and_then(|conn| {
                let token = u64::from(id.generation) << 32 | u64::from(id.slot);
                let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
                epoll::add(self.pacer.epoll(), conn.fd(), EventData::new_u64(token), flags)
                    .map_err(|_| FailureKind::NO_FILE_DESCRIPTOR)?;
                Ok(conn)
            });
        match conn {
            Ok(conn) => {
                let slot = id.slot as usize;
                if self.conns.len() <= slot {
                    self.conns.resize_with(slot + 1, || None);
                }
                self.conns[slot] = Some(conn);
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
        self.addresses.count_failed(failed.address, kind);
        if kind.is_local() || failed.tried + 1 >= self.addresses.len() {
            return Err(kind);
        }
        self.addresses.avoid(failed.address, self.pacer.watch().now());
        let address = self.addresses.after(failed.address);
        self.connect(id, Attempt { address, tried: failed.tried + 1, ..failed })
    }
}
