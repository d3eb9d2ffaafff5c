//! The document of a mirror: what became of the pairs, by cause, by status and by percentile.

use crate::document::{Aborted, Environment, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the document.
pub const SCHEMA: &str = "unblink.mirror/1";
/// Its file.
pub const FILE: &str = "mirror.json";

/// A baseline and a candidate that were asked the same as a service in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorDocument {
    /// `unblink.mirror/1`.
    pub schema: String,
    /// Which tool measured.
    pub tool: Tool,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// The machine that mirrored.
    pub environment: Environment,
    /// Where requests came in.
    pub listen: String,
    /// The baseline.
    pub baseline: String,
    /// The candidate.
    pub candidate: String,
    /// The second instance of the baseline.
    pub noise: Option<String>,
    /// For how long requests were taken.
    pub length_ns: u64,
    /// What ended it before its time: a guard. `null` if nothing did.
    pub aborted: Option<Aborted>,
    /// The account of all requests: `offered` is the sum of the other parts.
    pub account: MirrorAccount,
    /// Percentiles of both sides, and their differences.
    pub quantiles: Vec<MirrorQuantile>,
    /// The median of candidate − baseline within pairs.
    pub pair_median: Option<MirrorDifference>,
    /// The same of the baseline's second instance against it: what differs by itself.
    pub noise_quantiles: Option<Vec<MirrorQuantile>>,
    /// Bodies; `null` without a second instance of the baseline.
    pub bodies: Option<MirrorBodies>,
    /// By method and path with ids replaced; the last may hold all others.
    pub operations: Vec<MirrorOperation>,
    /// The percentile that decides.
    pub decides: f64,
    /// A smaller relative difference does not count.
    pub min_effect: f64,
    /// The answer.
    pub verdict: MirrorVerdict,
    /// From the answer of the sink until both sides were asked, which is in no figure above: the 99th percentile and the longest.
    pub handed_over_p99_ns: u64,
    /// The longest.
    pub handed_over_max_ns: u64,
    /// Pairs that were open at once, at the most.
    pub open_max: u64,
    /// Connections of those who mirror.
    pub clients: MirrorClients,
    /// Connections to the baseline, the candidate and the twin.
    pub connections: Vec<MirrorConnections>,
}

/// Connections on which requests came in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorClients {
    /// Accepted.
    pub accepted: u64,
    /// Closed at once, since as many were open as may be: whatever they brought was not counted.
    pub refused: u64,
    /// Closed with a request that did not become whole, or with answers that nobody read.
    pub cut_off: u64,
}

/// Connections to one target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorConnections {
    /// Opened.
    pub opened: u64,
    /// Requests sent once more, since a connection that was used before had been closed.
    pub sent_again: u64,
}

/// Where requests ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorAccount {
    /// Requests that came in, counted where they came in.
    pub offered: u64,
    /// Pairs of which both answers count.
    pub compared: u64,
    /// Left out of the comparison by cause; they count as longer than anything known.
    pub censored: BTreeMap<String, u64>,
    /// Not meant to be mirrored, by cause; they count nowhere.
    pub skipped: BTreeMap<String, u64>,
}

impl MirrorAccount {
    /// Pairs that can't be compared.
    pub fn left_out(&self) -> u64 {
        self.censored.values().sum()
    }
}

/// A percentile of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorQuantile {
    /// 0 to 1.
    pub q: f64,
    /// `null` where pairs that were left out reach it.
    pub baseline_ns: Option<u64>,
    /// The same of the candidate.
    pub candidate_ns: Option<u64>,
    /// Candidate − baseline; `null` where one is not known.
    pub difference_ns: Option<i64>,
    /// 95 % interval of the difference; it holds whatever became of the pairs that were left out.
    pub low_ns: Option<i64>,
    /// Its upper end.
    pub high_ns: Option<i64>,
    /// 95 % interval of candidate/baseline − 1.
    pub change_low: Option<f64>,
    /// Its upper end.
    pub change_high: Option<f64>,
}

/// A difference with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorDifference {
    /// In ns; above zero the candidate is slower.
    pub value_ns: i64,
    /// Lower end.
    pub low_ns: Option<i64>,
    /// Upper end.
    pub high_ns: Option<i64>,
}

/// Bodies by their digest. Of answers with the same status on all three sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorBodies {
    /// Pairs looked at.
    pub compared: u64,
    /// Both instances of the baseline agree, and the candidate differs.
    pub candidate_differs: u64,
    /// The instances of the baseline differ from each other: nothing follows.
    pub noise_differs: u64,
}

/// What one kind of request came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorOperation {
    /// `GET /items/{id}`.
    pub name: String,
    /// Pairs of which both answers count.
    pub compared: u64,
    /// Left out of the comparison.
    pub left_out: u64,
    /// Pairs by both statuses, `200/500`: the baseline's first, `none` where there was no answer.
    pub statuses: BTreeMap<String, u64>,
    /// Median of the baseline; `null` where pairs that were left out reach it.
    pub baseline_p50_ns: Option<u64>,
    /// Median of the candidate.
    pub candidate_p50_ns: Option<u64>,
    /// 99th percentile of the baseline.
    pub baseline_p99_ns: Option<u64>,
    /// 99th percentile of the candidate.
    pub candidate_p99_ns: Option<u64>,
    /// Bodies.
    pub bodies: Option<MirrorBodies>,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MirrorVerdict {
    /// The candidate fails where the baseline does not, in more pairs than chance explains.
    FailsMore,
    /// The candidate is slower, by as much as counts.
    Slower,
    /// The candidate is surely not slower by as much as counts.
    NotSlower,
    /// Too little is known.
    Unknown,
}
