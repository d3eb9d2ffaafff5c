//! Poisson arrivals as 1,024 independent streams, superposed.
//!
//! Each stream is a Poisson process of a 1,024th of the rate, with a generator of its own that is seeded by (seed, load,
//! number of the stream). Together they are a Poisson process of the whole rate. A share of the load is whole streams, so
//! that each share draws its own arrivals only, a seed gives the same ones for any number of shares, and the load stays
//! Poisson where shares' clocks differ a little; arrivals that are dealt one by one over machines would not.

use super::Schedule;
use crate::random::{mixed, uniform};
use crate::share::Share;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many there are, and so the most shares of a Poisson load.
pub const STREAMS: u64 = 1024;

/// The numbers of the streams that are a share's own.
pub(super) fn of_share(share: Share) -> impl Iterator<Item = u64> {
    (u64::from(share.first)..STREAMS).step_by(share.of as usize)
}

/// A stream, at one of its arrivals.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    random: Xoshiro256PlusPlus,
    number: u64,
    /// The arrivals before this one.
    ordinal: u64,
    /// Its Λ.
    units: u128,
}

impl Stream {
    /// At its first arrival.
    pub(super) fn new(schedule: &Schedule, seed: u64, number: u64) -> Stream {
        let seed = mixed(mixed(mixed(seed) ^ u64::from(schedule.load)) ^ number);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let units = gap_units(&mut random, schedule);
        Stream { random, number, ordinal: 0, units }
    }

    /// Arrivals before this one.
    pub(super) fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// Its Λ.
    pub(super) fn units(&self) -> u128 {
        self.units
    }

    /// Past `n` arrivals, or to the schedule's end.
    pub(super) fn skip(&mut self, n: u64, schedule: &Schedule) {
        for _ in 0..n {
            if self.units >= schedule.end_units {
                return;
            }
            self.step(schedule);
        }
    }

    /// To its first arrival at `units` or later.
    pub(super) fn go_to(&mut self, units: u128, schedule: &Schedule) {
        while self.units < units {
            self.step(schedule);
        }
    }

    fn step(&mut self, schedule: &Schedule) {
        self.ordinal += 1;
        self.units += gap_units(&mut self.random, schedule);
    }
}

/// A gap of one stream: Exp(1) × 1,024 requests, in units. `libm` rather than the platform's `ln`: the same everywhere.
fn gap_units(random: &mut Xoshiro256PlusPlus, schedule: &Schedule) -> u128 {
    let mean = (schedule.units_per_request * u128::from(STREAMS)) as f64;
    (-libm::log(uniform(random)) * mean).round() as u128
}

/// The streams of a share, merged.
#[derive(Clone, Debug)]
pub(super) struct Superposed {
    streams: Vec<Stream>,
    /// The Λ of each stream's arrival, and the stream's place.
    next: BinaryHeap<Reverse<(u128, usize)>>,
}

impl Superposed {
    pub(super) fn new(schedule: &Schedule, seed: u64, share: Share) -> Superposed {
        Superposed::of(of_share(share).map(|number| Stream::new(schedule, seed, number)).collect())
    }

    fn of(streams: Vec<Stream>) -> Superposed {
        let next = streams.iter().enumerate().map(|(place, stream)| Reverse((stream.units, place))).collect();
        Superposed { streams, next }
    }

    /// To the place of `other`, which has the same streams.
    pub(super) fn go_to(&mut self, other: &Superposed) {
        self.streams.clone_from(&other.streams);
        self.next.clone_from(&other.next);
    }

    /// The next arrival: its number and its Λ. `None` at the schedule's end.
    pub(super) fn next(&mut self, schedule: &Schedule) -> Option<(u64, u128)> {
        let mut first = self.next.peek_mut()?;
        let Reverse((units, place)) = *first;
        if units >= schedule.end_units {
            return None;
        }
        let stream = &mut self.streams[place];
        let index = stream.ordinal * STREAMS + stream.number;
        stream.step(schedule);
        *first = Reverse((stream.units, place));
        Some((index, units))
    }
}

/// The Λ of the arrival of all streams that has `rank` before it; `None` when the schedule ends before.
///
/// Merging is the dearest part, so each stream goes alone to where nearly as many have passed.
pub(super) fn units_after(schedule: &Schedule, seed: u64, rank: u64) -> Option<u128> {
    let streams = || -> Vec<Stream> {
        of_share(Share::WHOLE).map(|number| Stream::new(schedule, seed, number)).collect()
    };
    let mut near = streams();
    // Six standard deviations below: so rarely too far that starting over costs nothing.
    let surely = (rank as f64 - 6.0 * (rank as f64).sqrt() - 10.0).max(0.0) as u64;
    let units = (u128::from(surely) * schedule.units_per_request).min(schedule.end_units);
    near.iter_mut().for_each(|stream| stream.go_to(units, schedule));
    let mut passed = near.iter().map(Stream::ordinal).sum();
    if passed > rank {
        (near, passed) = (streams(), 0);
    }
    let mut merged = Superposed::of(near);
    for _ in passed..rank {
        merged.next(schedule)?;
    }
    merged.next(schedule).map(|(_, units)| units)
}
