//! Whether the arrivals lay as they should.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a bounded sample of arrivals says about their process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalProcess {
    /// Arrivals that were looked at: blocks of successive ones, spread over the run.
    pub arrivals: u64,
    /// When they should have started.
    pub intended: ArrivalTimes,
    /// When they were sent.
    pub sent: ArrivalTimes,
}

/// One kind of times of the sampled arrivals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalTimes {
    /// Gaps against the exponential distribution; `null` for an even process, and with too few gaps.
    pub exponential: Option<ExponentialTest>,
    /// Farthest from where it belongs: an intended time from the even schedule's line (`null` for Poisson), a
    /// sent time from its intended time.
    pub deviation_ns_max: Option<u64>,
}

/// Gaps, counted in expected arrivals, against the exponential distribution with mean 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExponentialTest {
    /// Gaps between successive arrivals.
    pub gaps: u64,
    /// Anderson and Darling's A²; above 6.0 in one of 1,000 Poisson processes.
    pub a2: f64,
    /// Probability of such an A² or a larger one in a Poisson process, 0 to 1.
    pub p_value: f64,
    /// Largest distance between the two distributions, 0 to 1; for sent times what is left of it when each
    /// gap may be off by 50 µs.
    pub distance: f64,
    /// Correlation of each gap with the next, −1 to 1.
    pub correlation: f64,
}
