//! What the service says of the run itself, beside what was measured. `docs/cross-check.md` has the meanings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use unblink_analysis::cross_check::ServiceCount;

/// What the service's own metrics say, from the last sample before t = 0 to the first behind the drain, the warm-up included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CrossCheck {
    /// Who was asked.
    pub source: MetricsSource,
    /// Where, secrets masked.
    pub url: String,
    /// When the last sample before the load was taken, after t = 0: below zero. Absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ns: Option<i64>,
    /// When the last one was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_ns: Option<i64>,
    /// How often it was asked.
    pub asked: u64,
    /// How often that failed.
    pub failed: u64,
    /// How often a counter began anew.
    pub resets: u64,
    /// Requests there and here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<ServiceCount>,
    /// Errors there and here: answers that say that something failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<ServiceCount>,
    /// Times there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<ServiceLatency>,
    /// What kept the check from being whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// Who was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricsSource {
    /// A Prometheus server, for the samples that it has stored.
    Prometheus,
    /// The service itself.
    Scrape,
}

/// What a histogram of the service says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceLatency {
    /// The metric and its labels.
    pub metric: String,
    /// How many it observed.
    pub count: u64,
    /// Their mean, where it has a sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// In which bucket each lies; those of which nothing lies above are absent.
    pub quantiles: Vec<ServiceQuantile>,
}

/// In which bucket a quantile lies. Where in it nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceQuantile {
    /// 0 to 1.
    pub q: f64,
    /// It is above this.
    pub lower_ns: u64,
    /// And at most this; absent where no bucket ends above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_ns: Option<u64>,
}

/// A metric that is watched over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedMetric {
    /// The metric and its labels.
    pub metric: String,
    /// A counter, told as its growth per second.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_second: bool,
    /// Read on the load generator's own machine: of the process of `--watch-pid`, its cgroup, or the files of `--watch-path`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_local: bool,
}

/// The same with its values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedSeries {
    /// What it is.
    #[serde(flatten)]
    pub of: WatchedMetric,
    /// When, after t = 0, and what all its series together were then.
    pub points: Vec<(u64, f64)>,
}
