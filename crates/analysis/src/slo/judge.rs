//! Is an objective met?
//!
//! Where the figure has a 95 % interval, both ends must lie on one side of the limit. Where it has none (the rate
//! changes, an event decides, the run is short), what can still be said is what this run itself shows: it has missed
//! an objective if even the lower end by ranks lies beyond the limit, and met it if not one arrival did.

use super::evidence::{errors_of_this_run, with_open};
use super::judgement::{Judgement, Reason, VerdictStatus};
use super::lost::in_spite_of_lost;
use super::needed::needed;
use super::ratio::binomial_share;
use super::relief::is_missed_without;
use super::window::WindowCounts;
use super::{Figure, Objective, Population, Run, Unit, Windows};
use crate::interval::exact::Level;
use crate::interval::{Answer, EndedBy, answers, exact};
use crate::quantile::Survival;

impl Judgement {
    /// How many samples would do, where they are too few.
    fn with_needed(self, objective: &Objective, level: Level) -> Judgement {
        let is_few = self.reason == Reason::FewSamples && self.samples > 0;
        let needed = is_few.then(|| needed(objective, level)).flatten();
        Judgement { needed: needed.filter(|&needed| needed > self.samples), ..self }
    }

    /// Met and missed only where what was found can't have decided it.
    fn in_view_of(self, objective: &Objective, population: &Population<'_>, run: &Run) -> Judgement {
        let is_decided = self.verdict != VerdictStatus::Inconclusive;
        match self.verdict {
            _ if is_decided && !run.is_accounted => {
                self.decided(VerdictStatus::Inconclusive, Reason::NotBelievable)
            }
            VerdictStatus::Pass if run.moved(objective.figure).may_flatter() => {
                self.decided(VerdictStatus::Inconclusive, Reason::NotBelievable)
            }
            // Failed answers are nobody's lateness.
            VerdictStatus::Fail if self.reason == Reason::Unanswered => self,
            VerdictStatus::Fail if !is_missed_without(objective, population, run, &self) => {
                self.decided(VerdictStatus::Inconclusive, Reason::Generator)
            }
            _ => self,
        }
    }
}

/// Over the whole run.
pub fn judge(objective: &Objective, population: &Population<'_>, run: &Run) -> Judgement {
    let by_what_is_known = |objective: &Objective| judge_known(objective, population, run);
    in_spite_of_lost(by_what_is_known(objective), objective, population, run, by_what_is_known)
}

/// The same by those machines alone that were not lost.
fn judge_known(objective: &Objective, population: &Population<'_>, run: &Run) -> Judgement {
    let judgement = match objective.figure {
        Figure::Quantile(q) => {
            let survival = Survival::with_open(population.completed, population.censored, population.open);
            let answer = run
                .is_steady
                .then(|| {
                    answers(population.history, run.from, run.to, &survival, &[q], run.ended).first().copied()
                })
                .flatten()
                .map(|answer| answer.in_bursts(q, run.bursts));
            quantile(objective, q, &survival, answer, run.ended)
        }
        Figure::Max => max(objective, population),
        Figure::Mean => mean(objective, population, run),
        Figure::Errors => errors(objective, population, run),
        Figure::AchievedShare => achieved(objective, population, run, run.offered_per_s),
        Figure::AchievedRate => achieved(objective, population, run, Some(1.0)),
    };
    let judgement = unanswered(objective, population, run, judgement);
    judgement.with_needed(objective, run.ended.level()).in_view_of(objective, population, run)
}

/// What failed has no response time. A percentile promises an answer to a share of the arrivals, so that it is missed
/// when more of them surely failed than lie above it, and not met when they may have; unless an objective on errors
/// says how many may fail. Mean and maximum speak for those who were answered, if there are any.
fn unanswered(
    objective: &Objective,
    population: &Population<'_>,
    run: &Run,
    judgement: Judgement,
) -> Judgement {
    let counts = population.counts;
    let failed = counts.failed.saturating_sub(population.relief.failed);
    if objective.figure.unit() != Unit::Time || failed == 0 || judgement.verdict == VerdictStatus::Fail {
        return judgement;
    }
    let answered = population.completed.count() + population.censored.count() + population.open;
    if answered == 0 {
        return Judgement { samples: counts.arrivals, ..judgement }
            .decided(VerdictStatus::Fail, Reason::Unanswered);
    }
    let Figure::Quantile(q) = objective.figure else { return judgement };
    let share = |failed: u64| binomial_share(failed, failed + answered);
    match () {
        () if run.errors_are_judged => judgement,
        () if share(failed).0 > 1.0 - q => judgement.decided(VerdictStatus::Fail, Reason::Unanswered),
        () if judgement.verdict == VerdictStatus::Pass && exceeds(counts.failed, answered, q) => {
            judgement.decided(VerdictStatus::Inconclusive, Reason::Unanswered)
        }
        () => judgement,
    }
}

