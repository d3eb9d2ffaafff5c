//! What a tool printed or wrote, as figures. A format is data: five readers cover every tool.
//!
//! A number that is misread is worse than none, so each reader refuses what it does not know and quotes it.

mod csv;
mod hgrm;
mod hlog;
mod json;
mod pattern;

use serde::Deserialize;
use unblink_artifact::lab::{LabPoint, LabReported};

use crate::case::shares;
use crate::oracle;

pub use csv::CsvFormat;
pub use json::JsonFormat;
pub use pattern::PatternFormat;
pub(crate) use pattern::optional;

/// Percentiles that are compared, where raw samples give them.
pub(crate) const COMPARED: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];
/// Quoted of a text that is not understood.
const QUOTED_CHARACTERS: usize = 160;

/// How a tool's output is to be read: the table `[output]` of its definition.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "format", rename_all = "lowercase", deny_unknown_fields)]
pub enum Output {
    /// HdrHistogram's percentile distribution as text.
    Hgrm {
        /// Where it is.
        #[serde(default)]
        file: Source,
        /// Of its values.
        unit: Unit,
    },
    /// An HdrHistogram log, all intervals together.
    Hlog {
        /// Where it is.
        #[serde(default)]
        file: Source,
        /// Of its values.
        unit: Unit,
        /// Only lines with this tag; without it, only those that have none.
        tag: Option<String>,
    },
    /// A row for each request.
    Csv(CsvFormat),
    /// Text with percentiles, by regular expressions.
    Pattern(PatternFormat),
    /// JSON, by pointers.
    Json(JsonFormat),
}

/// What a tool says comes on its standard output, or is in a file of its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Source(Option<String>);

impl Source {
    /// The file, where it is one.
    pub fn file(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// Of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// Minutes.
    M,
}

impl Unit {
    fn ns(self) -> f64 {
        match self {
            Unit::Ns => 1.0,
            Unit::Us => 1e3,
            Unit::Ms => 1e6,
            Unit::S => 1e9,
            Unit::M => 60e9,
        }
    }

    /// As tools write it.
    fn named(name: &str) -> Option<Unit> {
        Some(match name {
            "ns" => Unit::Ns,
            "us" | "µs" | "μs" => Unit::Us,
            "ms" => Unit::Ms,
            "s" | "sec" | "secs" => Unit::S,
            "m" | "min" => Unit::M,
            _ => return None,
        })
    }

    /// `value` of it in ns; `None` when that is no time.
    fn to_ns(self, value: f64) -> Option<u64> {
        let ns = value * self.ns();
        (ns.is_finite() && (0.0..1e18).contains(&ns)).then(|| ns.round() as u64)
    }
}

/// An output that is not what its definition says.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum ReadError {
    /// A line does not have the form.
    #[error("line {line} is not understood, {reason}: {text:?}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What was expected.
        reason: String,
        /// The line, or its beginning.
        text: String,
    },
    /// The text as a whole is not what it should be.
    #[error("{reason}; the output begins {text:?}")]
    Text {
        /// What was expected.
        reason: String,
        /// Its beginning.
        text: String,
    },
}

impl ReadError {
    fn line(line: usize, text: &str, reason: impl Into<String>) -> Self {
        Self::Line { line, reason: reason.into(), text: beginning(text) }
    }

    fn text(text: &str, reason: impl Into<String>) -> Self {
        Self::Text { reason: reason.into(), text: beginning(text) }
    }
}

fn beginning(text: &str) -> String {
    text.trim().chars().take(QUOTED_CHARACTERS).collect()
}

impl Output {
    /// Where the text is.
    pub fn source(&self) -> &Source {
        match self {
            Output::Hgrm { file, .. } | Output::Hlog { file, .. } => file,
            Output::Csv(format) => &format.file,
            Output::Pattern(format) => &format.file,
            Output::Json(format) => &format.file,
        }
    }

    /// Refuses what could never be read.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Output::Pattern(format) => format.check(),
            _ => Ok(()),
        }
    }

    /// Reads `text`.
    pub fn read(&self, text: &str) -> Result<LabReported, ReadError> {
        let mut reported = match self {
            Output::Hgrm { unit, .. } => hgrm::read(text, *unit)?,
            Output::Hlog { unit, tag, .. } => hlog::read(text, *unit, tag.as_deref())?,
            Output::Csv(format) => csv::read(text, format)?,
            Output::Pattern(format) => pattern::read(text, format)?,
            Output::Json(format) => json::read(text, format)?,
        };
        reported.points.sort_by(|a, b| a.q.total_cmp(&b.q));
        reported.points.dedup();
        check(&reported.points).map_err(|reason| ReadError::text(text, reason))?;
        Ok(reported)
    }
}

