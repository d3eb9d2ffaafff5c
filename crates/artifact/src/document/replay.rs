//! What was recorded of the traffic that a run replays.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A trace as it was replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayPlan {
    /// Requests in the part of the trace that was asked for.
    pub recorded: u64,
    /// Those of them that were not sent because their method may change something, by method.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out_by_method: BTreeMap<String, u64>,
    /// Those of them whose method or path can't be sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out_by_path: u64,
    /// How much later each copy of the trace begins in it.
    pub offsets_ns: Vec<u64>,
    /// What was answered when it was recorded, in the order of the document's `operations`.
    pub operations: Vec<RecordedAnswers>,
}

/// What was recorded of the answers to an operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedAnswers {
    /// Requests.
    pub requests: u64,
    /// By status; those without one are not in it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub codes: BTreeMap<String, u64>,
    /// Mean size of an answer, as the log has it; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_bytes_mean: Option<f64>,
    /// From the start of a request to the end of its answer, as the log has it: no network, and no waiting in a client. Absent
    /// where it has no durations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<RecordedTimes>,
}

/// Recorded durations, to two digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedTimes {
    /// Requests that have one.
    pub count: u64,
    /// The median.
    pub p50_ns: u64,
    /// 99 % took no longer.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
