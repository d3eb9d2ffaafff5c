//! `unblink.lab-cell/1` and `unblink.lab/1`: what load tools report of a server whose truth is known.
//!
//! A cell is one run of one tool in one scenario. Others can make cells with tools of their own, so a cell stands
//! alone: the truth, the server's log and the report are all in it.

mod audit;

pub use audit::{AUDIT_SCHEMA, AuditCheck, AuditDocument, AuditScenario, Mechanism, Passed};

use crate::document::{Environment, LoadModel, Protocol, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of a cell.
pub const CELL_SCHEMA: &str = "unblink.lab-cell/1";
/// Name and version of all cells together.
pub const LAB_SCHEMA: &str = "unblink.lab/1";

/// All cells of a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabDocument {
    /// Always `unblink.lab/1`.
    pub schema: String,
    /// Which tool ran the lab.
    pub tool: Tool,
    /// When the last cell was run, RFC 3339 in UTC.
    pub finished_at: String,
    /// The command line.
    pub command: Vec<String>,
    /// The machine.
    pub environment: Environment,
    /// Server and tool of each cell had processors of their own, also where several cells ran at once.
    pub apart: bool,
    /// In the order in which they were asked for.
    pub cells: Vec<LabCell>,
    /// A line for each tool in each scenario: the middle of its runs.
    pub rows: Vec<LabRow>,
    /// Tools that took no part.
    pub skipped: Vec<LabSkipped>,
}

/// One run of one tool in one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabCell {
    /// Always `unblink.lab-cell/1`.
    pub schema: String,
    /// What the server did, and the load that was asked for.
    pub scenario: LabScenario,
    /// Who measured.
    pub tool: LabTool,
    /// Counted from 1.
    pub run: u32,
    /// RFC 3339 in UTC.
    pub started_at: String,
    /// What it had to run on; `null` where nobody noted it.
    #[serde(default)]
    pub processors: Option<LabProcessors>,
    /// Why there are no figures of the tool's; `null` when there are.
    pub problem: Option<String>,
    /// What the tool says.
    pub reported: Option<LabReported>,
    /// What users feel who come at the rate whatever the server does: exact, from the model of the server, or as it was observed.
    pub truth: LabTruth,
    /// Of a server that others wrote: how the truth was seen; `null` where it is exact, from the model of ours.
    #[serde(default)]
    pub observed: Option<LabObserved>,
    /// What the server's own log says of the requests that it got.
    pub log: LabLog,
    /// How the requests came.
    pub offered: LabOffered,
    /// Truth, log and report side by side.
    pub percentiles: Vec<LabPercentile>,
}

/// A server that others wrote, watched from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabObserved {
    /// Its name and its version, as it says itself.
    pub server: String,
    /// Packets that were seen.
    pub packets: u64,
    /// Packets that were lost: with any, there are no figures.
    pub lost: u64,
    /// How the truth comes from them.
    pub truth_from: LabTruthFrom,
}

/// Where the truth comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LabTruthFrom {
    /// From the requests themselves: the k-th one was due at k/rate, and is answered when the packet with its answer comes in.
    Arrivals,
    /// The tool has no request for each arrival: users at the rate who meet the silence that was seen on the wire.
    Silence,
}

/// What a cell had to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabProcessors {
    /// Processors of the tool.
    pub tool: u32,
    /// Neither the server nor another cell had one of them, nor anybody that of the server.
    pub are_apart: bool,
}

/// What the server did, and the load that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabScenario {
    /// Its name.
    pub name: String,
    /// What the server does, in a line.
    pub description: String,
    /// Arrivals per second.
    pub rate_per_s: u64,
    /// Length of the load.
    pub duration_ns: u64,
    /// Of a tool whose users wait for their answer.
    pub users: u32,
    /// The timeout that each tool was given.
    pub timeout_ns: u64,
    /// When the server misbehaves, on its clock of events: from, to.
    pub events: Vec<LabEvent>,
}

/// A stretch of misbehaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabEvent {
    /// After the first request.
    pub from_ns: u64,
    /// After the first request.
    pub to_ns: u64,
}

