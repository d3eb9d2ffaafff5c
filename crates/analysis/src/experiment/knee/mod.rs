//! The highest rate that meets an objective: bracket by growth, bisect, do it all again in another order, and hold
//! the answer for longer.
//!
//! A trial is good or bad when its interval says so; when it still holds the limit after the longest window, the
//! estimate says on which side of the rate the search goes on. The answer is then the rate at which the percentile
//! reaches its limit, estimated from all trials near there (`border`): the highest rate that was shown to be good would
//! be too low by half an interval. Where no line can be drawn, because the target breaks down below the limit, the
//! answer is the highest good rate. It is held for longer, with arrivals of its own, until what is known by then says
//! the same rate again. The second pass goes over the same rates in an order that chance decides: a target that answers
//! otherwise the second time has no one capacity.

mod again;
mod border;
mod bound;
mod curve;
mod hold;
mod usl;

pub use bound::{Bracket, Reaches};
pub use curve::{Collapse, Curve, Knees, kneedle};
pub use usl::{Interval95, Usl, fit as fit_usl};

use super::Experiment;
use super::criterion::Miss;
use super::criterion::RateVerdict;
use super::trial::{Purpose, Step, Trial};
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

/// From one rate of the bracket to the next.
const GROWTH: u64 = 2;
/// The start is halved this many times at most.
const HALVINGS_MAX: i32 = 6;
/// When a quarter of a rate is no faster than this share of what the rate itself was, it is not the rate that is slow.
const FLAT_SHARE: f64 = 0.9;
/// The answer is held this many times as long as the longest step.
const CONFIRM_TIMES: u64 = 2;
/// Latency is measured for this many steps' time, at this share of the last stationary rate.
const LATENCY_TIMES: u64 = 3;
/// Where latency is to be quoted: between the two shares of [`SAFE_BAND`].
pub const LATENCY_SHARE: f64 = 0.75;
/// Shares of the last stationary rate between which a target is run safely.
pub const SAFE_BAND: (f64, f64) = (0.70, 0.80);

/// What is searched for, and how patiently.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The objective's percentile, 0 to 1.
    pub quantile: f64,
    /// That it must stay below.
    pub limit: Nanos,
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
    /// Measured at most, while nothing is decided.
    pub measure_max: Nanos,
    /// Of the second pass's order.
    pub seed: u64,
    /// Measure latency at 75 % of the last stationary rate when all is done.
    pub then_latency: bool,
    /// No trial begins that would make the load last longer than this in all.
    pub within: Option<Nanos>,
    /// Whether the border lies at or above this rate is all that is asked: the search ends when that is settled.
    pub at_least: Option<Rate>,
}

/// Why no answer can be trusted.
#[derive(Clone, PartialEq, Debug)]
pub enum Doom {
    /// Not even this rate was good.
    NothingMet {
        /// The lowest that was tried.
        lowest: Rate,
        /// What it missed.
        verdict: RateVerdict,
    },
    /// The objective is missed now and then at low rates too: it is not the rate.
    AnyRate {
        /// The highest of these rates.
        rate: Rate,
        /// Share of the response times above the limit there, 0 to 1.
        above_share: f64,
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

/// The highest rate that meets the objective.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Found {
    /// Where the percentile reaches its limit, or, where no line can be drawn, the highest rate that was good.
    pub rate: Rate,
    /// It comes from a line through the trials near the limit.
    pub is_interpolated: bool,
    /// The highest rate, not above the answer, that was shown to be good.
    pub good: Rate,
    /// The lowest rate above the answer that was shown not to be good; `None`: there was none.
    pub missed_from: Option<Rate>,
    /// Number of the trial that held it for longer.
    pub trial: u32,
}

impl Found {
    /// There is a border; otherwise the highest rate that may be tried is good.
    pub fn has_border(&self) -> bool {
        self.is_interpolated || self.missed_from.is_some()
    }
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

enum Stage {
    Try(Purpose, Rate),
    Doomed(Doom),
    Found(Found),
    Bracketed,
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
        match self.stage() {
            Stage::Found(found) => Some(found),
            _ => None,
        }
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

