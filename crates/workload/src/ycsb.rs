//! The laws of YCSB's core workload (Cooper and others, SoCC 2010) as its release 0.17.0 computes them, so that figures can be
//! compared with those of others. They are not always what their names say: `ycsb_scrambled` is not zipfian over its keys.

use libm::{log, pow};

use crate::draws::{Drawing, Draws};
use crate::error::SourceError;
use crate::expression::Call;
use crate::expression::arguments::Arguments;
use crate::expression::number::grouped;
use crate::keys::zeta::Zeta;
use crate::keys::{acknowledged, count, percent};

/// Whatever the number of keys, scrambled ranks are drawn over so many: from 0 to 10^10 inclusive.
const SCRAMBLED_RANKS: u64 = 10_000_000_001;
/// ζ(10^10, 0.99), as YCSB has it.
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;
const KEYS_MAX: u64 = 1_000_000_000_000;
/// At least this share of the numbers of `ycsb_exponential` is one of the keys, so drawing again ends soon.
const PERCENTILE_MIN: f64 = 0.01;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Ycsb {
    /// Ranks are keys: 0 is the most frequent one.
    Zipfian { gray: Gray },
    /// Keys are hashes of ranks, modulo at least the number of keys with those to come; what is not there yet is drawn again.
    Scrambled { gray: Gray, keys: u64, coming: u64, modulo: u64, acknowledged: bool },
    /// The last key minus a zipfian rank below it, so key 0 is never drawn.
    Latest { gray: Gray, keys: u64, acknowledged: bool },
    /// The hot keys are the first ones.
    Hotspot { keys: u64, hot: u64, draws: f64 },
    /// The last key minus an exponential number; below 0 it is drawn again.
    Exponential { keys: u64, rate: f64, acknowledged: bool },
    /// The key that an insert adds: the next one behind the first `keys`. What is no arrival of the load adds none.
    Inserted { keys: u64 },
}

/// The functions of this module, and how each is written.
pub(crate) const FUNCTIONS: [(&str, &str); 6] = [
    ("ycsb_zipfian", "ycsb_zipfian(n, theta=0.99)"),
    ("ycsb_scrambled", "ycsb_scrambled(n, coming=0, inserts=expected|acknowledged, modulo=)"),
    ("ycsb_latest", "ycsb_latest(n, theta=0.99, inserts=expected|acknowledged)"),
    ("ycsb_hotspot", "ycsb_hotspot(n, keys=20%, draws=80%)"),
    (
        "ycsb_exponential",
        "ycsb_exponential(n, percentile=95%, within=85.71428571%, inserts=expected|acknowledged)",
    ),
    ("ycsb_inserted", "ycsb_inserted(n)"),
];

/// At least one in this many of the hashed keys exists at the start.
const COMING_MAX: u64 = 99;

