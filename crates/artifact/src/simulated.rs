//! What a document says of a run that was not real.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The world of a simulated run, known when it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedWorld {
    /// The server, in the words of `--server`.
    pub server: String,
    /// Service times of single requests, by name, in the words of `--service`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, String>,
    /// What the answers to single steps of journeys say, by name, in the words of `--answer`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, String>,
    /// The network, in the words of `--network`; empty: it takes no time.
    pub network: String,
    /// The load generator's machine, in the words of `--generator`; empty: it is never late.
    pub generator: String,
    /// Who offers the load, in the words of `--client`.
    pub client: String,
    /// The figures are what users feel; false: those that this client would report.
    pub is_felt: bool,
    /// This client may move its schedule: what it sends is no longer what was planned, even where nothing is omitted.
    pub moves_schedule: bool,
    /// Of every draw in the world.
    pub seed: u64,
    /// Arrivals of the measured part by the plan's schedule; `null` for a closed plan.
    pub planned: Option<u64>,
}

/// A simulated run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Simulated {
    /// What was simulated.
    pub world: SimulatedWorld,
    /// Arrivals per second that the plan asks for over its measured part, whatever the client makes of it (`offered` of
    /// `rate` is what the client itself asked for); `null` where nothing was planned, and in a part of a run.
    pub claimed: Option<f64>,
    /// Planned arrivals that the client never sent and does not know of, as far as the load was offered; `null` where
    /// nothing was planned, in a part of a run, and in one that did not come to its end.
    pub omitted: Option<u64>,
    /// What users who wait left out while they waited; absent for every other client, and in a part of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// Values in `response_time` that the client made up.
    pub invented: u64,
    /// Requests sent for each arrival that was sent: above 1 where users try again.
    pub requests_per_arrival: f64,
}

/// What users leave out who each wait for their answer: arrivals of the plan that would have come in the time by which
/// an answer took longer than usual (than the median, or than the interval in which the plan has each of them ask,
/// whichever is shorter), in whole arrivals for each answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// Beside all answers together. They may have sent as many at another time, when the plan had none.
    pub omitted: u64,
    /// The longest answer.
    pub longest_ns: u64,
    /// Beside the longest one alone.
    pub longest_omitted: u64,
}

/// Pages that need several requests: the slowest of them decides (Dean, Barroso: The Tail at Scale, 2013).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fanout {
    /// Requests of a page, independent of each other.
    pub requests: u32,
    /// For each printed percentile of a request, the share of pages that are slower.
    pub slower: Vec<SlowerPages>,
    /// Half of the pages are whole within this; a lower bound when `p50_censored`.
    pub p50_ns: u64,
    /// The median lies beyond what is known.
    pub p50_censored: bool,
    /// Of a hundred pages 99 are whole within this; a lower bound when `p99_censored`.
    pub p99_ns: u64,
    /// The 99th percentile lies beyond what is known.
    pub p99_censored: bool,
    /// Fewer than ten requests lie above the one that decides `p99_ns`.
    pub p99_few_samples: bool,
    /// One event decides `p50_ns`, which a page's requests would meet together: they are not independent.
    #[serde(default)]
    pub p50_one_event: bool,
    /// One event decides `p99_ns`.
    #[serde(default)]
    pub p99_one_event: bool,
}

/// Pages against a percentile of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowerPages {
    /// The percentile, 0 to 1.
    pub q: f64,
    /// Its value.
    pub value_ns: u64,
    /// Share of pages with at least one slower request, 0 to 1.
    pub share: f64,
    /// One event decides the percentile: its slower requests are neighbours, and most pages meet none of them or several.
    #[serde(default)]
    pub one_event: bool,
}
