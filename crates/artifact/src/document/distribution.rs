//! A distribution of durations, and its quantiles.

use super::IntervalKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of durations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Always `ns`.
    pub unit: String,
    /// Arrivals that enter it, the censored included.
    pub count: u64,
    /// Those known only to be longer than their age.
    pub censored: u64,
    /// Exact mean; `null` when anything is censored or nothing is there.
    pub mean: Option<f64>,
    /// Exact maximum; `null` when nothing is there. A lower bound when `max_censored`: the largest of the known and
    /// of the ages of the censored.
    pub max: Option<u64>,
    /// Something is censored, so that the true maximum may be larger than `max`.
    #[serde(default)]
    pub max_censored: bool,
    /// Nearest-rank quantiles, by Kaplan–Meier where anything is censored. Empty when nothing is there, and of an
    /// operation that has `spilled`.
    pub quantiles: Vec<Quantile>,
}

/// One quantile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantile {
    /// 0 to 1.
    pub q: f64,
    /// In the distribution's unit; a lower bound when `censored`.
    pub value: u64,
    /// The quantile lies beyond what is known: read `> value`.
    pub censored: bool,
    /// Too few samples for this quantile: fewer than ten lie above it.
    pub few_samples: bool,
    /// Lower end of its 95 % interval, in the distribution's unit; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<u64>,
    /// Upper end; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<u64>,
    /// How the interval was found, or why there is none; absent where none is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<IntervalKind>,
    /// With `one_event`: when the worst arrivals of the event began to fall due, after t = 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_at_ns: Option<u64>,
    /// With `few_events`: how many decide the quantile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u32>,
    /// With `too_short`: a measured part of this length might do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_ns: Option<u64>,
    /// Where censoring may bear on it: the quantile if all that was censored had been answered at its age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_answered_now: Option<u64>,
    /// The same if nothing of it had ever been answered; absent beside `if_answered_now`: without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_never: Option<u64>,
    /// Where machines were lost: the quantile if all of their arrivals of which nothing is known had been answered at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_lost_at_once: Option<u64>,
    /// The same if nothing of it had ever been answered; absent beside `if_lost_at_once`: without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_lost_never: Option<u64>,
    /// Where arrivals failed: the share of all arrivals, including failed ones, that is answered `ok` within `value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_within: Option<f64>,
}
