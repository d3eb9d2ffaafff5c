//! How long somebody thinks.

use crate::time::Nanos;

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
}

impl Think {
    /// No time at all.
    pub const NONE: Think = Think::Constant(Nanos::ZERO);

    /// The time that two sets of random bits come to.
    pub(super) fn draw(self, bits: [u64; 2]) -> Nanos {
        match self {
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

    /// One time in a thousand is longer.
    pub fn longest_but_one_in_1000(self) -> Nanos {
        /// 99.9 % of a standard normal distribution lie below.
        const NORMAL_999: f64 = 3.090_232_306_167_813;
        match self {
            Think::Constant(time) => time,
            Think::Exponential(mean) => scaled(mean, libm::log(1e3)),
            Think::LogNormal { median, sigma_milli } => {
                scaled(median, libm::exp(f64::from(sigma_milli) / 1e3 * NORMAL_999))
            }
        }
    }

    /// Its mean, in seconds.
    pub fn mean_s(self) -> f64 {
        match self {
            Think::Constant(time) | Think::Exponential(time) => time.as_secs_f64(),
            Think::LogNormal { median, sigma_milli } => {
                let sigma = f64::from(sigma_milli) / 1e3;
                median.as_secs_f64() * libm::exp(sigma * sigma / 2.0)
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
