//! Blocks of pairs that are drawn again and again, with replacement. A draw is only how often each block is in it: what it
//! would be is asked of the blocks, which are kept as running counts, so that a thousand draws need no more memory than one.

use super::{Bins, Extremes, Pairs, extremes, ranks_between, value};
use unblink_core::sim::Random;

const DRAWS: usize = 1_000;
const SEED: u64 = 19;

/// Blocks, and how often each is in every draw.
pub(super) struct Draws {
    first: Running,
    second: Running,
    difference: Running,
    left_out: Vec<u64>,
    times: Vec<Vec<u64>>,
}

/// One of them.
pub(super) struct Draw<'a> {
    of: &'a Draws,
    times: &'a [u64],
}

/// Counts of each block up to each bin that any of them has.
struct Running {
    bins: Vec<i64>,
    counts: Vec<Vec<u64>>,
}

impl Running {
    fn of<'a>(blocks: impl Iterator<Item = &'a Bins> + Clone) -> Running {
        let mut bins: Vec<i64> = blocks.clone().flat_map(|block| block.counts.keys().copied()).collect();
        bins.sort_unstable();
        bins.dedup();
        let running = |block: &Bins| {
            let mut so_far = 0;
            let up_to = |bin: &i64| {
                so_far += block.counts.get(bin).copied().unwrap_or(0);
                so_far
            };
            bins.iter().map(up_to).collect()
        };
        let counts = blocks.map(running).collect();
        Running { bins, counts }
    }

    /// The bin at a rank from 1 on, with each block so often.
    fn at(&self, times: &[u64], rank: u64) -> Option<i64> {
        let count = |place: usize| -> u64 {
            self.counts.iter().zip(times).map(|(counts, times)| counts[place] * times).sum()
        };
        let (mut from, mut to) = (0, self.bins.len());
        while from < to {
            let middle = from + (to - from) / 2;
            if count(middle) >= rank { to = middle } else { from = middle + 1 }
        }
        self.bins.get(from).copied().filter(|_| rank > 0)
    }

    fn count(&self, times: &[u64]) -> u64 {
        self.counts.iter().zip(times).map(|(counts, times)| counts.last().unwrap_or(&0) * times).sum()
    }
}

impl Draws {
    pub(super) fn of(blocks: &[Pairs]) -> Draws {
        let mut random = Random::new(SEED, 0);
        let draw = |_| {
            let mut times = vec![0; blocks.len()];
            blocks.iter().for_each(|_| times[random.below(blocks.len() as u64) as usize] += 1);
            times
        };
        Draws {
            first: Running::of(blocks.iter().map(|block| &block.first)),
            second: Running::of(blocks.iter().map(|block| &block.second)),
            difference: Running::of(blocks.iter().map(|block| &block.difference)),
            left_out: blocks.iter().map(|block| block.left_out).collect(),
            times: (0..DRAWS).map(draw).collect(),
        }
    }

    /// How many blocks there are.
    pub(super) fn blocks(&self) -> usize {
        self.left_out.len()
    }

    /// Something of every draw, if each has it.
    pub(super) fn all<T>(&self, of: impl Fn(&Draw<'_>) -> Option<T>) -> Option<Vec<T>> {
        self.times.iter().map(|times| of(&Draw { of: self, times })).collect()
    }
}

impl Draw<'_> {
    fn ranks(&self, q: f64) -> Option<(u64, u64)> {
        let left_out = self.of.left_out.iter().zip(self.times).map(|(n, times)| n * times).sum::<u64>();
        ranks_between(q, self.of.first.count(self.times) + left_out, left_out)
    }

    /// As [`Pairs::extremes`].
    pub(super) fn extremes(&self, q: f64) -> Option<Extremes> {
        let (first, second) = (&self.of.first, &self.of.second);
        extremes(self.ranks(q)?, |rank| first.at(self.times, rank), |rank| second.at(self.times, rank))
    }

    /// As [`Pairs::pair_extremes`].
    pub(super) fn pair_extremes(&self, q: f64) -> Option<(i64, i64)> {
        let (low, high) = self.ranks(q)?;
        let at = |rank| self.of.difference.at(self.times, rank).map(value);
        Some((at(low)?, at(high)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_is_what_its_blocks_are_together() {
        let mut random = Random::new(5, 0);
        let block = |n: u64| {
            let mut pairs = Pairs::default();
            (0..40).for_each(|_| pairs.add(random.below(1_000_000), random.below(2_000_000)));
            pairs.leave_out(n % 3);
            pairs
        };
        let blocks: Vec<Pairs> = (0..6).map(block).collect();
        let draws = Draws::of(&blocks);
        for times in draws.times.iter().take(20) {
            assert_eq!(times.iter().sum::<u64>(), 6);
            let mut drawn = Pairs::default();
            for (block, times) in blocks.iter().zip(times) {
                (0..*times).for_each(|_| drawn.join(block));
            }
            let draw = Draw { of: &draws, times };
            for q in [0.1, 0.5, 0.9, 0.99] {
                assert_eq!(draw.pair_extremes(q), drawn.pair_extremes(q));
                let ends = |of: Option<Extremes>| of.map(|of| (of.low_ns, of.high_ns, of.low, of.high));
                assert_eq!(ends(draw.extremes(q)), ends(drawn.extremes(q)));
            }
        }
    }
}
