//! `--abort-on 'prom(…) > …'`: rules on the service's own metrics.

use super::source::Source;
use crate::args::metric_rule::MetricRule;
use crate::observe::{End, Observer};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use unblink_artifact::document::Aborted;
use unblink_artifact::tally::Tally;
use unblink_core::record::Interval;
use unblink_core::time::Nanos;
use unblink_metrics::Kind;
use unblink_metrics::api::ByTime;
use unblink_metrics::level::Level;
use unblink_metrics::selector::Selector;

/// The rule that has held for its time, once one has.
#[derive(Clone, Debug, Default)]
pub(super) struct Fired(Arc<OnceLock<String>>);

/// Rules, and since when each holds.
#[derive(Default)]
pub(super) struct Rules {
    all: Vec<Rule>,
    fired: Fired,
}

struct Rule {
    rule: MetricRule,
    /// Of a page: the metric, which has a level once it was seen.
    metric: Option<(Selector, Option<Level>)>,
    since: Option<Duration>,
}

impl Rules {
    /// Of a page, each is of one metric.
    ///
    /// # Errors
    /// Which rule is not, by its number, and why.
    pub(super) fn new(rules: Vec<MetricRule>, is_prometheus: bool) -> Result<Rules, (usize, String)> {
        let of_one = |(number, rule): (usize, MetricRule)| {
            let selector = Selector::parse(&rule.query).map_err(|why| (number, why));
            let metric = if is_prometheus { None } else { Some((selector?, None)) };
            Ok(Rule { rule, metric, since: None })
        };
        let all = rules.into_iter().enumerate().map(of_one).collect::<Result<_, _>>()?;
        Ok(Rules { all, fired: Fired::default() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn fired(&self) -> Fired {
        self.fired.clone()
    }

    /// Takes in the samples of a page.
    pub(super) fn take(&mut self, samples: &ByTime, kinds: &HashMap<String, Kind>) {
        for (selector, level) in self.all.iter_mut().filter_map(|rule| rule.metric.as_mut()) {
            let kind = super::watched::kind(selector, kinds);
            let level = level.get_or_insert_with(|| Level::new(selector.clone(), kind));
            samples.iter().for_each(|(at, samples)| level.take(*at, samples));
        }
    }

    /// Judges each rule by what is known now. What can't be asked neither holds nor breaks off.
    ///
    /// # Errors
    /// Why one of them can't be judged, with its text.
    pub(super) fn judge(&mut self, source: &Source, patience: Duration) -> Result<(), String> {
        let mut why_not = None;
        for (number, Rule { rule, metric, since }) in self.all.iter_mut().enumerate() {
            let values = match metric {
                Some((_, level)) => level.as_mut().and_then(Level::value).map(|(_, value)| vec![value]),
                None => match source.rule(number, patience) {
                    Ok(values) => Some(values),
                    Err(why) => {
                        why_not = Some(format!("{rule}: {why}"));
                        None
                    }
                },
            };
            let Some(values) = values else { continue };
            let now = source.now();
            *since = rule.holds(values).then(|| since.unwrap_or(now));
            if since.is_some_and(|since| now - since >= Duration::from_nanos(rule.hold.0)) {
                let _ = self.fired.0.set(rule.to_string());
            }
        }
        why_not.map_or(Ok(()), Err)
    }
}

/// Ends the load at the next interval.
pub(crate) struct Stopping {
    pub(super) fired: Fired,
    pub(super) load_to: Nanos,
}

impl Observer for Stopping {
    fn look(&mut self, interval: &Interval, _: &mut Tally) -> Option<End> {
        let end = interval.start + interval.length;
        let rule = self.fired.0.get().filter(|_| end <= self.load_to)?;
        Some(End::Aborted(Aborted { rule: rule.clone(), at_ns: end.0, guard: None }))
    }
}
