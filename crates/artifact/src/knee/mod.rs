//! The document of a search for the highest rate that meets an objective, and its journal.

mod convert;
mod journal;

pub use convert::document;
pub use journal::{JOURNAL_FILE, Journal, JournalError};

use crate::document::{Environment, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use unblink_analysis::experiment::Purpose;
pub use unblink_analysis::experiment::knee::{Collapse, Interval95};

/// Name and version of the document.
pub const SCHEMA: &str = "unblink.knee/1";

/// What is searched, and how: known at the start, and the same when the search is resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeQuestion {
    /// What is requested, secrets masked; a simulated server in the words of `--server`.
    pub target: String,
    /// No request was sent: the target is simulated.
    pub simulated: bool,
    /// The objective in words.
    pub objective: String,
    /// The percentile of the objective, 0 to 1.
    pub quantile: f64,
    /// The response time that it must stay below.
    pub limit_ns: u64,
    /// How arrivals lie around the rate: `even`, `poisson` or `recorded`.
    pub process: String,
    /// The first rate that is tried.
    pub start_per_s: f64,
    /// No higher rate is tried.
    pub max_per_s: f64,
    /// Width of the bracket at which the search ends, as a share of the rate.
    pub resolution: f64,
    /// Load before each measurement.
    pub settle_ns: u64,
    /// Measured at least.
    pub measure_ns: u64,
    /// Measured at most, while nothing is decided.
    pub measure_max_ns: u64,
    /// Nothing is asked for so long between two trials.
    pub rest_ns: u64,
    /// From the intended time.
    pub timeout_ns: u64,
    /// Of arrivals, and of the second pass's order.
    pub seed: u64,
    /// Fingerprint of what is asked and of whom: requests, addresses, connections, pacing; or the simulated world.
    #[serde(default)]
    pub asked: Option<String>,
    /// The name of the requests or of the journey whose percentile it is; `null`: of all requests together.
    #[serde(default)]
    pub operation: Option<String>,
    /// Rates are of arrivals, some of which begin journeys; what is delivered, its mean and what is in flight are requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_journeys: bool,
    /// The search is over when the border surely reaches this rate, or surely does not; `null`: it is to be found.
    #[serde(default)]
    pub at_least_per_s: Option<f64>,
    /// Load in all at most; `null`: as much as it takes.
    #[serde(default)]
    pub within_ns: Option<u64>,
    /// Rates are means of recorded traffic that is replayed; `null`: arrivals are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<KneeReplay>,
}

/// Recorded traffic of which a search sends more or less.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeReplay {
    /// How it becomes more or less.
    pub by: ReplayBy,
    /// Requests that were recorded, and are sent.
    pub requests: u64,
    /// How long they took as they were recorded.
    pub length_ns: u64,
    /// Of them in a second on average: a rate of so much is the traffic as it was recorded.
    pub mean_per_s: f64,
}

/// How recorded traffic becomes more or less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayBy {
    /// Copies of it in the same time.
    Scale,
    /// The same in less time.
    Speed,
}

/// What is known when a search starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeHeader {
    /// Which tool searches.
    pub tool: Tool,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// The machine that offers the load.
    pub environment: Environment,
    /// What is searched, and how.
    pub question: KneeQuestion,
}

/// A search for the highest rate that meets an objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeDocument {
    /// `unblink.knee/1`.
    pub schema: String,
    /// How it ended.
    pub status: KneeStatus,
    /// What was known at the start.
    #[serde(flatten)]
    pub header: KneeHeader,
    /// The answer; `null` when none can be trusted.
    pub answer: Option<KneeAnswer>,
    /// What lies surely on either side of the border, by every trial that was decided; `null` when nothing can be trusted.
    #[serde(default)]
    pub bracket: Option<KneeBracket>,
    /// Whether the border reaches the rate that was asked for.
    #[serde(default)]
    pub at_least: Option<KneeAtLeast>,
    /// Why there is no answer.
    pub refused: Option<KneeRefusal>,
    /// Where the curve bends, in two ways.
    pub knees: Knees,
    /// Between these two rates per second, 70 % and 80 % of the last stationary rate, a target is run safely; `null` unless
    /// the border was found.
    pub safe_band_per_s: Option<(f64, f64)>,
    /// The most that a rate delivered per second, the mean of its trials; `null` unless the target was overloaded in some trial.
    pub capacity_per_s: Option<f64>,
    /// Delivered work falls beyond the knee.
    pub collapse: Option<Collapse>,
    /// The Universal Scalability Law over the mean number in flight, of trials that the target kept up with; `null` when there
    /// are too few, or it does not fit them.
    pub usl: Option<Usl>,
    /// `residual` of a law that does not fit.
    pub usl_misfit: Option<f64>,
    /// Number of the trial whose latency may be quoted.
    pub latency_trial: Option<u32>,
    /// Every finished trial, in order.
    pub trials: Vec<KneeTrial>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KneeStatus {
    /// The border between good and bad rates was found and confirmed.
    Found,
    /// The highest rate that may be tried is good: the border lies above it.
    AtLeast,
    /// Its time was up, or what was asked of it was settled: what is known is `bracket`.
    Bracketed,
    /// No answer can be trusted.
    Refused,
    /// The user ended it; it can be resumed.
    Interrupted,
}

/// The highest rate that meets the objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeAnswer {
    /// Where the percentile reaches its limit, or, where no line can be drawn, the highest rate that was good.
    pub rate_per_s: f64,
    /// It comes from a line through the trials near the limit.
    pub interpolated: bool,
    /// The highest rate, not above the answer, that was shown to be good.
    pub good_per_s: f64,
    /// The lowest rate above the answer that was shown not to be good; `null` when there was none.
    pub missed_from_per_s: Option<f64>,
    /// Number of the trial that held it for longer.
    pub trial: u32,
}

