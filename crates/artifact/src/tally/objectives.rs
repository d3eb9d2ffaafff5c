//! What is asked of a run, and what became of it.

mod journeys;

use super::{Account, Ending, Tally};
use crate::document::{FigureUnit, LoadModel, Rate, SloResult, Verdict, VerdictStatus, WindowResult};
use crate::header::RunHeader;
use unblink_analysis::finding::FindingCode;
use unblink_analysis::interval::{EndedBy, History};
use unblink_analysis::moves::{Moves, is_full, unseen_share};
use unblink_analysis::slo::{
    Counts, Failures, Figure, Judgement, Measure, Outstanding, Population, RatioHistory, Relief, Run, Slo,
    Stretch, Subject, Unit, WindowWatch, judge,
};
use unblink_analysis::validity::Assessment;
use unblink_core::record::{Apart, Bank, Interval, Outcomes, Series, Sums, Track};
use unblink_core::time::Nanos;

/// Everything that objectives need beside what every run keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Objectives {
    asked: Vec<Asked>,
    whole: Ratios,
    /// Arrivals that ended while the generator's loops were full: it may have touched each of them unseen.
    unseen: u64,
    /// Of what an objective speaks, where that is not the response time of all.
    apart: Vec<(Whose, OfPart)>,
}

/// What is recorded apart, and which of it.
type Place = (Apart, usize);

/// Whose times, and which.
type Whose = (Option<Place>, Measure);

/// One objective.
#[derive(Clone, Debug)]
struct Asked {
    slo: Slo,
    /// The operation, journey, load or origin that it speaks of; `None`: all arrivals.
    of: Option<Place>,
    windows: Option<WindowWatch>,
    outstanding: Option<Outstanding>,
}

/// An operation, a journey, a load or an origin of which an objective speaks.
#[derive(Clone, Debug, Default)]
struct OfPart {
    history: History,
    ratios: Ratios,
    /// End of the last interval in which one of them ended as `ok`.
    last_ok: Nanos,
}

impl OfPart {
    fn add(&mut self, interval: &Interval, (place, measure): Whose) {
        let bank = &interval.bank;
        let [completed, censored, _] = measure.series();
        let (start, length) = (interval.start, interval.length);
        let (of, times) = match place {
            None => {
                let [known, cut] = [completed, censored].map(|series| bank.track(series));
                let level = interval.gauges.in_flight + interval.gauges.backlog;
                self.history.add(start, length, level, known, cut);
                (&bank.counters.measured, [known, cut].map(sums))
            }
            Some((by, number)) => {
                let records = bank.apart(by);
                let Some(record) = records.get(number) else { return };
                let bins = |series| records.bins(number, series);
                // How many of them are under way is not recorded.
                self.history.add_bins(start, length, 0, bins(completed), bins(censored));
                (&record.outcomes, [completed, censored].map(|series| record.sums(series)))
            }
        };
        self.ratios.add(of.failed_total() + of.timed_out, of.ended(), times);
        if of.ok > 0 {
            self.last_ok = start + length;
        }
    }
}

impl Asked {
    fn whose(&self) -> Whose {
        (self.of, self.slo.measure)
    }
}

#[derive(Clone, Debug, Default)]
struct Ratios {
    errors: RatioHistory,
    mean: RatioHistory,
}

impl Ratios {
    /// `times` are those of the completed and of the censored.
    fn add(&mut self, errors: u64, ended: u64, times: [Sums; 2]) {
        self.errors.add(errors as f64, ended as f64);
        let (sum_ns, count) = (times[0].sum_ns + times[1].sum_ns, times[0].count + times[1].count);
        self.mean.add(sum_ns as f64, count as f64);
    }
}

fn sums(track: &Track<u64>) -> Sums {
    Sums { count: track.count(), spilled: 0, sum_ns: track.sum_ns, max_ns: track.max_ns }
}