impl Ycsb {
    /// Reads a call of one of [`FUNCTIONS`].
    pub(crate) fn parse(call: &Call, usage: &str) -> Result<Ycsb, SourceError> {
        let given = |names| Arguments::of(call, names, usage);
        match call.name.text.as_str() {
            "ycsb_zipfian" => {
                let given = given(&["n", "theta"])?;
                let keys = count(&given, KEYS_MAX)?;
                Ok(Ycsb::Zipfian { gray: Gray::new(keys, theta(&given)?) })
            }
            "ycsb_scrambled" => {
                let given = given(&["n", "coming", "inserts", "modulo"])?;
                let keys = count(&given, KEYS_MAX)?;
                let coming = given.whole("coming")?.unwrap_or(0);
                if coming > keys.saturating_mul(COMING_MAX).min(KEYS_MAX) {
                    let message = "`coming` is more than 99 times `n`: nearly every key would be drawn again";
                    return Err(given.refused("coming", message));
                }
                let modulo = given.whole("modulo")?.unwrap_or(keys + coming);
                if modulo < keys + coming || modulo > keys.saturating_mul(COMING_MAX + 1) {
                    let message =
                        "`modulo` must be `n` and `coming` together at least, and 100 times `n` at most";
                    return Err(given.refused("modulo", message));
                }
                let gray = Gray::with_zeta(SCRAMBLED_RANKS, Zeta::of(0.99), 0.99, SCRAMBLED_ZETA);
                Ok(Ycsb::Scrambled { gray, keys, coming, modulo, acknowledged: acknowledged(&given)? })
            }
            "ycsb_latest" => {
                let given = given(&["n", "theta", "inserts"])?;
                let keys = count(&given, KEYS_MAX)?;
                if keys < 4 {
                    let message = "`n` must be at least 4: YCSB's formula means nothing below";
                    return Err(given.refused("n", message));
                }
                let acknowledged = acknowledged(&given)?;
                Ok(Ycsb::Latest { gray: Gray::new(keys - 1, theta(&given)?), keys, acknowledged })
            }
            "ycsb_hotspot" => {
                let given = given(&["n", "keys", "draws"])?;
                let keys = count(&given, KEYS_MAX)?;
                let hot = (keys as f64 * given.share("keys")?.unwrap_or(0.2)) as u64;
                if hot == 0 || hot == keys {
                    let message = "`keys` makes no key hot, or every key; YCSB rounds down";
                    return Err(given.refused("keys", message));
                }
                Ok(Ycsb::Hotspot { keys, hot, draws: given.share("draws")?.unwrap_or(0.8) })
            }
            "ycsb_inserted" => Ok(Ycsb::Inserted { keys: count(&given(&["n"])?, KEYS_MAX)? }),
            _ => {
                let given = given(&["n", "percentile", "within", "inserts"])?;
                let keys = count(&given, KEYS_MAX)?;
                let inside = |name, otherwise| match given.share(name)?.unwrap_or(otherwise) {
                    share if share > 0.0 && share < 1.0 => Ok(share),
                    _ => Err(given.refused(name, format!("`{name}` must lie between 0% and 100%"))),
                };
                let (percentile, within) = (inside("percentile", 0.95)?, inside("within", 0.857_142_857_1)?);
                if percentile < PERCENTILE_MIN {
                    let message = "`percentile` is below 1%: nearly every number would be drawn again";
                    return Err(given.refused("percentile", message));
                }
                let rate = -log(1.0 - percentile) / (keys as f64 * within);
                Ok(Ycsb::Exponential { keys, rate, acknowledged: acknowledged(&given)? })
            }
        }
    }

    #[inline]
    pub(crate) fn draw(&self, seed: u64, drawing: &Drawing) -> Option<u64> {
        let mut draws = Draws::new(seed, drawing.key);
        Some(match self {
            Ycsb::Zipfian { gray } => gray.rank(&mut draws),
            Ycsb::Scrambled { gray, keys, modulo, .. } => loop {
                let key = hashed(gray.rank(&mut draws)) % modulo;
                if key < keys.saturating_add(drawing.inserted) {
                    break key;
                }
            },
            Ycsb::Latest { gray, keys, .. } => {
                let last = keys - 1 + drawing.inserted.min(KEYS_MAX);
                last - gray.grown(last).rank(&mut draws)
            }
            Ycsb::Hotspot { keys, hot, draws: share } => {
                if from_zero(&mut draws) < *share {
                    draws.below(*hot)
                } else {
                    hot + draws.below(keys - hot)
                }
            }
            Ycsb::Exponential { keys, rate, .. } => {
                let last = keys - 1 + drawing.inserted.min(KEYS_MAX);
                loop {
                    let back = (-log(draws.uniform()) / rate) as u64;
                    if back <= last {
                        break last - back;
                    }
                }
            }
            Ycsb::Inserted { keys } => return keys.checked_add(drawing.ordinal),
        })
    }

