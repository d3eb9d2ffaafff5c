//! When requests came: the rate, whether it changes, and how bursty it is.

use super::bursts::{Cells, Levels, levels};
use crate::entry::SECOND;
use crate::summary::Dispersion;
use libm::log;

/// Parts of the trace whose rates are compared.
pub(super) const STEPS: usize = 20;
/// Cells of each width at the most.
const CELLS: u64 = 1 << 15;
/// Blocks of neighbouring cells, if there are not cells for all of the trace.
const BLOCKS: u64 = 16;
/// From one width of cells to the next.
const WIDER: u64 = 8;
/// Cells that a width needs to be of use.
const CELLS_MIN: u64 = 400;
/// A rate changes if that of the steps varies more than by chance: chi-square with 19 degrees of freedom, 0.1 %.
const CHANGES_FROM: f64 = 43.8;
/// An index of dispersion above which arrivals are not taken for independent ones.
const BURSTY_FROM: f64 = 1.2;
/// One below which they are taken for evenly spaced ones.
const EVEN_TO: f64 = 0.3;
/// Requests that a window must hold on average for that.
const EVEN_MEAN_MIN: f64 = 3.0;

/// How arrivals lie around the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArrivalLaw {
    /// Evenly spaced.
    Even,
    /// Independent.
    Poisson,
    /// The rate is switched at random between bursts and lulls.
    Bursty {
        /// The rate of a burst in multiples of the mean.
        peak: f64,
        /// Mean length of a burst, s.
        on_s: f64,
        /// Mean length of a lull, s.
        off_s: f64,
    },
}

/// An index of dispersion, as it was recorded and as the fitted load has it.
#[derive(Clone, Debug, PartialEq)]
pub struct DispersionFit {
    /// Length of the windows, ns.
    pub window_ns: u64,
    /// How many there are.
    pub windows: u64,
    /// Variance of the number of requests, divided by its mean.
    pub recorded: f64,
    /// The same, expected of the fitted load.
    pub fitted: f64,
}

/// When requests came.
#[derive(Clone, Debug, PartialEq)]
pub struct RateFit {
    /// From the first to the last one, and a mean gap, ns.
    pub length_ns: u64,
    /// Requests per second.
    pub mean_per_s: f64,
    /// The same for each of twenty equal parts, where they differ more than by chance.
    pub steps: Option<Vec<f64>>,
    /// By how much the parts differ: chi-square with 19 degrees of freedom, with the variance of the fitted process.
    pub chi_square: f64,
    /// How arrivals lie around the rate.
    pub law: ArrivalLaw,
    /// How well that fits.
    pub dispersion: Vec<DispersionFit>,
}

/// Numbers of arrivals in cells of one width.
struct Scale {
    width: u64,
    /// Cells in a block, and between the beginnings of two.
    block: u64,
    every: u64,
    counts: Vec<u32>,
}

impl Scale {
    fn new(width: u64, length: u64) -> Option<Scale> {
        let all = length / width;
        if all < CELLS_MIN {
            return None;
        }
        let (block, every, blocks) = match all <= CELLS {
            true => (all, all, 1),
            false => (CELLS / BLOCKS, all / BLOCKS, BLOCKS),
        };
        Some(Scale { width, block, every, counts: vec![0; (block * blocks) as usize] })
    }

    fn add(&mut self, at: u64) {
        let cell = at / self.width;
        let within = cell % self.every;
        let place = cell / self.every * self.block + within;
        if within < self.block
            && let Some(count) = self.counts.get_mut(place as usize)
        {
            *count += 1;
        }
    }

    /// When the middle of a counted cell is.
    fn time(&self, place: usize) -> u64 {
        let (block, within) = (place as u64 / self.block, place as u64 % self.block);
        (block * self.every + within) * self.width + self.width / 2
    }
}

/// Counts arrivals of a trace whose length is known.
pub(super) struct Arrivals {
    length: u64,
    count: u64,
    steps: [u64; STEPS],
    scales: Vec<Scale>,
    finest: u64,
}

impl Arrivals {
    /// `count` arrivals are to come in `length` ns, stamped at whole seconds or more finely.
    pub(super) fn new(length: u64, count: u64, whole_seconds: bool) -> Arrivals {
        let length = length.max(1);
        let finest = if whole_seconds { SECOND as u64 } else { SECOND as u64 / 1_000 };
        // About four arrivals in a cell.
        let mut width = (4.0 * length as f64 / count.max(1) as f64).max(finest as f64) as u64;
        let mut scales = Vec::new();
        while let Some(scale) = Scale::new(width, length) {
            scales.push(scale);
            width = width.saturating_mul(WIDER);
        }
        Arrivals { length, count: 0, steps: [0; STEPS], scales, finest }
    }

    pub(super) fn add(&mut self, at: u64) {
        self.count += 1;
        let step = (u128::from(at) * STEPS as u128 / u128::from(self.length)) as usize;
        self.steps[step.min(STEPS - 1)] += 1;
        self.scales.iter_mut().for_each(|scale| scale.add(at));
    }

