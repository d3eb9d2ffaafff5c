//! Where the connections to one origin go.

use crate::addresses::{AddressCounts, Addresses};
use crate::directory::Directory;
use crate::target::{Address, Target};
use std::sync::Arc;
use unblink_core::record::AddressRecord;

/// The addresses of an origin, and the local ones that connections to it come from.
pub(super) struct Way {
    pub(super) addresses: Addresses,
    /// There are several of them, in this worker or in all, or there may come to be.
    pub(super) has_several: bool,
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
            addresses: Addresses::new(own.as_ref().unwrap_or(&target.addresses), worker),
            has_several: match own {
                Some(_) => workers > 1,
                None => target.addresses.len() > 1 || target.refresh.is_some(),
            },
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

    /// `arrivals` by the number of the address.
    pub(super) fn into_counts(self, arrivals: Vec<AddressRecord>) -> Vec<(Address, AddressCounts)> {
        self.addresses.into_counts(arrivals)
    }
}
