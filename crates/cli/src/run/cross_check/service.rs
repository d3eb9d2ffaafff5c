//! What the service's own metrics come to, sample by sample.

use super::source::{Answered, Role};
use super::watched::Watched;
use crate::args::cross_check::unit_ns;
use std::collections::BTreeSet;
use unblink_analysis::quantile::QUANTILES;
use unblink_artifact::document::{ServiceLatency, ServiceQuantile};
use unblink_metrics::growth::{Growth, SERIES_MAX, take_histograms, take_numbers};
use unblink_metrics::histogram::Histogram;
use unblink_metrics::selector::Selector;

/// Problems that are told by themselves.
const PROBLEMS_MAX: usize = 10;
/// New starts that are told apart.
const RESETS_MAX: usize = 1_000;
/// A series without a sample for so long before the end is gone, in seconds: it has no last sample to wait for.
const GONE_AFTER_S: f64 = 150.0;

/// Each metric that is asked for.
#[derive(Default)]
pub(super) struct Service {
    latency: Option<(Selector, Growth<Histogram>)>,
    requests: Option<(Selector, Growth<f64>)>,
    errors: Option<(Selector, Growth<f64>)>,
    /// What is watched over time.
    pub watched: Watched,
    /// Times at which something began anew.
    resets: BTreeSet<u64>,
    pub asked: u64,
    pub failed: u64,
    problems: Vec<String>,
    /// What is said of metrics of which nothing was seen, if that stays so.
    pub unknown: Vec<String>,
}

impl Service {
    pub(super) fn new(metrics: &[(Role, Selector)]) -> Service {
        let mut service = Service::default();
        for (role, selector) in metrics {
            match role {
                Role::Latency => service.latency = Some((selector.clone(), Growth::default())),
                Role::Requests => service.requests = Some((selector.clone(), Growth::default())),
                Role::Errors => service.errors = Some((selector.clone(), Growth::default())),
                Role::Watch(_) => service.watched.add(selector.clone()),
            }
        }
        service
    }

    /// Takes in what came of one round of questions. Says whether all of it was answered.
    pub(super) fn take(&mut self, answers: &[Result<Answered, String>]) -> bool {
        self.asked += 1;
        for answered in answers.iter().flatten() {
            self.take_answer(answered);
        }
        let failed = answers.iter().find_map(|answer| answer.as_ref().err());
        self.failed += u64::from(failed.is_some());
        if let Some(why) = failed {
            self.problem(format!("a question failed: {why}"));
        }
        self.watched.tell(failed.is_none());
        failed.is_none()
    }

    fn take_answer(&mut self, Answered { role, samples, kinds }: &Answered) {
        let is_for = |own: Role| role.is_none_or(|role| role == own);
        self.watched.take(samples, kinds, role.is_none(), is_for);
        for (at, samples) in samples {
            let before = self.resets_seen();
            let mut wrong = None;
            if let Some((selector, growth)) = self.latency.as_mut().filter(|_| is_for(Role::Latency)) {
                wrong = take_histograms(growth, selector, *at, samples)
                    .err()
                    .map(|why| format!("{selector}: {why}"));
            }
            for (own, of) in [(Role::Requests, &mut self.requests), (Role::Errors, &mut self.errors)] {
                if let Some((selector, growth)) = of.as_mut().filter(|_| is_for(own)) {
                    take_numbers(growth, selector, *at, samples);
                }
            }
            wrong.into_iter().for_each(|why| self.problem(why));
            if self.resets_seen() > before && self.resets.len() < RESETS_MAX {
                self.resets.insert(at.to_bits());
            }
        }
    }

    /// Of each series.
    fn resets_seen(&self) -> u64 {
        let numbers = [&self.requests, &self.errors].into_iter().flatten();
        numbers.map(|(_, growth)| growth.resets).sum::<u64>()
            + self.latency.as_ref().map_or(0, |(_, growth)| growth.resets)
    }

    /// Notes what keeps the check from being whole, once.
    pub(super) fn problem(&mut self, what: String) {
        if self.problems.len() < PROBLEMS_MAX && !self.problems.contains(&what) {
            self.problems.push(what);
        }
    }

    /// The first of them.
    pub(super) fn first_problem(&self) -> Option<&str> {
        self.problems.first().map(String::as_str)
    }