    fn mean_per_s(&self) -> f64 {
        self.count as f64 / self.length as f64 * SECOND as f64
    }

    /// `recorded` are the indices of the whole trace.
    pub(super) fn fit(&self, recorded: &[Dispersion]) -> RateFit {
        let mean = self.count as f64 / STEPS as f64;
        let factors: Vec<f64> = self.steps.iter().map(|&count| count as f64 / mean).collect();
        let step_s = self.length as f64 / SECOND as f64 / STEPS as f64;
        // With what changes slowly taken off, so that it isn't taken for bursts.
        let within = self.law(&factors, recorded);
        let index = within.map_or(1.0, |levels| levels.index(self.mean_per_s(), step_s));
        let chi_square = factors.iter().map(|factor| (factor - 1.0).powi(2)).sum::<f64>() * mean / index;
        let is_changing = chi_square > CHANGES_FROM;
        let flat = vec![1.0; STEPS];
        let factors = if is_changing { factors } else { flat };
        let levels = if is_changing { within } else { self.law(&factors, recorded) };
        let law = match levels {
            Some(levels) => {
                ArrivalLaw::Bursty { peak: levels.high, on_s: levels.on_s(), off_s: levels.off_s() }
            }
            None if self.is_even(recorded) => ArrivalLaw::Even,
            None => ArrivalLaw::Poisson,
        };
        let dispersion = recorded.iter().map(|one| {
            let window_s = one.window_ns as f64 / SECOND as f64;
            let own = match (levels, law) {
                (Some(levels), _) => self.index(levels, &factors, window_s),
                // Of evenly spaced ones, a window has one more or less.
                (None, ArrivalLaw::Even) => {
                    let expected = self.mean_per_s() * window_s;
                    let part = expected.fract();
                    part * (1.0 - part) / expected
                }
                (None, _) => 1.0,
            };
            let fitted = own + self.swing(&factors, window_s);
            DispersionFit { window_ns: one.window_ns, windows: one.windows, recorded: one.index, fitted }
        });
        RateFit {
            length_ns: self.length,
            mean_per_s: self.mean_per_s(),
            dispersion: dispersion.collect(),
            steps: is_changing.then(|| factors.iter().map(|factor| factor * self.mean_per_s()).collect()),
            chi_square,
            law,
        }
    }

    /// What steps add to the index of dispersion in windows shorter than they are.
    fn swing(&self, factors: &[f64], window_s: f64) -> f64 {
        let variance =
            factors.iter().map(|factor| (factor - 1.0).powi(2)).sum::<f64>() / factors.len() as f64;
        variance * self.mean_per_s() * window_s
    }

    fn index(&self, levels: Levels, factors: &[f64], window_s: f64) -> f64 {
        // Most requests come in the steps with a high rate.
        let weight = factors.iter().map(|factor| factor * factor).sum::<f64>() / factors.len() as f64;
        levels.index(self.mean_per_s() * weight, window_s)
    }

    /// Whether the shortest window that has enough arrivals always has about as many.
    fn is_even(&self, recorded: &[Dispersion]) -> bool {
        let has_enough = |one: &&Dispersion| {
            one.window_ns >= self.finest
                && self.mean_per_s() * one.window_ns as f64 / SECOND as f64 >= EVEN_MEAN_MIN
        };
        recorded.iter().find(has_enough).is_some_and(|one| one.index < EVEN_TO)
    }

    /// Bursts, where there are any: of all widths of cells, the fit that has the recorded indices of dispersion.
    fn law(&self, factors: &[f64], recorded: &[Dispersion]) -> Option<Levels> {
        let all = recorded.iter().filter(|one| one.window_ns >= self.finest);
        let own: Vec<(f64, f64)> = all
            .map(|one| {
                let window_s = one.window_ns as f64 / SECOND as f64;
                (window_s, (one.index - self.swing(factors, window_s)).max(0.01))
            })
            .collect();
        if own.iter().all(|(_, index)| *index < BURSTY_FROM) {
            return None;
        }
        let off = |index: &dyn Fn(f64) -> f64| -> f64 {
            own.iter().map(|(window_s, recorded)| log(index(*window_s) / recorded).powi(2)).sum()
        };
        let fits = self.scales.iter().filter_map(|scale| {
            let width_s = scale.width as f64 / SECOND as f64;
            let mean = self.mean_per_s() * width_s;
            let expected: Vec<f64> = (0..scale.counts.len())
                .map(|place| {
                    let step = u128::from(scale.time(place)) * STEPS as u128 / u128::from(self.length);
                    (mean * factors[(step as usize).min(STEPS - 1)]).max(1e-9)
                })
                .collect();
            let cells =
                Cells { counts: &scale.counts, expected: &expected, block: scale.block as usize, width_s };
            // Three parameters more than a constant rate has.
            levels(&cells).filter(|levels| levels.gain > 1.5 * log(scale.counts.len() as f64) + 5.0)
        });
        let (levels, off_by) = fits
            .map(|levels| (levels, off(&|window_s| self.index(levels, factors, window_s))))
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        (off_by < off(&|_| 1.0)).then_some(levels)
    }
}