/// Are `failed` beside so many that were `answered` more than lie above the q-quantile?
fn exceeds(failed: u64, answered: u64, q: f64) -> bool {
    failed as f64 / (failed + answered) as f64 > 1.0 - q + 1e-12
}

/// In windows. `share` of them must be good whatever the undecided ones are. `samples` is what the figure rests on.
pub fn judge_windows(
    objective: &Objective,
    windows: &Windows,
    counts: WindowCounts,
    samples: u64,
    run: &Run,
) -> Judgement {
    let all = counts.all();
    let mut judgement = Judgement { windows: Some(counts), ..Judgement::new(samples) };
    if all == 0 {
        return judgement;
    }
    let share = |n: u64| n as f64 / all as f64;
    let (low, high) = (share(counts.good), share(counts.good + counts.unknown));
    judgement.value = Some(low);
    // 19 of 20 are 95 %, whatever rounding makes of it.
    let is_enough = |share: f64| share >= windows.share - 1e-9;
    let (verdict, reason) = match (is_enough(low), is_enough(high)) {
        (true, _) => (VerdictStatus::Pass, Reason::Windows),
        (_, false) => (VerdictStatus::Fail, Reason::Windows),
        _ => (VerdictStatus::Inconclusive, Reason::Windows),
    };
    let is_flattered = verdict == VerdictStatus::Pass && run.moved(objective.figure).may_flatter();
    if verdict != VerdictStatus::Inconclusive && run.has_lost() {
        // In which windows they fell due is not known.
        return judgement.decided(VerdictStatus::Inconclusive, Reason::Lost);
    }
    match is_flattered || (verdict != VerdictStatus::Inconclusive && !run.is_accounted) {
        true => judgement.decided(VerdictStatus::Inconclusive, Reason::NotBelievable),
        false => judgement.decided(verdict, reason),
    }
}

/// A percentile, by what `answers` says of it; `answer` is `None` where the load is not steady.
pub fn quantile(
    objective: &Objective,
    q: f64,
    survival: &Survival,
    answer: Option<Answer>,
    ended: EndedBy,
) -> Judgement {
    let n = survival.count();
    let mut judgement = Judgement::new(n);
    let Some(value) = survival.quantile(q) else { return judgement };
    judgement.value = Some(value.value_ns as f64);
    judgement.is_lower_bound = value.censored;
    match answer {
        Some(Answer::Between { low_ns, high_ns, .. }) => {
            (judgement.low, judgement.high) = (Some(low_ns as f64), Some(high_ns as f64));
            return judgement.by_interval(objective, Reason::Straddles);
        }
        Some(Answer::Above { low_ns }) => {
            judgement.low = Some(low_ns as f64);
            // What is shown decides: a limit between this end and the figure is not told, whatever ranks say.
            let is_between = value.censored && !objective.holds(value.value_ns as f64);
            let otherwise = if is_between { Reason::Straddles } else { Reason::Censored };
            return judgement.by_interval(objective, otherwise);
        }
        _ => {}
    }
    let (low, high) = exact::ranks(n, q, ended.level());
    let at = |rank: u64| survival.quantile(rank as f64 / n as f64);
    // A lower bound beyond the limit is beyond it, whatever the value is.
    if low.and_then(at).is_some_and(|low| !objective.holds(low.value_ns as f64)) {
        return judgement.decided(VerdictStatus::Fail, Reason::ThisRun);
    }
    let longest = survival.steps().last().map(|(ns, _)| ns as f64);
    let is_all_within = survival.censored() == 0 && longest.is_some_and(|ns| objective.holds(ns));
    let is_within =
        high.and_then(at).is_some_and(|high| !high.censored && objective.holds(high.value_ns as f64));
    match (high, answer) {
        (None, _) => judgement.decided(VerdictStatus::Inconclusive, Reason::FewSamples),
        (Some(_), _) if is_all_within => judgement.decided(VerdictStatus::Pass, Reason::ThisRun),
        (Some(_), None) if is_within => judgement.decided(VerdictStatus::Pass, Reason::ThisRun),
        (Some(_), None) => judgement.decided(VerdictStatus::Inconclusive, Reason::Straddles),
        (Some(_), Some(_)) => judgement.decided(VerdictStatus::Inconclusive, Reason::NoInterval),
    }
}