impl Objectives {
    /// What `header` asks for, from `measured_from` on. Words that are not understood were refused when the run
    /// began; in a folder that was changed by hand they are passed over.
    pub(super) fn new(header: &RunHeader, measured_from: Nanos) -> Objectives {
        let asked = header.objectives.slos.iter().filter_map(|text| {
            let slo = Slo::parse(text).ok()?;
            let of = match &slo.name {
                Some(name) => header.part_called(name)?,
                None => None,
            };
            let is_by_journey = subject(of) == Subject::Journeys;
            if is_by_journey && (slo.windows.is_some() || slo.measure != Measure::Response)
                || slo.name.is_some() && !is_by_journey && !slo.objective.figure.is_better_small()
            {
                return None;
            }
            let failures = match says_how_many_errors(header, of) {
                true => Failures::Elsewhere,
                false => Failures::Unanswered,
            };
            let windows = slo
                .windows
                .as_ref()
                .map(|windows| WindowWatch::new(slo.objective, failures, windows, measured_from));
            let is_only = header.operations.len() <= 1;
            let outstanding = || Outstanding::beyond(slo.measure, &slo.objective, is_only);
            let outstanding = if windows.is_some() && of.is_none() { outstanding() } else { None };
            Some(Asked { slo, of, windows, outstanding })
        });
        let asked: Vec<Asked> = asked.collect();
        let mut apart: Vec<(Whose, OfPart)> = Vec::new();
        for of in asked.iter().map(Asked::whose).filter(|of| *of != Whose::default()) {
            if apart.iter().all(|(known, _)| *known != of) {
                apart.push((of, OfPart::default()));
            }
        }
        Objectives { asked, apart, ..Objectives::default() }
    }

    /// Takes note of what is open at the end of an interval that is left out.
    pub(super) fn pass_over(&mut self, interval: &Interval) {
        self.asked.iter_mut().filter_map(|asked| asked.outstanding.as_mut()).for_each(|outstanding| {
            outstanding.add(interval);
        });
    }

    /// Takes in the next interval of the measured part.
    pub(super) fn add(&mut self, interval: &Interval, header: &RunHeader) {
        if self.asked.is_empty() {
            return;
        }
        let bank = &interval.bank;
        let measured = &bank.counters.measured;
        let (completed, censored) = (bank.track(Series::Response), bank.track(Series::ResponseCensored));
        let errors = measured.failed_total() + measured.timed_out;
        if is_full(&bank.counters.own) {
            self.unseen += measured.ended();
        }
        self.whole.add(errors, measured.ended(), [completed, censored].map(sums));
        for (whose, apart) in &mut self.apart {
            apart.add(interval, *whose);
        }
        let load_to = Nanos(header.plan.warmup_ns.saturating_add(header.plan.duration_ns));
        for asked in &mut self.asked {
            let stuck = asked.outstanding.as_mut().map_or((0, 0), |outstanding| outstanding.add(interval));
            let Some(watch) = &mut asked.windows else { continue };
            let part = Stretch::of_interval(&asked.slo.objective, asked.slo.measure, interval, asked.of);
            watch.add(interval.start, interval.length, load_to, &part.with_stuck(stuck));
        }
    }
}

