//! Bursty arrivals: the rate is switched between bursts and lulls, by chance.
//!
//! The state follows a chain with two states whose sojourns are exponential (a Markov-modulated Poisson process:
//! W. Fischer, K. Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook", 1993). The rate at a time is
//! the shape's rate times that of the state. The chain is drawn before the start, from (seed, load) alone, and begins as
//! it goes on: in a burst with the share of time that bursts take. So the mean over all seeds is the shape's rate, at
//! every moment. All streams of a load run through the same chain.

use super::streams::STREAMS;
use crate::random::{mixed, uniform};
use crate::time::Nanos;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// A state's rate is a whole number of such parts of the shape's.
pub(super) const PARTS: u64 = 1_000_000;
/// Changes between burst and lull that a load is expected to have at the most; each takes 32 bytes.
pub const CHANGES_MAX: u64 = 1_000_000;
/// The highest rate of a burst, in multiples of the mean.
pub const PEAK_MAX: u64 = 1_000;

/// How a bursty load goes up and down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bursts {
    /// The rate of a burst, in thousandths of the mean: above 1,000, up to 1,000 times [`PEAK_MAX`], and at most
    /// [`Bursts::peak_milli_max`].
    pub peak_milli: u64,
    /// How long a burst lasts, on average. Above 0.
    pub on: Nanos,
    /// How long the lull between two lasts, on average. Above 0.
    pub off: Nanos,
}

impl Bursts {
    /// The rate of a burst, in multiples of the mean.
    pub fn peak(&self) -> f64 {
        self.peak_milli as f64 / 1e3
    }

    /// The highest peak that leaves the mean as it is: then nothing comes in a lull.
    pub fn peak_milli_max(&self) -> u64 {
        let [on, cycle] = [self.on, self.on + self.off].map(|time| u128::from(time.0));
        (1_000 * cycle).checked_div(on).map_or(u64::MAX, |peak| u64::try_from(peak).unwrap_or(u64::MAX))
    }

    /// The rate of a lull, in multiples of the mean: (1 − peak·p)/(1 − p), if bursts take the share p of the time. To a
    /// millionth.
    pub fn lull(&self) -> f64 {
        self.parts(false) as f64 / PARTS as f64
    }

    /// Changes that `length` is expected to have.
    pub fn changes_expected(&self, length: Nanos) -> u64 {
        (2.0 * length.0 as f64 / (self.on.0 as f64 + self.off.0 as f64)) as u64
    }

    /// The rate of a state in [`PARTS`] of the shape's.
    pub(super) fn parts(&self, in_burst: bool) -> u64 {
        if in_burst {
            return self.peak_milli * (PARTS / 1_000);
        }
        let [on, off] = [self.on, self.off].map(|time| u128::from(time.0));
        let left = (1_000 * (on + off)).saturating_sub(u128::from(self.peak_milli) * on);
        // Rounded; at most as much as the shape's rate.
        ((left * u128::from(PARTS / 1_000) + off / 2) / off.max(1)) as u64
    }

    /// The stretches of a load, in order of time and without end: each is a burst or a lull, and ends at a time.
    pub fn stretches(&self, seed: u64, load: u32) -> Stretches {
        // The number after those of the streams.
        let seed = mixed(mixed(mixed(seed) ^ u64::from(load)) ^ STREAMS);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let share_on = self.on.0 as f64 / (self.on.0 as f64 + self.off.0 as f64);
        let in_burst = uniform(&mut random) <= share_on;
        Stretches { random, bursts: *self, in_burst, end: Nanos::ZERO }
    }
}

/// A stretch of time in one state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stretch {
    /// When it ends, after the schedule's zero; it begins where the one before ends.
    pub end: Nanos,
    /// The rate in multiples of the shape's.
    pub factor: f64,
    /// It is a burst.
    pub in_burst: bool,
}

/// The chain of a load.
#[derive(Clone, Debug)]
pub struct Stretches {
    random: Xoshiro256PlusPlus,
    bursts: Bursts,
    /// The state of the next stretch, which begins at `end`.
    in_burst: bool,
    end: Nanos,
}

impl Iterator for Stretches {
    type Item = Stretch;

    fn next(&mut self) -> Option<Stretch> {
        let in_burst = self.in_burst;
        let mean = if in_burst { self.bursts.on } else { self.bursts.off };
        // A stretch of no time at all would be none.
        let length = (-libm::log(uniform(&mut self.random)) * mean.0 as f64).round().max(1.0);
        self.end += Nanos(length as u64);
        self.in_burst = !in_burst;
        Some(Stretch { end: self.end, factor: self.bursts.parts(in_burst) as f64 / PARTS as f64, in_burst })
    }
}

/// What the chain makes of Λ: piece by piece, so many parts for each unit of the shape. Exact in both directions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Warp {
    /// In order; the first begins at 0.
    pieces: Vec<Piece>,
    /// The state of the first.
    begins_in_burst: bool,
    parts_on: u64,
    parts_off: u64,
    /// All units, those of the last piece included.
    end_units: u128,
}

