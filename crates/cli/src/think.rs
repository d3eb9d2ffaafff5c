//! Think times of journeys: a law, or times that were measured, from a file.

use crate::{inputs, value};
use std::path::Path;
use std::sync::Arc;
use unblink_core::journey::{Think, Times};
use unblink_report::format;

/// Of a file.
const BYTES_MAX: u64 = 64 << 20;

/// How long somebody thinks, as it is written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ThinkArg {
    Law(Think),
    /// The name of a file.
    File(String),
}

/// Times from a file.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    file: String,
    pub times: Arc<Times>,
}

/// Reads a think time.
pub(crate) fn parse(text: &str) -> Result<ThinkArg, String> {
    let wrong = |why: String| format!("{text:?} is not a think time: {why}");
    let time = |text: &str| value::duration(text.trim()).map_err(wrong);
    let inside = |name: &str| text.trim().strip_prefix(name)?.trim().strip_prefix('(')?.strip_suffix(')');
    if let Some(file) = inside("histogram") {
        let form = || wrong("expected histogram(FILE), with lines of time,weight such as 1.5s,20".into());
        let file = file.trim();
        return if file.is_empty() { Err(form()) } else { Ok(ThinkArg::File(file.to_string())) };
    }
    if let Some(mean) = inside("exp") {
        return time(mean).map(Think::Exponential).map(ThinkArg::Law);
    }
    let Some(both) = inside("lognormal") else {
        let laws = "expected a time such as 3s, exp(MEAN), lognormal(MEDIAN, SIGMA) or histogram(FILE)";
        let constant = value::duration(text.trim()).map(Think::Constant).map(ThinkArg::Law);
        return constant.map_err(|_| wrong(laws.into()));
    };
    let form = || wrong("expected lognormal(MEDIAN, SIGMA), such as lognormal(2s, 0.8)".into());
    let (median, sigma) = both.split_once(',').ok_or_else(form)?;
    let sigma: f64 = sigma.trim().parse().map_err(|_| form())?;
    if !(0.001..=5.0).contains(&sigma) {
        return Err(wrong("SIGMA is the standard deviation of the logarithm, from 0.001 to 5".into()));
    }
    let sigma_milli = (sigma * 1e3).round() as u32;
    Ok(ThinkArg::Law(Think::LogNormal { median: time(median)?, sigma_milli }))
}

impl Measured {
    /// Reads a file of lines `time,weight`, whose name is from `folder` on.
    ///
    /// # Errors
    /// What is wrong with it, and in which line.
    pub(crate) fn read(file: &str, folder: Option<&Path>) -> Result<Measured, String> {
        let path = folder.unwrap_or(Path::new("")).join(file);
        let bytes =
            inputs::read(&path, BYTES_MAX).map_err(|error| format!("{file}: can't be read: {error}"))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| format!("{file}: this is not UTF-8"))?;
        let times = times(text).map_err(|why| format!("{file}{why}"))?;
        Ok(Measured { file: file.to_string(), times: times.into() })
    }
}

/// The times of a file. What is wrong begins with where it is.
fn times(text: &str) -> Result<Times, String> {
    let mut each = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |why: &str| format!(", line {number}: {why}");
        let (time, weight) =
            line.split_once(',').ok_or_else(|| wrong("this is not `time,weight`, such as 1.5s,20"))?;
        let time = value::duration(time.trim())
            .map_err(|_| wrong("the text before the comma is not a time, such as 1.5s or 200ms"))?;
        let weight = weight.trim().parse::<u64>();
        each.push((time, weight.map_err(|_| wrong("the weight is not a whole number from 0 on"))?));
    }
    if each.is_empty() {
        return Err(": it has no lines: write `time,weight` in each, such as 1.5s,20".into());
    }
    Times::new(each).ok_or_else(|| ": no weight is above 0, or all together are above 2^64".into())
}

/// How long somebody thinks, for people; nothing where nobody does.
pub(crate) fn in_words(think: Think, measured: Option<&Measured>) -> Option<String> {
    let time = |ns| format::plain(&format::duration(ns));
    if let Some(Measured { file, times }) = measured {
        let mean = time((times.mean_s() * 1e9) as u64);
        return Some(format!("histogram({file}): {} times, mean {mean}", times.count()));
    }
    match think {
        Think::NONE | Think::OneOf(_) => None,
        Think::Constant(constant) => Some(time(constant.0)),
        Think::Exponential(mean) => Some(format!("exp({})", time(mean.0))),
        Think::LogNormal { median, sigma_milli } => {
            Some(format!("lognormal({}, {})", time(median.0), f64::from(sigma_milli) / 1e3))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::time::Nanos;

    #[test]
    fn think_times_are_read() {
        let second = Nanos::from_secs(1);
        let law = |text| match parse(text) {
            Ok(ThinkArg::Law(law)) => law,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(law("1s"), Think::Constant(second));
        assert_eq!(law("exp(1s)"), Think::Exponential(second));
        let log = Think::LogNormal { median: second, sigma_milli: 800 };
        assert_eq!(law("lognormal(1s, 0.8)"), log);
        assert_eq!(law("lognormal( 1s,.8 )"), log);
        assert_eq!(parse("histogram( gaps.csv )"), Ok(ThinkArg::File("gaps.csv".into())));
        for bad in [
            "",
            "exp",
            "exp()",
            "exp(1)s",
            "lognormal(1s)",
            "lognormal(1s,9)",
            "lognormal(1s,NaN)",
            "-1s",
            "histogram",
            "histogram()",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse("normal(1s)").is_err_and(|why| why.contains("exp(MEAN), lognormal")));
    }

    #[test]
    fn what_is_wrong_with_a_file_has_its_line() {
        let both = times("1s,2\n\n 500ms , 6\r\n").unwrap();
        assert_eq!((both.count(), both.mean_s()), (2, 0.625));
        for (text, why) in [
            ("", ": it has no lines"),
            ("1s,0", ": no weight is above 0"),
            ("1s,1\n2s", ", line 2: this is not"),
            ("time,weight\n", ", line 1: the text before"),
            ("1s,1\n\n1s,x", ", line 3: the weight"),
            ("1s,-1", ", line 1: the weight"),
        ] {
            let error = times(text).unwrap_err();
            assert!(error.starts_with(why), "{text:?}: {error}");
        }
        let words = |file| Measured::read(file, None).unwrap_err();
        assert!(words("/no/such").starts_with("/no/such: can't be read: "), "{}", words("/no/such"));
    }
}