/// Who measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabTool {
    /// Name of its definition, tool and mode.
    pub name: String,
    /// As it says itself; `null` when it does not.
    pub version: Option<String>,
    /// The model of load that it claims.
    pub model: LoadModel,
    /// What it speaks; HTTP/1.1 in cells of earlier builds.
    #[serde(default = "http_1_1")]
    pub protocol: Protocol,
    /// Answers come as so many events, and what it reports is the time to the first one; `null` where they come whole.
    #[serde(default)]
    pub events: Option<u32>,
    /// Its arrivals come by chance (Poisson), so that their number differs from the plan.
    #[serde(default)]
    pub is_poisson: bool,
    /// Its first seconds are in none of its figures.
    #[serde(default)]
    pub leaves_out_s: Option<u64>,
    /// What it was called with; `{url}` stands for the server, `{folder}` for the cell's folder.
    pub command: Vec<String>,
    /// Fingerprint of its definition, scripts included; `null` for a command of the user's.
    #[serde(default)]
    pub definition: Option<String>,
}

fn http_1_1() -> Protocol {
    Protocol::Http11
}

/// A tool that took no part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabSkipped {
    /// Name of its definition.
    pub tool: String,
    /// Why.
    pub reason: String,
    /// How to install it, where that would help.
    pub install: Option<String>,
}

/// What a tool says. Every part may be missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabReported {
    /// Percentiles, by ascending share; share 1 is the maximum.
    pub points: Vec<LabPoint>,
    /// From this share on the tool says only that it took longer than it knows.
    #[serde(default)]
    pub longer_from: Option<f64>,
    /// Latencies that enter them.
    pub samples: Option<u64>,
    /// Requests that failed or timed out, by its own account.
    pub errors: Option<u64>,
    /// The mean of the samples.
    #[serde(default)]
    pub mean_ns: Option<u64>,
    /// Requests that were due and that it says it never sent.
    #[serde(default)]
    pub dropped: Option<u64>,
}

/// A share of the samples, and how long it took at most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabPoint {
    /// 0 to 1.
    pub q: f64,
    /// In ns.
    pub value_ns: u64,
}

/// What users feel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabTruth {
    /// Arrivals.
    pub arrivals: u64,
    /// Answered as they should be, in time.
    pub ok: u64,
    /// Answered with an error, or cut off.
    pub failed: u64,
    /// Not answered before the timeout.
    pub timed_out: u64,
    /// Of what did not fail, for drawing: low and high bound the value by a few ranks.
    pub band: Vec<LabBand>,
    /// The mean of what did not fail; `null` where some of it timed out, since nobody knows how long that would have taken.
    #[serde(default)]
    pub mean_ns: Option<u64>,
}

/// The truth at a share of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabBand {
    /// 0 to 1.
    pub q: f64,
    /// A few ranks below.
    pub low_ns: u64,
    /// A few ranks above; the timeout where that lies beyond it.
    pub high_ns: u64,
}

/// What the server's log says of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabLog {
    /// Requests.
    pub requests: u64,
    /// Of these, those whose client went before the answer.
    pub abandoned: u64,
    /// From the request's last byte to the answer's first: no client can measure less.
    pub points: Vec<LabPoint>,
    /// The mean of these.
    #[serde(default)]
    pub mean_ns: Option<u64>,
    /// The server's own lateness at the 99th percentile.
    pub late_p99_ns: u64,
    /// Rows that the log lost; its figures are wrong where this is not 0.
    pub lost: u64,
    /// The log is blind while the server is frozen or does not accept: it sees those requests afterwards.
    pub is_blind: bool,
    /// The same over time, for drawing: stretches of equal length on the clock of events, those without a request left
    /// out.
    #[serde(default)]
    pub over_time: Vec<LabMoment>,
}

/// What the server took over the requests that came in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabMoment {
    /// When it begins, after the first request.
    pub from_ns: u64,
    /// Requests that came in it.
    pub requests: u64,
    /// Their median.
    pub p50_ns: u64,
    /// The slowest of them.
    pub max_ns: u64,
}

