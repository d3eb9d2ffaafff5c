//! Is the process of arrivals what it claims to be?
//!
//! A Poisson process has gaps that are independent and, counted in expected arrivals (Λ), exponential with
//! mean 1. The gaps of a bounded subsample ([`ArrivalSample`]) are held against that by the Anderson–Darling
//! test, once for the intended times and once for the times at which the arrivals were really sent. With
//! enough samples such a test finds any deviation, so there are 960 arrivals at most, the level is
//! 0.1 %, and the deviation must also be large: the empirical distribution must leave the exponential one by
//! [`ARRIVAL_DISTANCE_MIN`], and for sent times this after every gap was granted [`ARRIVAL_SEND_TOLERANCE`].
//!
//! Bursty arrivals are a Poisson process in what the bursts make of Λ. The bursts are known, so the test is the same.
//!
//! Recorded arrivals claim nothing: how late they were sent is told as a figure.
//!
//! An even process must lie on the line Λ(d(k)) = k; how far it is off is told as a figure.

mod anderson_darling;
mod shape;

pub use shape::{Shape, ShapePhase};

use crate::thresholds::{
    ARRIVAL_CORRELATION_MIN, ARRIVAL_CORRELATION_SIGMAS, ARRIVAL_DISTANCE_MIN, ARRIVAL_GAPS_MIN,
    ARRIVAL_OFF_THE_LINE_MAX, ARRIVAL_P_VALUE_MAX, ARRIVAL_SEND_TOLERANCE,
};
use unblink_core::record::{ArrivalSample, BLOCK_ARRIVALS, SampledArrival};
use unblink_core::time::{Instant, Nanos, SECOND_NS};

/// How arrivals are said to lie around the shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimedProcess {
    /// Evenly spaced in Λ.
    Even,
    /// As they were recorded, whatever that was.
    Recorded,
    /// Independent: exponential gaps in Λ.
    Poisson,
    /// The same, in bursts that Λ has already.
    Bursty,
}

/// What the sampled arrivals say about their process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ArrivalProcess {
    /// What they claim to be.
    pub claimed: ClaimedProcess,
    /// Arrivals that were looked at.
    pub arrivals: u64,
    /// When they should have started.
    pub intended: TimesTest,
    /// When they were sent.
    pub sent: TimesTest,
}

/// The same for one kind of times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimesTest {
    /// Against the exponential distribution; a Poisson process with enough gaps only.
    pub gaps: Option<GapsTest>,
    /// The farthest that a time lies from where it belongs: an intended time from the line (even only), a
    /// sent time from its intended time.
    pub deviation_max: Option<Nanos>,
}

/// Gaps against the exponential distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GapsTest {
    /// Gaps between successive arrivals.
    pub gaps: u64,
    /// Anderson and Darling's A².
    pub a2: f64,
    /// Probability of such an A² or a larger one if the process is as claimed.
    pub p_value: f64,
    /// Largest distance between the empirical and the exponential distribution, 0 to 1; for sent times the
    /// distance that is left when each gap may be off by the tolerance.
    pub distance: f64,
    /// Correlation between each gap and the next, −1 to 1.
    pub correlation: f64,
}

impl ArrivalProcess {
    /// Looks at `sample` of a schedule with this `shape`, warm-up included. Nothing without two arrivals.
    pub fn of(sample: &ArrivalSample, claimed: ClaimedProcess, shape: &Shape) -> Option<ArrivalProcess> {
        let arrivals = sample.in_order();
        if arrivals.len() < 2 {
            return None;
        }
        // A window that ends with a gap has a longer one than most; so each block is tested up to an arrival, not to a time.
        let blocks = arrivals.chunk_by(|a, b| a.block == b.block);
        let whole = blocks.filter(|block| block.len() >= BLOCK_ARRIVALS as usize);
        let runs: Vec<&[SampledArrival]> = whole.map(|block| &block[..BLOCK_ARRIVALS as usize]).collect();
        let test = |at: fn(&SampledArrival) -> Option<Instant>, tolerance| match claimed {
            ClaimedProcess::Even | ClaimedProcess::Recorded => None,
            ClaimedProcess::Poisson | ClaimedProcess::Bursty => test_gaps(&runs, at, tolerance, shape),
        };
        let line = || arrivals.iter().filter_map(|arrival| off_the_line(arrival, shape)).max();
        Some(ArrivalProcess {
            claimed,
            arrivals: match claimed {
                ClaimedProcess::Poisson | ClaimedProcess::Bursty if !runs.is_empty() => {
                    runs.iter().map(|run| run.len() as u64).sum()
                }
                _ => arrivals.len() as u64,
            },
            intended: TimesTest {
                gaps: test(|arrival| Some(arrival.intended), Nanos::ZERO),
                deviation_max: if claimed == ClaimedProcess::Even { line() } else { None },
            },
            sent: TimesTest {
                gaps: test(|arrival| arrival.sent, ARRIVAL_SEND_TOLERANCE),
                deviation_max: sample.lag_max(),
            },
        })
    }

