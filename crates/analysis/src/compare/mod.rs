//! Is a candidate slower than its baseline? Each is a set of runs, because one run can't say how much runs differ.
//!
//! One percentile decides: the exact [`permutation`] test on the runs' values must find a difference at the alarm
//! level [`ALARM_LEVEL`], and the difference must be as large as the least that counts. Everything else is shown
//! with intervals and decides nothing, so that ten quantities don't make ten chances of a false alarm. Beside the
//! verdict stands the smallest effect that so many runs with so much noise could have found ([`power`]).
//!
//! `docs/compare.md` has the reasons and the measured error rates.

mod band;
mod difference;
pub mod knees;
pub mod permutation;
pub mod power;
mod within;

pub use band::{BandPoint, band};
pub use within::Slice;

use crate::interval::History;
use crate::quantile::{QUANTILES, QuantileValue, Survival};
use difference::{Sample, interval};
use power::Power;
use unblink_core::record::Track;
use unblink_core::sim::Random;
use unblink_core::time::Nanos;

/// Two equal targets are told apart once in this many comparisons, half of them in either direction.
pub const ALARM_LEVEL: f64 = 0.01;
/// The smallest findable effect is found with this probability.
pub const POWER: f64 = 0.8;
/// Runs of each side at least: one split of 252 is 0.4 %, and one of 70, as 4 + 4 have, is more than half of
/// the alarm level.
pub const RUNS_MIN: usize = 5;
/// Splits at most: those of 10 + 10 runs.
pub const SPLITS_MAX: u64 = 184_756;

/// What is looked at in a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Quantity {
    /// A percentile of response time, in ns.
    Percentile(f64),
    /// Arrivals that ended `ok`, per second.
    Throughput,
    /// The share of arrivals that did not end `ok`.
    Errors,
}

/// What is known of a run whose validity has been looked at.
#[derive(Clone, Copy, Debug)]
pub struct RunParts<'a> {
    /// Response times of `ok` arrivals.
    pub completed: &'a Track<u64>,
    /// Ages of the arrivals that are only known to take longer.
    pub censored: &'a Track<u64>,
    /// The same over time.
    pub history: &'a History,
    /// From where to where the measured load was offered.
    pub load: (Nanos, Nanos),
    /// Rates over that time.
    pub slices: &'a [Slice],
    /// `ok` arrivals per second.
    pub achieved_per_s: f64,
    /// The share of arrivals that did not end `ok`.
    pub error_share: f64,
    /// The share of arrivals that failed: these enter no percentile.
    pub failed_share: f64,
}

/// A run, ready to be compared.
#[derive(Clone, Debug)]
pub struct Run {
    survival: Survival,
    quantiles: Vec<Option<QuantileValue>>,
    /// By place in [`quantities`]; `None` where nothing is known.
    figures: Vec<Option<Sample>>,
    failed_share: f64,
}

/// Every quantity, percentiles first.
pub fn quantities() -> impl Iterator<Item = Quantity> {
    QUANTILES.into_iter().map(Quantity::Percentile).chain([Quantity::Throughput, Quantity::Errors])
}

impl Run {
    /// `number` tells runs apart, so that none is drawn from like another.
    pub fn new(parts: &RunParts<'_>, number: u64) -> Run {
        let mut random = Random::new(number, 0);
        let survival = Survival::new(parts.completed, parts.censored);
        let quantiles: Vec<Option<QuantileValue>> = QUANTILES.iter().map(|&q| survival.quantile(q)).collect();
        let within = within::of_quantiles(parts.history, parts.load, &QUANTILES, &mut random);
        let mut figures: Vec<Option<Sample>> = quantiles
            .iter()
            .zip(within)
            .map(|(value, within)| {
                Some(Sample { value: (value.as_ref()?.value_ns.max(1) as f64).ln(), within })
            })
            .collect();
        let throughput = |length_s: f64, ok: u64, _: u64| (ok as f64 / length_s).ln();
        let errors = |_: f64, ok: u64, not_ok: u64| not_ok as f64 / (ok + not_ok) as f64;
        let rate = Sample {
            value: parts.achieved_per_s.ln(),
            within: within::of_slices(parts.slices, throughput, &mut random),
        };
        figures.push(Some(rate).filter(|rate| rate.value.is_finite()));
        figures.push(Some(Sample {
            value: parts.error_share,
            within: within::of_slices(parts.slices, errors, &mut random),
        }));
        Run { survival, quantiles, figures, failed_share: parts.failed_share }
    }

    /// The estimate of a percentile; `None` without samples.
    pub fn quantile(&self, q: f64) -> Option<QuantileValue> {
        self.survival.quantile(q)
    }
}

/// What decides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// The percentile that decides, one of [`QUANTILES`].
    pub quantile: f64,
    /// A smaller relative difference is not a regression, such as 0.05.
    pub effect_min: f64,
}