    /// The metrics of which nothing was seen, with their flags.
    pub(super) fn unseen(&self) -> Vec<(&'static str, &Selector)> {
        let latency = self.latency.as_ref().filter(|(_, growth)| !growth.is_seen());
        let unseen = |of: &'_ Option<(Selector, Growth<f64>)>| {
            of.as_ref().is_some_and(|(_, growth)| !growth.is_seen())
        };
        let mut all: Vec<(&'static str, &Selector)> = Vec::new();
        all.extend(latency.map(|(selector, _)| ("cross-check-latency", selector)));
        for (flag, of) in [("cross-check-requests", &self.requests), ("cross-check-errors", &self.errors)] {
            all.extend(of.as_ref().filter(|_| unseen(of)).map(|(selector, _)| (flag, selector)));
        }
        all.extend(self.watched.unseen().map(|selector| ("cross-check-watch", selector)));
        all
    }

    /// What comes from now on is of the load.
    pub(super) fn begin(&mut self) {
        self.each(|growth| growth.begin(), |growth| growth.begin());
    }

    /// The first sample at this time or later is the last.
    pub(super) fn end_at(&mut self, until: f64) {
        self.each(|growth| growth.end_at(until), |growth| growth.end_at(until));
    }

    fn each(&mut self, numbers: impl Fn(&mut Growth<f64>), histograms: impl Fn(&mut Growth<Histogram>)) {
        [&mut self.requests, &mut self.errors].into_iter().flatten().for_each(|(_, growth)| numbers(growth));
        self.latency.iter_mut().for_each(|(_, growth)| histograms(growth));
    }

    /// Every series that still lives has its last sample.
    pub(super) fn is_over(&self) -> bool {
        let numbers = [&self.requests, &self.errors].into_iter().flatten();
        numbers.filter(|(_, growth)| growth.is_seen()).all(|(_, growth)| growth.is_over(GONE_AFTER_S))
            && self.latency.as_ref().is_none_or(|(_, growth)| growth.is_over(GONE_AFTER_S))
    }

    /// The time of the latest sample before the load, and of the latest of all.
    pub(super) fn between(&self) -> (Option<f64>, Option<f64>) {
        let numbers = [&self.requests, &self.errors].into_iter().flatten();
        let numbers = numbers.map(|(_, growth)| (growth.from, growth.latest()));
        let all = numbers.chain(self.latency.iter().map(|(_, growth)| (growth.from, growth.latest())));
        all.fold((None, None), |(from, to), (a, b)| (later(from, a), later(to, b)))
    }

    /// How many requests it has answered: the counter, or the histogram's own count.
    pub(super) fn requests(&self) -> Option<(String, u64)> {
        let of_histogram = || {
            let (selector, growth) = self.latency.as_ref()?;
            Some((selector.called(format!("{}_count", selector.name)).to_string(), whole(growth.grown.count)))
        };
        self.requests.as_ref().map(counted).or_else(of_histogram)
    }

    /// How many errors it has counted.
    pub(super) fn errors(&self) -> Option<(String, u64)> {
        self.errors.as_ref().map(counted)
    }

    /// Its response times.
    pub(super) fn latency(&self) -> Option<ServiceLatency> {
        let (selector, growth) = self.latency.as_ref()?;
        let (grown, unit) = (&growth.grown, unit_ns(&selector.name)?);
        let is_told = |q: &f64| grown.count * (1.0 - q) >= 1.0;
        let quantile = |q: f64| {
            let bounds = grown.quantile(q)?;
            Some(ServiceQuantile {
                q,
                lower_ns: ns(bounds.lower * unit),
                upper_ns: (bounds.upper.is_finite()).then(|| ns(bounds.upper * unit)),
            })
        };
        let mean = grown.sum / grown.count * unit;
        Some(ServiceLatency {
            metric: selector.to_string(),
            count: whole(grown.count),
            mean_ns: Some(mean).filter(|mean| mean.is_finite()),
            quantiles: QUANTILES.into_iter().filter(is_told).filter_map(quantile).collect(),
        })
    }

    /// How often it began anew.
    pub(super) fn resets(&self) -> u64 {
        self.resets.len() as u64
    }

    /// What kept the check from being whole.
    pub(super) fn problems(mut self) -> Vec<String> {
        let cut = [&self.requests, &self.errors].into_iter().flatten().any(|(_, growth)| growth.is_cut)
            || self.latency.as_ref().is_some_and(|(_, growth)| growth.is_cut);
        if cut {
            self.problem(format!("a metric has more than {SERIES_MAX} series, and the others are left out"));
        }
        if !self.unseen().is_empty() {
            std::mem::take(&mut self.unknown).into_iter().for_each(|why| self.problem(why));
        }
        self.problems
    }
}

fn later(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().reduce(f64::max)
}

fn counted((selector, growth): &(Selector, Growth<f64>)) -> (String, u64) {
    (selector.to_string(), whole(growth.grown))
}

/// Counts are whole; what a float has become too large for is the largest.
fn whole(count: f64) -> u64 {
    count.round().max(0.0) as u64
}

fn ns(value: f64) -> u64 {
    value.round().max(0.0) as u64
}
