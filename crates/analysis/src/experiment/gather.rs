//! Adds a trial up while it goes on, and tells when it may end.

use super::criterion::{Criterion, Grounds, Mark, Miss, Percentile, RateVerdict, above, is_growing};
use super::own_limit::own_limit;
use super::trial::{Trial, TrialOutcome};
use crate::evidence::{End, Evidence, Model, Pool, Row};
use crate::finding::{Finding, FindingCode};
use crate::interval::{Answer, EndedBy, History, answers};
use crate::quantile::Survival;
use crate::validity;
use std::borrow::Cow;
use unblink_core::record::{Apart, Bank, Interval, Layout, Series, Track};
use unblink_core::time::Nanos;

/// The last intervals of a load that only piles up.
const HOPELESS_INTERVALS: usize = 5;
/// A load is hopeless when what has no answer, by Little's law, takes this many times the limit.
const HOPELESS_TIMES: f64 = 10.0;
/// Intervals that end this much after a look's time still belong to it: the clock of the loop is not exact.
const SLACK: Nanos = Nanos::from_millis(50);

/// How a trial ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ended {
    /// Measured arrivals by the schedule.
    pub scheduled: u64,
    /// How long they were measured.
    pub measured: Nanos,
    /// Share of processor time stolen by the hypervisor, 0 to 1, if known.
    pub steal_share: Option<f64>,
}

/// A trial so far.
#[derive(Debug)]
pub struct Gather {
    trial: Trial,
    criterion: Criterion,
    timeout: Nanos,
    pool: Pool,
    places: u64,
    totals: Bank<u64>,
    history: History,
    rows: Vec<Row>,
    marks: Vec<(Nanos, Nanos, Mark)>,
    double_intervals: u64,
    busy_share_max: f64,
    look: Nanos,
}

impl Gather {
    /// Nothing yet. `timeout` and `pool` as in the plan of the run.
    pub fn new(trial: &Trial, criterion: Criterion, timeout: Nanos, pool: Pool) -> Gather {
        Gather {
            trial: trial.clone(),
            criterion,
            timeout,
            pool,
            places: 1,
            totals: Bank::new(1),
            history: History::default(),
            rows: Vec::new(),
            marks: Vec::new(),
            double_intervals: 0,
            busy_share_max: 0.0,
            look: trial.measure,
        }
    }

    /// The same where a connection carries so many requests at once.
    pub fn with_places(self, places: u64) -> Gather {
        Gather { places, ..self }
    }

    /// Takes in the next interval.
    pub fn add(&mut self, interval: &Interval) {
        let bank = &interval.bank;
        let (measured, warm) = (&bank.counters.measured, &bank.counters.warmup);
        let Judged { response, censored, spilled } = Judged::of(bank, self.criterion.of);
        let row = Row {
            start: interval.start,
            length: interval.length,
            due: measured.due + warm.due,
            answered: measured.ok + warm.ok + measured.failed_total() + warm.failed_total(),
            timed_out: measured.timed_out + warm.timed_out,
            in_flight: interval.gauges.in_flight,
            backlog: interval.gauges.backlog,
        };
        let limit_ns = self.criterion.limit.0;
        let count_above = |bins: &mut dyn Iterator<Item = (u64, u64)>| -> u64 {
            bins.filter(|&(value_ns, _)| value_ns > limit_ns).map(|(_, n)| n).sum()
        };
        let mark = Mark {
            due: row.due,
            ok: measured.ok + warm.ok,
            lost: measured.failed_total() + measured.timed_out,
            known: response.count() + censored.count() + spilled,
            above: count_above(&mut response.bins()) + count_above(&mut censored.bins()),
            level: row.level(),
        };
        if self.rows.is_empty() {
            self.totals = Bank::new(layout(bank));
        }
        self.marks.push((row.start, row.end(), mark));
        self.rows.push(row);
        self.history.add(row.start, row.length, row.level(), &response, &censored);
        self.totals.add(bank);
        self.double_intervals += u64::from(interval.double);
        let own = bank.counters.own;
        if interval.length >= Nanos::from_millis(500) && own.total > Nanos::ZERO {
            let share = own.busy.0 as f64 / own.total.0 as f64;
            self.busy_share_max = self.busy_share_max.max(share);
        }
    }

    /// The load need not go on: something is decided, or will never be good. To be asked after each interval.
    pub fn may_end(&mut self) -> bool {
        let measured = self.end() - self.trial.settle;
        if self.is_hopeless() {
            return true;
        }
        if measured + SLACK < self.look {
            return false;
        }
        self.look = self.look + self.look;
        let ended = Ended { scheduled: self.totals.counters.measured.due, measured, steal_share: None };
        self.verdict(&ended, End::Open).0 != RateVerdict::Undecided
    }

