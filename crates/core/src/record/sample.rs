//! A bounded subsample of consecutive arrivals, with when they were intended and when they were sent, so
//! that the process of arrivals itself can be tested.
//!
//! Blocks of [`BLOCK_ARRIVALS`] consecutive arrivals begin at fixed indices, about one in each second. Which
//! blocks are kept follows from their number alone, so that the parts of several workers, and of several
//! intervals, put together are what a single one would have kept. A run has no length that is known
//! beforehand (it may be stopped), so the blocks lie ever further apart as it goes on: at any time 8 to 15 of
//! them are spread over all that has passed, and late trouble is seen as well as early.

use crate::load::Arrival;
use crate::time::{Instant, Nanos};

/// Consecutive arrivals in a block: a power of two.
pub const BLOCK_ARRIVALS: u64 = 64;
/// Blocks that are looked at in the end: 960 arrivals. A test of many more would find any lateness at all.
pub const BLOCKS_MAX: u64 = 15;

/// Arrivals that one worker's bank holds. More fall into one interval only after a long stall.
const BANK_ARRIVALS_MAX: usize = 1024;

/// An arrival of a block. Its times count from the schedule's zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SampledArrival {
    /// Number of its block.
    pub block: u64,
    /// Its number in the run.
    pub index: u64,
    /// When it should have started.
    pub intended: Instant,
    /// When it was sent.
    pub sent: Instant,
}

/// Where the blocks lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleBlocks {
    first: u64,
    stride: u64,
}

impl SampleBlocks {
    /// Blocks from the arrival `first` on, a second apart at a rate of `per_s` (end to end below
    /// [`BLOCK_ARRIVALS`] per second).
    pub fn new(first: u64, per_s: f64) -> SampleBlocks {
        // A power of two, so that a place is found without a division.
        let stride = (per_s.ceil() as u64).max(BLOCK_ARRIVALS).next_power_of_two();
        SampleBlocks { first, stride }
    }

    /// The block of arrival `index`, if it lies in one that is kept.
    pub fn block_of(&self, index: u64) -> Option<u64> {
        let place = index.checked_sub(self.first)?;
        let block = place >> self.stride.trailing_zeros();
        let is_inside = place & (self.stride - 1) < BLOCK_ARRIVALS;
        (is_inside && block.is_multiple_of(spacing(block))).then_some(block)
    }
}

/// Of every how many blocks one is kept when `block` is the latest: the smallest power of two that leaves
/// [`BLOCKS_MAX`].
fn spacing(block: u64) -> u64 {
    (block / BLOCKS_MAX + 1).next_power_of_two()
}

/// Sampled arrivals, in no particular order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrivalSample {
    kept: Vec<SampledArrival>,
}

impl Default for ArrivalSample {
    fn default() -> Self {
        ArrivalSample { kept: Vec::with_capacity(BANK_ARRIVALS_MAX) }
    }
}

impl ArrivalSample {
    /// Everything that is kept.
    pub fn as_slice(&self) -> &[SampledArrival] {
        &self.kept
    }

    /// Takes note of an arrival that goes out at `sent`, if it lies in one of `blocks`. Allocates nothing.
    pub(crate) fn note(&mut self, blocks: &SampleBlocks, arrival: &Arrival, sent: Instant, zero: Instant) {
        let Some(block) = blocks.block_of(arrival.index) else { return };
        if self.kept.len() < BANK_ARRIVALS_MAX {
            let since_zero = |at: Instant| Instant(at.since(zero).0);
            let (intended, sent) = (since_zero(arrival.intended), since_zero(sent));
            self.kept.push(SampledArrival { block, index: arrival.index, intended, sent });
        }
    }

    /// Puts in an arrival that was recorded before.
    pub fn push(&mut self, arrival: SampledArrival) {
        self.kept.push(arrival);
    }

    /// Adds another worker's or another interval's sample. Beyond [`BLOCKS_MAX`] blocks every second one is
    /// dropped; the outcome does not depend on the order in which samples are added.
    pub fn add(&mut self, other: &ArrivalSample) {
        if other.kept.is_empty() {
            return;
        }
        self.kept.extend_from_slice(&other.kept);
        let mut blocks: Vec<u64> = self.kept.iter().map(|arrival| arrival.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let mut spacing = 1;
        while blocks.len() as u64 > BLOCKS_MAX {
            spacing *= 2;
            blocks.retain(|block| block.is_multiple_of(spacing));
        }
        if spacing > 1 {
            self.kept.retain(|arrival| arrival.block.is_multiple_of(spacing));
        }
    }

    /// Forgets everything, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }

    /// The sample in order of index: what stands one after the other and has successive indices was
    /// successive.
    pub fn in_order(&self) -> Vec<SampledArrival> {
        let mut all = self.kept.clone();
        all.sort_unstable_by_key(|arrival| arrival.index);
        all
    }

    /// The longest time that a sampled arrival was sent after it was due.
    pub fn lag_max(&self) -> Option<Nanos> {
        self.kept.iter().map(|arrival| arrival.sent.since(arrival.intended)).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(index: u64) -> (Arrival, Instant) {
        let intended = Instant(1_000 + index * 10);
        (Arrival::scheduled(index, intended), intended + Nanos(index % 7))
    }

    /// What workers, `shards` of them, keep of `n` arrivals in intervals of `length` arrivals.
    fn sample(blocks: SampleBlocks, n: u64, shards: u64, length: u64) -> ArrivalSample {
        let mut total = ArrivalSample::default();
        for from in (0..n).step_by(length as usize) {
            for shard in 0..shards {
                let mut bank = ArrivalSample::default();
                for index in (from..n.min(from + length)).filter(|k| k % shards == shard) {
                    let (arrival, sent) = arrival(index);
                    bank.note(&blocks, &arrival, sent, Instant(1_000));
                }
                total.add(&bank);
            }
        }
        total
    }

    fn blocks_of(sample: &ArrivalSample) -> Vec<u64> {
        let mut blocks: Vec<u64> = sample.as_slice().iter().map(|a| a.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    #[test]
    fn any_number_of_workers_and_any_hand_over_keep_the_same() {
        let blocks = SampleBlocks::new(130, 100.0);
        let whole = sample(blocks, 100_000, 1, 100_000 / 64);
        for (shards, length) in [(1, 100), (2, 1_000), (7, 640)] {
            assert_eq!(sample(blocks, 100_000, shards, length).in_order(), whole.in_order());
        }
        assert_eq!(whole.lag_max(), Some(Nanos(6)));
    }

    #[test]
    fn the_blocks_are_whole_and_spread_over_any_length() {
        let blocks = SampleBlocks::new(0, 1_000.0);
        for seconds in [15, 16, 60, 1_000, 3_600] {
            let kept = sample(blocks, seconds * 1_024, 1, 1_024);
            let numbers = blocks_of(&kept);
            assert_eq!(kept.as_slice().len() as u64, numbers.len() as u64 * BLOCK_ARRIVALS, "{seconds} s");
            assert!((8..=BLOCKS_MAX).contains(&(numbers.len() as u64)), "{seconds} s: {numbers:?}");
            let farthest = numbers.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            let after_last = seconds - numbers.last().unwrap();
            assert!(farthest.max(after_last) <= spacing(seconds - 1), "{seconds} s: {numbers:?}");
        }
    }

    #[test]
    fn below_a_block_per_second_every_arrival_is_kept() {
        let kept = sample(SampleBlocks::new(3, 0.5), 500, 2, 1);
        let indices: Vec<u64> = kept.in_order().iter().map(|a| a.index).collect();
        assert_eq!(indices, (3..500).collect::<Vec<_>>());
    }
}
