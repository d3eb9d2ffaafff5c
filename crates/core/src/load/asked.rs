//! Which operations a load asks for.

use std::sync::Arc;

/// Operations that are asked for in turn: all of the run, or some.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Those of the run.
    all: usize,
    /// The numbers of those that are asked for, where they are not all.
    only: Option<Arc<[u32]>>,
}

impl Asked {
    /// All operations of a run that has `all`.
    pub fn all(all: usize) -> Asked {
        Asked { all: all.max(1), only: None }
    }

    /// Those with these numbers, in this order. `None` if there are none, or one that a run of `all` does not have.
    pub fn only(numbers: &[u32], all: usize) -> Option<Asked> {
        let is_known = !numbers.is_empty() && numbers.iter().all(|&number| (number as usize) < all);
        is_known.then(|| Asked { all, only: Some(Arc::from(numbers)) })
    }

    /// How many are asked for in turn; at least one.
    pub fn count(&self) -> u64 {
        self.only.as_ref().map_or(self.all, |only| only.len()) as u64
    }

    /// The operation whose turn it is.
    #[inline]
    pub fn at(&self, turn: u32) -> u32 {
        self.only.as_ref().map_or(turn, |only| only[turn as usize])
    }
}
