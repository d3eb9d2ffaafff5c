//! What was tried again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// When a request is tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetryPlan {
    /// Attempts of an arrival at most, the first included.
    pub attempts: u32,
    /// After which failures, in the words of `--retry-on`.
    pub on: String,
    /// An attempt that takes longer is given up, if there may be another one; absent: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub try_timeout_ns: Option<u64>,
    /// From the end of the first attempt to the second; twice as long after each further one.
    pub wait_ns: u64,
    /// How much of that chance takes away.
    pub jitter: RetryJitter,
    /// Attempts after the first at most, in percent of the arrivals so far; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_percent: Option<u32>,
    /// Requests that must not be sent twice are tried again, too.
    #[serde(rename = "unsafe", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unsafe: bool,
}

/// How much of the wait before an attempt chance takes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryJitter {
    /// Nothing.
    #[default]
    None,
    /// Up to half of it.
    Equal,
    /// Up to all of it.
    Full,
}

/// What came of retries, in the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Retries {
    /// Attempts that were sent. Requests sent a second time because a reused connection had died are no attempts.
    pub attempts: u64,
    /// Attempts for each arrival that was sent; `null` where none was.
    pub amplification: Option<f64>,
    /// Arrivals that had, or waited for, more than one attempt.
    pub retried: u64,
    /// Those of `retried` that ended `ok`.
    pub recovered: u64,
    /// Those of `retried` that failed or timed out with the last attempt that they could have.
    pub exhausted: u64,
    /// Attempts that were not made because the budget was used up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_by_budget: u64,
    /// Attempts that were not made because more arrivals waited for theirs than a worker holds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_by_room: u64,
    /// Why further attempts were granted: kinds of failure as in `failures`, and `try_timeout` for an attempt that was given
    /// up.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<String, u64>,
}

/// Most have none: what is not there is not written.
fn is_zero(n: &u64) -> bool {
    *n == 0
}
