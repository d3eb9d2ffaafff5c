//! The percentile spectra of several runs as one band.

use super::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Decades of 1/(1 − q) from one point to the next.
const STEP: f64 = 0.02;

/// A share of arrivals, and how long it took.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BandPoint {
    /// 0 to 1.
    pub q: f64,
    /// In the fastest run.
    pub low_ns: u64,
    /// Geometric mean of the runs.
    pub middle_ns: u64,
    /// In the slowest run.
    pub high_ns: u64,
}

/// From q = 0 to where some run's data end; points lie evenly on a 1/(1 − q) axis.
pub fn band(runs: &[Run]) -> Vec<BandPoint> {
    let shortest = runs.iter().map(|run| run.survival.count()).min().unwrap_or(0);
    if shortest == 0 {
        return Vec::new();
    }
    let end = (shortest as f64).log10();
    (0..=(end / STEP) as u32).map_while(|i| point(runs, 1.0 - 10f64.powf(-STEP * f64::from(i)))).collect()
}

fn point(runs: &[Run], q: f64) -> Option<BandPoint> {
    let value =
        |run: &Run| run.quantile(q).filter(|value| !value.censored).map(|value| value.value_ns.max(1));
    let values = runs.iter().map(value).collect::<Option<Vec<u64>>>()?;
    let logs = values.iter().map(|&ns| (ns as f64).ln()).sum::<f64>();
    Some(BandPoint {
        q,
        low_ns: *values.iter().min()?,
        middle_ns: (logs / values.len() as f64).exp().round() as u64,
        high_ns: *values.iter().max()?,
    })
}
