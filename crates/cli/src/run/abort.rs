//! `--abort-on`: stops a run that hurts.

use crate::observe::{End, Observer};
use unblink_analysis::slo::{AbortRule, AbortWatch, Measure, Outstanding, Stretch, Unit};
use unblink_artifact::document::Aborted;
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::Tally;
use unblink_core::record::{Apart, Interval};
use unblink_core::time::Nanos;

/// Looks at each interval of a run.
pub(crate) struct Watch {
    rules: Vec<Rule>,
    measured_from: Nanos,
    load_to: Nanos,
    has_fired: bool,
    /// From here on a machine of several has no part in what comes.
    lacking_from: Option<Nanos>,
    passed_over: Option<PassedOver>,
}

/// A rule that has held where it says nothing of the target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PassedOver {
    pub rule: String,
    /// Since when a machine is missing, after t = 0.
    pub lacking_from: Nanos,
}

struct Rule {
    text: String,
    watch: AbortWatch,
    measure: Measure,
    /// The request, load or origin that it speaks of; `None`: all arrivals.
    of: Option<(Apart, usize)>,
    outstanding: Option<Outstanding>,
    is_passed_over: bool,
}

impl Watch {
    /// For the rules of `header`, which were checked when the run was prepared.
    pub(crate) fn new(header: &RunHeader) -> Watch {
        let rules = header.objectives.abort_on.iter().filter_map(|text| {
            let rule = AbortRule::parse(text).ok()?;
            let of = match &rule.name {
                Some(name) => header.part_called(name)?,
                None => None,
            };
            let is_only = header.operations.len() <= 1;
            let outstanding = || Outstanding::beyond(rule.measure, &rule.condition, is_only);
            Some(Rule {
                text: text.clone(),
                watch: AbortWatch::new(&rule),
                measure: rule.measure,
                of,
                outstanding: if of.is_none() { outstanding() } else { None },
                is_passed_over: false,
            })
        });
        Watch {
            rules: rules.collect(),
            measured_from: Nanos(header.plan.warmup_ns),
            load_to: Nanos(header.plan.warmup_ns.saturating_add(header.plan.duration_ns)),
            has_fired: false,
            lacking_from: None,
            passed_over: None,
        }
    }

    /// A machine has no part in `interval`, nor in what comes after it: from there on a rate of all says nothing of the target. A share,
    /// or a percentile, is as it was: it speaks of the arrivals of those who are left.
    pub(crate) fn lacks_a_machine(&mut self, interval: &Interval) {
        self.lacking_from.get_or_insert(interval.start);
    }

    /// The load ends then, before its planned end: what comes later says nothing of how the target bears it.
    pub(crate) fn ends_at(&mut self, at: Nanos) {
        self.load_to = self.load_to.min(at);
    }

    /// The rule that has held and was passed over for that; told once.
    pub(crate) fn passed_over(&mut self) -> Option<PassedOver> {
        self.passed_over.take()
    }
}

impl Rule {
    fn is_on_a_rate(&self) -> bool {
        self.watch.good().figure.unit() == Unit::Rate
    }
}

impl Observer for Watch {
    /// Ends the load when a rule has held for its time; the first that has, and once.
    fn look(&mut self, interval: &Interval, _: &mut Tally) -> Option<End> {
        let end = interval.start + interval.length;
        let mut fired = None;
        for rule in &mut self.rules {
            let stuck = rule.outstanding.as_mut().map_or((0, 0), |outstanding| outstanding.add(interval));
            // The warm-up is recorded in no figure, and after the load there is nothing to stop.
            if self.has_fired || interval.start < self.measured_from || end > self.load_to {
                continue;
            }
            let part = Stretch::of_interval(rule.watch.good(), rule.measure, interval, rule.of);
            if rule.is_passed_over || !rule.watch.look(interval.length, &part.with_stuck(stuck)) {
                continue;
            }
            if let Some(lacking_from) = self.lacking_from.filter(|_| rule.is_on_a_rate()) {
                rule.is_passed_over = true;
                self.passed_over = Some(PassedOver { rule: rule.text.clone(), lacking_from });
            } else {
                self.has_fired = true;
                fired = Some(End::Aborted(Aborted { rule: rule.text.clone(), at_ns: end.0, guard: None }));
            }
        }
        fired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(rules: &[&str]) -> RunHeader {
        let json = serde_json::json!({
            "tool": {"name": "unblink", "version": "0.1.0"}, "started_at": "2026-11-20T09:15:00Z", "command": [],
            "environment": {"kernel": "", "cpu": "", "cores": 1, "file_descriptors_max": 1, "local_ports": 1},
            "plan": {"summary": "", "phases": [], "warmup_ns": 0, "duration_ns": 10_000_000_000_u64, "timeout_ns": 1,
                "drain_ns": 1, "threads": 1},
            "loads": [{"model": "closed", "users": 1, "think_ns": 0}],
            "origins": [{"scheme": "http", "host": "h", "port": 80, "connections": {"mode": "fixed", "limit": 1}}],
            "targets": [], "protocol_failures": [], "operations": [],
            "objectives": {"slos": [], "abort_on": rules},
        });
        serde_json::from_value(json).expect("a header")
    }

    /// A second in which 100 were answered and as many failed.
    fn second(start_s: u64) -> Interval {
        let mut interval = Interval::empty(1);
        (interval.start, interval.length) = (Nanos::from_secs(start_s), Nanos::from_secs(1));
        let measured = &mut interval.bank.counters.measured;
        (measured.due, measured.sent, measured.ok, measured.failed[0]) = (200, 200, 100, 100);
        interval
    }

    /// Gives the rule that fires within three seconds, and the one that was passed over for it.
    fn held(rules: &[&str], lacking: bool) -> (Option<String>, Option<PassedOver>) {
        let header = header(rules);
        let (mut tally, mut watch) = (Tally::new(header.clone()), Watch::new(&header));
        let (mut fired, mut passed) = (None, None);
        for second in (0..3).map(second) {
            if lacking && second.start > Nanos::ZERO {
                watch.lacks_a_machine(&second);
            }
            if let Some(End::Aborted(by)) = watch.look(&second, &mut tally) {
                fired = fired.or(Some(by.rule));
            }
            passed = passed.or(watch.passed_over());
        }
        (fired, passed)
    }

    #[test]
    fn a_load_that_was_stopped_is_looked_at_up_to_there() {
        for (ends_at_s, fires) in [(3, true), (1, false)] {
            let header = header(&["achieved < 150/s for 2s"]);
            let (mut tally, mut watch) = (Tally::new(header.clone()), Watch::new(&header));
            watch.ends_at(Nanos::from_secs(ends_at_s));
            let fired = (0..3).map(second).any(|second| watch.look(&second, &mut tally).is_some());
            assert_eq!(fired, fires, "{ends_at_s} s");
        }
    }

    #[test]
    fn a_rate_says_nothing_of_the_target_while_a_machine_is_missing() {
        let (rate, share) = ("achieved < 150/s for 2s", "errors > 40% for 3s");
        assert_eq!(held(&[rate, share], false), (Some(rate.into()), None));
        let passed = PassedOver { rule: rate.into(), lacking_from: Nanos::from_secs(1) };
        assert_eq!(
            held(&[rate, share], true),
            (Some(share.into()), Some(passed.clone())),
            "a share is as it was"
        );
        assert_eq!(held(&[rate], true), (None, Some(passed)));
        assert_eq!(held(&["achieved < 50/s for 1s"], true), (None, None), "nothing holds");
    }
}