    /// What came of the trial, when its last interval is in.
    pub fn finish(self, ended: &Ended) -> TrialOutcome {
        let (verdict, whole, percentile, generator) = self.verdict(ended, End::Complete);
        let measured = &self.totals.counters.measured;
        let marks = self.window(ended.measured);
        let seconds: f64 =
            self.within(ended.measured).map(|(start, end, _)| (*end - *start).as_secs_f64()).sum();
        let above = above(&self.times(&marks));
        let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        let response = self.totals.track(Series::Response);
        let mean_ns = response.mean_ns().filter(|_| self.totals.track(Series::ResponseCensored).count() == 0);
        let length_ns = ended.measured.0.max(1) as f64;
        TrialOutcome {
            measured: ended.measured,
            scheduled: ended.scheduled,
            ok: measured.ok,
            failed: measured.failed_total(),
            timed_out: measured.timed_out,
            unanswered: measured.unfinished + measured.unsent,
            offered_per_s: per_second(marks.iter().map(|m| m.due).sum()),
            delivered_per_s: per_second(marks.iter().map(|m| m.ok).sum()),
            percentile,
            above_share: above.map(|(share, _)| share),
            above_error: above.and_then(|(_, error)| error),
            p50_ns: whole.quantile(0.5).map(|v| v.value_ns),
            mean_ns,
            in_flight_mean: mean_ns.map(|_| response.sum_ns as f64 / length_ns),
            in_flight_end: marks.last().map_or(0, |m| m.level),
            is_growing: is_growing(&marks) || verdict == RateVerdict::Missed(Miss::Growing),
            generator: generator.filter(|_| verdict == RateVerdict::Generator),
            verdict,
        }
    }

    fn verdict(
        &self,
        ended: &Ended,
        end: End<'_>,
    ) -> (RateVerdict, Survival, Option<Percentile>, Option<String>) {
        let totals = &self.totals;
        let open = match end {
            End::Open => totals.counters.measured.due.saturating_sub(totals.counters.measured.ended()),
            _ => 0,
        };
        let Judged { response, censored, spilled } = Judged::of(totals, self.criterion.of);
        // A journey may think for longer than a trial is measured, and that it is under way says nothing against it. So a look
        // ends the load by the journeys that have ended; the verdict comes when all have.
        let unended = if self.is_of_journeys() { 0 } else { open };
        let whole = Survival::with_open(&response, &censored, unended + spilled);
        let (from, to) = (self.trial.settle, self.trial.settle + ended.measured);
        let look = EndedBy::Look(self.trial.look_share(ended.measured + SLACK));
        let answer = answers(&self.history, from, to, &whole, &[self.criterion.quantile], look)[0];
        let percentile = whole.quantile(self.criterion.quantile).map(|value| {
            let (low_ns, high_ns) = match answer {
                // Where some times have found no room, those that did are no sample of all.
                _ if spilled > 0 => {
                    return Percentile { value_ns: 0, censored: true, low_ns: None, high_ns: None };
                }
                Answer::Between { low_ns, high_ns, .. } => (Some(low_ns), Some(high_ns)),
                Answer::Above { low_ns } => (Some(low_ns), None),
                _ => (None, None),
            };
            Percentile { value_ns: value.value_ns, censored: value.censored, low_ns, high_ns }
        });
        let own = totals.counters.own;
        let found = validity::assess(&Evidence {
            model: Model::Open,
            replayed: None,
            users: None,
            is_hold: true,
            by_phase: false,
            has_objectives: true,
            end,
            script: None,
            preflight: None,
            setup_failed: None,
            cross_check: None,
            is_part: false,
            transient_left_out: false,
            not_steady: None,
            scheduled: ended.scheduled,
            accounts: &[],
            // No sentence about requests or connections is shown of a trial.
            operations: &[],
            places: self.places,
            journeys: &[],
            without_ending: open,
            sent_in_load: totals.counters.measured.sent_in_load,
            totals,
            rows: &self.rows,
            load_from: from,
            load_to: to,
            timeout: self.timeout,
            origins: &[],
            rows_by_origin: &[],
            addresses: &[],
            protocol_failures: &[],
            broken: &[],
            pool: self.pool,
            busy_share: if own.total.0 == 0 { 0.0 } else { own.busy.0 as f64 / own.total.0 as f64 },
            busy_share_max: self.busy_share_max,
            steal_share: ended.steal_share,
            double_intervals: self.double_intervals,
            arrivals: &[],
            client: None,
            agents: None,
        })
        .findings;
        let marks = self.window(ended.measured);
        let is_saturated = found.iter().any(|f| f.code == FindingCode::Saturated);
        let generator = self.generator_limit(&found, is_saturated || is_growing(&marks), to);
        let max_ns = response.max_ns.max(censored.max_ns);
        let grounds = Grounds {
            marks: &marks,
            times: &self.times(&marks),
            lost: self.lost(),
            percentile,
            max_ns: if unended > 0 { u64::MAX } else { max_ns },
            is_saturated,
            is_generator: generator.is_some(),
        };
        (self.criterion.judge(&grounds), whole, percentile, generator)
    }

