//! What ends a search before the border is known as well as it could be: its time is up, or what was asked of it is
//! settled. Then the bracket that is known is the answer.

use super::{Knee, Stage};
use crate::experiment::criterion::RateVerdict;
use crate::experiment::trial::{Purpose, Trial};
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

/// No trial takes more than this part of the time that is left, if it can be shorter: one rate at the border would take all.
const PART_OF_REST: u64 = 2;

/// A trial that is decided at the border is chance in some of ten; two that agree hardly ever are.
const AGREEING_MIN: usize = 2;

/// What lies surely on either side of the border, by all trials that were decided.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Bracket {
    /// The highest rate that was good, below all that were not.
    pub good: Option<Rate>,
    /// The lowest rate that was not, above all that were good.
    pub missed_from: Option<Rate>,
}

/// Does the border lie at or above a rate?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reaches {
    /// Surely.
    Yes,
    /// Surely not.
    No,
    /// The rate lies within the bracket.
    Undecided,
}

impl Bracket {
    /// Where `rate` lies.
    pub fn reaches(&self, rate: Rate) -> Reaches {
        match (self.good, self.missed_from) {
            (Some(good), _) if good >= rate => Reaches::Yes,
            (_, Some(missed)) if missed <= rate => Reaches::No,
            _ => Reaches::Undecided,
        }
    }
}

impl Knee {
    /// Each rate counts as it was decided, however often it was tried; where two trials say the opposite, the bracket is
    /// wide enough for both.
    pub fn bracket(&self) -> Bracket {
        let decided = |is_met: bool| {
            let searched = self.steps.iter().filter(|step| step.trial.purpose != Purpose::Latency);
            let wanted = searched.filter(move |step| match step.outcome.verdict {
                RateVerdict::Met => is_met,
                RateVerdict::Missed(_) => !is_met,
                RateVerdict::Undecided | RateVerdict::Generator => false,
            });
            wanted.map(|step| step.trial.rate)
        };
        let (lowest_missed, highest_met) = (decided(false).min(), decided(true).max());
        Bracket {
            good: decided(true).filter(|&met| lowest_missed.is_none_or(|missed| met < missed)).max(),
            missed_from: decided(false).filter(|&missed| highest_met.is_none_or(|met| missed > met)).min(),
        }
    }

    /// Whether the border reaches `asked`: the bracket says so, and no single trial does.
    pub fn reaches(&self, asked: Rate) -> Reaches {
        let reaches = self.bracket().reaches(asked);
        let searched = self.steps.iter().filter(|step| step.trial.purpose != Purpose::Latency);
        let agreeing = searched.filter(|step| match (reaches, step.outcome.verdict) {
            (Reaches::Yes, RateVerdict::Met) => step.trial.rate >= asked,
            (Reaches::No, RateVerdict::Missed(_)) => step.trial.rate <= asked,
            _ => false,
        });
        if agreeing.count() >= AGREEING_MIN { reaches } else { Reaches::Undecided }
    }

    /// It ended with its bracket, since its time was up or what was asked is settled.
    pub fn is_bracketed(&self) -> bool {
        matches!(self.stage(), Stage::Bracketed)
    }

    /// Load so far, measured or not.
    pub fn load_time(&self) -> Nanos {
        let all = self.steps.iter().map(|step| step.trial.settle.0.saturating_add(step.outcome.measured.0));
        Nanos(all.fold(0, u64::saturating_add))
    }

    /// What is left of the search's time, if that is bounded.
    fn left(&self) -> Option<Nanos> {
        Some(Nanos(self.settings.within?.0.saturating_sub(self.load_time().0)))
    }

    /// `trial`, no longer than the time that is left allows; nothing when it does not fit.
    pub(super) fn afforded(&self, trial: Trial) -> Option<Trial> {
        let Some(left) = self.left() else { return Some(trial) };
        let least = trial.settle.0.saturating_add(trial.measure.0);
        let part = (left.0 / PART_OF_REST).max(least) - trial.settle.0;
        let measure_max = Nanos(trial.measure_max.0.min(part));
        (least <= left.0).then_some(Trial { measure_max, ..trial })
    }