impl Tally {
    /// Did the run meet what was asked of it? `None`: nothing was asked.
    pub(super) fn verdict(
        &self,
        ending: &Ending,
        account: &Account,
        assessment: &Assessment,
        rate: &Rate,
        (from, to): (Nanos, Nanos),
    ) -> Option<Verdict> {
        let objectives = &self.objectives;
        if objectives.asked.is_empty() {
            return None;
        }
        let has = |code| assessment.findings.iter().any(|finding| finding.code == code);
        let unseen_share = unseen_share(&assessment.findings);
        let is_closed = self.header.model() == LoadModel::Closed;
        let loss = self.loss(ending);
        let run = Run {
            is_accounted: !has(FindingCode::Accounting) && !has(FindingCode::NothingMeasured),
            moves: Moves::of_all(&assessment.findings),
            errors_are_judged: false,
            is_steady: !has(FindingCode::Saturated) && (is_closed || self.is_hold()),
            from,
            to,
            ended: if self.may_have_stopped(to) { EndedBy::Precision } else { EndedBy::Plan },
            bursts: self.bursts(from, to),
            offered_per_s: rate.offered,
            users: self.header.users_at_once().filter(|_| is_closed),
            lost: loss.counted,
            loss_is_unbounded: loss.is_unbounded,
            achieved_per_s: rate.achieved,
            achieved_in_load_per_s: super::per_second(account.arrivals.ok, to - from),
        };
        let result = |asked: &Asked| {
            let is_apart = asked.whose() != Whose::default();
            let times = is_apart.then(|| Times::of(&self.totals, asked.whose())).flatten();
            let population = self.population(asked, times.as_ref(), account, unseen_share);
            // What a target loses under a stress that is meant to be too much says nothing of the rest.
            let errors_are_judged = self.is_by_phase() || says_how_many_errors(&self.header, asked.of);
            // An arrival has many gaps: of those that are lost nobody knows how many.
            let is_countless = asked.slo.measure == Measure::Gap && loss.counted > 0;
            let loss_is_unbounded = run.loss_is_unbounded || is_countless;
            let run = Run { errors_are_judged, loss_is_unbounded, ..run };
            let run = match asked.of {
                Some((Apart::Journey, place)) => {
                    self.run_of_journeys(place, ending, &assessment.findings, run)
                }
                _ => run,
            };
            let judgement = match (&asked.windows, &asked.slo.windows) {
                (Some(watch), Some(windows)) => {
                    let samples = population.samples(asked.slo.objective.figure);
                    judge::judge_windows(&asked.slo.objective, windows, watch.counts(), samples, &run)
                }
                _ => judge::judge(&asked.slo.objective, &population, &run),
            };
            let is_stopped = ending.aborted.is_some() || ending.is_partial_before(self.looked_to());
            document(asked, &if is_stopped { judgement.of_stopped() } else { judgement })
        };
        let slos: Vec<SloResult> = objectives.asked.iter().map(result).collect();
        let status = slos.iter().map(|slo| slo.status).max()?;
        Some(Verdict { status, on_inconclusive: self.header.objectives.on_inconclusive, slos })
    }

    /// The verdict on a target that did not answer the request before the run. `None`: nothing was asked.
    pub(super) fn verdict_unanswered(&self) -> Option<Verdict> {
        let asked = &self.objectives.asked;
        let slos = asked.iter().map(|asked| document(asked, &Judgement::unanswered())).collect();
        let on_inconclusive = self.header.objectives.on_inconclusive;
        (!asked.is_empty()).then_some(Verdict { status: VerdictStatus::Fail, on_inconclusive, slos })
    }

    /// `times` are those of the part that it speaks of, if it does not speak of all.
    fn population<'a>(
        &'a self,
        asked: &Asked,
        times: Option<&'a Times>,
        account: &Account,
        unseen_share: f64,
    ) -> Population<'a> {
        let objectives = &self.objectives;
        let unseen = |n: u64| objectives.unseen.max((unseen_share * n as f64).ceil() as u64).min(n);
        let hindered = self.totals.track(asked.slo.measure.series()[2]);
        let measured = &self.totals.counters.measured;
        let of = objectives.apart.iter().find(|(whose, _)| *whose == asked.whose());
        let apart = times.zip(of.map(|(_, apart)| apart));
        if let (Some((times, apart)), Some((Apart::Journey, place))) = (apart, asked.of) {
            return self.population_of_journeys(place, times, apart, unseen_share);
        }
        if let Some((Times { completed, censored, history, unknown, outcomes }, apart)) = apart {
            let counts = Counts {
                arrivals: outcomes.ended() + account.without_ending,
                errors: outcomes.failed_total() + outcomes.timed_out,
                failed: outcomes.failed_total(),
                open: outcomes.unfinished + outcomes.unsent + account.without_ending,
            };
            return Population {
                completed,
                censored,
                // To which part of all they belong is not known.
                open: unknown
                    + match (asked.of, asked.slo.measure) {
                        (None, Measure::First) => self.open_events(account.without_ending)[0],
                        (None, Measure::Gap) => self.open_events(account.without_ending)[1],
                        _ => account.without_ending,
                    },
                history: history.as_ref().unwrap_or(&apart.history),
                counts,
                relief: Relief {
                    of: Subject::Arrivals,
                    hindered,
                    unhindered: None,
                    failed: measured.failed_hindered,
                    timed_out_own: measured.timed_out_hindered,
                    timed_out: outcomes.timed_out,
                    // An arrival has many gaps: it is not known which of them belong to one that was touched.
                    unseen: match (asked.slo.measure, unseen(counts.arrivals)) {
                        (Measure::Gap, 1..) => completed.count() + censored.count(),
                        (_, unseen) => unseen,
                    },
                },
                errors: &apart.ratios.errors,
                mean: &apart.ratios.mean,
            };
        }
        let arrivals = &account.arrivals;
        Population {
            completed: self.totals.track(Series::Response),
            censored: self.totals.track(Series::ResponseCensored),
            open: account.without_ending,
            history: self.histories.response(),
            counts: Counts {
                arrivals: arrivals.scheduled,
                errors: arrivals.failed + arrivals.timed_out,
                failed: arrivals.failed,
                open: arrivals.unfinished + arrivals.unsent,
            },
            relief: Relief {
                of: Subject::Arrivals,
                hindered,
                unhindered: Some(self.totals.track(Series::Unhindered)),
                failed: measured.failed_hindered,
                timed_out_own: measured.timed_out_hindered,
                timed_out: arrivals.timed_out,
                unseen: unseen(arrivals.scheduled),
            },
            errors: &objectives.whole.errors,
            mean: &objectives.whole.mean,
        }
    }
}