    /// Why the generator was the limit.
    fn generator_limit(&self, found: &[Finding], piles_up: bool, to: Nanos) -> Option<String> {
        let last = self.rows.iter().rfind(|row| row.end() <= to + SLACK);
        let (sent, unsent) = last.map_or((0, 0), |row| (row.in_flight, row.backlog));
        own_limit(found, self.pool, piles_up, (sent, unsent)).map(|finding| finding.message.clone())
    }

    /// What has no answer has grown for seconds and would take many times the limit.
    fn is_hopeless(&self) -> bool {
        let measured = self.rows.iter().filter(|row| row.start >= self.trial.settle).count();
        if measured < HOPELESS_INTERVALS {
            return false;
        }
        let levels: Vec<u64> = self.rows.iter().rev().take(HOPELESS_INTERVALS).map(Row::level).collect();
        let most = self.trial.rate.as_per_s() * self.criterion.limit.as_secs_f64() * HOPELESS_TIMES;
        levels.windows(2).all(|pair| pair[0] > pair[1]) && levels[0] as f64 > most.max(100.0)
    }

    fn end(&self) -> Nanos {
        self.rows.last().map_or(Nanos::ZERO, Row::end)
    }

    /// Whole intervals of the measured load.
    fn within(&self, measured: Nanos) -> impl Iterator<Item = &(Nanos, Nanos, Mark)> {
        let (from, to) = (self.trial.settle, self.trial.settle + measured + SLACK);
        self.marks.iter().filter(move |(start, end, _)| *start >= from && *end <= to)
    }

    fn is_of_journeys(&self) -> bool {
        matches!(self.criterion.of, Some((Apart::Journey, _)))
    }

    /// The marks whose times count: those of the window, and of journeys also what came after it. Those that begin in the window
    /// end later, and without the drain the long ones would be missing.
    fn times<'a>(&self, window: &'a [Mark]) -> Cow<'a, [Mark]> {
        let measured = self.marks.iter().filter(|(start, ..)| *start >= self.trial.settle);
        match self.is_of_journeys() {
            true => measured.map(|(_, _, mark)| *mark).collect(),
            false => Cow::Borrowed(window),
        }
    }

    /// Of the journeys that are judged, those that failed or timed out, and all that ended.
    fn lost(&self) -> Option<(u64, u64)> {
        let (by, place) = self.criterion.of.filter(|_| self.is_of_journeys())?;
        let of = &self.totals.apart(by).get(place)?.outcomes;
        Some((of.failed_total() + of.timed_out, of.ended()))
    }

    fn window(&self, measured: Nanos) -> Vec<Mark> {
        self.within(measured).map(|(_, _, mark)| *mark).collect()
    }
}

/// Times of what the criterion asks of; a single operation is not kept apart.
struct Judged<'a> {
    response: Cow<'a, Track<u64>>,
    censored: Cow<'a, Track<u64>>,
    /// Those whose length is not known.
    spilled: u64,
}

impl Judged<'_> {
    fn of(bank: &Bank<u64>, of: Option<(Apart, usize)>) -> Judged<'_> {
        const BOTH: [Series; 2] = [Series::Response, Series::ResponseCensored];
        let apart = of.and_then(|(by, place)| Some((bank.apart(by), place, bank.apart(by).get(place)?)));
        let ([response, censored], spilled) = match apart {
            Some((all, place, one)) => (
                BOTH.map(|series| Cow::Owned(all.track(place, series))),
                BOTH.map(|series| one.sums(series).spilled).iter().sum(),
            ),
            None => (BOTH.map(|series| Cow::Borrowed(bank.track(series))), 0),
        };
        Judged { response, censored, spilled }
    }
}

