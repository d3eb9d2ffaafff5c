//! The highest rate that meets an objective: bracket by growth, bisect, do it all again in another order, and hold
//! the answer for longer.
//!
//! The search takes a rate for good only when the percentile's interval says so, so that it ends below the border
//! rather than above it. The second pass goes over the same rates in an order that chance decides: a target that
//! answers otherwise the second time has no one capacity. A maximum over many trials is a lucky one, so the answer
//! must hold again, with fresh arrivals and for longer, or it goes down by the resolution.

mod curve;
mod usl;

pub use curve::{Collapse, Curve, Knees, kneedle};
pub use usl::{Interval95, Usl, fit as fit_usl};

use super::Experiment;
use super::criterion::Verdict;
use super::trial::{Purpose, Step, Trial};
use unblink_core::schedule::Rate;
use unblink_core::sim::Random;
use unblink_core::time::Nanos;

/// From one rate of the bracket to the next.
const GROWTH: u64 = 2;
/// The start is halved so many times at the most.
const HALVINGS_MAX: u32 = 6;
/// So many rates are held for longer at the most, each by the resolution below the one before.
const CONFIRMATIONS_MAX: usize = 4;
/// The answer is held so many times as long as a step.
const CONFIRM_TIMES: u64 = 2;
/// Latency is measured for so many steps' time, at this share of the last stationary rate.
const LATENCY_TIMES: u64 = 3;
/// Where latency is to be quoted: between the two shares of [`SAFE_BAND`].
pub const LATENCY_SHARE: f64 = 0.75;
/// Shares of the last stationary rate between which a target is run safely.
pub const SAFE_BAND: (f64, f64) = (0.70, 0.80);
/// A verdict that changes within so many resolutions of the border is chance, not hysteresis.
const BORDER_RESOLUTIONS: f64 = 2.0;
/// Delivering less than this share of what is offered is no chance, even at the border.
const FALLS_BEHIND_SHARE: f64 = 0.9;

/// What is searched for, and how patiently.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The first rate that is tried.
    pub start: Rate,
    /// No higher rate is tried.
    pub max: Rate,
    /// Width of the bracket at which the search ends, as a share of the rate, 0 to 1.
    pub resolution: f64,
    /// Load before each measurement.
    pub settle: Nanos,
    /// Measured at least.
    pub measure: Nanos,
    /// Measured at the most, while nothing is decided.
    pub measure_max: Nanos,
    /// Of the second pass's order.
    pub seed: u64,
    /// Measure latency at 75 % of the last stationary rate when all is done.
    pub then_latency: bool,
}

/// Why no answer can be trusted.
#[derive(Clone, PartialEq, Debug)]
pub enum Doom {
    /// Not even this rate was good.
    NothingMet {
        /// The lowest that was tried.
        lowest: Rate,
        /// What it missed.
        verdict: Verdict,
    },
    /// The generator was the limit; the target may carry more.
    Generator {
        /// At this rate.
        rate: Rate,
        /// What was found.
        why: String,
    },
    /// A rate was good in one pass and bad in the other.
    Hysteresis {
        /// At this rate.
        rate: Rate,
        /// It was good at first.
        was_good: bool,
    },
    /// Neither the rate that was found nor those just below it held for longer.
    NotConfirmed {
        /// The rate that was found.
        rate: Rate,
    },
}

/// The highest rate that was good.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Found {
    /// Confirmed by a longer hold.
    pub rate: Rate,
    /// The lowest rate above that was not good, or did not hold; `None`: the highest that may be tried did.
    pub missed_from: Option<Rate>,
}

/// The search so far: settings and finished trials, from which everything else follows.
#[derive(Clone, Debug)]
pub struct Knee {
    settings: Settings,
    steps: Vec<Step>,
}

enum Search {
    Try(Purpose, Rate),
    Border { good: Rate, bad: Option<Rate> },
    NothingMet,
}

impl Knee {
    /// Nothing has been tried yet.
    pub fn new(settings: Settings) -> Knee {
        Knee { settings, steps: Vec::new() }
    }

    /// What is searched for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Finished trials in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The answer, once it is confirmed.
    pub fn found(&self) -> Option<Found> {
        if self.doomed().is_some() {
            return None;
        }
        let Search::Border { bad, .. } = self.search() else { return None };
        let held = self.of(&[Purpose::Confirm]).find(|s| s.outcome.verdict == Verdict::Met)?;
        let rate = held.trial.rate;
        let gave_way = self.of(&[Purpose::Confirm]).map(|step| step.trial.rate).filter(|&tried| tried > rate);
        Some(Found { rate, missed_from: bad.or(gave_way.min()) })
    }

    /// Throughput and latency over offered load, and what follows from them.
    pub fn curve(&self) -> Curve {
        Curve::new(&self.steps)
    }

