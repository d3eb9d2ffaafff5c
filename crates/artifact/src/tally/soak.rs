//! Drift over a soak, from the rows over time and from what was watched beside them.

use super::{Ending, Tally};
use crate::document::{Soak, SoakFigure, WatchSample, WatchedMetric, WatchedSeries};
use unblink_analysis::shapes::soak::{Drift, Points, Watched, drift, settled};
use unblink_core::time::Nanos;

/// Samples at most; in a longer run every other one is kept.
const SAMPLES_MAX: usize = 1_200;

/// What was watched so far, in memory that does not grow with the run's length.
#[derive(Clone, Debug, Default)]
pub(super) struct Watches {
    samples: Vec<WatchSample>,
    seen: u64,
    /// Of this many samples one is kept.
    every: u64,
}

impl Watches {
    fn add(&mut self, sample: &WatchSample) {
        self.every = self.every.max(1);
        if self.seen.is_multiple_of(self.every) {
            if self.samples.len() == SAMPLES_MAX {
                let mut number = 0;
                self.samples.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.every *= 2;
            }
            self.samples.push(sample.clone());
        }
        self.seen += 1;
    }

    fn points(&self, of: impl Fn(&WatchSample) -> Option<u64>) -> Points {
        self.samples.iter().filter_map(|s| Some((Nanos(s.at_ns), of(s)? as f64))).collect()
    }

    fn of_metric(&self, place: usize) -> Points {
        let value = |s: &WatchSample| Some((Nanos(s.at_ns), (*s.metrics.get(place)?)?));
        self.samples.iter().filter_map(value).collect()
    }
}

impl Tally {
    /// Takes in what was seen beside the load.
    pub fn watch(&mut self, sample: &WatchSample) {
        self.watches.add(sample);
    }

    /// Metrics of the service over the time of the document.
    pub(super) fn watched(&self) -> Vec<WatchedSeries> {
        let is_within = |at: &Nanos| match &self.part {
            Some(part) => (part.from_ns..=part.to_ns).contains(&at.0),
            None => true,
        };
        let of_one = |(place, of): (usize, &WatchedMetric)| {
            let points = self.watches.of_metric(place).into_iter().filter(|(at, _)| is_within(at));
            WatchedSeries { of: of.clone(), points: points.map(|(at, value)| (at.0, value)).collect() }
        };
        self.header.watch.metrics.iter().enumerate().map(of_one).collect()
    }

    /// What drifted between the measured begin and the end of the load.
    pub(super) fn soak(&self, ending: &Ending) -> Soak {
        let window = settled(self.measured_from(), ending.ended_after);
        let rows = self.rows.soak_points();
        let series = [
            (Watched::P50, rows.p50),
            (Watched::P99, rows.p99),
            (Watched::Errors, rows.errors),
            (Watched::Connections, rows.connections),
            (Watched::Memory, self.watches.points(|s| s.memory_bytes)),
            (Watched::Descriptors, self.watches.points(|s| s.descriptors)),
            (Watched::Size, self.watches.points(|s| s.size_bytes)),
        ];
        let found = series.iter().filter_map(|(watched, points)| drift(*watched, points, window));
        let of_service = self.header.watch.metrics.iter().enumerate().filter_map(|(place, of)| {
            let found = drift(Watched::Metric, &self.watches.of_metric(place), window)?;
            Some(SoakFigure { metric: Some(of.metric.clone()), ..figure(&found) })
        });
        Soak {
            from_ns: window.0.0,
            to_ns: window.1.0,
            watched: self.header.watch.clone(),
            figures: found.map(|drift| figure(&drift)).chain(of_service).collect(),
        }
    }
}

/// Figures over time, each at the middle of its row.
#[derive(Default)]
pub(super) struct SoakPoints {
    pub(super) p50: Points,
    pub(super) p99: Points,
    pub(super) errors: Points,
    pub(super) connections: Points,
}

fn figure(drift: &Drift) -> SoakFigure {
    SoakFigure {
        figure: drift.watched,
        metric: None,
        level: drift.trend.level,
        change: drift.trend.change,
        low: drift.trend.low,
        high: drift.trend.high,
        findable: drift.trend.findable,
        is_drift: drift.is_drift,
    }
}
