//! Schedule = shape × process, as absolute intended times.
//!
//! A shape is Λ(t), the cumulative number of expected arrivals. A process gives unit-rate points u(k):
//! `even` is u(k) = k, `poisson` is a sum of exponentials from a seeded generator. Arrival k is due at
//! d(k) = Λ⁻¹(u(k)), the largest whole nanosecond t with Λ(t) ≤ u(k). All sums are integers, so nothing
//! drifts however long the run is, and nothing that the target does can move an arrival.
//!
//! Rates are fractions; D is a number of seconds in which every rate of the schedule is a whole number r of requests
//! (1,000 s for rates in thousandths). Λ is counted in units of 1/(2·10⁹·D) request: with times in ns, a hold is
//! `2·r·t` and a ramp `2·r₀·t + (r₁−r₀)·t²/T`, both without rounding.

use crate::rate::gcd;
use crate::share::Share;
use crate::time::{Nanos, SECOND_NS};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub use crate::rate::Rate;

/// Highest rate a phase may have, so that the ramp's inequality fits 128 bits.
pub const RATE_MAX_PER_S: u64 = 1_000_000;
/// Longest ramp, for the same reason.
pub const RAMP_LENGTH_MAX: Nanos = Nanos(24 * 3600 * SECOND_NS);
/// Longest stretch at one rate. Its units, 2·r·t, stay below 2·10¹⁵·6.048·10¹⁴ < 2¹⁰¹.
pub const HOLD_LENGTH_MAX: Nanos = Nanos(7 * 24 * 3600 * SECOND_NS);

/// Poisson arrivals that are walked through to find the end of a limited schedule.
pub const WALKED_MAX: u64 = 10_000_000;

/// D is a multiple of this, so that rates in thousandths give the same Poisson arrivals whatever stands beside them.
const SECONDS_MIN: u64 = 1_000;
/// The largest D.
const SECONDS_MAX: u64 = 1_000_000_000;
/// The highest rate of a ramp in requests per D, for the ramp's inequality to fit 128 bits.
const RAMP_MAX: u64 = 10_000_000_000;

/// The seconds in which every rate of `phases` is a whole number; `None` where the schedule's integers can't hold them.
pub fn common_seconds(phases: &[Phase]) -> Option<u64> {
    let rates = || phases.iter().flat_map(|phase| [phase.from, phase.to]);
    let common = |all: u64, rate: Rate| {
        let next = all.checked_mul(rate.seconds() / gcd(all, rate.seconds()))?;
        Some(next).filter(|&seconds| seconds <= SECONDS_MAX)
    };
    let seconds = rates().try_fold(SECONDS_MIN, common)?;
    let fits = |phase: &Phase| {
        let highest = phase.from.max(phase.to).in_seconds(seconds)?;
        let max = if phase.from == phase.to { RATE_MAX_PER_S * SECONDS_MAX } else { RAMP_MAX };
        (highest <= max).then_some(())
    };
    phases.iter().try_for_each(fits).map(|()| seconds)
}

/// A stretch of the shape: the rate goes linearly from `from` to `to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Phase {
    /// Rate at the start.
    pub from: Rate,
    /// Rate at the end.
    pub to: Rate,
    /// Length, at most [`Phase::length_max`].
    pub duration: Nanos,
}

impl Phase {
    /// A constant rate.
    pub fn hold(rate: Rate, duration: Nanos) -> Phase {
        Phase { from: rate, to: rate, duration }
    }

    /// The longest that a phase like this may be.
    pub fn length_max(&self) -> Nanos {
        if self.from == self.to { HOLD_LENGTH_MAX } else { RAMP_LENGTH_MAX }
    }
}

