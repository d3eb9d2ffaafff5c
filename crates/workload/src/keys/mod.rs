//! Which key an arrival asks for.

pub(crate) mod zeta;
mod zipf;

use unblink_core::random::mixed;
use unblink_core::shuffle::Shuffle;

use crate::draws::{Drawing, Drawn, Draws};
use crate::error::SourceError;
use crate::expression::Call;
use crate::expression::arguments::Arguments;
use crate::expression::number::grouped;
use zipf::{EXPONENT_MAX, KEYS_MAX, Zipf};

/// Keeps the permutation of a value's keys apart from its draws.
const SCATTER: u64 = 0x7363_6174_7465_7200;

/// Keys that come without end have room for so many.
const WITHOUT_END: u64 = 1 << 62;

/// A law over whole numbers from `from` on.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Keys {
    law: Law,
    from: u64,
}

#[derive(Clone, PartialEq, Debug)]
enum Law {
    Uniform { keys: u64 },
    Zipf { zipf: Zipf, keys: u64, s: f64, scatter: Shuffle },
    Hotspot { keys: u64, hot: u64, draws: f64, scatter: Shuffle },
    Sequential { keys: Option<u64> },
    Latest { zipf: Zipf, keys: u64, s: f64, acknowledged: bool },
}

/// The functions of this module, and how each is written.
pub(crate) const FUNCTIONS: [(&str, &str); 5] = [
    ("uniform", "uniform(n, from=0) or uniform(first, last)"),
    ("zipf", "zipf(n, s=0.99, from=0)"),
    ("hotspot", "hotspot(n, keys=20%, draws=80%, from=0)"),
    ("sequential", "sequential(n, from=0), or without n to count on"),
    ("latest", "latest(n, s=0.99, from=0, inserts=expected|acknowledged)"),
];

impl Keys {
    /// Reads a call of one of [`FUNCTIONS`].
    pub(crate) fn parse(call: &Call, usage: &str) -> Result<Keys, SourceError> {
        let given = |names| Arguments::of(call, names, usage);
        match call.name.text.as_str() {
            "zipf" => {
                let given = given(&["n", "s", "from"])?;
                let (keys, s) = (count(&given, KEYS_MAX)?, exponent(&given)?);
                let law = Law::Zipf { zipf: Zipf::new(keys, s), keys, s, scatter: Shuffle::of(keys) };
                Keys { law, from: 0 }.moved(&given)
            }
            "hotspot" => {
                let given = given(&["n", "keys", "draws", "from"])?;
                let keys = count(&given, KEYS_MAX)?;
                let hot = (given.share("keys")?.unwrap_or(0.2) * keys as f64).round() as u64;
                if hot == 0 || hot >= keys {
                    let part = if hot == 0 { "no key" } else { "every key" };
                    let message = format!("`keys`: {part} of {} would be hot", grouped(keys));
                    return Err(given.refused("keys", message));
                }
                let draws = given.share("draws")?.unwrap_or(0.8);
                let scatter = Shuffle::of(keys);
                Keys { law: Law::Hotspot { keys, hot, draws, scatter }, from: 0 }.moved(&given)
            }
            "sequential" => {
                let given = given(&["n", "from"])?;
                let keys = given.value("n").map(|_| count(&given, u64::MAX)).transpose()?;
                Keys { law: Law::Sequential { keys }, from: 0 }.moved(&given)
            }
            "latest" => {
                let given = given(&["n", "s", "from", "inserts"])?;
                let (keys, s) = (count(&given, KEYS_MAX)?, exponent(&given)?);
                let acknowledged = acknowledged(&given)?;
                let zipf = Zipf::new(keys, s);
                Keys { law: Law::Latest { zipf, keys, s, acknowledged }, from: 0 }.moved(&given)
            }
            _ => uniform(&given(&["n", "last", "from", "first"])?),
        }
    }

    /// Puts the first key where `from` says.
    fn moved(self, given: &Arguments<'_>) -> Result<Keys, SourceError> {
        let from = given.whole("from")?.unwrap_or(0);
        if from.checked_add(self.keys().unwrap_or(WITHOUT_END) - 1).is_none() {
            return Err(given.refused("from", "the last key would be too large: numbers end at 2^64 − 1"));
        }
        Ok(Keys { from, ..self })
    }

    /// How many different keys there are; none when more and more come.
    pub(crate) fn keys(&self) -> Option<u64> {
        match self.law {
            Law::Uniform { keys } | Law::Zipf { keys, .. } | Law::Hotspot { keys, .. } => Some(keys),
            Law::Sequential { keys } => keys,
            Law::Latest { .. } => None,
        }
    }

    pub(crate) fn needs_ordinal(&self) -> bool {
        matches!(self.law, Law::Sequential { .. })
    }

    pub(crate) fn needs_inserted(&self) -> bool {
        matches!(self.law, Law::Latest { .. })
    }

    pub(crate) fn needs_ended(&self) -> bool {
        matches!(self.law, Law::Latest { acknowledged: true, .. })
    }

    #[inline]
    pub(crate) fn draw(&self, seed: u64, drawing: &Drawing) -> Drawn {
        let mut draws = Draws::new(seed, drawing.key);
        let (key, place) = match &self.law {
            Law::Uniform { keys } => (draws.below(*keys), 0),
            Law::Zipf { zipf, scatter, .. } => {
                let rank = zipf.rank(&mut draws);
                (scatter.at(mixed(seed ^ SCATTER), rank), rank)
            }
            Law::Hotspot { keys, hot, draws: share, scatter } => {
                let rank =
                    if draws.uniform() <= *share { draws.below(*hot) } else { hot + draws.below(keys - hot) };
                let place = if is_hot(*keys, *hot, *share) { rank } else { keys - 1 - rank };
                (scatter.at(mixed(seed ^ SCATTER), rank), place)
            }
            Law::Sequential { keys: Some(keys) } => (drawing.ordinal % keys, 0),
            Law::Sequential { keys: None } => (drawing.ordinal, 0),
            Law::Latest { zipf, keys, .. } => {
                let there = keys.saturating_add(drawing.inserted).min(KEYS_MAX);
                let newest = keys.wrapping_add(drawing.inserted).wrapping_sub(1);
                let rank = zipf.over(there).rank(&mut draws);
                (newest.wrapping_sub(rank), rank)
            }
        };
        Drawn { value: self.from.wrapping_add(key), place }
    }

