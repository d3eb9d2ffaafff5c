//! What a worker knows of its connections to the nodes of a cluster.

use crate::addresses::Addresses;
use crate::routing::Routing;
use crate::target::Address;
use std::sync::Arc;
use unblink_core::dispatch::ConnId;
use unblink_wire::ring::Ring;

/// The ring, and the worker's connections to its nodes.
pub(super) struct Routes {
    routing: Arc<Routing>,
    seen: u64,
    ring: Arc<Ring>,
    /// By the ring's number of a node: that of its address.
    numbers: Vec<u32>,
    /// By the number of an address.
    at: Vec<AtAddress>,
    /// Workers begin at different nodes.
    worker: usize,
}

#[derive(Default)]
struct AtAddress {
    /// Connections that take requests.
    usable: Vec<ConnId>,
    /// Connections in all, those that are being opened among them.
    begun: u32,
    /// The last attempt failed.
    is_failing: bool,
    /// It is that of a node of the ring.
    is_current: bool,
}

impl Routes {
    pub(super) fn new(routing: Arc<Routing>, worker: usize) -> Routes {
        Routes { routing, seen: 0, ring: Arc::default(), numbers: Vec::new(), at: Vec::new(), worker }
    }

    /// Heeds what has changed.
    #[inline]
    pub(super) fn look_up(&mut self, addresses: &mut Addresses) {
        if let Some((ring, failing)) = self.routing.changed(&mut self.seen) {
            let nodes: Vec<Address> = ring.nodes().iter().map(|&node| Address::Tcp(node)).collect();
            if !nodes.is_empty() {
                addresses.replace(&nodes);
            }
            self.numbers = nodes.iter().map(|node| addresses.number(node)).collect();
            self.ring = ring;
            self.at.iter_mut().for_each(|at| (at.is_current, at.is_failing) = (false, false));
            for &number in &self.numbers.clone() {
                self.at_mut(number).is_current = true;
            }
            for node in failing {
                let number = addresses.number(&Address::Tcp(node));
                self.at_mut(number).is_failing = true;
            }
        }
    }

    fn at_mut(&mut self, number: u32) -> &mut AtAddress {
        let place = number as usize;
        if self.at.len() <= place {
            self.at.resize_with(place + 1, AtAddress::default);
        }
        &mut self.at[place]
    }

    /// The address of the node that has the fewest connections of this worker, of those that take any.
    pub(super) fn poorest(&self) -> Option<u32> {
        let (late, early) = self.numbers.split_at(self.worker % self.numbers.len().max(1));
        let all = early.iter().chain(late).copied();
        all.filter(|&number| !self.at[number as usize].is_failing)
            .min_by_key(|&number| self.at[number as usize].begun)
    }

    /// A connection is being opened.
    pub(super) fn begins(&mut self, address: u32) {
        self.at_mut(address).begun += 1;
    }

    /// It takes requests.
    pub(super) fn opened(&mut self, id: ConnId, address: u32) {
        let at = self.at_mut(address);
        at.is_failing = false;
        at.usable.push(id);
    }

    /// It takes none any more.
    pub(super) fn rests(&mut self, id: ConnId, address: u32) {
        self.at_mut(address).usable.retain(|one| *one != id);
    }

    /// It is gone.
    pub(super) fn ended(&mut self, id: ConnId, address: u32) {
        self.rests(id, address);
        let at = self.at_mut(address);
        at.begun = at.begun.saturating_sub(1);
    }

    /// None could be opened there.
    pub(super) fn failed(&mut self, number: u32, address: &Address) {
        self.at_mut(number).is_failing = true;
        if let Address::Tcp(node) = address {
            self.routing.note_failing(*node);
        }
    }

    /// Whether the node at this address has what has the token.
    #[inline]
    pub(super) fn is_replica(&self, token: i64, address: u32) -> bool {
        self.replicas(token).any(|number| number == address)
    }

    /// Connections that lead to nodes that have it.
    #[inline]
    pub(super) fn leading_to(&self, token: i64) -> impl Iterator<Item = ConnId> + '_ {
        self.replicas(token).flat_map(|number| self.at[number as usize].usable.iter().copied())
    }

    #[inline]
    fn replicas(&self, token: i64) -> impl Iterator<Item = u32> + '_ {
        self.ring.replicas(token).iter().map(|&node| self.numbers[usize::from(node)])
    }

    /// A connection that is of more use elsewhere, with its address: to a node that has left, or that has two more than one that takes
    /// any.
    pub(super) fn surplus(&self) -> Option<(ConnId, u32)> {
        let poorest = &self.at[self.poorest()? as usize];
        let of = |number: usize| self.at[number].usable.last().map(|&id| (id, number as u32));
        let has_left = |number: &usize| !self.at[*number].is_current && !self.at[*number].usable.is_empty();
        if let Some(number) = (0..self.at.len()).find(has_left) {
            return of(number);
        }
        let richest = (0..self.at.len()).max_by_key(|&number| self.at[number].usable.len())?;
        (self.at[richest].usable.len() as u32 >= poorest.begun + 2).then(|| of(richest)).flatten()
    }

    /// All that take requests.
    pub(super) fn usable(&self) -> usize {
        self.at.iter().map(|at| at.usable.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn node(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn ring(ports: &[u16]) -> Ring {
        let ranges = (0u16..).zip(ports).map(|(place, _)| (i64::from(place), vec![place])).collect();
        Ring::new(ports.iter().map(|&port| node(port)).collect(), ranges)
    }

    fn id(slot: u32) -> ConnId {
        ConnId { origin: 0, slot, generation: 0 }
    }

    #[test]
    fn connections_spread_over_nodes_and_follow_them() {
        let routing = Arc::new(Routing::new(ring(&[1, 2])));
        let mut addresses = Addresses::new(&[Address::Tcp(node(9))], 0);
        let mut routes = Routes::new(routing.clone(), 1);
        routes.look_up(&mut addresses);
        // The address that was known before has the number 0.
        let opened = (0..4).map(|slot| {
            let to = routes.poorest().unwrap();
            routes.begins(to);
            routes.opened(id(slot), to);
            to
        });
        assert_eq!(opened.collect::<Vec<_>>(), [2, 1, 2, 1]);
        assert!(routes.is_replica(0, 1) && !routes.is_replica(0, 2) && routes.surplus().is_none());
        assert_eq!(routes.leading_to(1).collect::<Vec<_>>(), [id(0), id(2)]);
        // One node fails: its connections end, and others are opened at the other.
        routes.failed(2, &Address::Tcp(node(2)));
        for slot in [0, 2] {
            routes.ended(id(slot), 2);
        }
        assert_eq!((routes.poorest(), routing.failing()), (Some(1), vec![node(2)]));
        for slot in [0, 2] {
            routes.begins(1);
            routes.opened(id(slot), 1);
        }
        assert!(routes.surplus().is_none(), "nobody knows that it is back");
        routing.is_back(node(2));
        routes.look_up(&mut addresses);
        let (first, at) = routes.surplus().unwrap();
        assert_eq!((first, at), (id(2), 1));
        routes.rests(first, at);
        assert_eq!(routes.poorest(), Some(2));
        routes.begins(2);
        routes.ended(first, at);
        assert_eq!((routes.surplus(), routes.usable()), (Some((id(0), 1)), 3));
        // The node has left for good.
        routing.set(ring(&[2, 3]));
        routes.look_up(&mut addresses);
        assert_eq!((routes.surplus().map(|(_, at)| at), routes.poorest()), (Some(1), Some(3)));
    }
}
