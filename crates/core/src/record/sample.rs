//! A bounded subsample of arrivals, with when they were intended and when they were sent, so
//! that the process of arrivals itself can be tested.
//!
//! A block is what falls due in a window of the schedule in which [`BLOCK_EXPECTED`] arrivals are expected; windows begin
//! about once in each second. Which arrivals and which blocks are kept follows from their intended times alone, so that
//! the parts of several workers, and of several intervals, put together are what a single one would have kept. A run has
//! no length that is known beforehand (it may be stopped), so the blocks lie ever further apart as it goes on: at any time
//! 8 to 15 of them are spread over all that has passed, and late trouble is seen as well as early.

use crate::arrival::Arrival;
use crate::schedule::Schedule;
use crate::time::{Instant, Nanos};
use std::sync::Arc;

/// Arrivals that are expected in a block.
pub const BLOCK_EXPECTED: u64 = 96;
/// The first of a block that are tested. Were it all that the window holds, their gaps would be too short by as much as the
/// gaps over its border are too long; fewer than these are found in one window of 2,000.
pub const BLOCK_ARRIVALS: u64 = 64;
/// Blocks that are looked at in the end: 960 arrivals, and of an even schedule, whose whole blocks are looked at, 1,440. A test of
/// many more would find any lateness at all.
pub const BLOCKS_MAX: u64 = 15;

/// Arrivals that one worker's bank holds. More fall into one interval only after a long stall.
const BANK_ARRIVALS_MAX: usize = 1536;

/// A longer run has no second block of so many.
const SPACING_MAX: u64 = 1 << 32;

/// An arrival of a block. Its times count from the schedule's zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SampledArrival {
    /// Number of its block.
    pub block: u64,
    /// Its number in its load.
    pub index: u64,
    /// When it should have started.
    pub intended: Instant,
    /// When it was sent; `None` if it never was.
    pub sent: Option<Instant>,
}

/// Where the blocks lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SampleBlocks {
    schedule: Arc<Schedule>,
    /// Arrivals that are expected before the first block.
    first: u64,
    /// Arrivals that are expected from the start of a block to that of the next.
    stride: u64,
    near: Window,
}

/// The block that was last looked at: it begins at `from`, ends at `to`, and the next one begins at `next`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Window {
    /// `None` before the first.
    block: Option<u64>,
    from: Nanos,
    to: Nanos,
    next: Nanos,
}

impl SampleBlocks {
    /// Blocks of the measured part, from `from` to `to`, a second apart at its mean rate; end to end where that is less
    /// than [`BLOCK_EXPECTED`] per second.
    pub fn new(schedule: Arc<Schedule>, from: Nanos, to: Nanos) -> SampleBlocks {
        let first = schedule.expected_before(from);
        let per_s = (schedule.expected_before(to) - first) as f64 / (to - from).as_secs_f64().max(1.0);
        let stride = (per_s.ceil() as u64).max(BLOCK_EXPECTED);
        SampleBlocks { schedule, first, stride, near: Window::default() }
    }

    /// The block of an arrival that is intended for `at`, if it lies in one that is kept. Quick for an `at` near the one
    /// before.
    pub fn block_of(&mut self, at: Nanos) -> Option<u64> {
        if at < self.near.from || at >= self.near.next {
            self.near = self.around(at);
        }
        self.near.block.filter(|block| at < self.near.to && block.is_multiple_of(spacing(*block)))
    }

    fn around(&self, at: Nanos) -> Window {
        let begin = |block: u64| self.schedule.expected_at(self.first + block * self.stride);
        let Some(place) = self.schedule.even_until(at).checked_sub(self.first + 1) else {
            return Window { block: None, from: Nanos::ZERO, to: Nanos::ZERO, next: begin(0) };
        };
        let block = place / self.stride;
        let end = self.first + block * self.stride + BLOCK_EXPECTED;
        let to = self.schedule.expected_at(end);
        Window { block: Some(block), from: begin(block), to, next: begin(block + 1) }
    }
}

/// Of every how many blocks one is kept when `block` is the latest: the smallest power of two that leaves
/// [`BLOCKS_MAX`].
fn spacing(block: u64) -> u64 {
    (block / BLOCKS_MAX + 1).next_power_of_two()
}

/// Sampled arrivals, in no particular order.
#[derive(PartialEq, Eq, Debug)]
pub struct ArrivalSample {
    kept: Vec<SampledArrival>,
    /// Of every how many blocks one is kept.
    spacing: u64,
}

/// With room for as many as one bank holds, so that nothing is allocated later.
impl Clone for ArrivalSample {
    fn clone(&self) -> Self {
        let mut clone = ArrivalSample { spacing: self.spacing, ..ArrivalSample::default() };
        clone.kept.extend_from_slice(&self.kept);
        clone
    }
}