/// What an objective on one operation, load or origin looks at, or one on the events of all.
struct Times {
    completed: Track<u64>,
    censored: Track<u64>,
    /// In the place of what was recorded over time, where that is not whole.
    history: Option<History>,
    /// Arrivals of whose times nothing is known.
    unknown: u64,
    outcomes: Outcomes,
}

impl Times {
    fn of(totals: &Bank<u64>, (place, measure): Whose) -> Option<Times> {
        let [completed, censored, _] = measure.series();
        let both = [completed, censored];
        let Some((by, place)) = place else {
            let [completed, censored] = both.map(|series| totals.track(series).clone());
            let outcomes = totals.counters.measured;
            return Some(Times { completed, censored, history: None, unknown: 0, outcomes });
        };
        let records = totals.apart(by);
        let record = records.get(place)?;
        let sums = both.map(|series| record.sums(series));
        let outcomes = record.outcomes;
        if sums.iter().any(|sums| sums.spilled > 0) {
            // Those that found room are no sample of all.
            let unknown = sums.iter().map(|sums| sums.count).sum();
            let none = Track::default();
            let history = Some(History::default());
            return Some(Times { completed: none.clone(), censored: none, history, unknown, outcomes });
        }
        let [completed, censored] = both.map(|series| records.track(place, series));
        Some(Times { completed, censored, history: None, unknown: 0, outcomes })
    }
}

/// Does an objective say how many of these arrivals may fail? One on all arrivals speaks of each request, too, but not of
/// journeys: a few failed requests are many failed journeys.
fn says_how_many_errors(header: &RunHeader, of: Option<Place>) -> bool {
    let asked = header.objectives.slos.iter().filter_map(|text| Slo::parse(text).ok());
    asked.filter(|slo| slo.objective.figure == Figure::Errors).any(|slo| {
        let place = match &slo.name {
            Some(name) => header.part_called(name),
            None => Some(None),
        };
        place == Some(of) || place == Some(None) && subject(of) == Subject::Arrivals
    })
}

fn subject(of: Option<Place>) -> Subject {
    match of {
        Some((Apart::Journey, _)) => Subject::Journeys,
        _ => Subject::Arrivals,
    }
}

fn document(Asked { slo, of, .. }: &Asked, judgement: &Judgement) -> SloResult {
    let windows = slo.windows.as_ref().zip(judgement.windows.as_ref());
    let windows = windows.map(|(asked, counts)| WindowResult {
        length_ns: asked.length.0,
        share_needed: asked.share,
        good: counts.good,
        bad: counts.bad,
        unknown: counts.unknown,
    });
    SloResult {
        slo: slo.to_string(),
        status: judgement.verdict,
        reason: judgement.reason,
        message: judgement.message(slo, subject(*of)),
        name: slo.name.clone(),
        figure: format!("{}{}", slo.measure, slo.objective.figure),
        unit: match slo.objective.figure.unit() {
            Unit::Time => FigureUnit::Ns,
            Unit::Share => FigureUnit::Share,
            Unit::Rate => FigureUnit::PerS,
        },
        relation: slo.objective.relation.to_string(),
        limit: slo.objective.limit,
        value: judgement.value.filter(|_| windows.is_none()),
        is_lower_bound: judgement.is_lower_bound,
        low: judgement.low,
        high: judgement.high,
        samples: judgement.samples,
        windows,
    }
}
