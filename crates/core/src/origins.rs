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
    /// By operation, how it uses the connections of journeys; empty where none does.
    own: Arc<[Own]>,
}

/// How an operation uses connections that belong to journeys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Own {
    /// Not at all: its connections are shared.
    #[default]
    Not,
    /// It opens one for its journey.
    Opens,
    /// It uses the one that its journey has.
    Uses,
}

impl Default for Origins {
    fn default() -> Origins {
        Origins { of_operation: Arc::new([]), count: 1, own: Arc::new([]) }
    }
}

impl Origins {
    /// Operation i goes to origin `of_operation[i]`, counted from 0. `None` when a number is [`ORIGINS_MAX`] or more.
    pub fn new(of_operation: &[u8]) -> Option<Origins> {
        let count = of_operation.iter().map(|&origin| usize::from(origin) + 1).max().unwrap_or(1);
        let of_operation = if count > 1 { Arc::from(of_operation) } else { Arc::new([]) as Arc<[u8]> };
        (count <= ORIGINS_MAX).then_some(Origins { of_operation, count, own: Arc::new([]) })
    }

    /// The same where operations use connections of journeys, each as `own` says. All operations of an origin do, or none.
    pub fn with_own(self, own: &[Own]) -> Origins {
        let is_any = own.iter().any(|own| *own != Own::Not);
        Origins { own: if is_any { own.into() } else { Arc::new([]) }, ..self }
    }

    /// How the operation uses connections that belong to journeys.
    #[inline]
    pub fn own(&self, operation: u32) -> Own {
        self.own.get(operation as usize).copied().unwrap_or_default()
    }

    /// Connections to this origin belong to journeys.
    pub fn is_own(&self, origin: usize) -> bool {
        (0..self.own.len() as u32).any(|one| self.own(one) != Own::Not && self.of(one) == origin)
    }

    /// Connections to some origin do.
    pub fn has_own(&self) -> bool {
        !self.own.is_empty()
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
        let plain = origins.clone().with_own(&[Own::Not; 4]);
        assert!(plain == origins && !plain.has_own() && !plain.is_own(1));
        let origins = origins.with_own(&[Own::Not, Own::Opens, Own::Uses, Own::Not]);
        assert!(origins.has_own() && origins.is_own(1) && !origins.is_own(0));
        assert_eq!([1, 2, 3, 9].map(|one| origins.own(one)), [Own::Opens, Own::Uses, Own::Not, Own::Not]);
    }
}