impl Default for ArrivalSample {
    fn default() -> Self {
        ArrivalSample { kept: Vec::with_capacity(BANK_ARRIVALS_MAX), spacing: 1 }
    }
}

impl ArrivalSample {
    /// Everything that is kept.
    pub fn as_slice(&self) -> &[SampledArrival] {
        &self.kept
    }

    /// In order of time, of one time by number: the parts of several workers put together in any order become the same.
    pub fn sort(&mut self) {
        self.kept.sort_unstable_by_key(|arrival| (arrival.intended, arrival.index));
    }

    /// Of every how many blocks one is kept; more than one when there were too many.
    pub fn spacing(&self) -> u64 {
        self.spacing
    }

    /// Takes note of an arrival that goes out at `sent`, or has ended without, if it lies in one of `blocks`. Allocates
    /// nothing.
    pub(crate) fn note(
        &mut self,
        blocks: &mut SampleBlocks,
        arrival: &Arrival,
        sent: Option<Instant>,
        zero: Instant,
    ) {
        let intended = arrival.intended.since(zero);
        let Some(block) = blocks.block_of(intended) else { return };
        while self.kept.len() == BANK_ARRIVALS_MAX && self.spacing < SPACING_MAX {
            self.thin_to(2 * self.spacing);
        }
        if block.is_multiple_of(self.spacing) && self.kept.len() < BANK_ARRIVALS_MAX {
            let sent = sent.map(|sent| Instant(sent.since(zero).0));
            self.kept.push(SampledArrival {
                block,
                index: arrival.key.unit,
                intended: Instant(intended.0),
                sent,
            });
        }
    }

    /// Puts in an arrival that was recorded before.
    pub fn push(&mut self, arrival: SampledArrival) {
        self.kept.push(arrival);
    }

    /// Keeps one of every `spacing` blocks, which is a power of two.
    pub fn thin_to(&mut self, spacing: u64) {
        if spacing > self.spacing {
            self.spacing = spacing;
            self.kept.retain(|arrival| arrival.block.is_multiple_of(spacing));
        }
    }

    /// Adds another worker's or another interval's sample. Beyond [`BLOCKS_MAX`] blocks every second one is
    /// dropped; the outcome does not depend on the order in which samples are added.
    pub fn add(&mut self, other: &ArrivalSample) {
        if other.kept.is_empty() && other.spacing <= self.spacing {
            return;
        }
        self.thin_to(other.spacing);
        let kept = other.kept.iter().filter(|arrival| arrival.block.is_multiple_of(self.spacing));
        self.kept.extend(kept);
        let mut blocks: Vec<u64> = self.kept.iter().map(|arrival| arrival.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let mut spacing = self.spacing;
        while blocks.len() as u64 > BLOCKS_MAX {
            spacing *= 2;
            blocks.retain(|block| block.is_multiple_of(spacing));
        }
        self.thin_to(spacing);
    }

    /// Forgets everything, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.spacing = 1;
    }

    /// The sample in order of intended time: what stands one after the other in a block was successive.
    pub fn in_order(&self) -> Vec<SampledArrival> {
        let mut all = self.kept.clone();
        all.sort_unstable_by_key(|arrival| (arrival.intended, arrival.index));
        all
    }

