//! Metrics of the service over time.

use super::source::Role;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use unblink_artifact::document::WatchedMetric;
use unblink_metrics::Kind;
use unblink_metrics::api::ByTime;
use unblink_metrics::level::Level;
use unblink_metrics::selector::Selector;

/// What is new of each metric since somebody looked last.
#[derive(Clone, Debug, Default)]
pub(crate) struct News(Arc<Mutex<Vec<Option<f64>>>>);

impl News {
    /// The newest value of each; nothing where there is no new one.
    pub(crate) fn take(&self) -> Vec<Option<f64>> {
        let mut news = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let none = vec![None; news.len()];
        std::mem::replace(&mut *news, none)
    }
}

/// What the metric is, as far as the page says. OpenMetrics calls a counter without the end of its samples' name.
pub(super) fn kind(selector: &Selector, kinds: &HashMap<String, Kind>) -> Option<Kind> {
    let family = || kinds.get(selector.name.strip_suffix("_total")?);
    kinds.get(&selector.name).or_else(family).copied()
}

/// Metrics that are watched.
#[derive(Default)]
pub(super) struct Watched {
    metrics: Vec<Metric>,
    pub news: News,
}

struct Metric {
    selector: Selector,
    /// What it is is known once it was seen.
    level: Option<Level>,
    /// The time of what was told last.
    told_at: f64,
    is_seen: bool,
}

impl Watched {
    pub(super) fn add(&mut self, selector: Selector) {
        self.metrics.push(Metric { selector, level: None, told_at: f64::NEG_INFINITY, is_seen: false });
        self.news.0.lock().unwrap_or_else(PoisonError::into_inner).push(None);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.metrics.is_empty()
    }

    /// Takes samples in for those that they are for. A page has all samples of its time.
    pub(super) fn take(
        &mut self,
        samples: &ByTime,
        kinds: &HashMap<String, Kind>,
        is_page: bool,
        is_for: impl Fn(Role) -> bool,
    ) {
        for (_, metric) in
            self.metrics.iter_mut().enumerate().filter(|(place, _)| is_for(Role::Watch(*place)))
        {
            let Metric { selector, level, is_seen, .. } = metric;
            let kind = kind(selector, kinds);
            let level = level.get_or_insert_with(|| Level::new(selector.clone(), kind));
            for (at, samples) in samples {
                *is_seen |= samples
                    .iter()
                    .any(|sample| sample.name == selector.name && selector.is_met_by(&sample.labels));
                match is_page {
                    true => level.take_page(*at, samples),
                    false => level.take(*at, samples),
                }
            }
        }
    }

    /// Tells what is new. Of a round that failed nothing is, whatever was known before.
    pub(super) fn tell(&mut self, is_answered: bool) {
        if self.is_empty() {
            return;
        }
        let mut news = self.news.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (metric, news) in self.metrics.iter_mut().zip(news.iter_mut()).filter(|_| is_answered) {
            if let Some((at, value)) = metric.level.as_mut().and_then(Level::value)
                && at > metric.told_at
            {
                (metric.told_at, *news) = (at, Some(value));
            }
        }
    }

    /// Those of which nothing was seen.
    pub(super) fn unseen(&self) -> impl Iterator<Item = &Selector> {
        self.metrics.iter().filter(|metric| !metric.is_seen).map(|metric| &metric.selector)
    }

    /// For the run's header.
    pub(super) fn plan(&self) -> Vec<WatchedMetric> {
        let plan = |metric: &Metric| WatchedMetric {
            metric: metric.selector.to_string(),
            per_second: metric.level.as_ref().is_some_and(Level::is_rate),
            is_local: false,
        };
        self.metrics.iter().map(plan).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_metrics::{Sample, Value};

    #[test]
    fn what_is_new_is_told_once() {
        let mut watched = Watched::default();
        watched.add(Selector::parse("m_bytes").expect("one"));
        watched.add(Selector::parse("a_total").expect("one"));
        let sample =
            |name: &str, value| Sample { name: name.into(), labels: Vec::new(), value: Value::Number(value) };
        let round = |watched: &mut Watched, at, values: [f64; 2], is_answered| {
            let samples = vec![(at, vec![sample("m_bytes", values[0]), sample("a_total", values[1])])];
            watched.take(&samples, &HashMap::new(), true, |_| true);
            watched.tell(is_answered);
            watched.news.take()
        };
        assert_eq!(watched.unseen().count(), 2);
        assert_eq!(round(&mut watched, 1.0, [5.0, 100.0], true), [Some(5.0), None]);
        assert_eq!(watched.unseen().count(), 0);
        assert_eq!(watched.plan().iter().map(|of| of.per_second).collect::<Vec<_>>(), [false, true]);
        assert_eq!(round(&mut watched, 1.0, [6.0, 100.0], true), [None, None], "the same sample again");
        assert_eq!(round(&mut watched, 3.0, [6.0, 120.0], true), [Some(6.0), Some(10.0)]);
        assert_eq!(round(&mut watched, 4.0, [7.0, 130.0], false), [None, None], "a gap");
    }
}