/// Where a stretch begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    /// In units of the shape.
    shape: u128,
    /// In units of arrivals.
    units: u128,
}

impl Warp {
    /// Of a shape that ends at `end`, and whose Λ before a time `shape_before` gives.
    pub(super) fn new(
        bursts: &Bursts,
        (seed, load): (u64, u32),
        end: Nanos,
        shape_before: impl Fn(Nanos) -> u128,
    ) -> Warp {
        let mut warp = Warp {
            pieces: Vec::new(),
            begins_in_burst: false,
            parts_on: bursts.parts(true),
            parts_off: bursts.parts(false),
            end_units: 0,
        };
        let mut shape = 0;
        for stretch in bursts.stretches(seed, load) {
            if warp.pieces.is_empty() {
                warp.begins_in_burst = stretch.in_burst;
            }
            warp.pieces.push(Piece { shape, units: warp.end_units });
            let after = shape_before(stretch.end.min(end));
            let parts = if stretch.in_burst { warp.parts_on } else { warp.parts_off };
            warp.end_units += (after - shape) * u128::from(parts);
            shape = after;
            if stretch.end >= end {
                break;
            }
        }
        warp
    }

    /// The units of all of it.
    pub(super) fn end_units(&self) -> u128 {
        self.end_units
    }

    /// How many units of arrivals lie before so many of the shape.
    pub(super) fn units(&self, shape: u128) -> u128 {
        let place = self.pieces.partition_point(|piece| piece.shape <= shape) - 1;
        let piece = self.pieces[place];
        piece.units + (shape - piece.shape) * u128::from(self.parts(place))
    }

    /// The place in the shape that so many units of arrivals lie before. `None` at the end of the shape.
    pub(super) fn shape(&self, units: u128) -> Option<u128> {
        let place = self.pieces.partition_point(|piece| piece.units <= units) - 1;
        (units < self.end_units).then(|| self.shape_in(place, units))
    }

    /// The same for units that lie below the end, and in the piece at `place` or later; moves `place` to where they lie.
    pub(super) fn shape_from(&self, place: &mut usize, units: u128) -> u128 {
        while self.pieces.get(*place + 1).is_some_and(|next| next.units <= units) {
            *place += 1;
        }
        self.shape_in(*place, units)
    }

    /// Units below the end lie in no piece without any, so nothing is divided by 0.
    fn shape_in(&self, place: usize, units: u128) -> u128 {
        let piece = self.pieces[place];
        piece.shape + (units - piece.units) / u128::from(self.parts(place))
    }

    /// States alternate.
    fn parts(&self, place: usize) -> u64 {
        if place.is_multiple_of(2) == self.begins_in_burst { self.parts_on } else { self.parts_off }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURSTS: Bursts =
        Bursts { peak_milli: 5_000, on: Nanos::from_millis(200), off: Nanos::from_secs(1) };

    #[test]
    fn the_mean_stays() {
        assert_eq!((BURSTS.peak_milli_max(), BURSTS.lull()), (6_000, 0.2));
        assert_eq!(Bursts { peak_milli: 6_000, ..BURSTS }.lull(), 0.0);
        for (peak_milli, on_ms, off_ms) in [(1_001, 1, 7), (3_333, 70, 170), (2_000, 1, 1), (1_500, 9, 5)] {
            let bursts =
                Bursts { peak_milli, on: Nanos::from_millis(on_ms), off: Nanos::from_millis(off_ms) };
            let share = on_ms as f64 / (on_ms + off_ms) as f64;
            let mean = share * bursts.peak() + (1.0 - share) * bursts.lull();
            assert!((mean - 1.0).abs() < 1e-6, "{bursts:?}: {mean}");
        }
    }

    /// Each unit of arrivals lies where it is found, also where a lull is silent and where the shape stands still.
    #[test]
    fn the_warp_is_its_own_inverse() {
        for peak_milli in [5_000, 6_000] {
            let bursts = Bursts { peak_milli, ..BURSTS };
            // Nothing is offered in the third second of four.
            let shape = |at: Nanos| {
                u128::from(at.0.min(2_000_000_000) + at.0.saturating_sub(3_000_000_000)) / 1_000_000
            };
            let end = Nanos::from_secs(20);
            for seed in 0..40 {
                let warp = Warp::new(&bursts, (seed, 0), end, shape);
                let all = warp.end_units();
                assert_eq!(warp.units(shape(end)), all, "seed {seed}");
                let (mut place, mut last) = (0, 0);
                for units in (0..all).step_by(700_001) {
                    let at = warp.shape(units).expect("below the end");
                    assert_eq!(warp.shape_from(&mut place, units), at);
                    // The largest place that no more than these units lie before.
                    assert!(warp.units(at) <= units && units < warp.units(at + 1), "seed {seed}: {units}");
                    assert!(at >= last);
                    last = at;
                }
                assert_eq!(warp.shape(all), None);
            }
        }
    }
}
