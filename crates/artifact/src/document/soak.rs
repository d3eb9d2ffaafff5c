//! Whether anything drifted in a soak, and what was watched beside the load. `docs/shapes.md` has the meanings.

use super::WatchedMetric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use unblink_analysis::shapes::soak::Watched as SoakFigureName;

/// What is looked at beside the answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchPlan {
    /// The server's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// A file, or a folder with everything in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Metrics of the service, in the order of each sample's values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<WatchedMetric>,
}

impl WatchPlan {
    /// Nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.pid.is_none() && self.path.is_none() && self.metrics.is_empty()
    }
}

/// What was seen at one moment; what could not be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchSample {
    /// When, after t = 0.
    pub at_ns: u64,
    /// Resident memory of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Its open descriptors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<u64>,
    /// Processor time that it has had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// How long its cgroup was kept from running because it had used up its quota of processor time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// Size of the file, or of all files in the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Values of the metrics that are watched, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Option<f64>>,
}

/// Whether anything drifted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Soak {
    /// What is looked at begins here, after t = 0: a tenth of the load is left out.
    pub from_ns: u64,
    /// And ends here.
    pub to_ns: u64,
    /// What was watched beside the answers.
    #[serde(default, skip_serializing_if = "WatchPlan::is_empty")]
    pub watched: WatchPlan,
    /// Each figure that has enough values.
    pub figures: Vec<SoakFigure>,
}

/// Whether one figure drifted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakFigure {
    /// Which.
    pub figure: SoakFigureName,
    /// The metric, where it is one of the service's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Its median over time. Times in ns, sizes in bytes, errors as a share of 1.
    pub level: f64,
    /// By how much it changed over the whole time, in its own unit.
    pub change: f64,
    /// Lower end of the 99 % interval of that.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// A change of this size, either way, would have been found in four of five cases; absent where the figure
    /// hardly ever changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findable: Option<f64>,
    /// It drifted: surely, and by more than is too small to matter.
    pub is_drift: bool,
}