    /// The intended times are not those of the process that is claimed: the test says so and the deviation is large, or
    /// gaps follow from each other; of even arrivals, one lies off the line.
    pub fn is_planned_otherwise(&self) -> bool {
        match self.intended.gaps {
            Some(test) => test.differs() || test.follows(),
            None => self.intended.deviation_max.is_some_and(|off| off > ARRIVAL_OFF_THE_LINE_MAX),
        }
    }

    /// The sent times are not those of the process that is claimed. Only gaps can tell: how late even arrivals were sent
    /// is a figure, and whether that matters is for the generator's lateness to say.
    pub fn is_sent_otherwise(&self) -> bool {
        self.sent.gaps.is_some_and(|test| test.differs())
    }
}

impl GapsTest {
    fn differs(&self) -> bool {
        self.p_value < ARRIVAL_P_VALUE_MAX && self.distance >= ARRIVAL_DISTANCE_MIN
    }

    fn follows(&self) -> bool {
        // Of n independent gaps the correlation has a standard deviation of 1/√n.
        let sigmas = self.correlation.abs() * (self.gaps as f64).sqrt();
        self.correlation.abs() >= ARRIVAL_CORRELATION_MIN && sigmas >= ARRIVAL_CORRELATION_SIGMAS
    }
}

fn test_gaps(
    runs: &[&[SampledArrival]],
    at: fn(&SampledArrival) -> Option<Instant>,
    tolerance: Nanos,
    shape: &Shape,
) -> Option<GapsTest> {
    // (gap in expected arrivals, tolerance in expected arrivals)
    let (mut gaps, mut neighbours) = (Vec::new(), Vec::new());
    // Beside an arrival that has no such time there is no gap.
    for run in runs.iter().flat_map(|run| run.split(|arrival| at(arrival).is_none())) {
        // Several workers' arrivals may overtake each other on their way out.
        let mut times: Vec<u64> = run.iter().filter_map(|arrival| Some(at(arrival)?.0)).collect();
        times.sort_unstable();
        let first = gaps.len();
        for pair in times.windows(2) {
            let seconds = |ns: u64| ns as f64 / SECOND_NS as f64;
            // The clock counts whole nanoseconds: two readings that are the same are half of one apart.
            let expected = shape.expected(seconds(pair[0]), seconds(pair[1]));
            let rate = shape.rate_at(seconds(pair[0]));
            gaps.push((expected.max(rate * 0.5 / SECOND_NS as f64), rate * tolerance.as_secs_f64()));
        }
        neighbours.extend(gaps[first..].windows(2).map(|pair| (pair[0].0, pair[1].0)));
    }
    // What is sent after the shape's end has no rate to be compared with.
    gaps.retain(|&(gap, _)| gap > 0.0);
    if (gaps.len() as u64) < ARRIVAL_GAPS_MIN {
        return None;
    }
    gaps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let sorted: Vec<f64> = gaps.iter().map(|&(gap, _)| gap).collect();
    let a2 = anderson_darling::statistic_exponential(&sorted);
    Some(GapsTest {
        gaps: gaps.len() as u64,
        a2,
        p_value: anderson_darling::p_value(gaps.len(), a2),
        distance: distance(&gaps),
        correlation: correlation(&neighbours),
    })
}

/// Largest distance between the empirical distribution of ascending `gaps` and Exp(1) when each gap may be
/// off by its tolerance.
fn distance(gaps: &[(f64, f64)]) -> f64 {
    let n = gaps.len() as f64;
    let exponential = |x: f64| if x > 0.0 { -(-x).exp_m1() } else { 0.0 };
    let beyond = |(i, &(gap, tolerance)): (usize, &(f64, f64))| {
        let too_many_short = (i + 1) as f64 / n - exponential(gap + tolerance);
        let too_few_short = exponential(gap - tolerance) - i as f64 / n;
        too_many_short.max(too_few_short)
    };
    gaps.iter().enumerate().map(beyond).fold(0.0, f64::max)
}

/// Pearson's correlation; 0 of values that don't vary.
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for &(a, b) in pairs {
        xy += (a - x) * (b - y);
        xx += (a - x) * (a - x);
        yy += (b - y) * (b - y);
    }
    let spread = (xx * yy).sqrt();
    if spread > 0.0 { xy / spread } else { 0.0 }
}

/// How far the intended time of an even process lies from Λ⁻¹(k). `None` where the rate is 0.
fn off_the_line(arrival: &SampledArrival, shape: &Shape) -> Option<Nanos> {
    let at_s = arrival.intended.0 as f64 / SECOND_NS as f64;
    let off = (shape.expected(0.0, at_s) - arrival.index as f64).abs();
    let rate = shape.rate_at(at_s);
    (rate > 0.0).then(|| Nanos((off / rate * SECOND_NS as f64).round() as u64))
}