/// The answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ComparisonVerdict {
    /// The candidate is slower.
    Regression,
    /// The candidate is faster.
    Improvement,
    /// The candidate is not slower by as much as counts, as far as these runs can tell.
    NoRegression,
    /// Nothing can be said, and why.
    None(NoVerdict),
}

/// Why there is no verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoVerdict {
    /// One run each: how much runs differ is not known.
    WithinRunOnly,
    /// Fewer than [`RUNS_MIN`] runs on a side.
    TooFewRuns,
    /// More than [`SPLITS_MAX`] splits.
    TooManyRuns,
    /// The percentile of a baseline run, or of any run without an answer, is not known.
    BaselineUnknown,
    /// The percentile of a candidate run lies beyond what is known, and what is known is not slower.
    CandidateUnknown,
    /// One side fails so much more that its percentile speaks for other arrivals.
    FailuresDiffer,
    /// The candidate failed in some runs, which the baseline did in none, and chance may have dealt them out so.
    CandidateFails,
}

/// One quantity of both sides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Line {
    /// Which.
    pub quantity: Quantity,
    /// Mean of the runs: geometric, for errors arithmetic. `None`: not known.
    pub baseline: Option<f64>,
    /// The same of the candidate.
    pub candidate: Option<f64>,
    /// `baseline` is a lower bound.
    pub baseline_censored: bool,
    /// `candidate` is a lower bound.
    pub candidate_censored: bool,
    /// Relative to the baseline, such as 0.12; for errors the difference of the shares. `None` where it is not known.
    pub change: Option<f64>,
    /// Its 95 % interval, where there is one.
    pub interval: Option<(f64, f64)>,
    /// In some run fewer than ten samples lie above the percentile.
    pub few_samples: bool,
}

/// Baseline and candidate side by side.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The answer.
    pub verdict: ComparisonVerdict,
    /// Of the permutation test, two-sided; `None` where there was none.
    pub p_value: Option<f64>,
    /// Standard deviation between runs of one side, of the logarithm of the percentile; `None` with one run each.
    pub noise_sd: Option<f64>,
    /// The smallest relative slow-down that would have been found with the probability [`POWER`].
    pub smallest_findable: Option<f64>,
    /// Every quantity in the order of [`quantities`].
    pub lines: Vec<Line>,
}

/// Compares two sets of valid runs, each with one at least.
pub fn compare(baseline: &[Run], candidate: &[Run], rule: &Rule) -> Comparison {
    compare_with_failed(baseline, candidate, 0, rule)
}

/// The same with `failed` runs more of the candidate, in which it did not carry a load that every run of the baseline
/// did carry. How slow it was then nobody knows: slower than any run that is known. There is a candidate's run, valid
/// or failed.
pub fn compare_with_failed(baseline: &[Run], candidate: &[Run], failed: usize, rule: &Rule) -> Comparison {
    let place = QUANTILES.iter().position(|&q| q == rule.quantile).unwrap_or_default();
    let (n, m) = (baseline.len(), candidate.len() + failed);
    let effect_min = rule.effect_min.ln_1p();
    let values = |runs: &[Run]| -> Vec<f64> {
        runs.iter().filter_map(|run| Some(run.figures[place].as_ref()?.value)).collect()
    };
    let (base, mut cand) = (values(baseline), values(candidate));
    let is_known = base.len() == n && cand.len() == candidate.len() && !any_censored(baseline, place);
    let is_noise_known = is_known && failed == 0 && !any_censored(candidate, place) && n + m > 2;
    let noise_sd = is_noise_known.then(|| noise(&base, &cand));
    let slowest = base.iter().chain(&cand).copied().fold(f64::NEG_INFINITY, f64::max);
    cand.extend(std::iter::repeat_n(slowest + effect_min, failed));
    let is_enough = n.min(m) >= RUNS_MIN && permutation::splits(n, m) <= SPLITS_MAX;
    let tails = (is_known && is_enough).then(|| permutation::test(&base, &cand));
    let found = match tails {
        Some(tails) => decided(tails, mean(&cand) - mean(&base), effect_min),
        None => ComparisonVerdict::NoRegression,
    };
    let fails_more = fails_more(baseline, candidate, rule.quantile);
    let why_not = if n == 1 && m == 1 {
        Some(NoVerdict::WithinRunOnly)
    } else if n.min(m) < RUNS_MIN {
        Some(NoVerdict::TooFewRuns)
    } else if !is_enough {
        Some(NoVerdict::TooManyRuns)
    } else if !is_known {
        Some(NoVerdict::BaselineUnknown)
    } else if failed > 0 && found != ComparisonVerdict::Regression {
        Some(NoVerdict::CandidateFails)
    } else if any_censored(candidate, place) && found != ComparisonVerdict::Regression {
        // A bound can make the candidate slower than it is known to be, never faster.
        Some(NoVerdict::CandidateUnknown)
    } else {
        // Fast failures hide slow answers: whoever fails more may be slower than its percentile says.
        let hidden = if found == ComparisonVerdict::Regression { Fails::Baseline } else { Fails::Candidate };
        (fails_more == Some(hidden)).then_some(NoVerdict::FailuresDiffer)
    };
    let smallest =
        noise_sd.filter(|_| is_enough).and_then(|sd| Some(Power::new(n, m)?.smallest(sd, effect_min)));
    Comparison {
        verdict: why_not.map_or(found, ComparisonVerdict::None),
        p_value: tails.map(|tails| tails.p_value()),
        noise_sd,
        smallest_findable: smallest.map(f64::exp_m1),
        lines: lines(baseline, candidate),
    }
}

