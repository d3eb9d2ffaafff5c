//! How long a server works on a request.

use super::random::{Random, nanos};
use crate::time::Nanos;

/// An answer that comes event by event: the first when the work is done, and the last is its end.
#[derive(Clone, PartialEq, Debug)]
pub struct EventSpec {
    /// Events of an answer; not zero.
    pub count: u32,
    /// From one to the next.
    pub gap: Service,
}

/// A distribution of service times.
#[derive(Clone, PartialEq, Debug)]
pub enum Service {
    /// Always the same.
    Constant(Nanos),
    /// Memoryless.
    Exponential {
        /// Mean.
        mean: Nanos,
    },
    /// The logarithm is normal.
    LogNormal {
        /// Half are shorter.
        median: Nanos,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// A power-law tail.
    Pareto {
        /// Shortest.
        min: Nanos,
        /// Share above x: (min/x)^alpha.
        alpha: f64,
    },
    /// Values with their weights.
    Empirical(Vec<(Nanos, u64)>),
    /// Grows or shrinks in a straight line, by the time at which the work begins.
    Ramp {
        /// Until `start`.
        from: Nanos,
        /// From `end` on.
        to: Nanos,
        /// After the schedule's zero.
        start: Nanos,
        /// After the schedule's zero.
        end: Nanos,
    },
}

impl Service {
    /// The time for work that begins `at` after the schedule's zero.
    pub(super) fn draw(&self, at: Nanos, random: &mut Random) -> Nanos {
        match self {
            Service::Constant(time) => *time,
            Service::Exponential { mean } => random.exponential(*mean),
            Service::LogNormal { median, sigma } => {
                nanos(median.0 as f64 * libm::exp(sigma * random.normal()))
            }
            Service::Pareto { min, alpha } => nanos(min.0 as f64 * libm::pow(random.uniform(), -1.0 / alpha)),
            Service::Empirical(values) => empirical(values, random),
            Service::Ramp { from, to, start, end } => ramp(*from, *to, *start, *end, at),
        }
    }

    /// Every draw is 0.
    pub fn is_nothing(&self) -> bool {
        match self {
            Service::Constant(time) => time.0 == 0,
            Service::Exponential { mean } => mean.0 == 0,
            Service::LogNormal { median, .. } => median.0 == 0,
            Service::Pareto { min, .. } => min.0 == 0,
            Service::Empirical(values) => values.iter().all(|(time, weight)| time.0 == 0 || *weight == 0),
            Service::Ramp { from, to, .. } => from.0 == 0 && to.0 == 0,
        }
    }
}

fn empirical(values: &[(Nanos, u64)], random: &mut Random) -> Nanos {
    let total: u64 = values.iter().map(|(_, weight)| weight).sum();
    let mut left = random.below(total.max(1));
    for &(time, weight) in values {
        if left < weight {
            return time;
        }
        left -= weight;
    }
    Nanos::ZERO
}

fn ramp(from: Nanos, to: Nanos, start: Nanos, end: Nanos, at: Nanos) -> Nanos {
    if at <= start {
        return from;
    }
    if at >= end {
        return to;
    }
    let (done, whole) = (i128::from((at - start).0), i128::from((end - start).0));
    let change = (i128::from(to.0) - i128::from(from.0)) * done / whole;
    Nanos((i128::from(from.0) + change) as u64)
}
