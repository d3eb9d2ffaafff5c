//! Schedule = shape × process, as absolute intended times.
//!
//! A shape is Λ(t), the cumulative number of expected arrivals. A process gives unit-rate points u(k):
//! `even` is u(k) = k, `poisson` superposes 1,024 independent streams of exponential gaps. An arrival is due at
//! d = Λ⁻¹(u), the largest whole nanosecond t with Λ(t) ≤ u. Of recorded arrivals Λ(t) is how many were recorded before t, so
//! that the k-th of them is due when it was recorded. Bursts are a change of Λ that lies between the two: the
//! points of a bursty load are those of a Poisson one, and [`bursts`] says where in the shape they come to lie. All sums are integers, so nothing
//! drifts however long the run is, and nothing that the target does can move an arrival.
//!
//! Rates are fractions; D is a number of seconds in which every rate of the schedule is a whole number r of requests
//! (1,000 s for rates in thousandths). Λ is counted in units of 1/(2·10⁹·D) request: with times in ns, a hold is
//! `2·r·t` and a ramp `2·r₀·t + (r₁−r₀)·t²/T`, both without rounding.

pub mod bursts;
mod by_number;
mod by_operation;
mod cursor;
mod placed;
mod recorded;
mod sine;
mod streams;

pub use crate::rate::Rate;
pub use bursts::Bursts;
pub use cursor::Cursor;
pub use recorded::recorded_phases;
pub use sine::{PIECES, sine};
pub use streams::STREAMS;

use crate::rate::gcd;
use crate::recorded::Recorded;
use crate::share::Share;
use crate::time::{Nanos, SECOND_NS};
use bursts::{PARTS, Warp};
use placed::PlacedPhase;
use streams::{Stream, Superposed};

/// Highest rate a phase may have. In D seconds there are at most 10¹⁷ requests then, so that a nanosecond's units fit 64 bits.
pub const RATE_MAX_PER_S: u64 = 100_000_000;
/// Longest ramp, so that its units fit 128 bits in whichever order they are computed.
pub const RAMP_LENGTH_MAX: Nanos = Nanos(24 * 3600 * SECOND_NS);
/// Longest stretch at one rate. Its units, 2·r·t, stay below 2·10¹⁷·6.048·10¹⁴ < 2¹⁰⁷.
pub const HOLD_LENGTH_MAX: Nanos = Nanos(7 * 24 * 3600 * SECOND_NS);

/// D is a multiple of this, so that rates in thousandths give the same Poisson arrivals whatever stands beside them.
const SECONDS_MIN: u64 = 1_000;
/// The largest D.
const SECONDS_MAX: u64 = 1_000_000_000;
/// The highest rate in requests per D.
const REQUESTS_MAX: u64 = RATE_MAX_PER_S * SECONDS_MAX;

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
        (highest <= REQUESTS_MAX).then_some(())
    };
    phases.iter().try_for_each(fits).map(|()| seconds)
}

/// Whether 128 bits hold all units of arrivals that `bursts` can make of `phases`. Those without bursts always fit.
pub fn bursts_fit(phases: &[Phase], bursts: &Bursts) -> bool {
    let Some(seconds) = common_seconds(phases) else { return false };
    let units = |phase: &Phase| {
        let [from, to] = [phase.from, phase.to].map(|rate| rate.in_seconds(seconds).map(u128::from));
        (from? + to?).checked_mul(u128::from(phase.duration.0))
    };
    let all = phases.iter().try_fold(0u128, |sum, phase| sum.checked_add(units(phase)?));
    // Half of what there is: the last arrival that is drawn lies behind the end.
    let bent = all.and_then(|all| all.checked_mul(u128::from(bursts.parts(true))));
    bent.is_some_and(|units| units <= u128::MAX / 2)
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

/// How arrivals lie around the shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Process {
    /// Evenly spaced in Λ.
    Even,
    /// When they were recorded.
    Recorded,
    /// Independent arrivals: exponential gaps in Λ. Arrival m of stream j has the number 1,024·m + j, so that numbers
    /// are not in order of time.
    Poisson {
        /// The same seed gives the same arrivals, for any number of shares.
        seed: u64,
    },
    /// The same while a rate goes up and down by chance: exponential gaps in what the bursts make of Λ. Numbers are
    /// those of a Poisson load.
    Bursty {
        /// The same seed gives the same bursts and arrivals, for any number of shares.
        seed: u64,
        /// When and how high.
        bursts: Bursts,
    },
}