/// Every quantity of both sides, each with one run at least, in the order of [`quantities`].
pub fn lines(baseline: &[Run], candidate: &[Run]) -> Vec<Line> {
    quantities().enumerate().map(|(i, quantity)| line(baseline, candidate, i, quantity)).collect()
}

/// The rule, on `difference` = candidate − baseline; everything in logarithms.
pub fn decided(tails: permutation::Tails, difference: f64, effect_min: f64) -> ComparisonVerdict {
    let is_found = |tail: f64| tail <= ALARM_LEVEL / 2.0;
    if is_found(tails.slower) && difference >= effect_min && difference > 0.0 {
        ComparisonVerdict::Regression
    } else if is_found(tails.faster) && difference <= -effect_min && difference < 0.0 {
        ComparisonVerdict::Improvement
    } else {
        ComparisonVerdict::NoRegression
    }
}

/// Pooled standard deviation of the runs of one side; both sides together hold three values at least.
pub fn noise(baseline: &[f64], candidate: &[f64]) -> f64 {
    let squares = |values: &[f64]| {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let freedom = baseline.len() + candidate.len() - 2;
    ((squares(baseline) + squares(candidate)) / freedom as f64).sqrt()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn any_censored(runs: &[Run], place: usize) -> bool {
    runs.iter().any(|run| run.quantiles[place].is_some_and(|value| value.censored))
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Fails {
    Baseline,
    Candidate,
}

/// Who fails more, if anyone's failures are enough to shape the percentile.
fn fails_more(baseline: &[Run], candidate: &[Run], q: f64) -> Option<Fails> {
    let failed = |runs: &[Run]| runs.iter().map(|run| run.failed_share).sum::<f64>() / runs.len() as f64;
    let shapes = |runs: &[Run]| runs.iter().any(|run| run.failed_share > 1.0 - q);
    let (base, cand) = (failed(baseline), failed(candidate));
    match (shapes(baseline), shapes(candidate)) {
        (_, true) if cand > base => Some(Fails::Candidate),
        (true, _) if base > cand => Some(Fails::Baseline),
        _ => None,
    }
}

fn line(baseline: &[Run], candidate: &[Run], place: usize, quantity: Quantity) -> Line {
    let samples = |runs: &[Run]| {
        let all: Option<Vec<Sample>> = runs.iter().map(|run| run.figures[place].clone()).collect();
        all.filter(|samples| !samples.is_empty())
    };
    let (base, cand) = (samples(baseline), samples(candidate));
    let is_log = quantity != Quantity::Errors;
    let whole = |value: f64| if is_log { value.exp() } else { value };
    let change = |difference: f64| if is_log { difference.exp_m1() } else { difference };
    let mean = |samples: &Option<Vec<Sample>>| {
        let samples = samples.as_ref()?;
        Some(samples.iter().map(|sample| sample.value).sum::<f64>() / samples.len() as f64)
    };
    let is_percentile = matches!(quantity, Quantity::Percentile(_));
    let censored = |runs: &[Run]| is_percentile && any_censored(runs, place);
    let few = |run: &Run| is_percentile && run.quantiles[place].is_none_or(|value| value.few_samples);
    let (baseline_censored, candidate_censored) = (censored(baseline), censored(candidate));
    let is_known = !baseline_censored && !candidate_censored;
    let both = base.as_ref().zip(cand.as_ref()).filter(|_| is_known);
    Line {
        quantity,
        baseline: mean(&base).map(whole),
        candidate: mean(&cand).map(whole),
        baseline_censored,
        candidate_censored,
        change: mean(&cand).zip(mean(&base)).filter(|_| is_known).map(|(cand, base)| change(cand - base)),
        interval: both.and_then(|(b, c)| interval(b, c)).map(|(low, high)| (change(low), change(high))),
        few_samples: baseline.iter().chain(candidate).any(few),
    }
}