/// What a bank keeps apart.
fn layout(bank: &Bank<u64>) -> Layout {
    Layout {
        operations: bank.operations.len(),
        loads: bank.samples.len(),
        journeys: bank.journeys.len(),
        steps: bank.steps.len(),
        redirected: 0,
        origins: bank.origins.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::Purpose;
    use super::*;
    use unblink_core::schedule::Rate;

    /// Every second, 50 requests of one kind take 10 ms, and 50 of another take 100.
    fn judged_by(of: Option<(Apart, usize)>) -> TrialOutcome {
        let length = Nanos::from_secs(20);
        let trial = Trial {
            number: 1,
            purpose: Purpose::Bracket,
            rate: Rate::per_second(100),
            settle: Nanos::ZERO,
            measure: length,
            measure_max: length,
        };
        let criterion = Criterion { quantile: 0.9, limit: Nanos::from_millis(50), of };
        let mut gather = Gather::new(&trial, criterion, Nanos::from_secs(30), Pool::Fixed { n: 100 });
        for second in 0..20 {
            let mut interval = Interval::empty(2);
            (interval.start, interval.length) = (Nanos::from_secs(second), Nanos::from_secs(1));
            let bank = &mut interval.bank;
            let measured = &mut bank.counters.measured;
            (measured.due, measured.ok, measured.sent, measured.sent_in_load) = (100, 100, 100, 100);
            for (kind, ms) in [(0, 10), (1, 100)] {
                for _ in 0..50 {
                    bank.track_mut(Series::Response).record(Nanos::from_millis(ms));
                    bank.operations.record(kind, Series::Response, Nanos::from_millis(ms));
                }
            }
            gather.add(&interval);
        }
        gather.finish(&Ended { scheduled: 2_000, measured: length, steal_share: None })
    }

    #[test]
    fn one_request_is_judged_alone() {
        let of = |place| judged_by(Some((Apart::Operation, place)));
        let (all, fast, slow) = (judged_by(None), of(0), of(1));
        let verdicts = [&all, &fast, &slow].map(|outcome| outcome.verdict);
        let missed = RateVerdict::Missed(Miss::Percentile);
        assert_eq!(verdicts, [missed, RateVerdict::Met, missed]);
        let above = [&all, &fast, &slow].map(|outcome| outcome.above_share);
        assert_eq!(above, [Some(0.5), Some(0.0), Some(1.0)]);
        // What was offered and delivered is that of both.
        assert_eq!((fast.offered_per_s, fast.delivered_per_s), (100.0, 100.0));
    }

    /// For 20 s a journey a second ends after 10 ms, and `lost` of them fail; those that take 30 s end in the drain.
    fn judged_with_drain(lost: u64) -> TrialOutcome {
        let length = Nanos::from_secs(20);
        let trial = Trial {
            number: 1,
            purpose: Purpose::Bracket,
            rate: Rate::per_second(2),
            settle: Nanos::ZERO,
            measure: length,
            measure_max: length,
        };
        let of = Some((Apart::Journey, 0));
        let criterion = Criterion { quantile: 0.9, limit: Nanos::from_secs(20), of };
        let mut gather = Gather::new(&trial, criterion, Nanos::from_secs(30), Pool::Fixed { n: 100 });
        for second in 0..50 {
            let layout = Layout { journeys: 1, steps: 1, ..Layout::from(1) };
            let mut interval = Interval::empty(layout);
            (interval.start, interval.length) = (Nanos::from_secs(second), Nanos::from_secs(1));
            let bank = &mut interval.bank;
            if second < 20 {
                let measured = &mut bank.counters.measured;
                (measured.due, measured.ok, measured.sent, measured.sent_in_load) = (10, 10, 10, 10);
                bank.journeys.record(0, Series::Response, Nanos::from_millis(10));
                let outcomes = &mut bank.journeys.get_mut(0).expect("a journey").outcomes;
                (outcomes.due, outcomes.ok) = (2, 1);
                outcomes.timed_out = u64::from(second < lost);
            } else if second >= 30 {
                bank.journeys.record(0, Series::Response, Nanos::from_secs(30));
                bank.journeys.get_mut(0).expect("a journey").outcomes.ok = 1;
            }
            gather.add(&interval);
        }
        gather.finish(&Ended { scheduled: 40, measured: length, steal_share: None })
    }

    #[test]
    fn journeys_that_end_in_the_drain_count() {
        let outcome = judged_with_drain(0);
        assert_eq!(outcome.above_share, Some(0.5), "half of them took longer than the limit");
        assert_eq!(outcome.percentile.map(|percentile| percentile.value_ns / 1_000_000_000), Some(30));
        assert_ne!(outcome.verdict, RateVerdict::Met);
        // What was offered and delivered are requests of the window.
        assert_eq!((outcome.offered_per_s, outcome.delivered_per_s), (10.0, 10.0));
        assert_eq!(
            judged_with_drain(1).verdict,
            RateVerdict::Missed(Miss::Delivered),
            "one of 41 is more than 1 %"
        );
    }
}