    /// The last trial of the first pass at a rate.
    fn last_at(&self, rate: Rate) -> Option<&Step> {
        self.first_pass().rev().find(|step| step.trial.rate == rate)
    }

    /// Decided, or, after the longest window, more likely than not.
    fn is_good(&self, step: &Step) -> bool {
        let is_below = |p: super::Percentile| !p.censored && p.value_ns <= self.settings.limit.0;
        match step.outcome.verdict {
            RateVerdict::Met => true,
            RateVerdict::Undecided => step.outcome.percentile.is_some_and(is_below),
            RateVerdict::Missed(_) | RateVerdict::Generator => false,
        }
    }

    fn stage(&self) -> Stage {
        match self.settled().unwrap_or_else(|| self.next_stage()) {
            Stage::Try(purpose, rate) if self.afforded(self.trial(purpose, rate)).is_none() => {
                Stage::Bracketed
            }
            stage => stage,
        }
    }

    fn next_stage(&self) -> Stage {
        let (good, bad) = match self.search() {
            Search::Try(purpose, rate) => return Stage::Try(purpose, rate),
            Search::Border { good, bad } => (Some(good), bad),
            Search::NothingMet => (None, self.bad_step().map(|step| step.trial.rate)),
        };
        let at_border = bad.and_then(|rate| self.last_at(rate));
        if let Some(step) = at_border.filter(|step| step.outcome.verdict == RateVerdict::Generator) {
            let why = step.outcome.generator.clone().unwrap_or_default();
            return Stage::Doomed(Doom::Generator { rate: step.trial.rate, why });
        }
        let Some(good) = good else {
            let verdict = at_border.map_or(RateVerdict::Undecided, |step| step.outcome.verdict);
            let lowest = bad.unwrap_or(self.settings.start);
            return Stage::Doomed(Doom::NothingMet { lowest, verdict });
        };
        if let Some(rate) = self.next_repeat() {
            return Stage::Try(Purpose::Repeat, rate);
        }
        if let Some(doom) = self.hysteresis(good).or_else(|| self.any_rate(good)) {
            return Stage::Doomed(doom);
        }
        self.hold(good)
    }