impl Process {
    /// What arrivals are drawn from; nothing is drawn for even and recorded ones.
    pub fn seed(self) -> Option<u64> {
        match self {
            Process::Even | Process::Recorded => None,
            Process::Poisson { seed } | Process::Bursty { seed, .. } => Some(seed),
        }
    }

    /// The rate that it reaches, in multiples of the shape's.
    pub fn peak(self) -> f64 {
        match self {
            Process::Even | Process::Recorded | Process::Poisson { .. } => 1.0,
            Process::Bursty { bursts, .. } => bursts.peak(),
        }
    }
}

/// The whole schedule of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    phases: Vec<PlacedPhase>,
    process: Process,
    /// The number of its load in the run.
    load: u32,
    /// What bursts make of the shape's units. A unit of arrivals is a [`PARTS`]th of one of the shape then.
    warp: Option<Warp>,
    /// What the arrivals are, where they are recorded: a unit is an arrival then, and the phases only tell the rate.
    recorded: Option<Recorded>,
    units_per_request: u128,
    end_ns: u64,
    /// Nothing falls due from this Λ on: that of the shape's end, or of the arrival that the limit leaves out.
    end_units: u128,
}

impl Schedule {
    /// Joins `phases` end to end. At most `limit` arrivals come out. The rates must have [`common_seconds`], which a
    /// plan checks.
    pub fn new(phases: &[Phase], process: Process, limit: u64) -> Schedule {
        let seconds = common_seconds(phases).expect("the rates of the phases have a common denominator");
        let whole = |rate: Rate| rate.in_seconds(seconds).expect("a multiple of the rate's own seconds");
        let (mut placed, mut start_ns, mut units) = (Vec::with_capacity(phases.len()), 0, 0u128);
        for &phase in phases {
            let next = PlacedPhase::new(phase, [phase.from, phase.to].map(whole), start_ns, units);
            start_ns += phase.duration.0;
            units = next.units_after;
            placed.push(next);
        }
        let schedule = Schedule {
            phases: placed,
            process,
            load: 0,
            warp: None,
            recorded: None,
            units_per_request: 2 * u128::from(SECOND_NS) * u128::from(seconds),
            end_ns: start_ns,
            end_units: units,
        };
        schedule.warped().with_limit(limit)
    }

    /// The same schedule for another load of a run than the first, and without a limit. Arrivals that are drawn are others
    /// then.
    pub fn of_load(mut self, load: u32) -> Schedule {
        self.load = load;
        match self.warp {
            None => self,
            Some(_) => self.warped(),
        }
    }

    /// With the bursts of its process.
    fn warped(mut self) -> Schedule {
        let Process::Bursty { seed, bursts } = self.process else { return self };
        if self.warp.is_none() {
            self.units_per_request *= u128::from(PARTS);
        }
        let warp = Warp::new(&bursts, (seed, self.load), self.end(), |at| self.shape_units_before(at));
        self.end_units = warp.end_units();
        self.warp = Some(warp);
        self
    }

    /// The same schedule, ended before the arrival that has `limit` before it.
    pub fn with_limit(mut self, limit: u64) -> Schedule {
        let next = match self.process.seed() {
            None => u128::from(limit) * self.units_per_request,
            Some(seed) if limit <= self.expected_most() => {
                streams::units_after(&self, seed, limit).unwrap_or(self.end_units)
            }
            Some(_) => self.end_units,
        };
        self.end_units = self.end_units.min(next);
        self
    }