    /// The rank by popularity, from 0, of a key that was drawn so; 0 where ranks are not known.
    #[inline]
    pub(crate) fn rank(&self, key: u64, drawing: &Drawing) -> u64 {
        match self {
            Ycsb::Zipfian { .. } | Ycsb::Hotspot { .. } => key,
            Ycsb::Latest { keys, .. } | Ycsb::Exponential { keys, .. } => {
                keys - 1 + drawing.inserted.min(KEYS_MAX) - key
            }
            Ycsb::Scrambled { .. } | Ycsb::Inserted { .. } => 0,
        }
    }

    /// The key that an insert adds goes by its number among them.
    pub(crate) fn needs_ordinal(&self) -> bool {
        matches!(self, Ycsb::Inserted { .. })
    }

    pub(crate) fn needs_ended(&self) -> bool {
        match self {
            Ycsb::Latest { acknowledged, .. } | Ycsb::Exponential { acknowledged, .. } => *acknowledged,
            Ycsb::Scrambled { acknowledged, .. } => *acknowledged && self.needs_inserted(),
            _ => false,
        }
    }

    pub(crate) fn needs_inserted(&self) -> bool {
        match self {
            Ycsb::Latest { .. } | Ycsb::Exponential { .. } => true,
            Ycsb::Scrambled { coming, .. } => *coming > 0,
            Ycsb::Zipfian { .. } | Ycsb::Hotspot { .. } | Ycsb::Inserted { .. } => false,
        }
    }

    /// How inserts are counted, where that is not by their schedule.
    fn counting(&self) -> &'static str {
        if self.needs_ended() { " (those inserted whose inserts have ended: others in each run)" } else { "" }
    }

    pub(crate) fn describe(&self) -> String {
        let law = match self {
            Ycsb::Zipfian { gray } => {
                format!("YCSB's zipfian over {} keys, θ {}", grouped(gray.items), gray.theta)
            }
            Ycsb::Scrambled { keys, coming: 0, .. } => {
                format!("YCSB's scrambled zipfian over {} keys", grouped(*keys))
            }
            Ycsb::Scrambled { keys, coming, .. } => {
                format!(
                    "YCSB's scrambled zipfian over {} keys and {} to come",
                    grouped(*keys),
                    grouped(*coming)
                )
            }
            Ycsb::Latest { gray, keys, .. } => {
                format!(
                    "YCSB's latest over {} keys and those inserted since, θ {}",
                    grouped(*keys),
                    gray.theta
                )
            }
            Ycsb::Hotspot { keys, hot, draws } => format!(
                "YCSB's hot spot: the first {} of {} keys get {} % of the draws",
                grouped(*hot),
                grouped(*keys),
                percent(*draws)
            ),
            Ycsb::Exponential { keys, rate, .. } => format!(
                "YCSB's exponential: {} keys behind the newest on average, over {} keys and those inserted since",
                grouped((1.0 / rate).round() as u64),
                grouped(*keys)
            ),
            Ycsb::Inserted { keys } => format!("one after another, after the first {} keys", grouped(*keys)),
        };
        law + self.counting()
    }

    /// How many different keys there are.
    pub(crate) fn keys(&self) -> Option<u64> {
        match self {
            Ycsb::Zipfian { gray } => Some(gray.items),
            Ycsb::Scrambled { keys, coming, .. } => Some(keys + coming),
            Ycsb::Hotspot { keys, .. } => Some(*keys),
            Ycsb::Latest { .. } | Ycsb::Exponential { .. } | Ycsb::Inserted { .. } => None,
        }
    }

    /// The share of the draws that the `top` most frequent keys get, where that has a closed form. As the run begins.
    pub(crate) fn share_of_top(&self, top: u64) -> Option<f64> {
        match self {
            Ycsb::Zipfian { gray } | Ycsb::Latest { gray, .. } => Some(gray.share_below(top)),
            Ycsb::Scrambled { .. } | Ycsb::Inserted { .. } => None,
            Ycsb::Hotspot { keys, hot, draws }
                if draws * (keys - hot) as f64 >= (1.0 - draws) * *hot as f64 =>
            {
                let cold = top.saturating_sub(*hot).min(keys - hot) as f64 / (keys - hot) as f64;
                Some(draws * top.min(*hot) as f64 / *hot as f64 + (1.0 - draws) * cold)
            }
            Ycsb::Hotspot { .. } => None,
            Ycsb::Exponential { keys, rate, .. } => {
                let below = |keys: u64| -libm::expm1(-rate * keys as f64);
                Some(below(top.min(*keys)) / below(*keys))
            }
        }
    }
}

