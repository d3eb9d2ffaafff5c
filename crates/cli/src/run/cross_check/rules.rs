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

/// Rules, and for how long each has held.
#[derive(Default)]
pub(super) struct Rules {
    all: Vec<Rule>,
    fired: Fired,
}

struct Rule {
    rule: MetricRule,
    /// Of a page: the metric, which has a level once it was seen.
    metric: Option<(Selector, Option<Level>)>,
    /// For how long it has held without a break.
    held: Duration,
    /// When it held last, if nothing is missing since.
    held_at: Option<Duration>,
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
            Ok(Rule { rule, metric, held: Duration::ZERO, held_at: None })
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

    /// The metrics of a page that are looked at.
    pub(super) fn metrics(&self) -> impl Iterator<Item = &Selector> {
        self.all.iter().filter_map(|rule| rule.metric.as_ref()).map(|(selector, _)| selector)
    }

    /// Takes in the samples of a page.
    pub(super) fn take(&mut self, samples: &ByTime, kinds: &HashMap<String, Kind>) {
        for (selector, level) in self.all.iter_mut().filter_map(|rule| rule.metric.as_mut()) {
            let kind = super::watched::kind(selector, kinds);
            let level = level.get_or_insert_with(|| Level::new(selector.clone(), kind));
            samples.iter().for_each(|(at, samples)| level.take_page(*at, samples));
        }
    }

    /// Judges each rule by what is known now. While it can't be asked, a rule neither breaks off nor goes on.
    ///
    /// # Errors
    /// Why one of them can't be judged, with its text.
    pub(super) fn judge(
        &mut self,
        source: &Source,
        is_answered: bool,
        patience: Duration,
    ) -> Result<(), String> {
        let mut why_not = None;
        for (number, rule) in self.all.iter_mut().enumerate() {
            let values = match &mut rule.metric {
                Some((_, level)) if is_answered => {
                    Ok(level.as_mut().and_then(Level::value).map(|(_, value)| vec![value]))
                }
                Some(_) => Ok(None),
                None => source.rule(number, patience).map(Some),
            };
            let values = values.unwrap_or_else(|why| {
                why_not = Some(format!("{}: {why}", rule.rule));
                None
            });
            if rule.look(values, source.now()) {
                let _ = self.fired.0.set(rule.rule.to_string());
            }
        }
        why_not.map_or(Ok(()), Err)
    }
}

impl Rule {
    /// Has it held for its time, with these values now, or with none that are known?
    fn look(&mut self, values: Option<Vec<f64>>, now: Duration) -> bool {
        match values.map(|values| self.rule.holds(values)) {
            Some(true) => {
                self.held += self.held_at.map_or(Duration::ZERO, |at| now - at);
                self.held_at = Some(now);
            }
            Some(false) => (self.held, self.held_at) = (Duration::ZERO, None),
            None => self.held_at = None,
        }
        self.held_at.is_some() && self.held >= Duration::from_nanos(self.rule.hold.0)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::metric_rule::{StopRule, stop_rule};

    #[test]
    fn what_is_missing_neither_breaks_a_rule_off_nor_counts() {
        let Ok(StopRule::Metric(rule)) = stop_rule("prom(a) > 5 for 2s") else { panic!("a rule") };
        let mut rule = Rule { rule, metric: None, held: Duration::ZERO, held_at: None };
        let mut look = |second, value: Option<f64>| {
            rule.look(value.map(|value| vec![value]), Duration::from_secs(second))
        };
        let high = Some(9.0);
        assert!(!look(1, high) && !look(2, high) && look(3, high));
        assert!(!look(4, Some(5.0)) && !look(5, high), "it was broken off");
        assert!(!look(6, high) && !look(7, None) && !look(20, high), "what lies between is not known");
        assert!(look(21, high));
    }
}