    /// The longest time that a sampled arrival was sent after it was due.
    pub fn lag_max(&self) -> Option<Nanos> {
        self.kept.iter().filter_map(|arrival| Some(arrival.sent?.since(arrival.intended))).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::schedule::{Cursor, Phase, Process, Rate};
    use crate::share::Share;

    fn hold(per_s: u64, process: Process, seconds: u64) -> Arc<Schedule> {
        let phases = [Phase::hold(Rate::per_second(per_s), Nanos::from_secs(seconds))];
        Arc::new(Schedule::new(&phases, process, u64::MAX))
    }

    fn blocks(schedule: &Arc<Schedule>) -> SampleBlocks {
        SampleBlocks::new(schedule.clone(), Nanos::from_secs(1), schedule.end())
    }

    /// What `workers` keep in intervals of `length`, everything being sent within 6 ns.
    fn sample(schedule: &Arc<Schedule>, workers: u32, length: Nanos) -> ArrivalSample {
        const ZERO: Instant = Instant(1_000);
        let mut banks = Vec::new();
        for first in 0..workers {
            let mut cursor = Cursor::of_share(schedule, Share { first, of: workers });
            let mut blocks = blocks(schedule);
            while let Some((index, offset)) = cursor.next(schedule) {
                let interval = (offset.0 / length.0) as usize;
                if banks.len() <= interval {
                    banks.resize_with(interval + 1, Vec::new);
                }
                let interval: &mut Vec<(u32, ArrivalSample)> = &mut banks[interval];
                if interval.last().is_none_or(|(worker, _)| *worker != first) {
                    interval.push((first, ArrivalSample::default()));
                }
                let arrival = Arrival::single(index, 0, ZERO + offset);
                if let Some((_, bank)) = interval.last_mut() {
                    bank.note(&mut blocks, &arrival, Some(ZERO + offset + Nanos(index % 7)), ZERO);
                }
            }
        }
        let mut total = ArrivalSample::default();
        banks.iter().flatten().for_each(|(_, bank)| total.add(bank));
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
        for process in [Process::Even, Process::Poisson { seed: 4 }] {
            let schedule = hold(100, process, 600);
            let whole = sample(&schedule, 1, Nanos::from_secs(10));
            for (workers, length_ms) in [(1, 1_000), (2, 10_000), (7, 6_400)] {
                let parts = sample(&schedule, workers, Nanos::from_millis(length_ms));
                assert_eq!(parts.in_order(), whole.in_order());
            }
            assert_eq!(whole.lag_max(), Some(Nanos(6)));
        }
    }

    /// A bank that is handed over after a stall of ten minutes holds more blocks than it has room for.
    #[test]
    fn a_full_bank_keeps_whole_blocks() {
        let schedule = hold(1_000, Process::Poisson { seed: 6 }, 600);
        let (late, whole) =
            (sample(&schedule, 2, Nanos::from_secs(600)), sample(&schedule, 1, Nanos::from_secs(1)));
        assert!(late.spacing() >= whole.spacing());
        let kept: Vec<_> =
            whole.in_order().into_iter().filter(|a| a.block.is_multiple_of(late.spacing())).collect();
        assert_eq!(late.in_order(), kept);
    }

    #[test]
    fn the_blocks_are_whole_and_spread_over_any_length() {
        for seconds in [15, 16, 60, 1_000, 3_600] {
            let schedule = hold(1_000, Process::Even, 1 + seconds);
            let kept = sample(&schedule, 1, Nanos::from_secs(1));
            let numbers = blocks_of(&kept);
            assert_eq!(kept.as_slice().len() as u64, numbers.len() as u64 * BLOCK_EXPECTED, "{seconds} s");
            let in_order = kept.in_order();
            let is_whole =
                |block: &[SampledArrival]| block.windows(2).all(|two| two[1].index == two[0].index + 1);
            assert!(in_order.chunk_by(|a, b| a.block == b.block).all(is_whole), "{seconds} s");
            assert!((8..=BLOCKS_MAX).contains(&(numbers.len() as u64)), "{seconds} s: {numbers:?}");
            let farthest = numbers.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            let after_last = seconds - numbers.last().unwrap();
            assert!(farthest.max(after_last) <= spacing(seconds - 1), "{seconds} s: {numbers:?}");
        }
    }

    #[test]
    fn below_a_block_per_second_every_arrival_is_kept() {
        let kept = sample(&hold(2, Process::Even, 250), 2, Nanos::from_secs(1));
        let indices: Vec<u64> = kept.in_order().iter().map(|a| a.index).collect();
        assert_eq!(indices, (2..500).collect::<Vec<_>>());
    }

    /// A block is the same whichever arrival is asked for first, also around a pause and a ramp.
    #[test]
    fn a_block_does_not_depend_on_what_was_asked_before() {
        let ramp = Phase { from: Rate::default(), to: Rate::per_second(500), duration: Nanos::from_secs(5) };
        let pause = Phase::hold(Rate::default(), Nanos::from_secs(3));
        let phases = [ramp, pause, Phase::hold(Rate::per_second(90), Nanos::from_secs(9))];
        let schedule = Arc::new(Schedule::new(&phases, Process::Even, u64::MAX));
        let all = SampleBlocks::new(schedule.clone(), Nanos::ZERO, schedule.end());
        let (mut forth, mut back) = (all.clone(), all.clone());
        let times: Vec<Nanos> = (0..17_000).map(|ms| Nanos(ms * 999_983)).collect();
        let there: Vec<_> = times.iter().map(|&at| forth.block_of(at)).collect();
        let mut here: Vec<_> = times.iter().rev().map(|&at| back.block_of(at)).collect();
        here.reverse();
        let alone: Vec<_> = times.iter().map(|&at| all.clone().block_of(at)).collect();
        assert!(there == here && there == alone);
        assert!(there.iter().flatten().max() >= Some(&8));
    }
}
