//! `prom(QUERY) > 0.9 for 10s`: a rule on the service's own metrics, beside those on what is measured.

use crate::value;
use std::fmt;
use unblink_analysis::slo::AbortRule;
use unblink_core::time::Nanos;

/// What `--abort-on` takes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum StopRule {
    /// On a figure of ours.
    Figure(AbortRule),
    /// On a metric of the service.
    Metric(MetricRule),
}

/// When a run is to be stopped, whatever users feel.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct MetricRule {
    /// What a Prometheus server is asked, or which metric is looked at on a page.
    pub query: String,
    how: &'static str,
    limit: f64,
    limit_text: String,
    /// For how long it must hold without a break.
    pub hold: Nanos,
}

/// How a rule on metrics begins.
const BEGINS: &str = "prom(";
/// The longer ones first.
const SIGNS: [&str; 4] = [">=", "<=", ">", "<"];

/// Is this to be a rule on metrics?
pub(crate) fn is_of_metric(text: &str) -> bool {
    text.trim_start().starts_with(BEGINS)
}

/// `p99 > 2s for 5s`, or `prom(QUERY) > 0.9 for 10s`.
pub(crate) fn stop_rule(text: &str) -> Result<StopRule, String> {
    match is_of_metric(text) {
        true => MetricRule::parse(text).map(StopRule::Metric),
        false => AbortRule::parse(text).map(StopRule::Figure).map_err(|error| error.to_string()),
    }
}

impl MetricRule {
    fn parse(text: &str) -> Result<MetricRule, String> {
        let wrong =
            |why: &str| format!("{why}; expected a rule such as 'prom(process_open_fds) > 900 for 10s'");
        let rest = text.trim().strip_prefix(BEGINS).ok_or_else(|| wrong("it does not begin with prom("))?;
        // A limit has no parenthesis: what is behind the last one is the condition.
        let (query, condition) =
            rest.rsplit_once(')').ok_or_else(|| wrong("the parenthesis of prom( is not closed"))?;
        if query.trim().is_empty() {
            return Err(wrong("prom() asks nothing"));
        }
        let condition = condition.trim();
        let how = SIGNS.into_iter().find(|sign| condition.starts_with(sign));
        let how = how.ok_or_else(|| wrong("prom(…) must be followed by >, >=, < or <="))?;
        let (limit_text, hold) = condition[how.len()..]
            .split_once(" for ")
            .ok_or_else(|| wrong("how long must it hold? Add a time, such as `for 10s`"))?;
        let limit_text = limit_text.trim();
        let limit = limit_text.parse().ok().filter(|limit: &f64| limit.is_finite());
        let limit = limit.ok_or_else(|| wrong(&format!("{limit_text:?} is not a number")))?;
        Ok(MetricRule {
            query: query.trim().to_string(),
            how,
            limit,
            limit_text: limit_text.to_string(),
            hold: value::duration(hold.trim())?,
        })
    }

    /// Does it hold of any of these values?
    pub(crate) fn holds(&self, values: impl IntoIterator<Item = f64>) -> bool {
        values.into_iter().any(|value| match self.how {
            ">=" => value >= self.limit,
            "<=" => value <= self.limit,
            ">" => value > self.limit,
            _ => value < self.limit,
        })
    }
}

impl fmt::Display for MetricRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hold =
            unblink_report::format::plain(&unblink_report::format::moment(self.hold.0)).replace(' ', "");
        write!(f, "{BEGINS}{}) {} {} for {hold}", self.query, self.how, self.limit_text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> MetricRule {
        match stop_rule(text) {
            Ok(StopRule::Metric(rule)) => rule,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn rules_on_metrics_hold_of_any_value() {
        let high = rule("prom(sum(rate(x_total{a=\"b)\"}[1m])) ) > 0.5 for 10s");
        assert_eq!(
            (high.query.as_str(), high.hold),
            ("sum(rate(x_total{a=\"b)\"}[1m]))", Nanos::from_secs(10))
        );
        assert!(high.holds([0.0, 0.6]) && !high.holds([0.5]) && !high.holds([f64::NAN]) && !high.holds([]));
        assert!(rule("prom(up)<1 for 5s").holds([0.0]) && !rule("prom(up) >= 1 for 5s").holds([0.0]));
        assert_eq!(rule("prom( up )<=1e3 for 5s").to_string(), "prom(up) <= 1e3 for 5s");
        assert!(matches!(stop_rule("p99 > 2s for 5s"), Ok(StopRule::Figure(_))));
    }

    #[test]
    fn what_is_no_rule_says_why() {
        for (text, why) in [
            ("prom(up > 5 for 5s", "not closed"),
            ("prom() > 5 for 5s", "asks nothing"),
            ("prom(up) = 5 for 5s", "followed by >"),
            ("prom(up) > 5", "how long"),
            ("prom(up) > x for 5s", "\"x\" is not a number"),
            ("prom(up) > 5 for ever", "not a time"),
        ] {
            assert!(stop_rule(text).is_err_and(|said| said.contains(why)), "{text}");
        }
    }
}
