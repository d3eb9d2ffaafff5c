//! `--abort-on`: stops a run that hurts.

use crate::observe::{End, Observer};
use unblink_analysis::slo::{AbortRule, AbortWatch, Measure, Outstanding, Stretch};
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
}

struct Rule {
    text: String,
    watch: AbortWatch,
    measure: Measure,
    /// The request, load or origin that it speaks of; `None`: all arrivals.
    of: Option<(Apart, usize)>,
    outstanding: Option<Outstanding>,
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
            })
        });
        Watch {
            rules: rules.collect(),
            measured_from: Nanos(header.plan.warmup_ns),
            load_to: Nanos(header.plan.warmup_ns.saturating_add(header.plan.duration_ns)),
            has_fired: false,
        }
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
            if rule.watch.look(interval.length, &part.with_stuck(stuck)) {
                self.has_fired = true;
                fired = Some(End::Aborted(Aborted { rule: rule.text.clone(), at_ns: end.0, guard: None }));
            }
        }
        fired
    }
}