    /// Whether the border reaches the rate that was asked for, as soon as both passes and, where it does, a longer hold say
    /// the same.
    pub(super) fn settled(&self) -> Option<Stage> {
        let (bracket, asked) = (self.bracket(), self.settings.at_least?);
        let reaches = bracket.reaches(asked);
        if reaches == Reaches::Undecided {
            return None;
        }
        if let Some(rate) = self.next_repeat() {
            return Some(Stage::Try(Purpose::Repeat, rate));
        }
        let good = bracket.good.filter(|_| reaches == Reaches::Yes);
        let held = || self.of(&[Purpose::Confirm]);
        match good {
            // Where the second pass decided nothing, the whole search tells more.
            None => (self.reaches(asked) == Reaches::No).then_some(Stage::Bracketed),
            Some(good) if held().next().is_none() => Some(Stage::Try(Purpose::Confirm, good)),
            // Not decided by then: the whole search tells more.
            Some(_) => held()
                .any(|step| step.trial.rate >= asked && step.outcome.verdict == RateVerdict::Met)
                .then_some(Stage::Bracketed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::super::tests::{search, settings, up_to};
    use super::*;
    use crate::experiment::Experiment;
    use crate::experiment::criterion::Miss;

    fn per_s(per_s: u64) -> Rate {
        Rate::per_second(per_s)
    }

    /// Trials of 25 s here: one fits into less than 50 s, and twelve into five minutes.
    #[test]
    fn when_the_time_is_up_the_bracket_is_the_answer() {
        for (within_s, trials) in [(25, 1), (49, 1), (50, 2), (300, 12)] {
            let within = Nanos::from_secs(within_s);
            let knee = search(Settings { within: Some(within), ..settings() }, up_to(1_000));
            assert!(knee.load_time() <= within && knee.steps().len() == trials, "{:?}", knee.steps().len());
            assert!(knee.is_bracketed() && knee.found().is_none() && knee.doomed().is_none());
        }
        let knee = search(Settings { within: Some(Nanos::from_secs(300)), ..settings() }, up_to(1_000));
        let bracket = knee.bracket();
        let (good, missed) = (bracket.good.unwrap().as_per_s(), bracket.missed_from.unwrap().as_per_s());
        assert!(good <= 1_000.0 && 1_000.0 < missed && missed / good < 1.03, "{bracket:?}");
        let whole = search(Settings { within: Some(Nanos::from_secs(3_600)), ..settings() }, up_to(1_000));
        assert!(whole.found().is_some() && !whole.is_bracketed(), "an hour is enough");
    }

    /// One rate at the border would take all of it.
    #[test]
    fn no_trial_takes_more_than_half_of_the_time_that_is_left() {
        let mut knee = Knee::new(Settings { within: Some(Nanos::from_secs(200)), ..settings() });
        let trial = knee.next_trial().unwrap();
        assert_eq!((trial.measure, trial.measure_max), (Nanos::from_secs(20), Nanos::from_secs(95)));
        let step = super::super::tests::outcome(&trial, RateVerdict::Undecided);
        knee.observe(crate::experiment::Step { trial, outcome: step });
        assert_eq!(knee.next_trial().unwrap().measure_max, Nanos::from_millis(82_500));
    }

    #[test]
    fn a_rate_that_was_asked_for_settles_it() {
        let asked = |rate, border| {
            let at = Settings { start: per_s(rate), at_least: Some(per_s(rate)), ..settings() };
            search(at, up_to(border))
        };
        let purposes = |knee: &Knee| knee.steps().iter().map(|step| step.trial.purpose).collect::<Vec<_>>();
        let above = asked(900, 1_000);
        assert_eq!(purposes(&above), [Purpose::Bracket, Purpose::Repeat, Purpose::Confirm]);
        assert_eq!((above.reaches(per_s(900)), above.is_bracketed()), (Reaches::Yes, true));
        let below = asked(1_100, 1_000);
        assert_eq!(purposes(&below), [Purpose::Bracket, Purpose::Repeat]);
        assert_eq!((below.reaches(per_s(1_100)), below.is_bracketed()), (Reaches::No, true));
    }

    #[test]
    fn two_passes_that_disagree_settle_nothing() {
        let at = Settings { start: per_s(900), at_least: Some(per_s(900)), ..settings() };
        let knee = search(at, |trial| match trial.purpose {
            Purpose::Repeat => RateVerdict::Missed(Miss::Growing),
            _ => up_to(1_000)(trial),
        });
        assert_eq!(knee.reaches(per_s(900)), Reaches::Undecided);
        assert!(knee.doomed().is_some() && !knee.is_bracketed());
    }

    /// At the border a trial is too slow by chance, now and then; its repeat then is not.
    #[test]
    fn one_trial_alone_settles_nothing() {
        let within = Some(Nanos::from_secs(50));
        let at = Settings { start: per_s(900), at_least: Some(per_s(900)), within, ..settings() };
        for first in [RateVerdict::Met, RateVerdict::Missed(Miss::Percentile)] {
            let knee = search(at.clone(), |trial| match trial.purpose {
                Purpose::Repeat => RateVerdict::Undecided,
                _ => first,
            });
            assert_eq!(knee.reaches(per_s(900)), Reaches::Undecided, "{first:?}");
        }
    }

    #[test]
    fn a_rate_between_good_and_missed_is_undecided() {
        let bracket = Bracket { good: Some(per_s(800)), missed_from: Some(per_s(1_000)) };
        assert_eq!(bracket.reaches(per_s(800)), Reaches::Yes);
        assert_eq!(bracket.reaches(per_s(801)), Reaches::Undecided);
        assert_eq!(bracket.reaches(per_s(1_000)), Reaches::No);
        assert_eq!(Bracket::default().reaches(per_s(1)), Reaches::Undecided);
    }
}
