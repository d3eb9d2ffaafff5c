//! How arrivals lie around the rate, in a word: `even`, `poisson`, `bursty(peak=5x,on=200ms,off=1s)`.

use crate::value;
use unblink_core::schedule::{Bursts, Process};
use unblink_core::time::Nanos;

/// What `bursty` is without more words: for a sixth of the time five times the rate, and a fifth of it between.
const BURSTS: Bursts = Bursts { peak_milli: 5_000, on: Nanos::from_millis(200), off: Nanos::from_secs(1) };

/// The names that a text may begin with.
pub(crate) const NAMES: [&str; 3] = ["even", "poisson", "bursty"];

/// How arrivals lie around the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrivals {
    /// Evenly spaced
    Even,
    /// Random and independent, as from many users
    Poisson,
    /// The same, with a rate that goes up and down at random
    Bursty(Bursts),
}

impl Arrivals {
    /// The process that is drawn from `seed`.
    pub(crate) fn process(self, seed: u64) -> Process {
        match self {
            Arrivals::Even => Process::Even,
            Arrivals::Poisson => Process::Poisson { seed },
            Arrivals::Bursty(bursts) => Process::Bursty { seed, bursts },
        }
    }

    /// As in a document.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Arrivals::Even => "even",
            Arrivals::Poisson => "poisson",
            Arrivals::Bursty(_) => "bursty",
        }
    }
}

/// `even`, `poisson`, `bursty`, or `bursty(…)` with any of peak, on and off. Whether there can be such bursts is for the
/// plan to say.
pub(crate) fn arrivals(text: &str) -> Result<Arrivals, String> {
    let expected =
        || format!("{text:?} is not one of even, poisson, bursty, bursty(peak=5x,on=200ms,off=1s)");
    let words = match text.trim() {
        "even" => return Ok(Arrivals::Even),
        "poisson" => return Ok(Arrivals::Poisson),
        "bursty" => return Ok(Arrivals::Bursty(BURSTS)),
        other => {
            other.strip_prefix("bursty(").and_then(|rest| rest.strip_suffix(')')).ok_or_else(expected)?
        }
    };
    let (mut bursts, mut seen) = (BURSTS, Vec::new());
    for word in words.split(',') {
        let (name, value) = word.split_once('=').ok_or_else(expected)?;
        let (name, value) = (name.trim(), value.trim());
        if seen.contains(&name) {
            return Err(format!("{text:?} has {name} twice"));
        }
        seen.push(name);
        match name {
            "peak" => bursts.peak_milli = peak(value)?,
            "on" => bursts.on = value::duration(value)?,
            "off" => bursts.off = value::duration(value)?,
            other => return Err(format!("{other:?} is not a word for bursts: give peak, on or off")),
        }
    }
    Ok(Arrivals::Bursty(bursts))
}

/// The same for a search, whose trials are too short for bursts.
pub(crate) fn of_search(text: &str) -> Result<Arrivals, String> {
    match arrivals(text)? {
        Arrivals::Bursty(_) => Err("a search holds each rate for some 20 s, and how many bursts fall into that differs \
            by chance from trial to trial: search with poisson, and try the rate that it finds with unblink run"
            .into()),
        steady => Ok(steady),
    }
}

/// `5x` or `2.5`, in thousandths.
fn peak(text: &str) -> Result<u64, String> {
    let expected = || {
        format!("{text:?} is not a peak: expected how many times the mean a burst has, such as 5x or 2.5x")
    };
    let digits = text.strip_suffix('x').unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let times: f64 = digits.parse().ok().filter(|_| is_plain).ok_or_else(expected)?;
    let milli = (times * 1e3).round();
    if (times * 1e3 - milli).abs() > 1e-6 * milli.max(1.0) {
        return Err(format!("{text:?} has too many digits for a peak: give at most three decimals"));
    }
    Ok(milli as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_in_a_word() {
        let bursts = |text| match arrivals(text) {
            Ok(Arrivals::Bursty(Bursts { peak_milli, on, off })) => {
                (peak_milli, on.0 / 1_000_000, off.0 / 1_000_000)
            }
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(bursts("bursty"), (5_000, 200, 1_000));
        assert_eq!(bursts("bursty(peak=5x, on=200ms, off=1s)"), bursts("bursty"));
        assert_eq!(bursts("bursty(off=30s,peak=1.125)"), (1_125, 200, 30_000));
        assert_eq!(arrivals("even").unwrap().process(3), Process::Even);
        assert_eq!(arrivals("poisson").unwrap().process(3), Process::Poisson { seed: 3 });
        for (text, part) in [
            ("fast", "not one of even"),
            ("bursty()", "not one of even"),
            ("bursty(peak=5x", "not one of even"),
            ("bursty(peak=-5x)", "not a peak"),
            ("bursty(peak=5.0001x)", "too many digits"),
            ("bursty(peak=nan)", "not a peak"),
            ("bursty(on=1s,on=2s)", "twice"),
            ("bursty(high=5x)", "peak, on or off"),
            ("bursty(on=soon)", "not a time"),
        ] {
            assert!(arrivals(text).unwrap_err().contains(part), "{text}: {:?}", arrivals(text));
        }
        assert!(of_search("bursty").is_err() && of_search("poisson") == Ok(Arrivals::Poisson));
    }
}
