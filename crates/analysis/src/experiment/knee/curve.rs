//! Throughput and latency over offered load, and what follows from them.

use super::super::criterion::{Miss, RateVerdict};
use super::super::trial::{Purpose, Step};
use super::usl::{self, Usl};
use super::{LATENCY_SHARE, SAFE_BAND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_core::schedule::Rate;

/// Delivered work falls when it is less than this share of the most that was delivered.
const COLLAPSE_SHARE: f64 = 0.95;
/// Kneedle's sensitivity S: a knee is declared when the difference falls by S mean steps below its peak.
const SENSITIVITY: f64 = 1.0;

/// Two ways to say where the curve bends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Knees {
    /// Of delivered over offered, by Kneedle; nothing where the curve has no bend.
    pub kneedle_per_s: Option<f64>,
    /// The highest rate that the target kept up with, however slowly, below all with which it did not.
    pub last_stationary: Option<Rate>,
}

/// More load, less work.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Collapse {
    /// The most that was delivered per second.
    pub best_per_s: f64,
    /// Offered then.
    pub best_offered_per_s: f64,
    /// The least that was delivered per second at a higher rate.
    pub least_per_s: f64,
    /// Offered then.
    pub least_offered_per_s: f64,
}

/// What the finished trials say together.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Where it bends.
    pub knees: Knees,
    /// The most that a rate delivered per second, the mean of its trials: μ of the simplest model. `None` unless the target was overloaded in some
    /// trial: without that most is what was offered.
    pub capacity_per_s: Option<f64>,
    /// Delivered work falls beyond the knee.
    pub collapse: Option<Collapse>,
    /// The Universal Scalability Law, where the stationary trials are enough for it.
    pub usl: Option<Usl>,
}

impl Curve {
    pub(super) fn new(steps: &[Step]) -> Curve {
        let usable: Vec<&Step> = steps
            .iter()
            .filter(|s| s.outcome.verdict != RateVerdict::Generator && s.trial.purpose != Purpose::Latency)
            .collect();
        let points = points(&usable);
        let falls_behind = usable.iter().filter(|s| !s.outcome.is_stationary()).map(|s| s.trial.rate).min();
        let keeps_up = usable.iter().filter(|s| s.outcome.is_stationary()).map(|s| s.trial.rate);
        let last_stationary = keeps_up.filter(|&rate| falls_behind.is_none_or(|bad| rate < bad)).max();
        let is_growing =
            |s: &&Step| s.outcome.is_growing || s.outcome.verdict == RateVerdict::Missed(Miss::Growing);
        // One that fails at any rate, however low, need not be overloaded.
        let is_overloaded =
            usable.iter().any(is_growing) || (falls_behind.is_some() && last_stationary.is_some());
        let best = points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        Curve {
            knees: Knees { kneedle_per_s: kneedle(&points), last_stationary },
            capacity_per_s: best.filter(|_| is_overloaded).map(|(_, delivered)| delivered),
            collapse: best.and_then(|best| collapse(&points, best)),
            usl: usl::fit(&scalability(&usable)),
        }
    }

    /// Where latency is to be measured, if the target has kept up with anything.
    pub fn latency_rate(&self) -> Option<Rate> {
        let last = self.knees.last_stationary?;
        Some(super::rounded(last.as_per_s() * LATENCY_SHARE))
    }

    /// Between these two rates per second a target is run safely.
    pub fn safe_band(&self) -> Option<(f64, f64)> {
        let last = self.knees.last_stationary?.as_per_s();
        Some((last * SAFE_BAND.0, last * SAFE_BAND.1))
    }

    /// Mean response time in ns of the simplest model with this capacity, 1/(μ(1 − ρ)) = 1/(μ − λ) (M/M/1).
    pub fn theory_ns(&self, offered_per_s: f64) -> Option<f64> {
        let left = self.capacity_per_s? - offered_per_s;
        (left > 0.0).then(|| 1e9 / left)
    }
}

/// (offered, delivered) per second, ascending; trials at one rate are averaged.
fn points(steps: &[&Step]) -> Vec<(f64, f64)> {
    let mut sorted: Vec<&&Step> = steps.iter().collect();
    sorted.sort_by_key(|step| step.trial.rate);
    let at_one_rate = sorted.chunk_by(|a, b| a.trial.rate == b.trial.rate);
    at_one_rate
        .map(|trials| {
            let delivered: f64 = trials.iter().map(|s| s.outcome.delivered_per_s).sum();
            (trials[0].trial.rate.as_per_s(), delivered / trials.len() as f64)
        })
        .collect()
}

/// (mean in flight, delivered per second) of trials that the target kept up with.
fn scalability(steps: &[&Step]) -> Vec<(f64, f64)> {
    let stationary = steps.iter().filter(|step| step.outcome.is_stationary());
    let point = |step: &&&Step| Some((step.outcome.in_flight_mean?, step.outcome.delivered_per_s));
    stationary.filter_map(|step| point(&step)).filter(|(n, x)| *n > 0.0 && *x > 0.0).collect()
}

fn collapse(points: &[(f64, f64)], best: (f64, f64)) -> Option<Collapse> {
    let beyond = points.iter().filter(|(offered, _)| *offered > best.0);
    let least = beyond.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (least.1 < COLLAPSE_SHARE * best.1).then_some(Collapse {
        best_per_s: best.1,
        best_offered_per_s: best.0,
        least_per_s: least.1,
        least_offered_per_s: least.0,
    })
}

/// The knee of a concave, rising curve given by points in order of x: where y − x, both scaled to 0 … 1, is greatest,
/// if it falls by enough afterwards (V. Satopää, J. Albrecht, D. Irwin, B. Raghavan, "Finding a Kneedle in a Haystack",
/// 2011). Without smoothing: the points are few, and each is a mean already.
pub fn kneedle(points: &[(f64, f64)]) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    let y_min = points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let y_max = points.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
    if points.len() < 3 || last.0 <= first.0 || y_max <= y_min {
        return None;
    }
    let difference: Vec<f64> = points
        .iter()
        .map(|(x, y)| (y - y_min) / (y_max - y_min) - (x - first.0) / (last.0 - first.0))
        .collect();
    let threshold = SENSITIVITY / (points.len() - 1) as f64;
    let (peak, &most) = difference.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let falls = difference[peak..].iter().any(|&d| d < most - threshold);
    (falls && peak > 0).then_some(points[peak].0)
}