/// A request as the server saw it, for drawing. It is in no document: the folder of a cell has them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabRequest {
    /// On the clock of events.
    pub came_ns: u64,
    /// Until its answer.
    pub took_ns: u64,
}

/// How requests came, as the server saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabOffered {
    /// Arrivals that the rate and the length come to.
    pub planned: u64,
    /// Requests that came.
    pub requests: u64,
    /// Planned and never sent, of the whole run: `planned` less `requests`, if that is more than 0.
    pub omitted: u64,
    /// From the first request to the last.
    pub span_ns: u64,
    /// Longest time without a request.
    pub longest_gap_ns: u64,
    /// How far behind an even schedule requests came, at the median.
    pub lag_p50_ns: u64,
    /// At the 99th percentile.
    pub lag_p99_ns: u64,
    /// At most.
    pub lag_max_ns: u64,
    /// Variance over mean of the requests in windows of 10 ms: 0 when even, 1 for Poisson.
    pub dispersion: f64,
    /// Requests that should have come while the server misbehaved.
    pub planned_in_events: u64,
    /// Requests that did.
    pub seen_in_events: u64,
    /// The most requests in a second after an event, over the rate; `null` without an event.
    pub catch_up: Option<f64>,
    /// Connections that carried a request.
    pub connections: u64,
    /// The most requests at the server at once.
    pub in_flight_max: u64,
    /// Requests that ended in each second.
    pub completions_per_s: Vec<u64>,
    /// The same in shorter stretches, for drawing: an event may be over within a second. Empty where nobody counted.
    #[serde(default)]
    pub completions: Vec<u64>,
    /// Length of these stretches.
    #[serde(default)]
    pub completions_stretch_ns: u64,
}

/// One percentile from three sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabPercentile {
    /// 0 to 1.
    pub q: f64,
    /// The truth is at least this; `null` when it is not defined.
    pub truth_low_ns: Option<u64>,
    /// The truth is at most this; `null` when it is longer than the timeout.
    pub truth_high_ns: Option<u64>,
    /// By the server's log of what it was sent.
    pub log_ns: Option<u64>,
    /// By the tool; `null` when it does not say, or says that it is longer than it knows.
    pub reported_ns: Option<u64>,
    /// The tool says only that it took longer than it knows.
    #[serde(default)]
    pub is_longer: bool,
    /// How far the report lies outside the truth, relative to it: −0.9 is 90 % too low, 0 is within.
    pub error: Option<f64>,
    /// Within 5 % of the truth, or as close as can be told.
    pub is_right: Option<bool>,
}

/// One tool in one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabRow {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the tool.
    pub tool: String,
    /// The model of load that it claims.
    pub model: LoadModel,
    /// Runs with figures.
    pub runs: u32,
    /// Why there are none; of the last run without.
    pub problem: Option<String>,
    /// The middle of the runs, percentile by percentile.
    pub percentiles: Vec<LabPercentile>,
    /// Requests that came, the middle of the runs.
    pub requests: u64,
    /// Arrivals that were planned.
    pub planned: u64,
    /// Connections, the middle of the runs.
    pub connections: u64,
    /// Requests that came while the server misbehaved, the middle of the runs.
    #[serde(default)]
    pub seen_in_events: Option<u64>,
    /// The mean that it reports, the middle of the runs; `null` where it says none.
    #[serde(default)]
    pub mean_ns: Option<u64>,
    /// The longest that it reports, the middle of the runs.
    #[serde(default)]
    pub max_ns: Option<u64>,
    /// The samples that it reports, the middle of the runs.
    #[serde(default)]
    pub samples: Option<u64>,
    /// What it says it never sent, the middle of the runs.
    #[serde(default)]
    pub dropped: Option<u64>,
}

impl LabRow {
    /// Its percentile at `q`.
    pub fn at(&self, q: f64) -> Option<&LabPercentile> {
        self.percentiles.iter().find(|percentile| (percentile.q - q).abs() < 1e-9)
    }
}
