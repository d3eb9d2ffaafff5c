//! Drift over a soak, from the rows over time and from what was watched beside them.

use super::{Ending, Tally};
use crate::document::{Soak, SoakFigure, WatchPlan, WatchSample, WatchedMetric, WatchedSeries};
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

    /// Seconds per second of what counts ns, from sample to sample; none where the count has begun anew, and none over less than
    /// half of the usual distance: within a tick of its clock a count stands still, or leaps.
    fn growth(&self, of: impl Fn(&WatchSample) -> Option<u64>) -> Points {
        let counts: Vec<(u64, u64)> = self.samples.iter().filter_map(|s| Some((s.at_ns, of(s)?))).collect();
        let usual = usual_distance(counts.iter().map(|(at, _)| *at));
        let between = |two: &[(u64, u64)]| {
            let [(from, before), (to, after)] = <[_; 2]>::try_from(two).ok()?;
            let time = to.checked_sub(from).filter(|time| *time > 0 && *time >= usual / 2)?;
            let more = after.checked_sub(before)?;
            Some((Nanos(to), more as f64 / time as f64))
        };
        counts.windows(2).filter_map(between).collect()
    }

    /// Of the watched process, its cgroup and files, by the names that services give theirs; none of what was never seen.
    fn local(&self, plan: &WatchPlan) -> Vec<(WatchedMetric, Points)> {
        let process = plan.pid.map(|pid| format!("{{pid=\"{pid}\"}}")).unwrap_or_default();
        let path = plan.path.as_ref().map(|path| format!("{{path={path:?}}}")).unwrap_or_default();
        let gauge = |name: &str, of: &str, points| (format!("{name}{of}"), false, points);
        let counter = |name: &str, of: &str, points| (format!("{name}{of}"), true, points);
        [
            gauge("process_resident_memory_bytes", &process, self.points(|s| s.memory_bytes)),
            gauge("process_open_fds", &process, self.points(|s| s.descriptors)),
            counter("process_cpu_seconds_total", &process, self.growth(|s| s.cpu_ns)),
            counter("cgroup_throttled_seconds_total", &process, self.growth(|s| s.throttled_ns)),
            gauge("file_size_bytes", &path, self.points(|s| s.size_bytes)),
        ]
        .into_iter()
        .filter(|(.., points)| !points.is_empty())
        .map(|(metric, per_second, points)| (WatchedMetric { metric, per_second, is_local: true }, points))
        .collect()
    }

    /// Of a counter its growth, and none over less than half of the usual distance.
    fn of_metric(&self, place: usize, of: &WatchedMetric) -> Points {
        let value = |s: &WatchSample| Some((Nanos(s.at_ns), (*s.metrics.get(place)?)?));
        let mut points: Points = self.samples.iter().filter_map(value).collect();
        if of.per_second {
            let usual = usual_distance(points.iter().map(|(at, _)| at.0));
            let mut before: Option<u64> = None;
            points.retain(|(at, _)| {
                let is_whole = before.is_none_or(|before| at.0.saturating_sub(before) >= usual / 2);
                before = Some(at.0);
                is_whole
            });
        }
        points
    }
}

/// From sample to sample, in ns: the median.
fn usual_distance(at: impl Iterator<Item = u64>) -> u64 {
    let at: Vec<u64> = at.collect();
    let mut distances: Vec<u64> = at.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied().unwrap_or(0)
}

impl Tally {
    /// Takes in what was seen beside the load.
    pub fn watch(&mut self, sample: &WatchSample) {
        self.watches.add(sample);
    }

    /// What was watched, over the time of the document.
    pub(super) fn watched(&self) -> Vec<WatchedSeries> {
        let is_within = |at: &Nanos| match &self.part {
            Some(part) => (part.from_ns..=part.to_ns).contains(&at.0),
            None => true,
        };
        let series = |(of, points): (WatchedMetric, Points)| {
            let points = points.into_iter().filter(|(at, _)| is_within(at));
            WatchedSeries { of, points: points.map(|(at, value)| (at.0, value)).collect() }
        };
        let metrics = self.header.watch.metrics.iter().enumerate();
        let told = metrics.map(|(place, of)| (of.clone(), self.watches.of_metric(place, of)));
        told.chain(self.watches.local(&self.header.watch)).map(series).collect()
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
            let found = drift(Watched::Metric, &self.watches.of_metric(place, of), window)?;
            Some(SoakFigure { metric: Some(of.metric.clone()), ..figure(&found) })
        });
        // Memory, descriptors and sizes have names of their own.
        let local = self.watches.local(&self.header.watch).into_iter().filter(|(of, _)| of.per_second);
        let local = local.filter_map(|(of, points)| {
            let found = drift(Watched::Metric, &points, window)?;
            Some(SoakFigure { metric: Some(of.metric), ..figure(&found) })
        });
        Soak {
            from_ns: window.0.0,
            to_ns: window.1.0,
            watched: self.header.watch.clone(),
            figures: found.map(|drift| figure(&drift)).chain(of_service).chain(local).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The last sample comes as the load ends, right after the one before.
    #[test]
    fn a_count_over_a_moment_is_no_growth() {
        const S: u64 = 1_000_000_000;
        let mut watches = Watches::default();
        let of = WatchedMetric { per_second: true, ..WatchedMetric::default() };
        for (at_ns, cpu_ns, per_s) in [
            (S, S / 10, 5.0),
            (2 * S, S / 5, 5.0),
            (3 * S, S * 3 / 10, 5.0),
            (3 * S + 10_000_000, S * 3 / 10, 0.0),
        ] {
            let metrics = vec![Some(per_s)];
            watches.add(&WatchSample { at_ns, cpu_ns: Some(cpu_ns), metrics, ..WatchSample::default() });
        }
        let at = |points: Points| points.iter().map(|(at, _)| at.0).collect::<Vec<_>>();
        assert_eq!(at(watches.growth(|s| s.cpu_ns)), [2 * S, 3 * S]);
        assert_eq!(at(watches.of_metric(0, &of)), [S, 2 * S, 3 * S]);
        let level = WatchedMetric { per_second: false, ..of };
        assert_eq!(watches.of_metric(0, &level).len(), 4, "a level is a level");
    }
}
