//! A trial, and what came of it.

use super::criterion::{Miss, Percentile, RateVerdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

/// One run at one rate, from rest to rest.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// From 1, in the order in which they are run; it also picks the seed of the arrivals.
    pub number: u32,
    /// What it is for.
    pub purpose: Purpose,
    /// Offered throughout.
    pub rate: Rate,
    /// Load that is not measured, to begin with.
    pub settle: Nanos,
    /// Measured at least.
    pub measure: Nanos,
    /// Measured at most: twice, four times … as long as `measure` while nothing is decided.
    pub measure_max: Nanos,
}

impl Trial {
    /// The share of what a 95 % interval may miss that belongs to the look after `measured`. There is a look when the window
    /// has its least length, and each time it has doubled. The last gets one half, the one before a quarter …: an early
    /// look ends a trial only when it is clear, and all looks together miss no more than one would.
    pub fn look_share(&self, measured: Nanos) -> f64 {
        let doublings = |length: Nanos| (length.0.max(1) as f64 / self.measure.0.max(1) as f64).log2();
        let last = doublings(self.measure_max).ceil().max(0.0) as i32;
        let done = (doublings(measured) + 1e-9).floor().max(0.0) as i32;
        let look = if measured >= self.measure_max { last } else { done.min(last) };
        // The first two are alike, so that the sum is 1.
        0.5f64.powi((last + 1 - look).min(last))
    }
}

/// What a trial was for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To find a rate that is too high.
    Bracket,
    /// To come nearer to the border.
    Bisect,
    /// The second pass.
    Repeat,
    /// To hold the answer for longer.
    Confirm,
    /// To hold the lowest rate for as long, when the answer did not hold.
    Floor,
    /// To measure latency that may be quoted.
    Latency,
}

/// What came of a trial.
#[derive(Clone, PartialEq, Debug)]
pub struct TrialOutcome {
    /// How long was measured.
    pub measured: Nanos,
    /// Measured arrivals by the schedule.
    pub scheduled: u64,
    /// Whole answers, as expected, to them.
    pub ok: u64,
    /// Arrivals that failed.
    pub failed: u64,
    /// Arrivals that timed out.
    pub timed_out: u64,
    /// Arrivals that had no answer when the run ended, drain included.
    pub unanswered: u64,
    /// Fell due, per second of the measured window.
    pub offered_per_s: f64,
    /// Ended `ok` within the measured window, per second.
    pub delivered_per_s: f64,
    /// The percentile of the objective; nothing without answers.
    pub percentile: Option<Percentile>,
    /// Share of the known response times that are above the limit, 0 to 1; nothing when none is known.
    pub above_share: Option<f64>,
    /// Its standard error, by ten batches of the window; nothing when it has fewer intervals.
    pub above_error: Option<f64>,
    /// Median response time in ns.
    pub p50_ns: Option<u64>,
    /// Mean response time in ns of what was answered; nothing when something is known only to be longer.
    pub mean_ns: Option<f64>,
    /// Mean number of arrivals without an answer, by Little's law; nothing where there is no mean.
    pub in_flight_mean: Option<f64>,
    /// Arrivals without an answer when the measured load ended.
    pub in_flight_end: u64,
    /// They grew all the time.
    pub is_growing: bool,
    /// Why the generator rather than the target was the limit.
    pub generator: Option<String>,
    /// Was the rate good?
    pub verdict: RateVerdict,
}

/// A trial that has ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Step<T = Trial, O = TrialOutcome> {
    /// What was tried.
    pub trial: T,
    /// What came of it.
    pub outcome: O,
}

impl TrialOutcome {
    /// The target kept up with what was offered, however slowly it answered.
    pub fn is_stationary(&self) -> bool {
        let falls_behind = RateVerdict::Missed(Miss::Growing) == self.verdict
            || RateVerdict::Missed(Miss::Delivered) == self.verdict
            || RateVerdict::Missed(Miss::NoAnswers) == self.verdict;
        self.verdict != RateVerdict::Generator && !falls_behind && !self.is_growing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_are_one() {
        for (measure_max_s, lengths_s) in
            [(20, &[20][..]), (40, &[20, 40]), (160, &[20, 40, 80, 160]), (100, &[20, 40, 80, 100])]
        {
            let trial = Trial {
                number: 1,
                purpose: Purpose::Bracket,
                rate: Rate::per_second(1),
                settle: Nanos::ZERO,
                measure: Nanos::from_secs(20),
                measure_max: Nanos::from_secs(measure_max_s),
            };
            let shares: Vec<f64> = lengths_s.iter().map(|&s| trial.look_share(Nanos::from_secs(s))).collect();
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{measure_max_s}: {shares:?}");
            assert!(shares.windows(2).all(|pair| pair[0] <= pair[1]), "{shares:?}");
        }
    }
}
