//! What is under way, the oldest first.

use std::collections::{BTreeMap, HashMap};
use unblink_core::time::Instant;

/// When an arrival was intended, its origin, the round of its attempt, and the number of its sending: in the order in which
/// they are given up.
type Order = (Instant, usize, usize, u64);

/// Places in the books.
#[derive(Default)]
pub(super) struct UnderWay {
    in_order: BTreeMap<Order, usize>,
    orders: HashMap<usize, Order>,
    sent: u64,
}

impl UnderWay {
    pub(super) fn begin(&mut self, (intended, origin, round): (Instant, usize, usize), place: usize) {
        self.sent += 1;
        let order = (intended, origin, round, self.sent);
        self.in_order.insert(order, place);
        self.orders.insert(place, order);
    }

    /// Nothing happens if it is not under way.
    pub(super) fn end(&mut self, place: usize) {
        if let Some(order) = self.orders.remove(&place) {
            self.in_order.remove(&order);
        }
    }

    pub(super) fn oldest(&self) -> Option<usize> {
        self.in_order().next()
    }

    pub(super) fn in_order(&self) -> impl Iterator<Item = usize> {
        self.in_order.values().copied()
    }
}
