//! What a run offered.

use super::{LoadShape, PrecisionGoal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// `open` or `closed`.
    pub model: LoadModel,
    /// One plain line, such as `open, 1,000/s, even, for 60 s`.
    pub summary: String,
    /// Arrival process of an open load: `even` or `poisson`.
    pub process: Option<String>,
    /// Seed of a Poisson process.
    pub seed: Option<u64>,
    /// The name of its shape, if it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<LoadShape>,
    /// Shape of an open load, warm-up left out.
    pub phases: Vec<LoadPhase>,
    /// Users of a closed load.
    pub users: Option<u32>,
    /// Think time of a closed load.
    pub think_ns: Option<u64>,
    /// Over how long the users of a closed load began; a part of `warmup_ns`. Absent where a simulated tool had users
    /// of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp_up_ns: Option<u64>,
    /// What lies before the measured part: warm-up, and the ramp-up of a closed load.
    pub warmup_ns: u64,
    /// The transient was to be found and left out (`--warmup auto`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warmup_auto: bool,
    /// The load ends when a percentile is known well enough (`--precision`); `duration_ns` is then the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionGoal>,
    /// Length of the measured part as planned.
    pub duration_ns: u64,
    /// From the intended time.
    pub timeout_ns: u64,
    /// How long the run goes on after the last arrival due.
    pub drain_ns: u64,
    /// Worker threads.
    pub threads: u32,
    /// What punctuality may cost: `precise`, `balanced` or `frugal`. Absent for a simulated load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<String>,
    /// Measured arrivals at the most (`-n`).
    pub requests_max: Option<u64>,
}

/// Who decides when a request starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadModel {
    /// A schedule that the target can't move.
    Open,
    /// Users who each wait for their answer.
    Closed,
}

/// A stretch of the shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPhase {
    /// Rate at its start.
    pub from_per_s: f64,
    /// Rate at its end.
    pub to_per_s: f64,
    /// Its length.
    pub duration_ns: u64,
}
