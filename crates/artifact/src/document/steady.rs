//! What was left out at the beginning, and how long a run went on.

use super::{Arrivals, Distribution};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How well a percentile of response time is to be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrecisionGoal {
    /// Which, 0 to 1.
    pub quantile: f64,
    /// Both ends of its 95 % interval are to lie within this share of it, 0 to 1.
    pub share: f64,
    /// The load lasts for this long at least.
    pub minimum_ns: u64,
}

/// What became of a run that was to go on until a percentile is known well enough. This is optional stopping:
/// `docs/statistics.md` says what the interval of a stopped run is worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// Which percentile, 0 to 1.
    pub quantile: f64,
    /// How far the farther end of its interval was to lie from it, as a share of it.
    pub share: f64,
    /// How far it lies in the end; `null` without an interval.
    pub share_found: Option<f64>,
    /// The load was ended because it was reached.
    pub reached: bool,
    /// After so much measured load.
    pub after_ns: u64,
}

/// The transient at a run's beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Transient {
    /// What became of it.
    pub status: TransientStatus,
    /// It was left out up to here, after t = 0, by the time at which arrivals ended; 0 when nothing was.
    pub to_ns: u64,
    /// It may last longer, but in this interval lies an event, which is never left out.
    pub event_at_ns: Option<u64>,
    /// Where the arrivals ended that were left out.
    pub arrivals: Option<Arrivals>,
    /// Their response time.
    pub response_time: Option<Distribution>,
}

/// What became of the transient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransientStatus {
    /// It was found and left out.
    LeftOut,
    /// The run is steady from its beginning, or an event at once forbids leaving anything out.
    None,
    /// No steady state was found: nothing is left out, and the finding `not_steady` says why.
    NotFound,
}
