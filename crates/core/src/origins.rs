//! Where requests go: which origin each operation has.

use std::sync::Arc;

/// Origins of a run, at most.
pub const ORIGINS_MAX: usize = 8;

/// The origin of each operation. A run has one origin unless told otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origins {
    /// Empty when there is one origin.
    of_operation: Arc<[u8]>,
    count: usize,
    /// How each operation uses the WebSockets of journeys. Empty if none does.
    sockets: Arc<[SocketUse]>,
    /// To which of them connections that fail are tried again at a pace.
    paced: [bool; ORIGINS_MAX],
}

/// How an operation uses a WebSocket that belongs to its journey.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SocketUse {
    /// It uses none.
    #[default]
    None,
    /// It opens one for its journey.
    Opens,
    /// It uses the one that its journey has open.
    Uses,
}

impl Default for Origins {
    fn default() -> Origins {
        Origins { of_operation: Arc::new([]), count: 1, sockets: Arc::new([]), paced: [false; ORIGINS_MAX] }
    }
}

impl Origins {
    /// Operation i goes to origin `of_operation[i]`, counted from 0. `None` when a number is [`ORIGINS_MAX`] or more.
    pub fn new(of_operation: &[u8]) -> Option<Origins> {
        let count = of_operation.iter().map(|&origin| usize::from(origin) + 1).max().unwrap_or(1);
        let of_operation = if count > 1 { Arc::from(of_operation) } else { Arc::new([]) as Arc<[u8]> };
        (count <= ORIGINS_MAX).then_some(Origins { of_operation, count, ..Origins::default() })
    }

    /// The same, with WebSockets of journeys: operation i uses them as `sockets[i]` says. Either all operations of an
    /// origin do, or none.
    pub fn with_sockets(self, sockets: &[SocketUse]) -> Origins {
        let is_any = sockets.iter().any(|one| *one != SocketUse::None);
        Origins { sockets: if is_any { sockets.into() } else { Arc::new([]) }, ..self }
    }

    /// The same, where the attempts to connect to `origin` come at a bounded pace once one has failed, and all that waited for one
    /// end with it. Otherwise there is an attempt for each arrival.
    pub fn with_pace(mut self, origin: usize) -> Origins {
        self.paced[origin] = true;
        self
    }

    /// Whether they do. Connections that belong to journeys are each opened when their journey wants it.
    pub fn is_paced(&self, origin: usize) -> bool {
        self.paced[origin] && !self.is_of_sockets(origin)
    }

    /// How the operation uses the WebSocket of its journey.
    #[inline]
    pub fn socket_use(&self, operation: u32) -> SocketUse {
        self.sockets.get(operation as usize).copied().unwrap_or_default()
    }

    /// Whether the connections to this origin are WebSockets of journeys.
    pub fn is_of_sockets(&self, origin: usize) -> bool {
        (0..self.sockets.len() as u32)
            .any(|one| self.socket_use(one) != SocketUse::None && self.of(one) == origin)
    }

    /// Whether those to any origin are.
    pub fn has_sockets(&self) -> bool {
        !self.sockets.is_empty()
    }

    /// How many there are; at least one.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Of so many operations, the first of each origin.
    pub fn firsts(&self, operations: usize) -> Vec<usize> {
        let first = |origin| (0..operations).find(|&operation| self.of(operation as u32) == origin);
        (0..self.count).filter_map(first).collect()
    }

    /// The number of the operation's origin.
    #[inline]
    pub fn of(&self, operation: u32) -> usize {
        self.of_operation.get(operation as usize).map_or(0, |&origin| usize::from(origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_numbered_by_their_operations() {
        let origins = Origins::new(&[0, 2, 2, 1]).expect("three");
        assert_eq!((origins.count(), origins.firsts(4)), (3, vec![0, 3, 1]));
        assert_eq!((0..5).map(|operation| origins.of(operation)).collect::<Vec<_>>(), [0, 2, 2, 1, 0]);
        assert_eq!(Origins::new(&[0, 0]), Some(Origins::default()));
        assert_eq!(Origins::new(&[8]), None);
    }

    #[test]
    fn connections_of_journeys_are_those_of_whole_origins() {
        let origins = Origins::new(&[0, 1, 1, 0]).expect("two");
        let plain = origins.clone().with_sockets(&[SocketUse::None; 4]);
        assert!(plain == origins && !plain.has_sockets() && !plain.is_of_sockets(1));
        let origins =
            origins.with_sockets(&[SocketUse::None, SocketUse::Opens, SocketUse::Uses, SocketUse::None]);
        assert!(origins.has_sockets() && origins.is_of_sockets(1) && !origins.is_of_sockets(0));
        assert_eq!(
            [1, 2, 3, 9].map(|one| origins.socket_use(one)),
            [SocketUse::Opens, SocketUse::Uses, SocketUse::None, SocketUse::None]
        );
    }
}
