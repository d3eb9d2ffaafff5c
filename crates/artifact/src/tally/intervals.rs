//! From the history of a run to the intervals of its percentiles.

use super::Tally;
use super::event::{Recorded, joined};
use super::loss::Loss;
use crate::document::{
    Distribution, IntervalKind, LoadKind, LoadModel, LoadPhase, LoadPlan, Quantile, Validity,
};
use unblink_analysis::censoring;
use unblink_analysis::finding::FindingCode;
use unblink_analysis::interval::{Answer, EndedBy, History, Method, answers};
use unblink_analysis::quantile::Survival;
use unblink_core::record::{Interval, Outcomes, Series, Track};
use unblink_core::time::Nanos;

/// What the intervals are made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Histories {
    response: History,
    service: History,
}

impl Histories {
    /// Of response time.
    pub(super) fn response(&self) -> &History {
        &self.response
    }

    /// Takes in the next interval.
    pub(super) fn add(&mut self, interval: &Interval) {
        let level = interval.gauges.in_flight + interval.gauges.backlog;
        let of = |series| interval.bank.track(series);
        let (start, length) = (interval.start, interval.length);
        let censored = of(Series::ResponseCensored);
        self.response.add(start, length, level, of(Series::Response), censored);
        let censored = of(Series::ServiceCensored);
        self.service.add(start, length, level, of(Series::Service), censored);
    }
}

/// What the distributions of a run's measured part need to know of it.
#[derive(Clone, Copy)]
pub(super) struct Measured<'a> {
    pub(super) validity: &'a Validity,
    pub(super) from: Nanos,
    pub(super) to: Nanos,
    /// Arrivals without an ending, since the run has none.
    pub(super) open: u64,
    /// Those of them that were sent.
    pub(super) open_in_flight: u64,
    /// Arrivals of machines that were lost, of which nobody knows what came; 0 where no range follows from their number.
    pub(super) lost: u64,
    /// There are such arrivals, counted or not.
    pub(super) has_lost: bool,
}

impl Measured<'_> {
    pub(super) fn new(
        validity: &Validity,
        (from, to): (Nanos, Nanos),
        open: u64,
        in_flight: u64,
    ) -> Measured<'_> {
        Measured { validity, from, to, open, open_in_flight: open.min(in_flight), lost: 0, has_lost: false }
    }

    pub(super) fn with_loss(self, loss: Loss) -> Self {
        Measured { lost: loss.bound(), has_lost: loss != Loss::default(), ..self }
    }

    /// For times of which nobody knows how many are lost.
    pub(super) fn with_countless_lost(self) -> Self {
        Measured { lost: 0, ..self }
    }

    /// Arrivals of an operation, a load or an origin without an ending, since the run has none. How many of those were sent is
    /// known of all together only, so that nothing follows for its service times.
    pub(super) fn open_of(&self, outcomes: &Outcomes) -> u64 {
        if self.open > 0 { outcomes.due.saturating_sub(outcomes.ended()) } else { 0 }
    }
}

impl Tally {
    /// Response time with intervals, and what failures and censoring leave open.
    pub(super) fn response_time(&self, measured: &Measured<'_>) -> Distribution {
        let history = &self.histories.response;
        let tracks = self.tracks(Series::Response, Series::ResponseCensored);
        let mut distribution = self.with_intervals(history, tracks, measured, measured.open);
        let failed = self.totals.track(Series::Failed);
        // What is lost has its part in all arrivals, too.
        if failed.count() > 0 && !measured.has_lost {
            let marks: Vec<u64> = distribution.quantiles.iter().map(|quantile| quantile.value).collect();
            let within = censoring::answered_within(tracks.0, failed, tracks.1, &marks);
            for (quantile, within) in distribution.quantiles.iter_mut().zip(within) {
                quantile.answered_within = Some(within).filter(|_| !quantile.censored);
            }
        }
        distribution
    }

    /// A percentile of response time by what is known while the run goes on, with its interval. What has no answer yet
    /// counts as longer than anything.
    pub(super) fn interval_so_far(
        &self,
        quantile: f64,
        measured: &Measured<'_>,
    ) -> Option<(u64, (u64, u64))> {
        let (completed, censored) = self.tracks(Series::Response, Series::ResponseCensored);
        let survival = Survival::with_open(completed, censored, measured.open);
        let value = survival.quantile(quantile).filter(|value| !value.censored)?.value_ns;
        if !self.is_steady(measured.validity) {
            return None;
        }
        let history = &self.histories.response;
        let found = answers(history, measured.from, measured.to, &survival, &[quantile], EndedBy::Precision);
        let bursts = self.bursts(measured.from, measured.to);
        match found.first()?.in_bursts(quantile, bursts) {
            Answer::Between { low_ns, high_ns, .. } => Some((value, (low_ns, high_ns.max(low_ns)))),
            _ => None,
        }
    }

    /// There is one distribution that intervals can speak of.
    fn is_steady(&self, validity: &Validity) -> bool {
        !is_saturated(validity) && (self.header.model() == LoadModel::Closed || self.is_hold())
    }

    /// How many bursts are expected from `from` to `to`, in that load of the bursty ones that has the fewest.
    pub(super) fn bursts(&self, from: Nanos, to: Nanos) -> Option<f64> {
        let bursty = self.header.loads.iter().filter_map(|load| load.process()?.bursts());
        let cycles =
            bursty.map(|(_, bursts)| (to - from).as_secs_f64() / (bursts.on + bursts.off).as_secs_f64());
        cycles.reduce(f64::min)
    }

