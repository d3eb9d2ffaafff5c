//! What is under way, the oldest first.

use std::collections::{BTreeSet, HashMap};
use unblink_core::time::Instant;

/// Places in the books by intended time; of one time, in the order of sending.
#[derive(Default)]
pub(super) struct UnderWay {
    in_order: BTreeSet<(Instant, u64, usize)>,
    /// When each was intended, and the number of its sending.
    sendings: HashMap<usize, (Instant, u64)>,
    sent: u64,
}

impl UnderWay {
    pub(super) fn begin(&mut self, intended: Instant, place: usize) {
        self.sent += 1;
        self.in_order.insert((intended, self.sent, place));
        self.sendings.insert(place, (intended, self.sent));
    }

    /// Nothing happens if it is not under way.
    pub(super) fn end(&mut self, place: usize) {
        if let Some((intended, sending)) = self.sendings.remove(&place) {
            self.in_order.remove(&(intended, sending, place));
        }
    }

    pub(super) fn oldest(&self) -> Option<usize> {
        self.in_order.first().map(|&(.., place)| place)
    }

    pub(super) fn in_order(&self) -> impl Iterator<Item = usize> {
        self.in_order.iter().map(|&(.., place)| place)
    }
}