/// Percentiles that fall as their share rises are misread.
fn check(points: &[LabPoint]) -> Result<(), String> {
    for pair in points.windows(2) {
        if pair[1].value_ns < pair[0].value_ns {
            return Err(format!(
                "the percentiles are misread: {} % took {} ns, and {} % took {} ns",
                pair[0].q * 100.0,
                pair[0].value_ns,
                pair[1].q * 100.0,
                pair[1].value_ns
            ));
        }
    }
    Ok(())
}

/// Percentiles of raw samples, as far as they resolve a tail, and the maximum.
fn of_samples(mut samples_ns: Vec<u64>) -> Vec<LabPoint> {
    samples_ns.sort_unstable();
    let mut shares = shares(samples_ns.len() as u64);
    shares.extend(COMPARED);
    shares.push(1.0);
    let point = |q| oracle::percentile(&samples_ns, q).map(|value_ns| LabPoint { q, value_ns });
    shares.into_iter().filter_map(point).collect()
}

/// The value at `q`: listed, or between two neighbours that are so close that it does not matter. Those of a spectrum
/// lie close in their shares, and then may differ a little in their values.
pub fn value_at(points: &[LabPoint], q: f64) -> Option<u64> {
    const CLOSE: f64 = 1.02;
    const CLOSE_IN_A_SPECTRUM: f64 = 1.25;
    let after = points.iter().position(|point| point.q >= q - 1e-9)?;
    let above = points[after];
    if (above.q - q).abs() < 1e-9 {
        return Some(above.value_ns);
    }
    let below = points[after.checked_sub(1)?];
    let of_spectrum = above.q < 1.0 && 1.0 - below.q <= 2.0 * (1.0 - above.q);
    let most = if of_spectrum { CLOSE_IN_A_SPECTRUM } else { CLOSE };
    let is_close = above.value_ns as f64 <= below.value_ns as f64 * most;
    let share = (q - below.q) / (above.q - below.q);
    is_close.then(|| below.value_ns + ((above.value_ns - below.value_ns) as f64 * share).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_listed_ones_are_known_only_where_they_are_close() {
        let points = [(0.5, 10), (0.9875, 400), (0.990_625, 440), (0.999, 900), (1.0, 2_000)];
        let points = points.map(|(q, value_ns)| LabPoint { q, value_ns });
        assert_eq!(value_at(&points, 0.5), Some(10));
        assert_eq!(value_at(&points, 0.99), Some(432));
        assert_eq!(value_at(&points, 0.9), None);
        assert_eq!(value_at(&points, 0.9999), None);
        assert_eq!(value_at(&points[..1], 0.99), None);
        // A short list of percentiles is no spectrum: 12 and 14 ms say nothing of what lies between.
        let list =
            [(0.9, 1_200), (0.99, 1_400), (0.999, 1_410)].map(|(q, value_ns)| LabPoint { q, value_ns });
        assert_eq!((value_at(&list, 0.95), value_at(&list, 0.995)), (None, Some(1_406)));
    }

    #[test]
    fn falling_percentiles_are_refused() {
        let output: Output = toml::from_str("format = \"csv\"\ncolumn = 1\nunit = \"ms\"").expect("a format");
        assert_eq!(output.read("3\n1\n2\n").map(|r| r.samples), Ok(Some(3)));
        let json: Output =
            toml::from_str("format = \"json\"\nunit = \"ms\"\n[points]\n\"0.5\" = \"/a\"\n\"0.9\" = \"/b\"")
                .expect("a format");
        let error = json.read(r#"{"a": 2, "b": 1}"#).expect_err("falling").to_string();
        assert!(error.starts_with("the percentiles are misread: 50 % took 2000000 ns"), "{error}");
    }

    /// Whatever a tool prints, no reader panics, and none makes a figure of noise.
    #[test]
    fn noise_is_refused() {
        let formats = [
            "format = \"hgrm\"\nunit = \"ms\"",
            "format = \"hlog\"\nunit = \"ns\"",
            "format = \"csv\"\ncolumn = \"elapsed\"\nunit = \"ms\"",
            "format = \"pattern\"\npercentile = '(?<q>[\\d.]+)% +(?<value>[\\d.]+)(?<unit>\\w+)'",
            "format = \"json\"\nunit = \"s\"\n[points]\n\"0.99\" = \"/p99\"",
        ];
        let noise =
            ["", "\n\n", "no such command", "{}", "[1]", "a,b\n1,2\n", "é\u{0}\u{7f}%%%", "0.99 1 2 3"];
        for format in formats {
            let output: Output = toml::from_str(format).expect("a format");
            for text in noise {
                assert!(output.read(text).is_err(), "{format}: {text:?}");
            }
        }
    }
}
