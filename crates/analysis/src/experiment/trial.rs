//! A trial, and what came of it.

use super::criterion::Verdict;
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
    /// Measured at the most: twice, four times … as long as `measure` while nothing is decided.
    pub measure_max: Nanos,
}

/// What a trial is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To find a rate that is too high, and one that is not.
    Bracket,
    /// To come nearer to the border between the two.
    Bisect,
    /// To see whether a rate does again what it did before.
    Repeat,
    /// To see whether the answer holds for longer.
    Confirm,
    /// To measure latency at a rate that can be sustained.
    Latency,
}

/// A percentile of response time, and where it lies with 95 %.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Percentile {
    /// In ns; a lower bound when `censored`.
    pub value_ns: u64,
    /// It lies beyond what is known.
    pub censored: bool,
    /// Lower end of the 95 % interval, in ns, if there is one.
    pub low_ns: Option<u64>,
    /// Upper end of the 95 % interval, in ns, if there is one.
    pub high_ns: Option<u64>,
}

/// What came of a trial.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
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
    pub verdict: Verdict,
}

/// A trial that has ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// What was tried.
    pub trial: Trial,
    /// What came of it.
    pub outcome: Outcome,
}

impl Outcome {
    /// The target kept up with what was offered, however slowly it answered.
    pub fn is_stationary(&self) -> bool {
        use super::criterion::Miss;
        let falls_behind = Verdict::Missed(Miss::Growing) == self.verdict
            || Verdict::Missed(Miss::Delivered) == self.verdict
            || Verdict::Missed(Miss::NoAnswers) == self.verdict;
        self.verdict != Verdict::Generator && !falls_behind && !self.is_growing
    }
}
