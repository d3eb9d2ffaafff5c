//! Where the connections to one origin go.

use crate::addresses::{AddressCounts, Addresses};
use crate::directory::Directory;
use crate::target::{Address, Target};
use std::sync::Arc;

/// The addresses of an origin, and the local ones that connections to it come from.
pub(super) struct Way {
    pub(super) addresses: Addresses,
    directory: Arc<Directory>,
    directory_seen: u64,
    slots_per_source: Option<u32>,
}

impl Way {
    /// For one of so many workers.
    pub(super) fn new(target: &Target, directory: Arc<Directory>, worker: usize, workers: u32) -> Way {
        Way {
            addresses: Addresses::new(&target.addresses, worker),
            directory,
            directory_seen: 0,
            slots_per_source: target.per_source.map(|n| (n / workers).max(1)),
        }
    }

    /// Heeds what the origin's name says now.
    pub(super) fn look_up(&mut self) {
        if let Some(addresses) = self.directory.changed(&mut self.directory_seen) {
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
