//! Where the connections to one origin go, and how many answers come from there.

use super::Worker;
use crate::addresses::{AddressCounts, Addresses};
use crate::conn::News;
use crate::directory::Directory;
use crate::target::{Address, Target};
use std::sync::Arc;
use unblink_core::dispatch::ConnId;
use unblink_core::load::Load;
use unblink_core::time::Instant;
use unblink_wire::protocol::Protocol;

/// The addresses of an origin, and the local ones that connections to it come from.
pub(super) struct Way {
    pub(super) addresses: Addresses,
    /// Nothing where a script has said where its connections go.
    directory: Option<Arc<Directory>>,
    directory_seen: u64,
    slots_per_source: Option<u32>,
}

impl Way {
    /// For one of so many workers, which goes to `own` alone if that is given.
    pub(super) fn new(
        target: &Target,
        own: Option<&str>,
        directory: Arc<Directory>,
        worker: usize,
        workers: u32,
    ) -> Way {
        let own = own.and_then(|text| text.parse().ok()).map(|address| vec![Address::Tcp(address)]);
        Way {
            addresses: Addresses::new(
                own.as_ref().unwrap_or(&target.addresses),
                own.is_none() && target.refresh.is_some(),
                worker,
            ),
            directory: own.is_none().then_some(directory),
            directory_seen: 0,
            slots_per_source: target.per_source.map(|n| (n / workers).max(1)),
        }
    }

    /// Heeds what the origin's name says now.
    pub(super) fn look_up(&mut self) {
        let directory = self.directory.as_ref();
        if let Some(addresses) = directory.and_then(|directory| directory.changed(&mut self.directory_seen)) {
            self.addresses.replace(&addresses);
        }
    }

    /// The local address for a connection: slots are taken from the lowest on, so that no address has more connections
    /// than its share.
    pub(super) fn source(&self, slot: u32) -> u32 {
        self.slots_per_source.map_or(0, |n| slot / n)
    }

    pub(super) fn into_counts(self) -> Vec<(Address, AddressCounts)> {
        self.addresses.into_counts()
    }
}

impl<L: Load, P: Protocol> Worker<L, P> {
    /// Counts what the connection has heard by its address, before the dispatcher learns of it and forgets whose it is.
    pub(super) fn count_by_address(&mut self, id: ConnId, now: Instant) {
        let Some(address) = self.conn(id).map(|conn| conn.attempt().address) else { return };
        let measured_from = self.start + self.job.plan.measured_from();
        let timeout = self.job.plan.spec().timeout;
        for news in &self.common.hearing.news {
            let News::Answered(flight, answer) = news else { continue };
            let Some(arrival) = self.dispatch.awaited(*flight) else { continue };
            let response = now.since(arrival.intended);
            if arrival.intended >= measured_from && response <= timeout {
                let addresses = &mut self.ways[usize::from(id.origin)].addresses;
                addresses.answered(address, answer.failure.is_none(), response);
            }
        }
    }
}