    /// For service times. An arrival that is tried again has several of them: how many those that are lost had is not known.
    pub(super) fn of_attempts<'a>(&self, measured: Measured<'a>) -> Measured<'a> {
        let is_once = self.header.plan.retry.is_none();
        if is_once { measured } else { measured.with_countless_lost() }
    }

    /// Service time with intervals.
    pub(super) fn service_time(&self, measured: &Measured<'_>) -> Distribution {
        let tracks = self.tracks(Series::Service, Series::ServiceCensored);
        let of_attempts = self.of_attempts(*measured);
        self.with_intervals(&self.histories.service, tracks, &of_attempts, measured.open_in_flight)
    }

    fn tracks(&self, completed: Series, censored: Series) -> (&Track<u64>, &Track<u64>) {
        (self.totals.track(completed), self.totals.track(censored))
    }

    pub(super) fn with_intervals(
        &self,
        history: &History,
        (completed, censored): (&Track<u64>, &Track<u64>),
        &Measured { validity, from, to, lost, has_lost, .. }: &Measured<'_>,
        open_at_end: u64,
    ) -> Distribution {
        let survival = Survival::with_open(completed, censored, open_at_end);
        let mut distribution = super::distribution::of_survival(&survival, completed, censored.max_ns);
        let printed: Vec<f64> = distribution.quantiles.iter().map(|quantile| quantile.q).collect();
        let ended = if self.may_have_stopped(to) { EndedBy::Precision } else { EndedBy::Plan };
        let found = match self.is_steady(validity) {
            true => {
                let found = answers(history, from, to, &survival, &printed, ended).into_iter().zip(&printed);
                let bursts = self.bursts(from, to);
                found.map(|(answer, &q)| answer.in_bursts(q, bursts)).collect()
            }
            false => Vec::new(),
        };
        let events = joined(found.iter().filter_map(|answer| match *answer {
            Answer::OneEvent { from, to } => Some((from, to)),
            _ => None,
        }));
        for (i, quantile) in distribution.quantiles.iter_mut().enumerate() {
            match found.get(i) {
                _ if open_at_end > 0 => quantile.interval = Some(IntervalKind::Killed),
                _ if has_lost => quantile.interval = Some(IntervalKind::Lost),
                Some(answer) => self.put(quantile, answer, &events),
                None => quantile.interval = Some(IntervalKind::NotSteady),
            }
            let open = survival.censored() as f64;
            if open > 0.0
                && open_at_end == 0
                && (is_saturated(validity) || open > (1.0 - quantile.q) * survival.count() as f64)
            {
                let extremes = censoring::extremes(completed, censored, quantile.q);
                quantile.if_answered_now = extremes.map(|e| e.if_answered_now_ns);
                quantile.if_never = extremes.and_then(|e| e.if_never_ns);
            }
        }
        put_ranges(&mut distribution, &survival, lost);
        distribution
    }

    fn put(&self, quantile: &mut Quantile, answer: &Answer, events: &[Recorded]) {
        quantile.interval = Some(match *answer {
            Answer::Between { low_ns, high_ns, method } => {
                quantile.low = Some(low_ns);
                quantile.high = Some(high_ns.max(low_ns));
                match method {
                    Method::BlockBootstrap => IntervalKind::BlockBootstrap,
                    Method::Exact => IntervalKind::Exact,
                }
            }
            Answer::Above { low_ns } => {
                quantile.low = Some(low_ns);
                IntervalKind::Censored
            }
            Answer::NotEnoughData => IntervalKind::NotEnoughData,
            Answer::OneEvent { from, to } => {
                let event = events.iter().copied().find(|event| event.0 <= from && to <= event.1);
                let at_ns = self.event_at_ns(event.unwrap_or((from, to)));
                quantile.event_at_ns = Some(at_ns.unwrap_or(from.0));
                IntervalKind::OneEvent
            }
            Answer::FewEvents { events } => {
                quantile.events = Some(events);
                IntervalKind::FewEvents
            }
            Answer::TooShort { needed } => {
                quantile.needed_ns = Some(needed.0);
                IntervalKind::TooShort
            }
        });
    }

    /// The measured load has one constant rate; of several loads each has, from beginning to end.
    pub(super) fn is_hold(&self) -> bool {
        let plan = &self.header.plan;
        let goes_on = |load: &LoadPlan| match &load.kind {
            LoadKind::Open { phases, start_ns, .. } => {
                let length_ns = phases.iter().fold(0u64, |sum, phase| sum.saturating_add(phase.duration_ns));
                *start_ns == 0 && length_ns == plan.duration_ns && holds(phases)
            }
            LoadKind::Closed { .. } => false,
        };
        let loads = &self.header.loads;
        holds(&plan.phases) && (loads.len() == 1 || loads.iter().all(goes_on))
    }
}

/// Where so many arrivals are lost, each percentile lies between all of them answered at once and none of them ever.
pub(super) fn put_ranges(distribution: &mut Distribution, survival: &Survival, lost: u64) {
    for quantile in &mut distribution.quantiles {
        if let Some((at_once, never)) = survival.with_lost(quantile.q, lost).filter(|_| lost > 0) {
            (quantile.if_lost_at_once, quantile.if_lost_never) = (Some(at_once), never);
        }
    }
}

/// One rate throughout.
fn holds(phases: &[LoadPhase]) -> bool {
    phases.iter().all(|p| p.from_per_s == p.to_per_s && p.from_per_s == phases[0].from_per_s)
}

/// Times are those of a queue that only grows.
fn is_saturated(validity: &Validity) -> bool {
    validity.findings.iter().any(|f| f.code == FindingCode::Saturated.code())
}
