//! A random order of a block, of which any place is found by itself, without memory that grows with the block.

use crate::random::{below, mixed};

/// Blocks up to this length are shuffled as cards are. That takes time in proportion to the length.
const CARDS_MAX: u64 = 32;

/// Of a square. A round that moves rows parts any two places for good unless they share a column, and the other way round:
/// two neighbours still are neighbours after six with a probability of one over the length to the power of 1.5.
const ROUNDS: u64 = 6;

/// Permutations of a block, one for each key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shuffle {
    size: u64,
    /// A square that holds the block, or nearly one.
    rows: u64,
    columns: u64,
}

impl Shuffle {
    /// Of blocks with `size` places: at least one, and at most 2^62.
    pub fn of(size: u64) -> Shuffle {
        let rows = size.isqrt() + u64::from(size.isqrt().pow(2) < size);
        Shuffle { size, rows, columns: size.div_ceil(rows) }
    }

    /// Where the permutation of `key` puts `rank`, which is below the size. Keys that are to have unrelated permutations are
    /// mixed before ([`mixed`]).
    #[inline]
    pub fn at(self, key: u64, rank: u64) -> u64 {
        if self.size <= CARDS_MAX { self.of_cards(key, rank) } else { self.of_square(key, rank) }
    }

    /// Where the card shuffle of Fisher and Yates leaves card `rank`: each card in turn is put at a place up to its own, and
    /// what lay there goes to the card's own place. So only the card's own step matters, and those behind it.
    #[inline]
    fn of_cards(self, key: u64, rank: u64) -> u64 {
        let place = |card: u64| below(mixed(key ^ card), card + 1);
        (rank + 1..self.size).fold(place(rank), |at, card| if place(card) == at { card } else { at })
    }

    /// A Feistel network (Black and Rogaway, 2002): a round moves each row, or each column, by a distance of its own. What
    /// comes to lie beyond the block goes round again.
    #[inline]
    fn of_square(self, key: u64, rank: u64) -> u64 {
        let Shuffle { size, rows, columns } = self;
        let mut at = rank;
        loop {
            let (mut row, mut column) = (at / columns, at % columns);
            for round in 0..ROUNDS / 2 {
                row = turned(row, mixed(key ^ (round << 32 | column)), rows);
                column = turned(column, mixed(!key ^ (round << 32 | row)), columns);
            }
            at = row * columns + column;
            if at < size {
                return at;
            }
        }
    }
}

#[inline]
fn turned(at: u64, random: u64, of: u64) -> u64 {
    let at = at + below(random, of);
    if at < of { at } else { at - of }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; 9] = [1, 2, 3, 5, 10, 32, 33, 100, 1_000];

    #[test]
    fn each_place_is_taken_once() {
        for size in SIZES.into_iter().chain(34..60).chain([9_999, 10_000]) {
            let shuffle = Shuffle::of(size);
            for key in 0..20 {
                let mut places: Vec<u64> = (0..size).map(|rank| shuffle.at(mixed(key), rank)).collect();
                places.sort_unstable();
                assert!(places.iter().zip(0..).all(|(&place, rank)| place == rank), "{size}, {key}");
            }
        }
    }

    /// χ² is as far above its degrees of freedom as in one of 10,000 tests, by the approximation of Wilson and Hilferty.
    fn assert_even(counts: &[u64], what: &str) {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        assert!(expected >= 5.0, "{what}: too few to tell");
        let chi2: f64 = counts.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
        let free = (counts.len() - 1) as f64;
        let limit = free * (1.0 - 2.0 / (9.0 * free) + 3.719 * (2.0 / (9.0 * free)).sqrt()).powi(3);
        assert!(chi2 < limit, "{what}: {chi2} of {limit}");
    }

    #[test]
    fn each_rank_comes_to_each_place_equally_often() {
        for size in SIZES.into_iter().skip(1) {
            let shuffle = Shuffle::of(size);
            for rank in [0, size / 2, size - 1] {
                let mut counts = vec![0; size as usize];
                for key in 0..size * 200 {
                    counts[shuffle.at(mixed(key), rank) as usize] += 1;
                }
                assert_even(&counts, &format!("rank {rank} of {size}"));
            }
        }
    }

    #[test]
    fn any_two_ranks_come_to_any_two_places_equally_often() {
        for size in [3, 5, 10, 32, 33, 36, 50, 100] {
            let shuffle = Shuffle::of(size);
            for (one, other) in [(0, 1), (size - 2, size - 1), (0, size - 1), (0, size / 2)] {
                let mut counts = vec![0; (size * size) as usize];
                for key in 0..size * size * 50 {
                    let [one, other] = [one, other].map(|rank| shuffle.at(mixed(key), rank));
                    counts[(one * size + other) as usize] += 1;
                }
                let (same, apart): (Vec<_>, Vec<_>) =
                    counts.iter().enumerate().partition(|(at, _)| (*at as u64).is_multiple_of(size + 1));
                assert!(same.iter().all(|(_, n)| **n == 0));
                let apart: Vec<u64> = apart.into_iter().map(|(_, &n)| n).collect();
                assert_even(&apart, &format!("ranks {one} and {other} of {size}"));
            }
        }
    }
}