/// The longest of this run: it is not a property of the load, and has no interval.
fn max(objective: &Objective, population: &Population<'_>) -> Judgement {
    let (known, censored) = (population.completed, population.censored);
    let open = censored.count() + population.open;
    let samples = known.count() + open;
    let mut judgement = Judgement::new(samples);
    if samples == 0 {
        return judgement;
    }
    let value = known.max_ns.max(censored.max_ns) as f64;
    judgement.value = Some(value);
    judgement.is_lower_bound = open > 0;
    match (objective.holds(value), open) {
        (false, _) => judgement.decided(VerdictStatus::Fail, Reason::ThisRun),
        (true, 0) => judgement.decided(VerdictStatus::Pass, Reason::ThisRun),
        (true, _) => judgement.decided(VerdictStatus::Inconclusive, Reason::Censored),
    }
}

fn mean(objective: &Objective, population: &Population<'_>, run: &Run) -> Judgement {
    let open = population.censored.count() + population.open;
    let mut judgement = Judgement::new(population.completed.count() + open);
    let Some(value) = population.mean.value() else { return judgement };
    judgement.value = Some(value);
    judgement.is_lower_bound = open > 0;
    if let Some((low, high)) = population.mean.mean_interval().filter(|_| run.is_steady) {
        judgement.low = Some(low);
        judgement.high = (open == 0).then_some(high);
        return judgement.by_interval(objective, Reason::Censored);
    }
    let (holds, is_known) = (objective.holds(value), open == 0);
    let is_all_within = is_known && objective.holds(population.completed.max_ns as f64);
    match (holds, is_known) {
        (false, false) => judgement.decided(VerdictStatus::Fail, Reason::ThisRun),
        (true, false) => judgement.decided(VerdictStatus::Inconclusive, Reason::Censored),
        (true, true) if is_all_within || !run.is_steady => {
            judgement.decided(VerdictStatus::Pass, Reason::ThisRun)
        }
        (false, true) if !run.is_steady => judgement.decided(VerdictStatus::Fail, Reason::ThisRun),
        _ => judgement.decided(VerdictStatus::Inconclusive, Reason::NoInterval),
    }
}

fn errors(objective: &Objective, population: &Population<'_>, run: &Run) -> Judgement {
    let counts = population.counts;
    let mut judgement = Judgement::new(counts.arrivals);
    let history = population.errors;
    let is_clean = counts.errors == 0 && counts.open == 0;
    if counts.arrivals == 0 {
        return judgement;
    }
    let share = |n: u64| n as f64 / counts.arrivals as f64;
    judgement.value = Some(share(counts.errors));
    judgement.is_lower_bound = counts.open > 0;
    let by_blocks = history.share_interval().filter(|_| run.is_steady);
    if let Some((low, high)) = by_blocks.map(|share| with_open(share, &counts)) {
        (judgement.low, judgement.high) = (Some(low), Some(high));
        // Without an error it is only the number of arrivals that is lacking.
        let straddles = if is_clean { Reason::FewSamples } else { Reason::Straddles };
        return match judgement.by_interval(objective, Reason::Straddles) {
            judged if judged.reason == Reason::Straddles => Judgement { reason: straddles, ..judged },
            judged => judged,
        };
    }
    let Some((low, high)) = errors_of_this_run(population) else { return judgement };
    if !objective.holds(low) {
        judgement.decided(VerdictStatus::Fail, Reason::ThisRun)
    } else if objective.holds(high) && (is_clean || !run.is_steady) {
        judgement.decided(VerdictStatus::Pass, Reason::ThisRun)
    } else if is_clean {
        judgement.decided(VerdictStatus::Inconclusive, Reason::FewSamples)
    } else {
        judgement.decided(VerdictStatus::Inconclusive, Reason::NoInterval)
    }
}

/// Between the rate up to the last completion and that of the load's own length: how long the last answers take
/// belongs to the first and says nothing of throughput; of closed users give or take a request each. `unit_per_s`: what the limit is a share of.
fn achieved(
    objective: &Objective,
    population: &Population<'_>,
    run: &Run,
    unit_per_s: Option<f64>,
) -> Judgement {
    let mut judgement = Judgement::new(population.counts.arrivals);
    let Some(unit) = unit_per_s.filter(|unit| *unit > 0.0) else {
        return judgement.decided(VerdictStatus::Inconclusive, Reason::NotThere);
    };
    judgement.value = Some(run.achieved_per_s / unit);
    let (low, high) = (run.achieved_per_s, run.achieved_in_load_per_s.max(run.achieved_per_s));
    // A closed user asks once more or once less by where it stands in its cycle when measuring begins and ends.
    let length_s = (run.to - run.from).as_secs_f64();
    let by_phase = run.users.filter(|_| length_s > 0.0).map_or(0.0, |users| users as f64 / length_s);
    let (low, high) = ((low - by_phase).max(0.0), high + by_phase);
    (judgement.low, judgement.high) = (Some(low / unit), Some(high / unit));
    match judgement.by_interval(objective, Reason::Straddles) {
        decided if decided.verdict == VerdictStatus::Inconclusive => decided,
        decided => Judgement { reason: Reason::ThisRun, ..decided },
    }
}
