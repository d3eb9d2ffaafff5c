//! What seems to be the answer, held for longer until what is known by then says the same rate again.

use super::border::{Border, border};
use super::{Doom, Found, Knee, Stage, rounded};
use crate::experiment::criterion::{Miss, RateVerdict};
use crate::experiment::trial::{Purpose, Step};
use unblink_core::schedule::Rate;

/// At most this many rates are held for longer.
pub(super) const CONFIRMATIONS_MAX: usize = 4;
/// A hold gives way when its percentile is this many times the limit.
const NEAR_TIMES: f64 = 2.0;

/// What seems to be the answer.
struct Candidate {
    rate: Rate,
    /// It comes from this line.
    line: Option<Border>,
}

impl Knee {
    /// Holds what seems to be the answer until it stays the same.
    pub(super) fn hold(&self, good: Rate) -> Stage {
        let held: Vec<&Step> = self.of(&[Purpose::Confirm]).collect();
        let candidate = self.candidate(good);
        // It misses by far, though the target keeps up, and events or chance decide: is that due to the rate?
        let is_unsure = |step: &&Step| step.outcome.verdict == RateVerdict::Undecided;
        let is_odd = |step: &Step| self.gives_way(step) && step.outcome.is_stationary();
        let is_due =
            held.last().is_some_and(|last| is_odd(last)) || self.first_pass().filter(is_unsure).any(is_odd);
        match self.of(&[Purpose::Floor]).next() {
            None if is_due => {
                let lowest = self.first_pass().map(|step| step.trial.rate).min();
                return Stage::Try(Purpose::Floor, lowest.unwrap_or(candidate.rate));
            }
            Some(floor) if floor.outcome.verdict != RateVerdict::Met => {
                let above_share = floor.outcome.above_share.unwrap_or(1.0);
                return Stage::Doomed(Doom::AnyRate { rate: floor.trial.rate, above_share });
            }
            _ => {}
        }
        let Some(last) = held.last() else { return Stage::Try(Purpose::Confirm, candidate.rate) };
        if let Some(found) = self.accepted(last, &candidate) {
            return Stage::Found(found);
        }
        match (held.len() >= CONFIRMATIONS_MAX, last.outcome.verdict) {
            (true, _) => Stage::Doomed(Doom::NotConfirmed { rate: good }),
            (false, RateVerdict::Generator) => Stage::Try(Purpose::Confirm, last.trial.rate),
            (false, _) => Stage::Try(Purpose::Confirm, candidate.rate),
        }
    }

    /// The target falls behind, or misses the limit by far.
    fn gives_way(&self, step: &Step) -> bool {
        let far_ns = self.settings.limit.0 as f64 * NEAR_TIMES;
        match step.outcome.verdict {
            RateVerdict::Met | RateVerdict::Generator => false,
            RateVerdict::Missed(Miss::Growing | Miss::Delivered | Miss::NoAnswers) => true,
            _ => step.outcome.percentile.is_none_or(|p| p.censored || p.value_ns as f64 >= far_ns),
        }
    }

    /// What seems to be the answer by all trials so far.
    fn candidate(&self, good: Rate) -> Candidate {
        let less = |rate: Rate| rounded(rate.as_per_s() * (1.0 - self.settings.resolution));
        let held = || self.of(&[Purpose::Confirm]);
        let gave_way = held().filter(|step| self.gives_way(step)).map(|step| step.trial.rate).min();
        let fell_behind = self.first_pass().filter(|step| !step.outcome.is_stationary());
        let ceiling = gave_way.into_iter().chain(fell_behind.map(|step| step.trial.rate)).min();
        let ceiling = ceiling.unwrap_or(self.settings.max).min(self.settings.max);
        let line = border(&self.steps, self.settings.quantile, good.as_per_s());
        if let Some(line) = line.filter(|line| line.per_s < ceiling.as_per_s()) {
            return Candidate { rate: rounded(line.per_s), line: Some(line) };
        }
        let not_met =
            held().filter(|step| !self.is_good(step) && step.outcome.verdict != RateVerdict::Generator);
        let lower = not_met.map(|step| self.good_below(step.trial.rate).max(less(step.trial.rate))).min();
        Candidate { rate: lower.map_or(good, |lower| lower.min(good)), line: None }
    }

    /// The highest rate below that was good whenever it was tried.
    fn good_below(&self, rate: Rate) -> Rate {
        let is_good = |tried: &Rate| {
            let mut at = self.steps.iter().filter(|step| step.trial.rate == *tried);
            at.all(|step| step.outcome.verdict == RateVerdict::Met)
        };
        let below = self.steps.iter().map(|step| step.trial.rate).filter(|&tried| tried < rate);
        below.filter(is_good).max().unwrap_or_default()
    }

    /// The answer, if `candidate` has been held by `last`.
    fn accepted(&self, last: &Step, candidate: &Candidate) -> Option<Found> {
        let (held, per_s) = (last.trial.rate, candidate.rate.as_per_s());
        let half_width = candidate.line.and_then(|line| line.half_width_per_s);
        let tolerance = (self.settings.resolution * per_s).max(half_width.unwrap_or(0.0));
        let is_same = (held.as_per_s() - per_s).abs() <= tolerance;
        let is_held = match candidate.line {
            Some(_) => is_same && !self.gives_way(last) && last.outcome.verdict != RateVerdict::Generator,
            // For how long near capacity it would take to decide, nobody waits: by its estimate, as in the search.
            None => held == candidate.rate && self.is_good(last),
        };
        if !is_held {
            return None;
        }
        let decided = |is_met: bool| {
            let is_wanted = move |step: &&Step| match step.outcome.verdict {
                RateVerdict::Met => is_met,
                RateVerdict::Missed(_) => !is_met,
                RateVerdict::Undecided | RateVerdict::Generator => false,
            };
            self.steps.iter().filter(is_wanted).map(|step| step.trial.rate)
        };
        Some(Found {
            rate: candidate.rate,
            is_interpolated: candidate.line.is_some(),
            good: decided(true).filter(|&good| good <= candidate.rate).max()?,
            missed_from: decided(false).filter(|&missed| missed > candidate.rate).min(),
            trial: last.trial.number,
        })
    }
}
