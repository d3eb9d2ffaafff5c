//! Objectives over short stretches of time: windows of a run, and rules that stop one.

use super::{AbortRule, Figure, Measure, Objective, Windows};
use crate::moves::is_full;
use crate::quantile::nearest_rank;
use unblink_core::record::{Apart, Interval, Series, Track};
use unblink_core::time::Nanos;

/// What an objective needs to know of one stretch of time.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Stretch {
    /// Response times that do not hold.
    pub beyond: u64,
    /// Known only to be longer than an age that still holds.
    pub unknown: u64,
    /// All response times, the two above included.
    pub samples: u64,
    /// Those of `beyond` that may not be without the generator's own lateness and absence.
    pub beyond_own: u64,
    /// Of `sum_ns`, what the generator itself may have added.
    pub sum_own_ns: f64,
    /// Of `errors`, those that the generator may have caused.
    pub errors_own: u64,
    /// Those of them that failed.
    pub failed_own: u64,
    /// The generator may have touched all of them unseen.
    pub is_unseen: bool,
    /// How long its workers were away, of `covered`.
    pub away: Nanos,
    /// Time covered, summed over workers.
    pub covered: Nanos,
    /// At its end, arrivals that wait for longer than the limit already and have no other record yet.
    pub stuck: u64,
    /// Of all of them, the censored at their ages, in ns.
    pub sum_ns: f64,
    /// Fell due.
    pub due: u64,
    /// Ended as `ok`.
    pub ok: u64,
    /// Failed or timed out.
    pub errors: u64,
    /// Failed alone.
    pub failed: u64,
    /// Those of `stuck` that were sent.
    pub stuck_sent: u64,
    /// Ended, in any way.
    pub ended: u64,
}

/// Does an objective hold in one stretch?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Yes,
    No,
    Unknown,
}

impl Stretch {
    /// An interval against `objective`, which is of what is good: `measure` of all of it, or of what is recorded apart in one
    /// place.
    pub fn of_interval(
        objective: &Objective,
        measure: Measure,
        interval: &Interval,
        of: Option<(Apart, usize)>,
    ) -> Stretch {
        let bank = &interval.bank;
        let own = Stretch::own(objective, measure, interval, of.is_none());
        let [completed, censored, _] = measure.series();
        if let Some((by, place)) = of
            && let Some(apart) = bank.apart(by).get(place)
        {
            let records = bank.apart(by);
            // How long these took is not known any more.
            let spilled = apart.sums(completed).spilled + apart.sums(censored).spilled;
            let times = Stretch::of_times(
                objective,
                &records.track(place, completed),
                &records.track(place, censored),
            );
            let of = &apart.outcomes;
            return Stretch {
                ok: of.ok,
                failed: of.failed_total(),
                errors: of.failed_total() + of.timed_out,
                ended: of.ended(),
                unknown: times.unknown + spilled,
                samples: times.samples + spilled,
                ..times.with(own)
            };
        }
        let measured = &bank.counters.measured;
        Stretch {
            due: measured.due,
            ok: measured.ok,
            failed: measured.failed_total(),
            errors: measured.failed_total() + measured.timed_out,
            ended: measured.ended(),
            ..Stretch::of_times(objective, bank.track(completed), bank.track(censored)).with(own)
        }
    }

    /// What the generator itself may have done in the interval. Which of the touched arrivals belong to one request of
    /// several is not known: then all do, and none would have been slow. The same holds of first events and gaps.
    fn own(objective: &Objective, measure: Measure, interval: &Interval, is_all: bool) -> Stretch {
        let bank = &interval.bank;
        let hindered = bank.track(measure.series()[2]);
        let without = (is_all && measure == Measure::Response).then(|| bank.track(Series::Unhindered));
        let left = without.map_or(0, |without| objective.beyond(without));
        Stretch {
            beyond_own: objective.beyond(hindered).saturating_sub(left),
            sum_own_ns: (hindered.sum_ns - without.map_or(0, |without| without.sum_ns)) as f64,
            errors_own: bank.counters.measured.errors_hindered(),
            failed_own: bank.counters.measured.failed_hindered,
            is_unseen: is_full(&bank.counters.own),
            away: bank.counters.own.paused,
            covered: bank.counters.own.total,
            ..Stretch::default()
        }
    }

    fn with(self, own: Stretch) -> Stretch {
        let Stretch { beyond_own, sum_own_ns, errors_own, failed_own, is_unseen, away, covered, .. } = own;
        Stretch { beyond_own, sum_own_ns, errors_own, failed_own, is_unseen, away, covered, ..self }
    }

    /// Response times of a stretch against `objective`, which is of what is good.
    pub fn of_times(objective: &Objective, completed: &Track<u64>, censored: &Track<u64>) -> Stretch {
        let (late, cut) = (objective.beyond(completed), objective.beyond(censored));
        Stretch {
            beyond: late + cut,
            unknown: censored.count() - cut,
            samples: completed.count() + censored.count(),
            sum_ns: (completed.sum_ns + censored.sum_ns) as f64,
            ..Stretch::default()
        }
    }