/// What lies surely on either side of the border.
#[derive(Clone, Copy, Default, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeBracket {
    /// The highest rate that was good, below all that were not; `null` when none was.
    pub good_per_s: Option<f64>,
    /// The lowest rate that was not, above all that were good; `null` when none was.
    pub missed_from_per_s: Option<f64>,
}

/// Does the border lie at or above a rate?
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeAtLeast {
    /// The rate.
    pub rate_per_s: f64,
    /// Surely, or surely not; `null` when that can't be told.
    pub is_reached: Option<bool>,
}

/// This many requests in this many seconds, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExactRate {
    /// Requests …
    pub requests: u64,
    /// … in this time, at least 1.
    pub seconds: u64,
}

impl ExactRate {
    /// Requests per second.
    pub fn per_s(self) -> f64 {
        self.requests as f64 / self.seconds as f64
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeRefusal {
    /// Which reason.
    pub code: RefusalCode,
    /// The rate at which it showed.
    pub rate_per_s: f64,
    /// What was found there, if there is more to say.
    pub why: Option<String>,
}

/// Reasons to give no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// Not even this rate was good.
    NothingMet,
    /// The objective is missed now and then at low rates too: it is not the rate.
    AnyRate,
    /// The generator, not the target, was the limit.
    Generator,
    /// A rate that was good in the first pass was bad in the second.
    Hysteresis,
    /// A rate that was bad in the first pass was good in the second.
    WarmedUp,
    /// The rate that was found did not hold for longer.
    NotConfirmed,
    /// The target did not come to rest after this rate.
    NotAtRest,
    /// A guard stopped the trial at this rate.
    Guard,
    /// The agents could not be led through the trial at this rate.
    Agents,
    /// The target did not answer the request before the first trial as expected: nothing was measured.
    Preflight,
}

/// Where delivered over offered bends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knees {
    /// By Kneedle; `null` where the curve has no bend.
    pub kneedle_per_s: Option<f64>,
    /// The highest rate that the target kept up with, however slowly it answered.
    pub last_stationary_per_s: Option<f64>,
}

/// X(N) = γN / (1 + σ(N − 1) + κN(N − 1)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usl {
    /// γ, throughput with one in flight, per second.
    pub gamma_per_s: Interval95,
    /// σ, contention.
    pub sigma: Interval95,
    /// κ, coherency.
    pub kappa: Interval95,
    /// Trials that it was fitted to.
    pub points: u32,
    /// Root mean square of how far the trials' response times are off the curve, as a share of them.
    pub residual: f64,
    /// Number in flight at which throughput is greatest; `null` unless κ is surely above 0 and the trials reached half of
    /// that number.
    pub peak_in_flight: Option<f64>,
}

/// Was a rate good?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialVerdict {
    /// It meets everything.
    Met,
    /// Nothing was answered as expected.
    NoAnswers,
    /// What has no answer grew all the time.
    Growing,
    /// Less than 99 % of what fell due ended `ok`.
    Delivered,
    /// The percentile is above its limit.
    Percentile,
    /// The percentile's interval holds the limit.
    Undecided,
    /// The generator was the limit.
    Generator,
}

/// A finished trial; a line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeTrial {
    /// From 1, in the order in which they were run.
    pub number: u32,
    /// What it was for.
    pub purpose: Purpose,
    /// Asked for.
    pub rate: ExactRate,
    /// Not measured, to begin with.
    pub settle_ns: u64,
    /// To be measured at least.
    pub measure_ns: u64,
    /// To be measured at most.
    pub measure_max_ns: u64,
    /// Measured.
    pub measured_ns: u64,
    /// Measured arrivals by the schedule.
    pub scheduled: u64,
    /// Whole answers, as expected.
    pub ok: u64,
    /// Failed.
    pub failed: u64,
    /// Timed out.
    pub timed_out: u64,
    /// Without an answer when the run ended.
    pub unanswered: u64,
    /// Fell due, per second of the measured window.
    pub offered_per_s: f64,
    /// Ended `ok`, per second of the measured window.
    pub delivered_per_s: f64,
    /// The objective's percentile of response time; `null` without answers.
    pub percentile_ns: Option<u64>,
    /// `percentile_ns` is only a lower bound.
    pub percentile_censored: bool,
    /// Lower end of its 95 % interval, if there is one. The interval holds for all looks of the trial together.
    pub percentile_low_ns: Option<u64>,
    /// Upper end of its 95 % interval, if there is one.
    pub percentile_high_ns: Option<u64>,
    /// Share of the known response times above the limit, 0 to 1; `null` when none is known.
    pub above_share: Option<f64>,
    /// Its standard error, by batches of the window; `null` when the window is too short for them.
    pub above_error: Option<f64>,
    /// Median response time.
    pub p50_ns: Option<u64>,
    /// Mean response time; `null` when something is known only to be longer.
    pub mean_ns: Option<f64>,
    /// Mean number in flight, by Little's law.
    pub in_flight_mean: Option<f64>,
    /// Without an answer when the measured load ended.
    pub in_flight_end: u64,
    /// It grew all the time.
    pub is_growing: bool,
    /// Why the generator was the limit.
    pub generator: Option<String>,
    /// Was the rate good?
    pub verdict: TrialVerdict,
    /// 1/(μ − λ): what the simplest queue with the capacity that was found would take on average; only in a document.
    #[serde(default)]
    pub theory_mean_ns: Option<f64>,
}