    fn of(&self, purposes: &'static [Purpose]) -> impl DoubleEndedIterator<Item = &Step> {
        self.steps.iter().filter(|step| purposes.contains(&step.trial.purpose))
    }

    fn first_pass(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.of(&[Purpose::Bracket, Purpose::Bisect])
    }

    fn search(&self) -> Search {
        let settings = &self.settings;
        // One bad moment of the generator's machine must not end the search.
        if let Some(last) = self.first_pass().next_back() {
            let tries = self.first_pass().filter(|step| step.trial.rate == last.trial.rate).count();
            if last.outcome.verdict == Verdict::Generator && tries == 1 {
                return Search::Try(last.trial.purpose, last.trial.rate);
            }
        }
        let bad = self.bad_rate();
        let is_below = |rate: Rate| bad.is_none_or(|bad| rate < bad);
        let met = self.first_pass().filter(|step| step.outcome.verdict == Verdict::Met);
        let good = met.map(|step| step.trial.rate).filter(|&rate| is_below(rate)).max();
        match (good, bad) {
            (None, None) => Search::Try(Purpose::Bracket, settings.start.min(settings.max)),
            (Some(good), None) if good >= settings.max => Search::Border { good, bad: None },
            (Some(good), None) => {
                let next = Rate::from_milli(good.milli_per_s().saturating_mul(GROWTH));
                Search::Try(Purpose::Bracket, next.min(settings.max))
            }
            (None, Some(bad)) => {
                let milli_per_s = bad.milli_per_s() / GROWTH;
                match milli_per_s >= (settings.start.milli_per_s() >> HALVINGS_MAX).max(1) {
                    true => Search::Try(Purpose::Bracket, Rate::from_milli(milli_per_s)),
                    false => Search::NothingMet,
                }
            }
            (Some(good), Some(bad)) => match between(good, bad) {
                Some(middle) if is_wide(good, bad, settings.resolution) => {
                    Search::Try(Purpose::Bisect, middle)
                }
                _ => Search::Border { good, bad: Some(bad) },
            },
        }
    }

    /// The lowest rate that was not good in the first pass, by its last trial.
    fn bad_rate(&self) -> Option<Rate> {
        self.bad_step().map(|step| step.trial.rate)
    }

    fn bad_step(&self) -> Option<&Step> {
        let last_at = |rate: Rate| self.first_pass().rev().find(|step| step.trial.rate == rate);
        let bad = self
            .first_pass()
            .filter(|step| last_at(step.trial.rate).is_some_and(|last| last.outcome.verdict != Verdict::Met));
        bad.min_by_key(|step| step.trial.rate)
    }

    /// Rates of the first pass that were not tried again yet, in an order that chance decides.
    fn next_repeat(&self) -> Option<Rate> {
        let mut rates: Vec<Rate> = self.first_pass().map(|step| step.trial.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        let mut random = Random::new(self.settings.seed, 11);
        for last in (1..rates.len()).rev() {
            rates.swap(last, random.below(last as u64 + 1) as usize);
        }
        let done = self.of(&[Purpose::Repeat]).count();
        rates.get(done).copied()
    }

    /// The rate to hold for longer: the one that was found, then by the resolution less each time.
    fn next_confirmation(&self, good: Rate) -> Option<Rate> {
        let held: Vec<&Step> = self.of(&[Purpose::Confirm]).collect();
        match held.last() {
            None => Some(good),
            Some(last) if last.outcome.verdict == Verdict::Met || held.len() >= CONFIRMATIONS_MAX => None,
            Some(last) if last.outcome.verdict == Verdict::Generator => Some(last.trial.rate),
            Some(last) => {
                let less = last.trial.rate.milli_per_s() as f64 * (1.0 - self.settings.resolution);
                Some(rounded(less))
            }
        }
    }

    /// A rate of which the two passes say the opposite, not just at the border.
    fn hysteresis(&self, good: Rate) -> Option<Doom> {
        let is_off_border = |rate: Rate| {
            let share = rate.milli_per_s() as f64 / good.milli_per_s() as f64;
            (share - 1.0).abs() > BORDER_RESOLUTIONS * self.settings.resolution
        };
        let is_decided = |verdict| matches!(verdict, Verdict::Met | Verdict::Missed(_));
        let mut repeats: Vec<&Step> = self.of(&[Purpose::Repeat]).collect();
        repeats.sort_by_key(|step| step.trial.rate);
        repeats.into_iter().find_map(|again| {
            let rate = again.trial.rate;
            let first = self.first_pass().rev().find(|step| step.trial.rate == rate)?;
            let (was, is) = (first.outcome.verdict, again.outcome.verdict);
            let differs = (was == Verdict::Met) != (is == Verdict::Met);
            let doubted = differs && is_decided(was) && is_decided(is);
            // At the border chance decides; but a target that falls behind where it did not before is no chance.
            let outcome = &again.outcome;
            let falls_behind = outcome.delivered_per_s < FALLS_BEHIND_SHARE * outcome.offered_per_s;
            (doubted && (is_off_border(rate) || (falls_behind && rate <= good)))
                .then_some(Doom::Hysteresis { rate, was_good: was == Verdict::Met })
        })
    }

    fn trial(&self, purpose: Purpose, rate: Rate) -> Trial {
        let settings = &self.settings;
        let times = |time: Nanos, n: u64| Nanos(time.0.saturating_mul(n));
        let usual = (settings.measure, settings.measure_max);
        let (measure, measure_max) = match purpose {
            Purpose::Bracket | Purpose::Bisect => usual,
            // What an overload leaves behind shows without much precision.
            Purpose::Repeat => (settings.measure, settings.measure),
            Purpose::Confirm => {
                let at_rate = self.first_pass().rev().find(|step| step.trial.rate == rate);
                let took = at_rate.map_or(settings.measure, |step| step.outcome.measured);
                (times(took, CONFIRM_TIMES), times(settings.measure_max, CONFIRM_TIMES))
            }
            Purpose::Latency => {
                (times(settings.measure, LATENCY_TIMES), times(settings.measure, LATENCY_TIMES))
            }
        };
        let number = self.steps.len() as u32 + 1;
        Trial { number, purpose, rate, settle: settings.settle, measure, measure_max }
    }
}

impl Experiment for Knee {
    type Doom = Doom;

