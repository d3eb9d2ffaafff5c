//! How much a figure of one run varies by chance within that run: blocks of its time, drawn again and again.
//!
//! Blocks rather than arrivals, because neighbours share a queue and its events (E. Carlstein, "The Use of Subseries
//! Values for Estimating the Variance of a General Statistic from a Stationary Sequence", 1986).

use crate::interval::BLOCKS_MIN;
use crate::interval::bins;
use crate::interval::history::{History, Stretch};
use crate::quantile::nearest_rank;
use unblink_core::sim::Random;
use unblink_core::time::Nanos;

/// Times that the blocks are drawn.
const DRAWS: usize = 200;
/// With fewer blocks nothing is said about what varies within a run.
const BLOCKS_LEAST: usize = 5;

/// What happened in one stretch of a run's time, for its rates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Slice {
    /// In seconds.
    pub length_s: f64,
    /// Arrivals that ended `ok`.
    pub ok: u64,
    /// Arrivals that ended otherwise.
    pub not_ok: u64,
}

/// Draws of one figure, as deviations from their own mean; empty where the run is too short to say, or where some
/// draws don't know the figure.
pub(super) type Deviations = Vec<f64>;

/// Deviations of ln(quantile) for each of `quantiles` (ascending). Censored arrivals take longer than any other:
/// exact for one constant timeout.
pub(super) fn of_quantiles(
    history: &History,
    (from, to): (Nanos, Nanos),
    quantiles: &[f64],
    random: &mut Random,
) -> Vec<Deviations> {
    let stretches = history.between(from, to);
    let mut numbers: Vec<u32> =
        stretches.iter().flat_map(|s| s.completed.iter().map(|(bin, _)| *bin)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let logs: Vec<f64> =
        numbers.iter().map(|&bin| (bins::lowest_ns(bin << history.shift()).max(1) as f64).ln()).collect();
    let blocks: Vec<Block> = blocks_of(&stretches).map(|block| Block::new(block, &numbers)).collect();
    let mut found: Vec<Vec<f64>> = vec![Vec::with_capacity(DRAWS); quantiles.len()];
    let mut sum = vec![0u64; numbers.len()];
    for weights in drawn(blocks.len(), random) {
        sum.fill(0);
        let mut count = 0;
        for (block, &weight) in blocks.iter().zip(&weights).filter(|(_, weight)| **weight > 0) {
            count += weight * block.count;
            sum.iter_mut().zip(&block.counts).for_each(|(sum, n)| *sum += weight * n);
        }
        let ranks = quantiles.iter().map(|&q| nearest_rank(q, count));
        let (mut below, mut bin) = (0, 0);
        for (found, rank) in found.iter_mut().zip(ranks) {
            while bin < sum.len() && below + sum[bin] < rank {
                below += sum[bin];
                bin += 1;
            }
            found.extend(logs.get(bin));
        }
    }
    found.into_iter().map(|draws| if draws.len() == DRAWS { centred(draws) } else { Vec::new() }).collect()
}

/// Deviations of `figure` of (seconds, ok, not ok), summed over what was drawn.
pub(super) fn of_slices(
    slices: &[Slice],
    figure: impl Fn(f64, u64, u64) -> f64,
    random: &mut Random,
) -> Deviations {
    let blocks: Vec<(f64, u64, u64)> = blocks_of(slices)
        .map(|block| {
            let sum = |of: fn(&Slice) -> u64| block.iter().map(of).sum::<u64>();
            (block.iter().map(|slice| slice.length_s).sum(), sum(|s| s.ok), sum(|s| s.not_ok))
        })
        .collect();
    let draws: Vec<f64> = drawn(blocks.len(), random)
        .map(|weights| {
            let (mut length_s, mut ok, mut not_ok) = (0.0, 0, 0);
            for (block, &weight) in blocks.iter().zip(&weights) {
                length_s += weight as f64 * block.0;
                ok += weight * block.1;
                not_ok += weight * block.2;
            }
            figure(length_s, ok, not_ok)
        })
        .collect();
    if draws.iter().all(|draw| draw.is_finite()) { centred(draws) } else { Vec::new() }
}

/// The counts of a block on bins that all blocks share.
struct Block {
    counts: Vec<u64>,
    /// The censored included.
    count: u64,
}

impl Block {
    fn new(stretches: &[Stretch], numbers: &[u32]) -> Block {
        let mut block = Block { counts: vec![0; numbers.len()], count: 0 };
        for stretch in stretches {
            for (bin, n) in &stretch.completed {
                if let Ok(place) = numbers.binary_search(bin) {
                    block.counts[place] += n;
                }
                block.count += n;
            }
            block.count += stretch.censored.iter().map(|(_, n)| n).sum::<u64>();
        }
        block
    }
}

/// Neighbours, in blocks as equal as can be; none where they would be too few.
fn blocks_of<T>(parts: &[T]) -> impl Iterator<Item = &[T]> {
    let count = parts.len().min(BLOCKS_MIN);
    let count = if count < BLOCKS_LEAST { 0 } else { count };
    (0..count).map(move |i| &parts[i * parts.len() / count..(i + 1) * parts.len() / count])
}

/// How often each of `blocks` blocks is drawn, as many times as there are blocks, [`DRAWS`] times over.
fn drawn(blocks: usize, random: &mut Random) -> impl Iterator<Item = Vec<u64>> {
    (0..if blocks == 0 { 0 } else { DRAWS }).map(move |_| {
        let mut weights = vec![0; blocks];
        (0..blocks).for_each(|_| weights[random.below(blocks as u64) as usize] += 1);
        weights
    })
}

fn centred(mut draws: Vec<f64>) -> Deviations {
    let mean = draws.iter().sum::<f64>() / draws.len().max(1) as f64;
    draws.iter_mut().for_each(|draw| *draw -= mean);
    draws
}