    fn add(&mut self, next: &Stretch) {
        self.beyond += next.beyond;
        self.unknown += next.unknown;
        self.samples += next.samples;
        self.stuck = next.stuck;
        self.stuck_sent = next.stuck_sent;
        self.beyond_own += next.beyond_own;
        self.sum_own_ns += next.sum_own_ns;
        self.errors_own += next.errors_own;
        self.failed_own += next.failed_own;
        self.is_unseen |= next.is_unseen;
        self.away += next.away;
        self.covered += next.covered;
        self.failed += next.failed;
        self.sum_ns += next.sum_ns;
        self.due += next.due;
        self.ok += next.ok;
        self.errors += next.errors;
        self.ended += next.ended;
    }

    /// Does `objective`, which is of what is good, hold for certain, whatever the generator itself did? `length` is that
    /// of the stretch.
    fn holds(&self, objective: &Objective, failures: Failures, length: Nanos) -> Held {
        match self.holds_as_seen(objective, failures, length) {
            Held::No if self.is_unseen && objective.figure != Figure::Errors => Held::Unknown,
            Held::No
                if self.without_own().holds_as_seen(objective, failures, Nanos(self.attended(length.0)))
                    != Held::No =>
            {
                Held::Unknown
            }
            held => held,
        }
    }

    /// The same without what the generator may have done.
    fn without_own(&self) -> Stretch {
        let timed_out = self.errors - self.failed;
        let errors_own = match self.is_unseen {
            true => self.failed_own + timed_out,
            false => self.errors_own,
        };
        Stretch {
            beyond: self.beyond.saturating_sub(self.beyond_own),
            stuck: if self.has_own() { self.stuck_sent } else { self.stuck },
            sum_ns: (self.sum_ns - self.sum_own_ns).max(0.0),
            due: self.attended(self.due),
            ok: self.ok + errors_own,
            errors: self.errors.saturating_sub(errors_own),
            failed: self.failed.saturating_sub(self.failed_own),
            ..*self
        }
    }

    /// What is left of `whole` without the share in which the generator was away.
    fn attended(&self, whole: u64) -> u64 {
        let left = self.covered.0.saturating_sub(self.away.0);
        match self.covered.0 {
            0 => whole,
            covered => (u128::from(whole) * u128::from(left) / u128::from(covered)) as u64,
        }
    }

    fn has_own(&self) -> bool {
        self.is_unseen || self.sum_own_ns > 0.0 || self.errors_own > 0
    }

    /// As it was recorded.
    fn holds_as_seen(&self, objective: &Objective, failures: Failures, length: Nanos) -> Held {
        let of = |holds: bool| if holds { Held::Yes } else { Held::No };
        let (beyond, n) = (self.beyond + self.stuck, self.samples + self.stuck);
        let is_unanswered = |q: f64| self.failed as f64 > (1.0 - q + 1e-12) * (n + self.failed) as f64;
        match objective.figure {
            // As in the whole run: what failed has no response time, and was promised an answer.
            Figure::Quantile(_) | Figure::Mean | Figure::Max
                if failures != Failures::Ignored && n == 0 && self.failed > 0 =>
            {
                Held::No
            }
            Figure::Quantile(q) if failures == Failures::Unanswered && is_unanswered(q) => Held::No,
            Figure::Quantile(q) => {
                // With fewer samples than 1/(1 − q) it is that of the longest.
                let rank = nearest_rank(q, n);
                if n > 0 && beyond == n {
                    // All of them, so every percentile, however few they are.
                    Held::No
                } else if (n as f64) * (1.0 - q) < 1.0 - 1e-9 {
                    Held::Unknown
                } else if n - beyond < rank {
                    Held::No
                } else if n - beyond - self.unknown >= rank {
                    Held::Yes
                } else {
                    Held::Unknown
                }
            }
            Figure::Max if beyond > 0 => Held::No,
            Figure::Max if self.unknown > 0 || n == 0 => Held::Unknown,
            Figure::Max => Held::Yes,
            Figure::Mean if self.samples == 0 => Held::Unknown,
            Figure::Mean => match (objective.holds(self.sum_ns / self.samples as f64), self.unknown) {
                (false, _) => Held::No,
                (true, 0) => Held::Yes,
                (true, _) => Held::Unknown,
            },
            Figure::Errors if self.ended == 0 => Held::Unknown,
            Figure::Errors => of(objective.holds(self.errors as f64 / self.ended as f64)),
            Figure::AchievedShare if self.due == 0 => Held::Unknown,
            Figure::AchievedShare => of(objective.holds(self.ok as f64 / self.due as f64)),
            Figure::AchievedRate if length == Nanos::ZERO => Held::Unknown,
            Figure::AchievedRate => of(objective.holds(self.ok as f64 / length.as_secs_f64())),
        }
    }
}

