//! What `unblink trace show --json` prints: what is in a trace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the document.
pub const TRACE_SUMMARY_SCHEMA: &str = "unblink.trace-summary/1";

/// What is in a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSummary {
    /// `unblink.trace-summary/1`.
    pub schema: String,
    /// The file.
    pub file: String,
    /// When the trace begins, as in RFC 3339.
    pub start: String,
    /// Formats of the logs that it is made of.
    pub source: Vec<String>,
    /// Names of the keys that numbered its users and ids.
    pub keys: Vec<String>,
    /// Requests.
    pub requests: u64,
    /// From the start to the last request.
    pub length_ns: u64,
    /// Requests in the busiest second, counted from the start.
    pub peak_in_a_second: u64,
    /// Width of the steps of `cells`.
    pub cell_ns: u64,
    /// Requests in each step of time.
    pub cells: Vec<u64>,
    /// What is asked, the most frequent first.
    pub routes: Vec<TraceRoute>,
    /// Requests of further routes, which are not told apart.
    pub other_routes: u64,
    /// Requests by status; those whose status is not known are not in it.
    pub statuses: BTreeMap<u16, u64>,
    /// Sizes of answers, in bytes; `null` where none is known, as for all that follow.
    pub answer_bytes: Option<TraceSpread>,
    /// Sizes of requests, in bytes.
    pub request_bytes: Option<TraceSpread>,
    /// Durations of requests.
    pub took_ns: Option<TraceSpread>,
    /// Who sent them.
    pub users: Option<TraceUsers>,
    /// How bursty arrivals are, by the length of a window.
    pub dispersion: Vec<TraceDispersion>,
    /// Requests that can't be sent again as they were, by what the trace lacks of them.
    pub lacking: BTreeMap<String, u64>,
    /// What must be known before the figures are used.
    pub findings: Vec<TraceFinding>,
}

/// A method and a path whose numbers are `{id}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceRoute {
    /// Such as `GET /items/{id}`.
    pub name: String,
    /// Requests.
    pub requests: u64,
}

/// A distribution: percentiles to three digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSpread {
    /// Requests of which the value is known.
    pub count: u64,
    /// Half of them are at most this.
    pub p50: u64,
    /// 90 %
    pub p90: u64,
    /// 99 %
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

/// Users of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceUsers {
    /// How many.
    pub count: u64,
    /// The number is an estimate: there are more than are counted one by one.
    pub is_estimate: bool,
    /// Requests that have a user.
    pub requests: u64,
    /// Requests of the busiest user; where the number is an estimate, of those that were counted.
    pub busiest: u64,
}

/// The variance of the number of requests in a window, divided by its mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceDispersion {
    /// Length of the window.
    pub window_ns: u64,
    /// Windows in the trace.
    pub windows: u64,
    /// 1 for independent arrivals at a constant rate.
    pub index: f64,
}

/// Something to know about a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceFinding {
    /// Such as `arrival_is_end`.
    pub code: String,
    /// What it is, and what to do about it.
    pub message: String,
}