/// Gray and others, "Quickly generating billion-record synthetic databases", SIGMOD 1994: exact for ranks 0 and 1, and a
/// continuous law cut into whole numbers behind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Gray {
    items: u64,
    theta: f64,
    zeta: Zeta,
    /// ζ(items, θ)
    zeta_n: f64,
    /// 1 + 2^−θ = ζ(2, θ)
    zeta_2: f64,
    /// (1 − (2/n)^(1−θ)) ÷ (1 − ζ(2, θ)/ζ(n, θ)), where n stays the number of items at the start.
    eta: f64,
    /// (2/n)^(1−θ)
    second: f64,
}

impl Gray {
    fn new(items: u64, theta: f64) -> Gray {
        let zeta = Zeta::of(theta);
        Gray::with_zeta(items, zeta, theta, zeta.to(items))
    }

    fn with_zeta(items: u64, zeta: Zeta, theta: f64, zeta_n: f64) -> Gray {
        let zeta_2 = 1.0 + pow(0.5, theta);
        let second = pow(2.0 / items as f64, 1.0 - theta);
        Gray { items, theta, zeta, zeta_n, zeta_2, eta: (1.0 - second) / (1.0 - zeta_2 / zeta_n), second }
    }

    /// Over more items than at the start.
    #[inline]
    fn grown(self, items: u64) -> Gray {
        if items == self.items {
            return self;
        }
        let zeta_n = self.zeta.to(items);
        Gray { items, zeta_n, eta: (1.0 - self.second) / (1.0 - self.zeta_2 / zeta_n), ..self }
    }

    #[inline]
    fn rank(&self, draws: &mut Draws) -> u64 {
        let u = from_zero(draws);
        let uz = u * self.zeta_n;
        if uz < 1.0 {
            return 0;
        }
        if uz < self.zeta_2 {
            return 1;
        }
        let rank = self.items as f64 * pow(self.eta * u - self.eta + 1.0, 1.0 / (1.0 - self.theta));
        // One in 2^53 draws rounds up to the number of items, where YCSB's own leaves its range.
        (rank as u64).min(self.items - 1)
    }

    /// The share of ranks below `rank`: the u from which on the formula gives at least that rank.
    fn share_below(&self, rank: u64) -> f64 {
        match rank {
            0 => 0.0,
            1 => (1.0 / self.zeta_n).min(1.0),
            _ if rank >= self.items => 1.0,
            _ => {
                let part = pow(rank as f64 / self.items as f64, 1.0 - self.theta);
                (1.0 + (part - 1.0) / self.eta).max(self.zeta_2 / self.zeta_n)
            }
        }
    }
}

/// In [0, 1), as Java's `nextDouble`.
#[inline]
fn from_zero(draws: &mut Draws) -> f64 {
    1.0 - draws.uniform()
}

fn theta(given: &Arguments<'_>) -> Result<f64, SourceError> {
    let theta = given.real("theta")?.unwrap_or(0.99);
    if theta > 0.0 && theta < 1.0 {
        return Ok(theta);
    }
    Err(given.refused("theta", "`theta` must lie between 0 and 1 in YCSB's formula; zipf(n, s) takes others"))
}

/// YCSB's hash of a number: FNV of its eight bytes, low first, without the sign. A record's key is `user` and this.
#[inline]
pub fn hashed(number: u64) -> u64 {
    let hash = number.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(1_099_511_628_211)
    });
    (hash as i64).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_ycsb() {
        assert_eq!([0, 1].map(hashed), [6_284_781_860_667_377_211, 8_517_097_267_634_966_620]);
    }
}