    pub(crate) fn describe(&self) -> String {
        let law = match &self.law {
            Law::Uniform { keys } => {
                return format!("uniform from {} to {}", grouped(self.from), grouped(self.from + keys - 1));
            }
            Law::Zipf { keys, s, .. } => format!("zipf over {} keys, exponent {s}", grouped(*keys)),
            Law::Hotspot { keys, hot, draws, .. } => format!(
                "hot spot: {} of {} keys get {} % of the draws",
                grouped(*hot),
                grouped(*keys),
                percent(*draws)
            ),
            Law::Sequential { keys: Some(keys) } => format!("one after another of {} keys", grouped(*keys)),
            Law::Sequential { keys: None } => "one after another without end".to_string(),
            Law::Latest { keys, s, acknowledged, .. } => format!(
                "zipf from the newest backwards, exponent {s}, over {} keys and those inserted since{}",
                grouped(*keys),
                if *acknowledged { " whose inserts have ended: others in each run" } else { "" }
            ),
        };
        if self.from == 0 { law } else { format!("{law}, from {}", grouped(self.from)) }
    }

    /// The share of the draws that the `top` most frequent keys get. Of `latest`, as it begins.
    pub(crate) fn share_of_top(&self, top: u64) -> Option<f64> {
        let even = |top: u64, of: u64| top.min(of) as f64 / of as f64;
        match &self.law {
            Law::Uniform { keys } | Law::Sequential { keys: Some(keys) } => Some(even(top, *keys)),
            Law::Zipf { zipf, .. } | Law::Latest { zipf, .. } => Some(zipf.share_of_top(top)),
            Law::Hotspot { keys, hot, draws, .. } => {
                let (cold, of_cold) = (keys - hot, 1.0 - draws);
                // The cold keys are the more frequent ones when they get more than their share.
                let [first, second] = if is_hot(*keys, *hot, *draws) {
                    [(*hot, *draws), (cold, of_cold)]
                } else {
                    [(cold, of_cold), (*hot, *draws)]
                };
                let behind = top.saturating_sub(first.0);
                Some(first.1 * even(top, first.0) + second.1 * even(behind, second.0))
            }
            Law::Sequential { keys: None } => None,
        }
    }
}

/// Each of the first `hot` of so many keys gets at least as many of the draws as each of the others, when they get this share.
fn is_hot(keys: u64, hot: u64, draws: f64) -> bool {
    draws * (keys - hot) as f64 >= (1.0 - draws) * hot as f64
}

/// `uniform(n)` and `uniform(first, last)`.
fn uniform(given: &Arguments<'_>) -> Result<Keys, SourceError> {
    let (n, last) = (given.whole("n")?, given.whole("last")?);
    let Some(last) = last else {
        if given.value("first").is_some() {
            return Err(given.refused("first", "`first` needs `last`; write from= for the first of n keys"));
        }
        return Keys { law: Law::Uniform { keys: count(given, u64::MAX)? }, from: 0 }.moved(given);
    };
    let first = given.whole("first")?;
    if given.value("from").is_some() || (first.is_some() && n.is_some()) {
        let message = "write either uniform(n, from=0) or uniform(first, last)";
        return Err(given.refused(if n.is_some() && first.is_some() { "n" } else { "from" }, message));
    }
    let first = given.needed("first", first.or(n))?;
    if first > last {
        let message = format!("{} is less than {}: write the lower end first", grouped(last), grouped(first));
        return Err(given.refused("last", message));
    }
    let keys = (last - first).checked_add(1).ok_or_else(|| given.refused("last", "too many numbers"))?;
    Ok(Keys { law: Law::Uniform { keys }, from: first })
}

/// The number of keys.
pub(crate) fn count(given: &Arguments<'_>, most: u64) -> Result<u64, SourceError> {
    let keys = given.needed("n", given.whole("n")?)?;
    if keys == 0 {
        return Err(given.refused("n", "`n` is 0: nothing can be drawn from no keys"));
    }
    if keys > most {
        return Err(given.refused("n", format!("`n` is too large: at most {} keys", grouped(most))));
    }
    Ok(keys)
}

/// Only the inserts that have ended count.
pub(crate) fn acknowledged(given: &Arguments<'_>) -> Result<bool, SourceError> {
    match given.text("inserts")? {
        None | Some("expected") => Ok(false),
        Some("acknowledged") => Ok(true),
        Some(other) => {
            let message = format!("`inserts`: {other:?} is neither expected nor acknowledged");
            Err(given.refused("inserts", message))
        }
    }
}

fn exponent(given: &Arguments<'_>) -> Result<f64, SourceError> {
    let s = given.real("s")?.unwrap_or(0.99);
    if s <= 0.0 {
        let message = "`s` must be above 0; write uniform(n) when all keys are as likely";
        return Err(given.refused("s", message));
    }
    if s > EXPONENT_MAX {
        let message = "`s` is at most 10: above, nearly every draw is the same key; constant(n) says so";
        return Err(given.refused("s", message));
    }
    Ok(s)
}

/// In percent, with as many digits as tell apart what people write.
pub(crate) fn percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}
