//! Arrivals of some operations, numbered among themselves without looking at the others.

use super::{Asked, Pick, Place};
use std::sync::Arc;

/// Some of the operations of a load, whose arrivals are numbered together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Among {
    /// By operation of the run: how many places of a block belong to those before it; `None` of the others.
    before: Arc<[Option<u64>]>,
    /// Places of a block that belong to any.
    of_block: u64,
}

impl Asked {
    /// The arrivals of `operations`, numbered together. `None` in random order, where only those before tell.
    pub fn among(&self, operations: &[u32]) -> Option<Among> {
        if matches!(self.pick, Pick::Random { .. }) && self.count > 1 {
            return None;
        }
        let all = (0..self.count).map(|one| self.number(one)).max().unwrap_or(0);
        let mut before = vec![None; all as usize + 1];
        let mut of_block = 0;
        for one in 0..self.count {
            let number = self.number(one);
            if operations.contains(&number) {
                before[number as usize] = Some(of_block);
                of_block += self.places_of(one);
            }
        }
        Some(Among { before: before.into(), of_block })
    }

    /// A number for the arrival at `place`, which asks for `operation`, among those of its sequence: as many as are asked
    /// for have the numbers from 0 on, each its own. Within a block they are in the order of the operations, not in that of
    /// time.
    #[inline]
    pub fn ordinal(&self, among: &Among, operation: u32, place: Place) -> Option<u64> {
        let before = (*among.before.get(operation as usize)?)?;
        // Most runs have one request, and need no division for it.
        if self.count == 1 {
            return Some(place.ordinal);
        }
        let (block, within) = match &self.pick {
            Pick::Turn => (place.ordinal / self.count, 0),
            Pick::Shuffled { shares, .. } => {
                let one = self.place_in_block(place);
                (place.ordinal / shares.total, one - shares.start_of(shares.at(one) as usize))
            }
            Pick::Random { .. } => return None,
        };
        Some(block * among.of_block + before + within)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Mix, Order};
    use super::*;

    #[test]
    fn each_number_is_had_once() {
        let shuffled = Order::Shuffled { seed: 7 };
        for (weights, order, operations) in [
            (Some(vec![80, 15, 5]), shuffled, &[1u32, 2][..]),
            (Some(vec![80, 15, 5]), shuffled, &[0]),
            (Some(vec![1, 1, 1]), shuffled, &[2]),
            (None, Order::Turn, &[0, 2]),
            (None, Order::Turn, &[1]),
        ] {
            let asked = Asked::new(&Mix { weights, order, ..Mix::default() }, 3, None, 0).unwrap();
            let among = asked.among(operations).unwrap();
            for sequence in [0, 2] {
                let (mut numbers, mut others) = (Vec::new(), 0);
                // Whole blocks.
                for ordinal in 0..600 {
                    let place = Place { sequence, sequences: 3, ordinal };
                    let operation = asked.at(place);
                    match asked.ordinal(&among, operation, place) {
                        Some(number) => numbers.push(number),
                        None => others += 1,
                    }
                }
                numbers.sort_unstable();
                assert_eq!(numbers, (0..600 - others).collect::<Vec<u64>>());
                assert!(others > 0);
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
        assert_eq!(asked.ordinal(&among, 2, place), Some(17));
        assert_eq!(asked.ordinal(&among, 0, place), None);
        let random = Mix { order: Order::Random { seed: 1 }, ..mix };
        assert_eq!(Asked::new(&random, 3, None, 0).unwrap().among(&[0]), None);
    }
}