    /// More arrivals than any drawn schedule of this Λ has: ten standard deviations above the mean, and some.
    fn expected_most(&self) -> u64 {
        let mean = (self.end_units / self.units_per_request) as f64;
        (mean + 10.0 * mean.sqrt() + 100.0) as u64
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

    /// How long the schedule offers load: to the end of the shape, or to the arrival that the limit leaves out.
    pub fn span(&self) -> Nanos {
        self.at_units(self.end_units).unwrap_or(self.end())
    }

    /// Arrivals with an intended time before `end`, counted from the schedule alone.
    pub fn count_before(&self, end: Nanos) -> u64 {
        self.counts_before(Share::WHOLE, [end])[0]
    }

    /// The same of a share, for several ends in ascending order. A share of Poisson arrivals walks its own streams only.
    pub fn counts_before<const N: usize>(&self, share: Share, ends: [Nanos; N]) -> [u64; N] {
        let ends = ends.map(|end| self.units_before(end).min(self.end_units));
        match self.process.seed() {
            None => ends.map(|end| share.count_before(end.div_ceil(self.units_per_request) as u64)),
            Some(seed) => {
                let mut counts = [0; N];
                for number in streams::of_share(share) {
                    let mut stream = Stream::new(self, seed, number);
                    for (count, end) in counts.iter_mut().zip(ends) {
                        stream.go_to(end, self);
                        *count += stream.ordinal();
                    }
                }
                counts
            }
        }
    }

    /// ⌊Λ(end)⌋: how many arrivals are expected before `end`, whatever the limit. Bursts are known beforehand, so they
    /// count.
    pub fn expected_before(&self, end: Nanos) -> u64 {
        (self.units_before(end) / self.units_per_request) as u64
    }

    /// The shape's rate at `at`, in requests per second; of a bursty load its mean over all seeds.
    pub fn rate_at(&self, at: Nanos) -> f64 {
        let Some(p) = self.phases.iter().find(|p| at.0 < p.start_ns + p.phase.duration.0) else { return 0.0 };
        let share = (at.0 - p.start_ns) as f64 / p.phase.duration.0 as f64;
        p.phase.from.as_per_s() + share * (p.phase.to.as_per_s() - p.phase.from.as_per_s())
    }

    /// The highest rate that the shape reaches.
    pub fn rate_max(&self) -> Rate {
        self.phases().map(|p| p.from.max(p.to)).max().unwrap_or_default()
    }

    /// ⌈Λ(end)⌉ in units of arrivals: a point u has Λ⁻¹(u) < end just if it is less.
    fn units_before(&self, end: Nanos) -> u128 {
        let shape = self.shape_units_before(end);
        self.warp.as_ref().map_or(shape, |warp| warp.units(shape))
    }

    /// The same of the shape alone, in its units.
    fn shape_units_before(&self, end: Nanos) -> u128 {
        if let Some(recorded) = &self.recorded {
            return u128::from(recorded.count_before(end));
        }
        let place = self.phases.partition_point(|p| p.start_ns + p.phase.duration.0 <= end.0);
        let Some(p) = self.phases.get(place) else {
            return self.phases.last().map_or(0, |p| p.units_after);
        };
        p.units_until(end.0.saturating_sub(p.start_ns))
    }

    /// How many arrivals that lie evenly in Λ fall due at `at` or before, whatever the
    /// process and the limit.
    pub fn even_until(&self, at: Nanos) -> u64 {
        self.units_before(at + Nanos(1)).div_ceil(self.units_per_request) as u64
    }

    /// When `n` arrivals are expected to have fallen due; the end of the shape where that is never.
    pub fn expected_at(&self, n: u64) -> Nanos {
        self.at_units(u128::from(n) * self.units_per_request).unwrap_or(self.end())
    }

    /// Where the arrival with `rank` before it is expected, of `count` that lie between `from` and `to`, the first of them
    /// at `from`.
    pub fn between(&self, from: Nanos, to: Nanos, rank: u64, count: u64) -> Nanos {
        let (begin, end) = (self.units_before(from), self.units_before(to));
        // Products of Λ and a count of its arrivals need not fit.
        let per_arrival = end.saturating_sub(begin) / u128::from(count.max(1));
        self.at_units(begin + per_arrival * u128::from(rank)).unwrap_or(to).clamp(from, to.max(from))
    }

    fn at_units(&self, units: u128) -> Option<Nanos> {
        if let Some(recorded) = &self.recorded {
            return recorded.at(u64::try_from(units).ok()?);
        }
        let units = match &self.warp {
            None => units,
            Some(warp) => warp.shape(units)?,
        };
        let place = self.phases.partition_point(|p| p.units_after <= units);
        self.phases.get(place).map(|p| p.due(units))
    }
}