    fn next_trial(&self) -> Option<Trial> {
        let (good, bad) = match self.search() {
            Search::Try(purpose, rate) => return Some(self.trial(purpose, rate)),
            Search::NothingMet => return None,
            Search::Border { good, bad } => (good, bad),
        };
        if self.doomed().is_some() {
            return None;
        }
        if let Some(rate) = self.next_repeat().filter(|_| bad.is_some()) {
            return Some(self.trial(Purpose::Repeat, rate));
        }
        if let Some(rate) = self.next_confirmation(good) {
            return Some(self.trial(Purpose::Confirm, rate));
        }
        let is_measured = self.of(&[Purpose::Latency]).next().is_some();
        let rate = self.curve().latency_rate().filter(|_| self.settings.then_latency && !is_measured)?;
        Some(self.trial(Purpose::Latency, rate))
    }

    fn observe(&mut self, step: Step) {
        self.steps.push(step);
    }

    fn doomed(&self) -> Option<Doom> {
        let (good, bad) = match self.search() {
            Search::Try(..) => return None,
            Search::Border { good, bad } => (Some(good), bad),
            Search::NothingMet => (None, self.bad_rate()),
        };
        let at_border = self.bad_step().filter(|step| Some(step.trial.rate) == bad);
        let last =
            at_border.and_then(|step| self.first_pass().rev().find(|s| s.trial.rate == step.trial.rate));
        if let Some(step) = last.filter(|step| step.outcome.verdict == Verdict::Generator) {
            let why = step.outcome.generator.clone().unwrap_or_default();
            return Some(Doom::Generator { rate: step.trial.rate, why });
        }
        let Some(good) = good else {
            let verdict = last.map_or(Verdict::Undecided, |step| step.outcome.verdict);
            return Some(Doom::NothingMet { lowest: bad.unwrap_or(self.settings.start), verdict });
        };
        if bad.is_some() && self.next_repeat().is_some() {
            return None;
        }
        if let Some(doom) = self.hysteresis(good).filter(|_| bad.is_some()) {
            return Some(doom);
        }
        let held: Vec<&Step> = self.of(&[Purpose::Confirm]).collect();
        let is_held = held.iter().any(|step| step.outcome.verdict == Verdict::Met);
        (held.len() >= CONFIRMATIONS_MAX && !is_held).then_some(Doom::NotConfirmed { rate: good })
    }
}

/// Rates of four digits are enough to tell apart, and can be read.
fn rounded(milli_per_s: f64) -> Rate {
    let unit = 10f64.powf(milli_per_s.max(1.0).log10().floor() - 3.0).max(1.0);
    Rate::from_milli(((milli_per_s / unit).round() * unit).max(1.0) as u64)
}

/// The geometric middle, if rounding leaves one.
fn between(good: Rate, bad: Rate) -> Option<Rate> {
    let middle = rounded((good.milli_per_s() as f64 * bad.milli_per_s() as f64).sqrt());
    (good < middle && middle < bad).then_some(middle)
}

fn is_wide(good: Rate, bad: Rate, resolution: f64) -> bool {
    (bad.milli_per_s() - good.milli_per_s()) as f64 > resolution * bad.milli_per_s() as f64
}

#[cfg(test)]
mod tests;
