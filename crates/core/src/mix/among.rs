//! Arrivals of some operations, numbered among themselves.

use super::{Asked, Pick, Place};
use std::sync::Arc;

/// Some of the operations of a load, whose arrivals are numbered together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Among {
    /// By operation of the run.
    is_one: Arc<[bool]>,
    /// How many arrivals of a block ask for any of them.
    of_block: u64,
}

/// How far the arrivals of one sequence have been counted. It saves counting them again, and nothing depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Arrivals of the sequence.
    ordinal: u64,
    /// Those of them that ask for any of the operations.
    count: u64,
}

impl Among {
    fn has(&self, operation: u32) -> bool {
        self.is_one.get(operation as usize).copied().unwrap_or(false)
    }
}

impl Asked {
    /// The arrivals of `operations`, numbered together. `None` in random order and in a recorded one, where all those before must be counted.
    pub fn among(&self, operations: &[u32]) -> Option<Among> {
        if matches!(self.pick, Pick::Random { .. } | Pick::Recorded(_)) && self.count > 1 {
            return None;
        }
        let all = (0..self.count).map(|one| self.number(one)).max().unwrap_or(0);
        let mut is_one = vec![false; all as usize + 1];
        let mut of_block = 0;
        for one in (0..self.count).filter(|&one| operations.contains(&self.number(one))) {
            is_one[self.number(one) as usize] = true;
            of_block += self.places_of(one);
        }
        Some(Among { is_one: is_one.into(), of_block })
    }

    /// How many arrivals of the sequence before `place` ask for any of these operations. `counted` is what is known of the
    /// sequence: from there it is a step for each arrival in between, and never more than a block of them.
    pub fn ordinal(&self, among: &Among, counted: &mut Counted, place: Place) -> u64 {
        // Most runs have one request, and need no counting for it.
        if self.count == 1 {
            return place.ordinal;
        }
        let Some(block) = self.block() else { return place.ordinal };
        if counted.ordinal.abs_diff(place.ordinal) > block {
            let blocks = place.ordinal / block;
            *counted = Counted { ordinal: blocks * block, count: blocks * among.of_block };
        }
        let is_one = |ordinal| u64::from(among.has(self.at(Place { ordinal, ..place })));
        while counted.ordinal < place.ordinal {
            counted.count += is_one(counted.ordinal);
            counted.ordinal += 1;
        }
        // One that is sent again comes late.
        while counted.ordinal > place.ordinal {
            counted.ordinal -= 1;
            counted.count -= is_one(counted.ordinal);
        }
        counted.count
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Mix, Order};
    use super::*;

    #[test]
    fn arrivals_are_numbered_in_order_without_gaps() {
        let shuffled = Order::Shuffled { seed: 7 };
        for (weights, order, operations) in [
            (Some(vec![80, 15, 5]), shuffled, &[1u32, 2][..]),
            (Some(vec![80, 15, 5]), shuffled, &[0]),
            (Some(vec![3_333, 3_333, 3_334]), shuffled, &[2]),
            (None, Order::Turn, &[0, 2]),
            (None, Order::Turn, &[1]),
        ] {
            let asked = Asked::new(&Mix { weights, order, ..Mix::default() }, 3, None, 0).unwrap();
            let among = asked.among(operations).unwrap();
            for sequence in [0, 2] {
                let place = |ordinal| Place { sequence, sequences: 3, ordinal };
                let (mut counted, mut next) = (Counted::default(), 0);
                for ordinal in 0..3_000 {
                    if operations.contains(&asked.at(place(ordinal))) {
                        assert_eq!(asked.ordinal(&among, &mut counted, place(ordinal)), next);
                        next += 1;
                    }
                }
                // From anywhere, forwards and backwards, it is the same.
                for ordinal in [2_999, 7, 25_000, 24_990, 0] {
                    let mut fresh = Counted::default();
                    let expected = asked.ordinal(&among, &mut fresh, place(ordinal));
                    assert_eq!(asked.ordinal(&among, &mut counted, place(ordinal)), expected);
                }
            }
        }
    }

    #[test]
    fn some_that_are_asked_for_and_one_alone() {
        let mix =
            Mix { weights: Some(vec![60, 30, 10]), order: Order::Shuffled { seed: 1 }, ..Mix::default() };
        let asked = Asked::new(&mix, 3, Some(&[2]), 0).unwrap();
        let among = asked.among(&[0, 2]).unwrap();
        let place = Place { sequence: 4, sequences: 8, ordinal: 17 };
        assert_eq!(asked.ordinal(&among, &mut Counted::default(), place), 17);
        let random = Mix { order: Order::Random { seed: 1 }, ..mix };
        assert_eq!(Asked::new(&random, 3, None, 0).unwrap().among(&[0]), None);
    }
}
