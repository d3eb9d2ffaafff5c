//! The second pass over the rates of the first, and what tells that there is no one capacity to be found.

use super::{Doom, Knee};
use crate::experiment::criterion::RateVerdict;
use crate::experiment::trial::{Purpose, Step};
use unblink_core::schedule::Rate;
use unblink_core::sim::Random;

/// A verdict that changes within so many resolutions of the border is chance, not hysteresis.
const BORDER_RESOLUTIONS: f64 = 2.0;
/// Delivering less than this share of what is offered is not chance, even at the border.
const FALLS_BEHIND_SHARE: f64 = 0.9;
/// Below this share of the answer queues hardly count: what is above the limit there is not due to the rate.
const LOW_SHARE: f64 = 0.8;

impl Knee {
    /// Rates of the first pass that were not tried again yet, in an order that chance decides.
    pub(super) fn next_repeat(&self) -> Option<Rate> {
        let mut rates: Vec<Rate> = self.first_pass().map(|step| step.trial.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        let mut random = Random::new(self.settings.seed, 11);
        for last in (1..rates.len()).rev() {
            rates.swap(last, random.below(last as u64 + 1) as usize);
        }
        rates.into_iter().find(|rate| self.of(&[Purpose::Repeat]).all(|step| step.trial.rate != *rate))
    }

    /// A rate of which the two passes say the opposite, not just at the border.
    pub(super) fn hysteresis(&self, good: Rate) -> Option<Doom> {
        let is_off_border = |rate: Rate| {
            let share = rate.as_per_s() / good.as_per_s();
            (share - 1.0).abs() > BORDER_RESOLUTIONS * self.settings.resolution
        };
        let is_decided = |verdict| matches!(verdict, RateVerdict::Met | RateVerdict::Missed(_));
        let mut repeats: Vec<&Step> = self.of(&[Purpose::Repeat]).collect();
        repeats.sort_by_key(|step| step.trial.rate);
        repeats.into_iter().find_map(|again| {
            let rate = again.trial.rate;
            let (was, is) = (self.last_at(rate)?.outcome.verdict, again.outcome.verdict);
            let differs = (was == RateVerdict::Met) != (is == RateVerdict::Met);
            let doubted = differs && is_decided(was) && is_decided(is);
            // At the border chance decides; but a target that falls behind where it did not before is not chance.
            let outcome = &again.outcome;
            let falls_behind = outcome.delivered_per_s < FALLS_BEHIND_SHARE * outcome.offered_per_s;
            (doubted && (is_off_border(rate) || (falls_behind && rate <= good)))
                .then_some(Doom::Hysteresis { rate, was_good: was == RateVerdict::Met })
        })
    }

    /// Short windows at low rates may each have met the objective between two events; together they see them. What is above
    /// the limit far below the border, over all of this time, is not due to the rate.
    pub(super) fn any_rate(&self, good: Rate) -> Option<Doom> {
        let is_low = |step: &&Step| step.trial.rate.as_per_s() < LOW_SHARE * good.as_per_s();
        let passes = || self.of(&[Purpose::Bracket, Purpose::Bisect, Purpose::Repeat]);
        let low = || passes().filter(is_low).filter(|step| step.outcome.is_stationary());
        let part = |step: &Step| Some((step.outcome.measured.as_secs_f64(), step.outcome.above_share?));
        let (seconds, above) = low()
            .filter_map(part)
            .fold((0.0, 0.0), |(sum, above), (seconds, share)| (sum + seconds, above + seconds * share));
        let rate = low().map(|step| step.trial.rate).max()?;
        let above_share = above / seconds;
        (above_share > 1.0 - self.settings.quantile).then_some(Doom::AnyRate { rate, above_share })
    }
}
