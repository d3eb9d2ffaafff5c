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
}

impl Default for Origins {
    fn default() -> Origins {
        Origins { of_operation: Arc::new([]), count: 1 }
    }
}

impl Origins {
    /// Operation i goes to origin `of_operation[i]`, counted from 0. `None` when a number is [`ORIGINS_MAX`] or more.
    pub fn new(of_operation: &[u8]) -> Option<Origins> {
        let count = of_operation.iter().map(|&origin| usize::from(origin) + 1).max().unwrap_or(1);
        let of_operation = if count > 1 { Arc::from(of_operation) } else { Arc::new([]) as Arc<[u8]> };
        (count <= ORIGINS_MAX).then_some(Origins { of_operation, count })
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
}
