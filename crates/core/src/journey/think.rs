//! How long somebody thinks.

use crate::random::below;
use crate::time::Nanos;
use std::sync::Arc;

/// How long somebody thinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Think {
    /// Always the same time.
    Constant(Nanos),
    /// Memoryless, with this mean.
    Exponential(Nanos),
    /// The logarithm is normal.
    LogNormal {
        /// Half of the times are shorter.
        median: Nanos,
        /// Standard deviation of the logarithm, in thousandths.
        sigma_milli: u32,
    },
    /// One of those that have this number among [`Journeys::times`](super::Journeys::times).
    OneOf(u16),
}

/// Times that were measured, each with a weight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Times {
    /// In order, each with the weights of all up to it.
    each: Box<[(Nanos, u64)]>,
}

impl Times {
    /// `each` with its weight; `None` where no weight is above 0, or all together are more than a u64 holds.
    pub fn new(mut each: Vec<(Nanos, u64)>) -> Option<Times> {
        each.retain(|(_, weight)| *weight > 0);
        each.sort_unstable();
        let mut total = 0u64;
        for (_, weight) in &mut each {
            total = total.checked_add(*weight)?;
            *weight = total;
        }
        (total > 0).then(|| Times { each: each.into() })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.each.len()
    }

    fn total(&self) -> u64 {
        self.each.last().map_or(0, |(_, total)| *total)
    }

    /// The one at which the weights reach `rank`, from 0 to below all of them.
    fn at(&self, rank: u64) -> Nanos {
        let place = self.each.partition_point(|(_, up_to)| *up_to <= rank);
        self.each.get(place).map_or(Nanos::ZERO, |(time, _)| *time)
    }

    /// Their mean, in seconds.
    pub fn mean_s(&self) -> f64 {
        let before = std::iter::once(0).chain(self.each.iter().map(|(_, up_to)| *up_to));
        let of_one =
            |((time, up_to), before): (&(Nanos, u64), u64)| time.as_secs_f64() * (up_to - before) as f64;
        self.each.iter().zip(before).map(of_one).sum::<f64>() / self.total() as f64
    }
}

impl Think {
    /// No time at all.
    pub const NONE: Think = Think::Constant(Nanos::ZERO);

    /// The time that two sets of random bits come to; `times` are those of the plan.
    pub(super) fn draw(self, times: &[Arc<Times>], bits: [u64; 2]) -> Nanos {
        match self {
            Think::OneOf(number) => {
                let times = &times[usize::from(number)];
                times.at(below(bits[0], times.total()))
            }
            Think::Constant(time) => time,
            Think::Exponential(mean) => scaled(mean, -libm::log(uniform(bits[0]))),
            Think::LogNormal { median, sigma_milli } => {
                // Box and Muller, 1958.
                let radius = libm::sqrt(-2.0 * libm::log(uniform(bits[0])));
                let normal = radius * libm::cos(2.0 * core::f64::consts::PI * uniform(bits[1]));
                scaled(median, libm::exp(f64::from(sigma_milli) / 1e3 * normal))
            }
        }
    }

    /// Its mean, in seconds.
    pub(super) fn mean_s(self, times: &[Arc<Times>]) -> f64 {
        match self {
            Think::OneOf(number) => times[usize::from(number)].mean_s(),
            Think::Constant(time) | Think::Exponential(time) => time.as_secs_f64(),
            Think::LogNormal { median, sigma_milli } => {
                let sigma = f64::from(sigma_milli) / 1e3;
                median.as_secs_f64() * libm::exp(sigma * sigma / 2.0)
            }
        }
    }

    /// One time in a thousand is longer.
    pub(super) fn longest_but_one_in_1000(self, times: &[Arc<Times>]) -> Nanos {
        /// 99.9 % of a standard normal distribution lie below.
        const NORMAL_999: f64 = 3.090_232_306_167_813;
        match self {
            Think::OneOf(number) => {
                let times = &times[usize::from(number)];
                times.at((u128::from(times.total()) * 999 / 1_000) as u64)
            }
            Think::Constant(time) => time,
            Think::Exponential(mean) => scaled(mean, libm::log(1e3)),
            Think::LogNormal { median, sigma_milli } => {
                scaled(median, libm::exp(f64::from(sigma_milli) / 1e3 * NORMAL_999))
            }
        }
    }
}

/// Uniform in (0, 1].
fn uniform(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// A multiple of a time; a week at the most, which no run outlasts.
fn scaled(time: Nanos, by: f64) -> Nanos {
    const WEEK_NS: f64 = 7.0 * 86_400.0 * 1e9;
    Nanos(libm::round((time.0 as f64 * by).clamp(0.0, WEEK_NS)) as u64)
}
