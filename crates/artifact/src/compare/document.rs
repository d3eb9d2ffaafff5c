//! `unblink.compare/2`: a baseline and a candidate side by side.

use crate::document::{LoadPlan, Requested, RunPlan, RunStatus, TargetsBeyond, Tool, ValidityStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use unblink_analysis::compare::BandPoint;

/// The version of the document that this crate writes.
pub const COMPARE_SCHEMA: &str = "unblink.compare/2";

/// Is the candidate slower than the baseline?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareDocument {
    /// Always `unblink.compare/2`.
    pub schema: String,
    /// Which tool compared.
    pub tool: Tool,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// What every run was to do.
    pub plan: RunPlan,
    /// What every run was offered; seeds are those of the first.
    pub loads: Vec<LoadPlan>,
    /// Both sides are the same target: the noise floor was measured.
    pub a_a: bool,
    /// Nothing was sent: the runs are simulated.
    pub simulated: bool,
    /// The answer.
    pub outcome: ComparisonOutcome,
    /// Why there is no verdict.
    pub reason: Option<NoVerdictReason>,
    /// What decides.
    pub rule: Rule,
    /// Two-sided, of the exact permutation test; `null` where there was none.
    pub p_value: Option<f64>,
    /// Ways to deal the runs out, each of which the test looks at.
    pub splits: Option<u64>,
    /// Standard deviation between runs of one side, of the natural logarithm of the deciding percentile.
    pub noise_sd: Option<f64>,
    /// The smallest slow-down, relative to the baseline, that so many runs with so much noise would have found with
    /// the probability `rule.power`.
    pub smallest_findable: Option<f64>,
    /// One side was measured after the other: a change of the machine in between looks like one of the target.
    pub one_after_the_other: bool,
    /// What is compared.
    pub baseline: Side,
    /// With what.
    pub candidate: Side,
    /// Every quantity; those of which too little is known are left out.
    pub lines: Vec<Line>,
    /// Every journey by its journey time, where no request or journey is compared alone. They decide nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journeys: Vec<ComparedJourney>,
    /// Percentiles that are left out of `lines`, 0 to 1: in some run fewer than ten response times lie above.
    #[serde(default)]
    pub unsupported: Vec<f64>,
}

/// What the comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Outcome")]
pub enum ComparisonOutcome {
    /// The candidate is slower.
    Regression,
    /// The candidate is faster.
    Improvement,
    /// The candidate is not slower by as much as counts, as far as these runs can tell.
    NoRegression,
    /// Nothing can be said, see `reason`.
    NoVerdict,
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoVerdictReason {
    /// One run each: how much runs differ is not known.
    WithinRunOnly,
    /// Fewer runs on a side than `rule.runs_min` that can be believed.
    TooFewRuns,
    /// More ways to deal the runs out than can be looked at.
    TooManyRuns,
    /// The percentile of a baseline run is not known.
    BaselineUnknown,
    /// The percentile of a candidate run lies beyond what is known.
    CandidateUnknown,
    /// One side fails so much more that its percentile speaks for other arrivals.
    FailuresDiffer,
    /// The candidate failed in some runs, and chance may have dealt them out so.
    CandidateFails,
    /// It was interrupted before every run was measured.
    Interrupted,
}

/// What decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// The percentile of response time that decides, 0 to 1.
    pub quantile: f64,
    /// The request or journey that is compared alone; `null`: all requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// A smaller relative difference is not a regression.
    pub effect_min: f64,
    /// Two equal targets are told apart so often.
    pub alarm_level: f64,
    /// Runs of each side at least.
    pub runs_min: u32,
    /// Of `smallest_findable`.
    pub power: f64,
}

/// One set of runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// What its runs requested, as the first of them says.
    pub targets: Vec<Requested>,
    /// Those of them that are not listed, where there were very many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets_beyond: Option<TargetsBeyond>,
    /// In the order in which they began.
    pub runs: Vec<ComparedRun>,
    /// Percentile spectra of its runs as one band.
    pub spectrum: Vec<BandPoint>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// Its folder.
    pub folder: String,
    /// When t = 0 was, RFC 3339 in UTC.
    pub started_at: String,
    /// Did it come to its end?
    pub status: RunStatus,
    /// Can it be believed?
    pub validity: ValidityStatus,
    /// Why it is left out; `null` for a run that counts.
    pub left_out: Option<String>,
    /// How the candidate failed under a load that the baseline carried in every run; `null` elsewhere. Such a run counts
    /// as slower than any that is known, and enters no line.
    #[serde(default)]
    pub target_failed: Option<String>,
    /// What takes from its figures, the worst of it; `null` for a run that is not degraded.
    #[serde(default)]
    pub degraded_by: Option<String>,
    /// Response times that lie above the deciding percentile; `null` where it is not known.
    #[serde(default)]
    pub samples_above: Option<u64>,
    /// The deciding percentile in ns; a lower bound when `censored`.
    pub value_ns: Option<u64>,
    /// The percentile lies beyond what is known.
    pub censored: bool,
    /// `ok` arrivals per second.
    pub achieved_per_s: f64,
    /// The share of arrivals that did not end `ok`.
    pub error_share: f64,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// A percentile of response time in ns, see `quantile`.
    Percentile,
    /// `ok` arrivals per second.
    Throughput,
    /// The share of arrivals that did not end `ok`.
    Errors,
}

/// One journey of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedJourney {
    /// Its name.
    pub name: String,
    /// Percentiles of its journey time, completed journeys per second, and the share of journeys that did not complete;
    /// those of which too little is known are left out.
    pub lines: Vec<Line>,
}

/// One quantity of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// What it is about.
    pub quantity: Quantity,
    /// Of a percentile, 0 to 1.
    pub quantile: Option<f64>,
    /// It decides; the others are shown.
    pub decides: bool,
    /// In some run fewer than ten response times lie above the percentile.
    #[serde(default)]
    pub few_samples: bool,
    /// Mean of the runs: geometric, for errors arithmetic.
    pub baseline: Option<f64>,
    /// The same of the candidate.
    pub candidate: Option<f64>,
    /// `baseline` is a lower bound.
    pub baseline_censored: bool,
    /// `candidate` is a lower bound.
    pub candidate_censored: bool,
    /// Relative to the baseline; for errors the difference of the shares.
    pub change: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}
