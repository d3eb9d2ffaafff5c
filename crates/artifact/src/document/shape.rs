//! What a load of a named shape was run for, and what came of it. `docs/shapes.md` has the meanings.

use super::soak::Soak;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use unblink_analysis::shapes::stress::Mode as FailureMode;

/// The name of a load's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadShape {
    /// One rate, held.
    Load,
    /// The rate jumps and drops.
    Spike,
    /// The rate climbs beyond what the target carries, and comes down again.
    Stress,
    /// One load, held for long.
    Soak,
    /// The rate swings between its lowest and its highest value.
    Sine,
}

/// What came of a load of a named shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum ShapeResult {
    /// How the target took the spike.
    Spike(Spike),
    /// How the target fails, and whether it recovers.
    Stress(Stress),
    /// Whether anything drifts.
    Soak(Soak),
}

/// How the target took a spike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spike {
    /// How it did before.
    pub before: LevelBefore,
    /// The rate before and after.
    pub base_per_s: f64,
    /// The rate of the spike.
    pub peak_per_s: f64,
    /// Its begin, after t = 0.
    pub from_ns: u64,
    /// Its end, after t = 0.
    pub to_ns: u64,
    /// Which response time is too long.
    pub limit: TimeLimit,
    /// For how long it was exceeded, from the spike's start to the end of the load, by when arrivals were due.
    pub above_ns: u64,
    /// When it was first exceeded, after t = 0; absent when it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above_from_ns: Option<u64>,
    /// The end of the last stretch in which it was exceeded, after t = 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above_to_ns: Option<u64>,
    /// The most arrivals that were due and without an answer at the end of any row of the series.
    pub unanswered_max: u64,
    /// When that was, after t = 0.
    pub unanswered_max_at_ns: u64,
    /// Arrivals that failed or timed out from the spike's start on.
    pub lost: u64,
    /// How long it took to be as before, from the spike's end.
    pub recovery: RecoveryTime,
}

/// How the target took stress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stress {
    /// How it did before.
    pub before: LevelBefore,
    /// The rate before and after.
    pub base_per_s: f64,
    /// The highest rate.
    pub peak_per_s: f64,
    /// Which response time is too long.
    pub limit: TimeLimit,
    /// How it fails.
    pub mode: FailureMode,
    /// The most that it answered as expected per second, over 3 s.
    pub delivered_best_per_s: f64,
    /// What it did from the moment in which it broke until it was as before; absent when it never broke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
    /// The most arrivals that were due and without an answer at the end of any row of the series.
    pub unanswered_max: u64,
    /// When that was, after t = 0.
    pub unanswered_max_at_ns: u64,
    /// How long it took to be as before, from when the rate was below the one that broke it; absent when it never
    /// broke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryTime>,
}

/// What a target did from the moment in which it broke until it was as before, or to the end of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Broken {
    /// When it broke, after t = 0.
    pub at_ns: u64,
    /// The offered rate then.
    pub per_s: f64,
    /// Arrivals that were answered, failed or timed out from then on.
    pub ended: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Those of `failed` that were turned away on purpose (429, 503).
    pub shed: u64,
    /// Those that timed out.
    pub timed_out: u64,
    /// The least that it delivered over 3 s while at least its best was offered, as a share of its best.
    pub delivered_least_share: f64,
    /// The longest time in which it answered less than a tenth of what was offered, or of its best where that is less.
    pub stalled_ns: u64,
}

/// How the target did before anything grew, in the last three quarters of the stretch before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelBefore {
    /// Median response time.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Arrivals that were due and without an answer at the end of a row, but for one row in twenty at most.
    pub unanswered: u64,
    /// The share of arrivals that failed, 0 to 1.
    #[serde(default)]
    pub failed_share: f64,
}

/// A response time that is too long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeLimit {
    /// The time.
    pub ns: u64,
    /// Of which percentile, 0 to 1.
    pub quantile: f64,
    /// It is the limit of an objective; otherwise it is twice the 99th percentile before.
    pub is_objective: bool,
}

/// When the target was as before: response times and what has no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryTime {
    /// From when on it is looked for, after t = 0.
    pub from_ns: u64,
    /// How long it took; absent when it did not come as long as the target was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ns: Option<u64>,
    /// To how much that is known.
    pub resolution_ns: u64,
    /// For how long the load went on from `from_ns` on.
    pub watched_ns: u64,
}