/// What failed arrivals are to an objective on response time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failures {
    /// Nothing at all: a rule that stops a run speaks for what was answered.
    Ignored,
    /// Another objective says how many there may be. Where nothing was answered they are not answered all the same.
    Elsewhere,
    /// Arrivals that were not answered.
    Unanswered,
}

/// Windows by how they ended.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct WindowCounts {
    /// The objective held.
    pub good: u64,
    /// It did not.
    pub bad: u64,
    /// It can't be told: too little was recorded, or what was is known only to take longer, or as below.
    pub unknown: u64,
    /// Of the unknown, those in which arrivals ended, and not one was answered.
    pub unanswered: u64,
    /// Of the unknown, those that were not over when the run ended.
    pub cut_short: u64,
}

impl WindowCounts {
    /// Windows.
    pub fn all(&self) -> u64 {
        self.good + self.bad + self.unknown
    }
}

/// Cuts a run into windows and counts in which of them an objective holds.
#[derive(Clone, Debug)]
pub struct WindowWatch {
    objective: Objective,
    failures: Failures,
    length: Nanos,
    from: Nanos,
    open: Option<(u64, Stretch)>,
    /// Up to here the load has been seen.
    seen_to: Nanos,
    counts: WindowCounts,
}

impl WindowWatch {
    /// Windows from `from`, the start of the measured load after t = 0.
    pub fn new(objective: Objective, failures: Failures, windows: &Windows, from: Nanos) -> WindowWatch {
        WindowWatch {
            objective,
            failures,
            length: windows.length,
            from,
            open: None,
            seen_to: from,
            counts: WindowCounts::default(),
        }
    }

    /// Takes in what was recorded from `start` for `length`: it belongs to the window in which its middle lies.
    /// Windows begin before `load_to`; what is recorded later belongs to the last.
    pub fn add(&mut self, start: Nanos, length: Nanos, load_to: Nanos, part: &Stretch) {
        let middle = start + Nanos(length.0 / 2);
        if middle < self.from {
            return;
        }
        // What is left at the load's end, shorter than a window, is part of the one before.
        let whole = load_to.0.saturating_sub(self.from.0) / self.length.0;
        let number = ((middle.0 - self.from.0) / self.length.0).min(whole.saturating_sub(1));
        match &mut self.open {
            Some((open, sum)) if *open == number => sum.add(part),
            _ => {
                self.close(false);
                self.open = Some((number, *part));
            }
        }
        // Intervals are a microsecond short of a second at times.
        self.seen_to = (start + Nanos(length.0 + length.0 / 100)).min(load_to);
    }

    /// How the windows ended, the one that is open included.
    pub fn counts(&self) -> WindowCounts {
        let mut whole = self.clone();
        let end = |number: u64| self.from.0.saturating_add((number + 1).saturating_mul(self.length.0));
        whole.close(self.open.is_some_and(|(number, _)| self.seen_to.0 < end(number)));
        whole.counts
    }

    /// A part of a window shows nothing of a whole one.
    fn close(&mut self, is_cut_short: bool) {
        let Some((_, part)) = self.open.take() else { return };
        // A window in which nothing fell due and nothing ended is none.
        if part.due == 0 && part.samples + part.stuck == 0 && part.ended == 0 {
            return;
        }
        match part.holds(&self.objective, self.failures, self.length) {
            _ if is_cut_short => {
                self.counts.unknown += 1;
                self.counts.cut_short += 1;
            }
            Held::Yes => self.counts.good += 1,
            Held::No => self.counts.bad += 1,
            Held::Unknown => {
                self.counts.unknown += 1;
                self.counts.unanswered += u64::from(part.samples + part.stuck == 0);
            }
        }
    }
}

/// Decides when a run has hurt for long enough.
#[derive(Clone, Debug)]
pub struct AbortWatch {
    good: Objective,
    is_of_events: bool,
    hold: Nanos,
    hurting: Nanos,
}

impl AbortWatch {
    /// Nothing has hurt yet.
    pub fn new(rule: &AbortRule) -> AbortWatch {
        AbortWatch {
            good: rule.condition.opposite(),
            is_of_events: rule.measure != Measure::Response,
            hold: rule.hold,
            hurting: Nanos::ZERO,
        }
    }

    /// What is good: parts are counted against it.
    pub fn good(&self) -> &Objective {
        &self.good
    }

    /// Looks at the next interval; true when it has hurt for the whole hold time without a break.
    pub fn look(&mut self, length: Nanos, part: &Stretch) -> bool {
        match part.holds(&self.good, Failures::Ignored, length) {
            Held::No => self.hurting += length,
            // At a low rate nothing ends in many an interval: that is neither good nor bad. Answers that end have no event then.
            Held::Unknown if part.samples + part.stuck == 0 && (part.ended == 0 || self.is_of_events) => {}
            Held::Yes | Held::Unknown => self.hurting = Nanos::ZERO,
        }
        // Intervals are a microsecond short of a second at times.
        self.hurting.0 + self.hold.0 / 100 >= self.hold.0
    }
}
