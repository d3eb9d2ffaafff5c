//! What a page holds, whatever wrote it.

use crate::histogram::Histogram;
use std::collections::HashMap;

/// Names and values, sorted by name.
pub type Labels = Vec<(String, String)>;

/// One value of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Of the metric. The parts of a classic histogram end in `_bucket`, `_count` and `_sum`.
    pub name: String,
    /// Those that tell it from others of this name.
    pub labels: Labels,
    /// What it was.
    pub value: Value,
}

/// What a series was at one moment.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A counter, a gauge, or a part of a classic histogram.
    Number(f64),
    /// A native histogram.
    Histogram(Histogram),
}

/// What a metric is, as far as that is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It only grows, until its process starts again.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by bucket.
    Histogram,
    /// Anything else.
    Other,
}

/// All samples of one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// In the order of the page.
    pub samples: Vec<Sample>,
    /// By metric.
    pub kinds: HashMap<String, Kind>,
}

impl Page {
    /// Every name once.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.samples.iter().map(|sample| sample.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Why a page is not read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PageError {
    /// It is above the bound.
    #[error("the page has more than {} MiB", crate::PAGE_BYTES_MAX >> 20)]
    TooLong,
    /// Too many samples.
    #[error("the page has more than {} samples", crate::SAMPLES_MAX)]
    TooMany,
    /// A line of text is not as it must be.
    #[error("line {line} of the page: {what}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Nor are the bytes.
    #[error("the page is not a protobuf of metrics: {0}")]
    Protobuf(String),
}