    fn search(&self) -> Search {
        let settings = &self.settings;
        let is_silent = |step: &&Step| step.outcome.verdict == RateVerdict::Missed(Miss::NoAnswers);
        // One bad moment of the generator's machine must not end the search.
        if let Some(last) = self.first_pass().next_back() {
            let tries = self.first_pass().filter(|step| step.trial.rate == last.trial.rate).count();
            if last.outcome.verdict == RateVerdict::Generator && tries == 1 {
                return Search::Try(last.trial.purpose, last.trial.rate);
            }
        }
        let bad = self.bad_step().map(|step| step.trial.rate);
        let is_below = |rate: Rate| bad.is_none_or(|bad| rate < bad);
        let good_steps = self.first_pass().filter(|step| self.is_good(step));
        let good = good_steps.map(|step| step.trial.rate).filter(|&rate| is_below(rate)).max();
        match (good, bad) {
            (None, None) => Search::Try(Purpose::Bracket, settings.start.min(settings.max)),
            (Some(good), None) if good >= settings.max => Search::Border { good, bad: None },
            (Some(good), None) => Search::Try(Purpose::Bracket, times(good, GROWTH, 1).min(settings.max)),
            // A target that answers nothing of two rates answers nothing of lower ones.
            (None, Some(_)) if self.first_pass().filter(is_silent).count() > 1 => Search::NothingMet,
            (None, Some(bad)) => {
                let halved = (settings.start.as_per_s() / bad.as_per_s()).log2().round() as i32;
                match halved < HALVINGS_MAX && !self.is_flat(bad) {
                    true => Search::Try(Purpose::Bracket, times(bad, 1, GROWTH)),
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
    fn bad_step(&self) -> Option<&Step> {
        let is_bad = |step: &&Step| self.last_at(step.trial.rate).is_some_and(|last| !self.is_good(last));
        self.first_pass().filter(is_bad).min_by_key(|step| step.trial.rate)
    }

    /// The target keeps up with four times this rate and is no faster at it.
    fn is_flat(&self, rate: Rate) -> bool {
        let value = |rate: Rate| {
            let outcome = &self.last_at(rate)?.outcome;
            outcome.percentile.filter(|_| outcome.is_stationary()).map(|p| p.value_ns as f64)
        };
        let above = value(times(rate, GROWTH * GROWTH, 1));
        above.zip(value(rate)).is_some_and(|(above, here)| here > FLAT_SHARE * above)
    }

    fn trial(&self, purpose: Purpose, rate: Rate) -> Trial {
        let settings = &self.settings;
        let times = |time: Nanos, n: u64| Nanos(time.0.saturating_mul(n));
        let (measure, measure_max) = match purpose {
            Purpose::Bracket | Purpose::Bisect => (settings.measure, settings.measure_max),
            // What an overload leaves behind shows without much precision.
            Purpose::Repeat => (settings.measure, settings.measure),
            Purpose::Confirm | Purpose::Floor => {
                let longest = self.first_pass().map(|step| step.outcome.measured).max();
                let length = times(longest.unwrap_or_default().max(settings.measure), CONFIRM_TIMES);
                (length, length)
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
    type Trial = Trial;
    type Outcome = super::TrialOutcome;
    type Doom = Doom;

    fn next_trial(&self) -> Option<Trial> {
        match self.stage() {
            Stage::Try(purpose, rate) => self.afforded(self.trial(purpose, rate)),
            Stage::Doomed(_) | Stage::Bracketed => None,
            Stage::Found(_) => {
                let is_measured = self.of(&[Purpose::Latency]).next().is_some();
                let wanted = self.settings.then_latency && !is_measured;
                let rate = self.curve().latency_rate().filter(|_| wanted)?;
                self.afforded(self.trial(Purpose::Latency, rate))
            }
        }
    }

    fn observe(&mut self, step: Step) {
        self.steps.push(step);
    }

    fn doomed(&self) -> Option<Doom> {
        match self.stage() {
            Stage::Doomed(doom) => Some(doom),
            _ => None,
        }
    }
}

/// `rate` times `n`/`of`, exactly where that can be written.
fn times(rate: Rate, n: u64, of: u64) -> Rate {
    let seconds = rate.seconds();
    let requests = rate.in_seconds(seconds).unwrap_or_default();
    let exact = requests.checked_mul(n).zip(seconds.checked_mul(of));
    let exact = exact.and_then(|(requests, seconds)| Rate::new(requests, seconds));
    exact.unwrap_or_else(|| rounded(rate.as_per_s() * n as f64 / of as f64))
}

/// Rates of four digits are enough to tell apart, and can be read.
fn rounded(per_s: f64) -> Rate {
    let unit = per_s.max(1e-9).log10().floor() as i32 - 3;
    let ten = 10u64.saturating_pow(unit.unsigned_abs());
    let rate = match unit >= 0 {
        true => Some(Rate::per_second((per_s / ten as f64).round() as u64 * ten)),
        false => Rate::new((per_s * ten as f64).round() as u64, ten),
    };
    rate.unwrap_or_default()
}

/// The geometric middle, if rounding leaves one.
fn between(good: Rate, bad: Rate) -> Option<Rate> {
    let middle = rounded((good.as_per_s() * bad.as_per_s()).sqrt());
    (good < middle && middle < bad).then_some(middle)
}

fn is_wide(good: Rate, bad: Rate, resolution: f64) -> bool {
    bad.as_per_s() - good.as_per_s() > resolution * bad.as_per_s()
}

#[cfg(test)]
mod tests;
