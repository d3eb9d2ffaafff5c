//! How often each operation is asked for, without walking whole blocks.

use super::{Asked, Pick, Place};
use std::ops::Range;

impl Asked {
    /// How many arrivals of a row hold each operation exactly as often as its weight says; `None` where each arrival has to
    /// be looked at.
    pub fn block(&self) -> Option<u64> {
        match &self.pick {
            Pick::Turn => Some(self.count),
            Pick::Shuffled { shares, .. } => Some(shares.total),
            Pick::Random { .. } | Pick::Recorded(_) => None,
        }
    }

    /// Is counting a matter of divisions?
    pub(crate) fn has_blocks(&self) -> bool {
        self.block().is_some()
    }

    /// Which part of the arrivals asks for any of `operations`: so many of so many.
    pub fn part_of(&self, operations: &[u32]) -> (u64, u64) {
        let ones = || (0..self.count).filter(|&one| operations.contains(&self.number(one)));
        match &self.pick {
            Pick::Turn => (ones().count() as u64, self.count),
            Pick::Shuffled { shares, .. } | Pick::Random { shares, .. } => {
                (ones().map(|one| self.places_of(one)).sum(), shares.total)
            }
            Pick::Recorded(recorded) => {
                let all = (0..recorded.count()).map(|ordinal| recorded.operation(ordinal));
                (all.filter(|operation| operations.contains(operation)).count() as u64, recorded.count())
            }
        }
    }

    /// Adds to `counts` how often each operation is asked for by the arrivals of a sequence with these ordinals. `first` is
    /// the one at the ordinal 0. Operations beyond the last of `counts` are counted there.
    pub(crate) fn count(&self, first: Place, ordinals: Range<u64>, counts: &mut [u64]) {
        let Range { start, end } = ordinals;
        let (whole_from, whole_to, blocks) = match self.block() {
            Some(block) => {
                let (from, to) = (start.next_multiple_of(block).min(end), end - end % block);
                (from, to.max(from), to.saturating_sub(from) / block)
            }
            None => (end, end, 0),
        };
        let last = counts.len() - 1;
        for ordinal in (start..whole_from).chain(whole_to..end) {
            counts[(self.at(Place { ordinal, ..first }) as usize).min(last)] += 1;
        }
        if blocks > 0 {
            for one in 0..self.count {
                counts[(self.number(one) as usize).min(last)] += blocks * self.places_of(one);
            }
        }
    }

    /// Of an operation in each block.
    pub(super) fn places_of(&self, one: u64) -> u64 {
        match &self.pick {
            Pick::Turn | Pick::Recorded(_) => 1,
            Pick::Shuffled { shares, .. } | Pick::Random { shares, .. } => shares.places_of(one as usize),
        }
    }
}
