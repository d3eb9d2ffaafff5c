//! A soak: the same load for long. Does anything drift?

use super::trend::{Trend, trend};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_core::time::Nanos;

/// A change of less than this share of the level is too small to matter, however sure it is.
pub const LEAST_SHARE: f64 = 0.01;
/// The same for what is itself a share: errors.
pub const LEAST_ERRORS: f64 = 0.001;
/// Of the load, this share is left out at the start: caches fill, connections are opened.
pub const LEFT_OUT_SHARE: f64 = 0.1;

/// What may drift.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SoakFigureName")]
pub enum Watched {
    /// Median response time.
    P50,
    /// 99th percentile of response time.
    P99,
    /// Share of the arrivals that ended otherwise than as expected.
    Errors,
    /// Usable connections.
    Connections,
    /// Resident memory of the watched process.
    Memory,
    /// Its open descriptors.
    Descriptors,
    /// Size of the watched file or folder.
    Size,
    /// A watched metric of the service.
    Metric,
}

/// A figure over time: (when after t = 0, value).
pub type Points = Vec<(Nanos, f64)>;

/// What came of one figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drift {
    /// Which.
    pub watched: Watched,
    /// How it changes over what was looked at.
    pub trend: Trend,
    /// Surely, and by more than is too small to matter.
    pub is_drift: bool,
}

/// The part of a load from `from` to `to` that is looked at.
pub fn settled(from: Nanos, to: Nanos) -> (Nanos, Nanos) {
    (from + Nanos(((to - from).0 as f64 * LEFT_OUT_SHARE) as u64), to)
}

/// One figure within `window`; `None` when there are too few values.
pub fn drift(watched: Watched, points: &[(Nanos, f64)], window: (Nanos, Nanos)) -> Option<Drift> {
    let within = points.iter().filter(|(at, _)| (window.0..=window.1).contains(at));
    let series: Vec<(f64, f64)> = within.map(|&(at, value)| (at.as_secs_f64(), value)).collect();
    let trend = trend(&series)?;
    let least = match watched {
        Watched::Errors => LEAST_ERRORS,
        _ => trend.level.abs() * LEAST_SHARE,
    };
    // To be seen a change must leave zero and exceed what is too small to matter: the harder one counts.
    let half = (trend.high - trend.low) / 2.0;
    let findable = trend.findable.map(|findable| findable + (least - half).max(0.0));
    Some(Drift { watched, trend: Trend { findable, ..trend }, is_drift: trend.is_drift(least) })
}
