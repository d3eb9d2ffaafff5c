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
    /// Present where each request follows the answer to the one before of the same user (`--per-user-order`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_user: Option<ReplayByUser>,
    /// Present where ids in paths are numbers that the import made, and no template makes real ones of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_up_ids: Option<RecordedIds>,
    /// What was answered when it was recorded, in the order of the document's `operations`.
    pub operations: Vec<RecordedAnswers>,
}

/// A replay of users who wait for their answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayByUser {
    /// Requests that all users have together, up to the planned end. How many of them come due depends on the answers.
    pub requests: u64,
    /// How many users were between their first and their last request, on average over the recorded time.
    pub users_mean: f64,
    /// Those that were recorded before the answer to the one before of the same user: they follow it without a pause.
    pub overlapping: u64,
    /// Those that follow one whose duration was not recorded: it is a part of the pause.
    pub after_unknown: u64,
}

/// Requests whose ids no target knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedIds {
    /// Of the trace.
    pub requests: u64,
    /// The trace says so itself. A part of a trace, or one made of others, does not say whether its import kept paths.
    pub is_certain: bool,
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

/// Recorded durations: quantiles within 1 %, and the longest as it was.
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
