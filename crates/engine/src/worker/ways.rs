//! Where the connections to one origin go.

use super::routes::Routes;
use crate::addresses::{AddressCounts, Addresses};
use crate::directory::Directory;
use crate::target::{Address, Target};
use std::sync::Arc;
use unblink_core::dispatch::ConnId;
use unblink_core::failure::FailureKind;
use unblink_core::record::AddressRecord;
use unblink_core::time::Instant;

/// The addresses of an origin, and the local ones that connections to it come from.
pub(super) struct Way {
    pub(super) addresses: Addresses,
    /// There are several of them, in this worker or in all, or there may come to be.
    pub(super) has_several: bool,
    /// Nothing where a script has said where its connections go.
    directory: Option<Arc<Directory>>,
    directory_seen: u64,
    slots_per_source: Option<u32>,
    /// Where connections lead to nodes that have different things.
    pub(super) routes: Option<Box<Routes>>,
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
            addresses: Addresses::new(own.as_ref().unwrap_or(&target.addresses), worker),
            has_several: match own {
                Some(_) => workers > 1,
                None => target.addresses.len() > 1 || target.refresh.is_some() || target.routing.is_some(),
            },
            directory: own.is_none().then_some(directory),
            directory_seen: 0,
            routes: target.routing.as_ref().map(|routing| Box::new(Routes::new(routing.clone(), worker))),
            slots_per_source: target.per_source.map(|n| (n / workers).max(1)),
        }
    }

    /// Heeds what the origin's name says now.
    pub(super) fn look_up(&mut self) {
        let directory = self.directory.as_ref();
        if let Some(addresses) = directory.and_then(|directory| directory.changed(&mut self.directory_seen)) {
            self.addresses.replace(&addresses);
        }
        if let Some(routes) = &mut self.routes {
            routes.look_up(&mut self.addresses);
        }
    }

    /// The number of the address for the next connection.
    pub(super) fn next(&mut self, now: Instant) -> u32 {
        let poorest = self.routes.as_ref().and_then(|routes| routes.poorest());
        poorest.unwrap_or_else(|| self.addresses.next(now))
    }

    /// The same for one that could not be opened at `failed`.
    pub(super) fn after(&self, failed: u32) -> u32 {
        let poorest = self.routes.as_ref().and_then(|routes| routes.poorest());
        poorest.filter(|&address| address != failed).unwrap_or_else(|| self.addresses.after(failed))
    }

    /// No connection could be opened at the address with this number.
    pub(super) fn failed(&mut self, address: u32, kind: FailureKind) {
        self.addresses.count_failed(address, kind);
        self.fails(address, kind);
    }

    /// The same of a node that let a connection begin.
    pub(super) fn fails(&mut self, address: u32, kind: FailureKind) {
        if let Some(routes) = self.routes.as_mut().filter(|_| !kind.is_local()) {
            routes.failed(address, self.addresses.at(address));
        }
    }

    /// A connection to the address with this number takes requests.
    pub(super) fn opened(&mut self, id: ConnId, address: u32) {
        self.addresses.count(address);
        if let Some(routes) = &mut self.routes {
            routes.opened(id, address);
        }
    }

    /// The local address for a connection: slots are taken from the lowest on, so that no address has more connections
    /// than its share.
    pub(super) fn source(&self, slot: u32) -> u32 {
        self.slots_per_source.map_or(0, |n| slot / n)
    }

    /// `arrivals` by the number of the address.
    pub(super) fn into_counts(self, arrivals: Vec<AddressRecord>) -> Vec<(Address, AddressCounts)> {
        self.addresses.into_counts(arrivals)
    }
}
