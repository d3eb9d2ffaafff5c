//! Laws over whole numbers that are not keys: sizes above all.

use libm::{cos, erfc, exp, log, log1p, sqrt};

use crate::draws::{Drawing, Draws};
use crate::error::SourceError;
use crate::expression::Call;
use crate::expression::arguments::Arguments;
use crate::expression::number::grouped;

/// At least so large a share of draws must be within `max`, or drawing again takes too long.
const KEPT_MIN: f64 = 0.01;
/// No draw is further from the median than this many σ: the normal number below is √(−2 ln 2^-53) at the most.
const NORMAL_MAX: f64 = 8.6;
/// No draw is above the mean times this: −ln 2^-53 is the most.
const EXPONENTIAL_MAX: f64 = 37.0;
/// The largest number that a draw without `max` may reach.
const LARGEST: f64 = (1u64 << 62) as f64;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Size {
    Constant { value: u64 },
    Lognormal { median: f64, sigma: f64, max: Option<u64> },
    Exponential { mean: f64, rate: f64, max: Option<u64> },
}

/// The functions of this module, and how each is written.
pub(crate) const FUNCTIONS: [(&str, &str); 3] = [
    ("constant", "constant(4KiB)"),
    ("lognormal", "lognormal(median, sigma, max=): lognormal(4KiB, 1.2, max=1MiB)"),
    ("exponential", "exponential(mean, max=): exponential(4KiB, max=1MiB)"),
];

impl Size {
    /// Reads a call of one of [`FUNCTIONS`].
    pub(crate) fn parse(call: &Call, usage: &str) -> Result<Size, SourceError> {
        let given = |names| Arguments::of(call, names, usage);
        let size = match call.name.text.as_str() {
            "constant" => {
                let given = given(&["value"])?;
                return Ok(Size::Constant { value: given.needed("value", given.whole("value")?)? });
            }
            "lognormal" => {
                let given = given(&["median", "sigma", "max"])?;
                let (median, sigma) = (above_zero(&given, "median")?, given.real("sigma")?);
                let sigma = given.needed("sigma", sigma)?;
                if sigma <= 0.0 {
                    let message = "`sigma` must be above 0; constant(n) draws the same each time";
                    return Err(given.refused("sigma", message));
                }
                let max = given.whole("max")?;
                if max.is_none() && log(median) + sigma * NORMAL_MAX > log(LARGEST) {
                    let message = "`sigma` is so large that draws may pass 2^62; give a `max`";
                    return Err(given.refused("sigma", message));
                }
                kept_enough(&given, Size::Lognormal { median, sigma, max })?
            }
            _ => {
                let given = given(&["mean", "max"])?;
                let (mean, max) = (above_zero(&given, "mean")?, given.whole("max")?);
                if max.is_none() && mean * EXPONENTIAL_MAX > LARGEST {
                    let message = "`mean` is so large that draws may pass 2^62; give a `max`";
                    return Err(given.refused("mean", message));
                }
                kept_enough(&given, Size::Exponential { mean, rate: log1p(1.0 / mean), max })?
            }
        };
        Ok(size)
    }

    #[inline]
    pub(crate) fn draw(&self, seed: u64, drawing: &Drawing) -> u64 {
        let mut draws = Draws::new(seed, drawing.key);
        loop {
            // What is too large for an integer becomes the largest one, which is above any `max`.
            let (drawn, max) = match self {
                Size::Constant { value } => return *value,
                Size::Lognormal { median, sigma, max } => {
                    ((median * exp(sigma * normal(&mut draws)) + 0.5) as u64, max)
                }
                Size::Exponential { rate, max, .. } => ((-log(draws.uniform()) / rate) as u64, max),
            };
            if max.is_none_or(|max| drawn <= max) {
                return drawn;
            }
        }
    }

    /// The share of draws that are at most `value`, before any is drawn again.
    fn share_up_to(&self, value: u64) -> f64 {
        match self {
            Size::Constant { .. } => 1.0,
            Size::Lognormal { median, sigma, .. } => {
                let z = log((value as f64 + 0.5) / median) / sigma;
                erfc(-z / std::f64::consts::SQRT_2) / 2.0
            }
            Size::Exponential { rate, .. } => -libm::expm1(-rate * (value as f64 + 1.0)),
        }
    }

    pub(crate) fn describe(&self) -> String {
        let (law, max) = match self {
            Size::Constant { value } => return format!("always {}", grouped(*value)),
            Size::Lognormal { median, sigma, max } => {
                (format!("lognormal, median {}, σ of ln {sigma}", grouped(*median as u64)), max)
            }
            Size::Exponential { mean, max, .. } => {
                (format!("exponential, mean {}", grouped(*mean as u64)), max)
            }
        };
        match max {
            None => law,
            Some(max) => format!(
                "{law}, drawn again above {} ({:.2} % of draws)",
                grouped(*max),
                (1.0 - self.share_up_to(*max)) * 100.0
            ),
        }
    }

    /// The share of the draws that the `top` most frequent values get, where that has a closed form.
    pub(crate) fn share_of_top(&self, top: u64) -> Option<f64> {
        match self {
            Size::Constant { .. } => Some(if top > 0 { 1.0 } else { 0.0 }),
            Size::Lognormal { .. } => None,
            Size::Exponential { max, .. } if top > 0 => {
                let share = self.share_up_to(top - 1);
                Some(max.map_or(share, |max| (share / self.share_up_to(max)).min(1.0)))
            }
            Size::Exponential { .. } => Some(0.0),
        }
    }

    /// How many different values there are, where that is small.
    pub(crate) fn values(&self) -> Option<u64> {
        match self {
            Size::Constant { .. } => Some(1),
            Size::Exponential { max, .. } => max.and_then(|max| max.checked_add(1)),
            Size::Lognormal { .. } => None,
        }
    }
}

/// A normal number by the transform of Box and Muller (1958).
#[inline]
fn normal(draws: &mut Draws) -> f64 {
    let (radius, turn) = (sqrt(-2.0 * log(draws.uniform())), draws.uniform());
    radius * cos(std::f64::consts::TAU * turn)
}

fn above_zero(given: &Arguments<'_>, name: &str) -> Result<f64, SourceError> {
    match given.needed(name, given.whole(name)?)? {
        0 => Err(given.refused(name, format!("`{name}` must be above 0"))),
        value => Ok(value as f64),
    }
}

fn kept_enough(given: &Arguments<'_>, size: Size) -> Result<Size, SourceError> {
    let (Size::Lognormal { max: Some(max), .. } | Size::Exponential { max: Some(max), .. }) = size else {
        return Ok(size);
    };
    let kept = size.share_up_to(max);
    if kept < KEPT_MIN {
        let again = (1.0 - kept) * 100.0;
        let message = format!("`max` is so low that {again:.2} % would be drawn again; at most 99 % may be");
        return Err(given.refused("max", message));
    }
    Ok(size)
}