impl PlacedPhase {
    /// Largest t with Λ(t) ≤ `units`, for `units` below the phase's own.
    fn inverse(&self, units: u128) -> u64 {
        let (r0, r1) = (self.from, self.to);
        if r0 == r1 {
            let per_ns = 2 * r0;
            return match u64::try_from(units) {
                // 64-bit division is several times faster, and most phases are that short.
                Ok(units) => units / per_ns,
                Err(_) => (units / u128::from(per_ns)) as u64,
            };
        }
        let span = self.phase.duration.0;
        let slope = (r1 as f64 - r0 as f64) / span as f64;
        let root = (r0 as f64 * r0 as f64 + slope * units as f64).max(0.0).sqrt();
        let guess = (units as f64 / (r0 as f64 + root)).clamp(0.0, span as f64) as u64;
        // The guess is off by a few ns at most where the rate is not near 0; the integer inequality decides.
        let holds = |t: u64| {
            let (t, span) = (i128::from(t), i128::from(span));
            2 * i128::from(r0) * t * span + (i128::from(r1) - i128::from(r0)) * t * t <= units as i128 * span
        };
        let (mut low, mut high, mut step) = (guess, guess, 1u64);
        while low > 0 && !holds(low) {
            high = low;
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 1;
        while high < span && holds(high) {
            low = high;
            high = (high + step).min(span);
            step *= 2;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if holds(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// How arrivals lie around the shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Process {
    /// Evenly spaced in Λ.
    Even,
    /// Independent arrivals: exponential gaps in Λ.
    Poisson {
        /// The same seed gives the same arrivals, for any number of threads.
        seed: u64,
    },
}

/// The whole schedule of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    phases: Vec<PlacedPhase>,
    process: Process,
    units_per_request: u128,
    end_ns: u64,
    limit: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PlacedPhase {
    phase: Phase,
    /// Requests in D seconds at its start.
    from: u64,
    /// And at its end.
    to: u64,
    start_ns: u64,
    units_before: u128,
    units_after: u128,
}

impl Schedule {
    /// Joins `phases` end to end. At most `limit` arrivals come out. The rates must have [`common_seconds`], which a
    /// plan checks.
    pub fn new(phases: &[Phase], process: Process, limit: u64) -> Schedule {
        let seconds = common_seconds(phases).expect("the rates of the phases have a common denominator");
        let whole = |rate: Rate| rate.in_seconds(seconds).expect("a multiple of the rate's own seconds");
        let (mut placed, mut start_ns, mut units) = (Vec::with_capacity(phases.len()), 0, 0u128);
        for &phase in phases {
            let (from, to) = (whole(phase.from), whole(phase.to));
            let units_after = units + u128::from(from + to) * u128::from(phase.duration.0);
            placed.push(PlacedPhase { phase, from, to, start_ns, units_before: units, units_after });
            start_ns += phase.duration.0;
            units = units_after;
        }
        let units_per_request = 2 * u128::from(SECOND_NS) * u128::from(seconds);
        Schedule { phases: placed, process, units_per_request, end_ns: start_ns, limit }
    }

    /// The same schedule with at most `limit` arrivals.
    pub fn with_limit(mut self, limit: u64) -> Schedule {
        self.limit = limit;
        self
    }

    /// When the shape ends.
    pub fn end(&self) -> Nanos {
        Nanos(self.end_ns)
    }

    /// How arrivals lie around the shape.
    pub fn process(&self) -> Process {
        self.process
    }

    /// The phases in order.
    pub fn phases(&self) -> impl Iterator<Item = Phase> + '_ {
        self.phases.iter().map(|p| p.phase)
    }

    /// How long the schedule offers load: to the end of the shape, or to the arrival that the limit
    /// leaves out. For more than [`WALKED_MAX`] Poisson arrivals, to where that arrival is expected (off by
    /// less than 0.1 %), since finding it takes a draw for each.
    pub fn span(&self) -> Nanos {
        if self.limit == u64::MAX {
            return self.end();
        }
        let mut unlimited = self.clone();
        unlimited.limit = u64::MAX;
        let next = match self.process {
            Process::Poisson { .. } if self.limit <= WALKED_MAX => {
                let mut cursor = Cursor::new(&unlimited, 0, 1);
                (0..self.limit).all(|_| cursor.next(&unlimited).is_some());
                cursor.next(&unlimited).map(|(_, offset)| offset)
            }
            _ => unlimited.at_units(u128::from(self.limit) * self.units_per_request),
        };
        next.unwrap_or(self.end())
    }

    /// Arrivals with an intended time before `end`, counted from the schedule alone.
    pub fn count_before(&self, end: Nanos) -> u64 {
        self.counts_before([end])[0]
    }

    /// The same for several ends in ascending order. Poisson arrivals are walked once for all of them.
    pub fn counts_before<const N: usize>(&self, ends: [Nanos; N]) -> [u64; N] {
        match self.process {
            Process::Even => ends.map(|end| {
                let due = self.units_before(end).div_ceil(self.units_per_request);
                self.limit.min(due as u64)
            }),
            Process::Poisson { .. } => {
                let mut cursor = Cursor::new(self, 0, 1);
                let (mut next, mut count) = (cursor.next(self), 0);
                ends.map(|end| {
                    while next.is_some_and(|(_, offset)| offset < end) {
                        next = cursor.next(self);
                        count += 1;
                    }
                    count
                })
            }
        }
    }

    /// ⌊Λ(end)⌋: how many arrivals are expected before `end`, whatever the process and the limit.
    pub fn expected_before(&self, end: Nanos) -> u64 {
        (self.units_before(end) / self.units_per_request) as u64
    }

    /// The offered rate at `at`, in requests per second.
    pub fn rate_at(&self, at: Nanos) -> f64 {
        let Some(p) = self.phases.iter().find(|p| at.0 < p.start_ns + p.phase.duration.0) else { return 0.0 };
        let share = (at.0 - p.start_ns) as f64 / p.phase.duration.0 as f64;
        p.phase.from.as_per_s() + share * (p.phase.to.as_per_s() - p.phase.from.as_per_s())
    }

    /// The highest rate that the shape reaches.
    pub fn rate_max(&self) -> Rate {
        self.phases().map(|p| p.from.max(p.to)).max().unwrap_or_default()
    }

    /// ⌈Λ(end)⌉ in units, so that "how many k have Λ⁻¹(k) < end" is a division.
    fn units_before(&self, end: Nanos) -> u128 {
        let Some(p) = self.phases.iter().find(|p| end.0 < p.start_ns + p.phase.duration.0) else {
            return self.phases.last().map_or(0, |p| p.units_after);
        };
        let t = u128::from(end.0.saturating_sub(p.start_ns));
        let (r0, r1) = (i128::from(p.from), i128::from(p.to));
        let span = i128::from(p.phase.duration.0);
        let bend = (r1 - r0) * (t * t) as i128;
        // ⌈bend / span⌉ for either sign.
        let bend = bend.div_euclid(span) + i128::from(bend.rem_euclid(span) != 0);
        (p.units_before as i128 + 2 * r0 * t as i128 + bend) as u128
    }

    /// One draw from Exp(1), in units. `libm` rather than `ln` of the platform: the same on every machine.
    fn exponential_units(&self, random: &mut Xoshiro256PlusPlus) -> u128 {
        (-libm::log(uniform(random)) * self.units_per_request as f64).round() as u128
    }

    fn at_units(&self, units: u128) -> Option<Nanos> {
        self.phases
            .iter()
            .find(|p| units < p.units_after)
            .map(|p| Nanos(p.start_ns + p.inverse(units - p.units_before)))
    }
}

/// A place in a part of the schedule, whose arrivals it yields in order.
///
/// Cloning is cheap and exact, so that "what is due" and "what is not yet sent" are two cursors over one
/// schedule and a backlog of a million arrivals takes no memory.
#[derive(Clone, Debug)]
pub struct Cursor {
    index: u64,
    steps: Steps,
    units: u128,
    random: Option<Xoshiro256PlusPlus>,
    phase: usize,
}

/// Which arrivals a cursor yields.
#[derive(Clone, Debug)]
enum Steps {
    /// Each so many'th.
    Every(u64),
    /// A worker's; `group` is that of the arrival that comes next.
    Dealt { share: Share, group: u64 },
}

impl Steps {
    /// The number of the arrival after `index`.
    fn after(&mut self, index: u64) -> u64 {
        match self {
            Steps::Every(step) => index + *step,
            Steps::Dealt { share, group } => {
                *group += 1;
                share.in_group(*group)
            }
        }
    }
}

impl Cursor {
    /// The arrivals k ≡ first (mod step), from `first` on.
    pub fn new(schedule: &Schedule, first: u64, step: u64) -> Cursor {
        Cursor::at(schedule, first, Steps::Every(step))
    }

    /// Those of a worker.
    pub fn of_share(schedule: &Schedule, share: Share) -> Cursor {
        let steps = if share.of == 1 { Steps::Every(1) } else { Steps::Dealt { share, group: 0 } };
        Cursor::at(schedule, share.in_group(0), steps)
    }

    fn at(schedule: &Schedule, index: u64, steps: Steps) -> Cursor {
        let (random, units) = match schedule.process {
            Process::Even => (None, u128::from(index) * schedule.units_per_request),
            Process::Poisson { seed } => {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let units = (0..=index).map(|_| schedule.exponential_units(&mut random)).sum();
                (Some(random), units)
            }
        };
        Cursor { index, steps, units, random, phase: 0 }
    }

    /// The next arrival: its index and its intended time after the start. `None` at the end, for good.
    pub fn next(&mut self, schedule: &Schedule) -> Option<(u64, Nanos)> {
        if self.index >= schedule.limit {
            return None;
        }
        while self.units >= schedule.phases.get(self.phase)?.units_after {
            self.phase += 1;
        }
        let placed = &schedule.phases[self.phase];
        let offset = Nanos(placed.start_ns + placed.inverse(self.units - placed.units_before));
        let index = self.index;
        self.index = self.steps.after(index);
        let step = self.index - index;
        self.units += match &mut self.random {
            None => u128::from(step) * schedule.units_per_request,
            // Every worker draws every exponential: one stream whatever the number of threads.
            Some(random) => (0..step).map(|_| schedule.exponential_units(random)).sum(),
        };
        Some((index, offset))
    }
}

/// One draw from the uniform distribution over (0, 1].
pub(crate) fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}
