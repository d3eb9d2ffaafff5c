//! The machines that offered a load together, as they are told and judged.

use super::early::{early, withheld_early};
use super::loss::Loss;
use super::{Ending, Tally};
use crate::document::{
    Agent, AgentPlan, AgentResult, Arrivals, Finding, RunDocument, RunStatus, Severity, ValidityStatus, lost,
    shares_missing, stopped,
};
use unblink_analysis::evidence::{Agents, BehindAgent, UnlikeAgent, WorstAgent};
use unblink_analysis::finding::FindingCode;
use unblink_core::time::Nanos;

impl Tally {
    /// The machines: with what came of each, once their records were merged.
    pub(super) fn agents(&self, ending: &Ending) -> Vec<Agent> {
        if !ending.agents.is_empty() {
            return ending.agents.clone();
        }
        let planned = self.header.agents.iter().cloned();
        let of = |plan| Agent {
            plan,
            clock_last: ending.clock_last,
            bus_behind_ns: ending.bus_behind_ns,
            result: None,
        };
        planned.map(of).collect()
    }

    /// All of the load was offered by those whose records are here, and these are whole.
    pub(super) fn is_whole_load(&self, ending: &Ending) -> bool {
        shares_missing(&self.header.agents) == 0 && lost(&ending.agents) == Some(0)
    }

    /// A part of the run may end before the load of any of them did.
    pub(super) fn looked_to(&self) -> Nanos {
        Nanos(self.part.as_ref().map_or(u64::MAX, |part| part.to_ns))
    }

    /// What the checks must know of them. `None` of a run that one machine does alone.
    pub(super) fn agents_judged(&self, ending: &Ending) -> Option<Agents> {
        let plans = &self.header.agents;
        let first = plans.first()?;
        let loss = self.loss(ending);
        // In a part that ends before their records do, they are as whole as the others.
        let is_whole_part = self.part.is_some() && loss == Loss::default();
        let killed = ending.agents.iter().filter(|agent| is_lost(agent) && !is_whole_part).count() as u64;
        // In which part something is missing is not known.
        let in_part = |n: u64| if self.part.is_some() { 0 } else { n };
        let measured = &self.totals.counters.measured;
        let to = self.looked_to();
        let early_here = || early(&ending.agents).filter(|early| early.at < to);
        let was_partial = self.part.is_none() || early_here().next().is_some();
        Some(Agents {
            is_merged: !ending.agents.is_empty(),
            name: first.name(),
            heard: plans.len() as u64,
            shares_missing: shares_missing(plans),
            shares: first.of,
            killed,
            tolerate_lost: plans.iter().filter_map(|plan| plan.tolerate_lost).min().unwrap_or(0).into(),
            lost: if is_whole_part { Some(0) } else { lost(&ending.agents).map(in_part) },
            is_more_lost: loss.is_unbounded,
            due_lost: if killed > 0 { measured.due.saturating_sub(measured.ended()) } else { 0 },
            stopped: if was_partial { stopped(&ending.agents) + withheld_early(&ending.agents) } else { 0 },
            early: early_here().count() as u64,
            early_by: early_here().map(|early| early.by).max().unwrap_or_default(),
            worst: worst(&ending.agents),
            unlike: unlike(&ending.agents),
            clock_error: clock_error(&self.agents(ending)),
            behind: behind(&self.agents(ending)),
        })
    }
}

impl AgentResult {
    /// What the own document of a machine says, whose run came to an end.
    pub(crate) fn of(document: &RunDocument) -> AgentResult {
        let p99 = document.response_time.quantiles.iter().find(|quantile| quantile.q == 0.99);
        let left_out = document.transient.as_ref().and_then(|transient| transient.arrivals.as_ref());
        AgentResult {
            status: document.status,
            arrivals: document.arrivals.clone(),
            begun: Some(document.arrivals.due() + left_out.map_or(0, |arrivals| arrivals.scheduled)),
            journeys_under_way: 0,
            load_to_ns: Some(document.series.load_to_ns),
            aborted: document.aborted.clone(),
            p99_ns: p99.filter(|quantile| !quantile.censored).map(|quantile| quantile.value),
            validity: document.validity.clone(),
            generator: document.generator.clone(),
        }
    }

    /// The same of a machine whose record breaks off, or that never began: what has no end in it is lost.
    /// `due` fell due, of which `followed` are requests that no schedule knows, and `journeys_under_way` may have been followed by more.
    pub(crate) fn lost(
        document: &RunDocument,
        plan: &AgentPlan,
        ended: Arrivals,
        (due, followed): (u64, u64),
        journeys_under_way: u64,
    ) -> AgentResult {
        let begun = due.saturating_sub(followed);
        let not_begun = plan.due.map_or(0, |planned| planned.saturating_sub(begun));
        let lost = not_begun + due.saturating_sub(ended.scheduled);
        let arrivals = Arrivals { scheduled: ended.scheduled + lost, lost, ..ended };
        let of_document = AgentResult::of(document);
        AgentResult {
            status: RunStatus::Running,
            arrivals,
            begun: Some(begun),
            journeys_under_way,
            // Whatever its document says, nothing of it was measured.
            load_to_ns: if due == 0 { Some(0) } else { of_document.load_to_ns },
            ..of_document
        }
    }
}

/// The two whose clocks are known least: each may be off by its own error.
fn clock_error(agents: &[Agent]) -> Option<Nanos> {
    let mut errors: Vec<u64> = agents.iter().filter_map(Agent::clock_error_ns).collect();
    errors.sort_unstable_by(|a, b| b.cmp(a));
    (!errors.is_empty())
        .then(|| Nanos(errors.iter().take(2).fold(0, |sum, error| sum.saturating_add(*error))))
}

/// The machine whose record came onto the bus latest. Of equals the first.
fn behind(agents: &[Agent]) -> Option<BehindAgent> {
    let known = agents.iter().filter_map(|agent| Some((agent.bus_behind_ns?, agent)));
    let latest = known.reduce(|latest, next| if next.0 > latest.0 { next } else { latest });
    latest.map(|(ns, agent)| BehindAgent { name: agent.plan.name(), most: Nanos(ns) })
}

/// The machine that sees something else than the others, if one does.
fn unlike(agents: &[Agent]) -> Option<UnlikeAgent> {
    let all = agents.iter().filter_map(|agent| Some((agent.plan.name(), agent.result.as_ref()?)));
    let known: Vec<_> =
        all.filter_map(|(name, result)| Some((name, result.arrivals.ok, Nanos(result.p99_ns?)))).collect();
    UnlikeAgent::among(known.iter().map(|(name, ok, p99)| (name.as_str(), *ok, *p99)))
}

/// Its record breaks off.
fn is_lost(agent: &Agent) -> bool {
    agent.is(RunStatus::Running)
}

/// The machine that fares worst, if one has trouble of its own. Of equals the first.
fn worst(agents: &[Agent]) -> Option<WorstAgent> {
    gravest(agents.iter().filter_map(trouble).collect())
}

fn gravest(troubles: Vec<(WorstAgent, Weight)>) -> Option<WorstAgent> {
    let of = troubles.len() as u64;
    let worst = troubles.into_iter().reduce(|worst, next| {
        let is_worse = (next.0.is_invalid, next.1) > (worst.0.is_invalid, worst.1);
        if is_worse { next } else { worst }
    });
    worst.map(|(worst, _)| WorstAgent { of, ..worst })
}

/// The finding against this machine's own doing that weighs most. What speaks of the target, or of how much was measured, is
/// judged for all machines together.
fn trouble(agent: &Agent) -> Option<(WorstAgent, Weight)> {
    let result = agent.result.as_ref().filter(|_| !is_lost(agent))?;
    let findings = result.validity.findings.iter().filter(|finding| is_own(finding));
    let weighed = findings.map(|finding| (weight(finding), finding));
    let (weight, worst) = weighed.reduce(|worst, next| if next.0 > worst.0 { next } else { worst })?;
    let trouble = WorstAgent {
        name: agent.plan.name(),
        message: worst.message.clone(),
        is_invalid: result.validity.status == ValidityStatus::Invalid
            && worst.severity == Severity::Invalidates,
        of: 1,
    };
    (worst.severity > Severity::Note).then_some((trouble, weight))
}

/// How much a finding weighs: its severity; how many arrivals it touches, by the lowest percentile that it moves; and how long the
/// generator itself took or was away, in ns.
type Weight = (Severity, f64, f64);

fn weight(finding: &Finding) -> Weight {
    let of = |name: &str| finding.evidence.get(name).copied();
    let moved_ns = of("with_ns").zip(of("without_ns")).map(|(with, without)| with - without);
    let own_ns = moved_ns.or(of("late_ns")).or(of("pause_max_ns")).unwrap_or(0.0);
    (finding.severity, 1.0 - of("quantile").unwrap_or(0.0), own_ns)
}

fn is_own(finding: &Finding) -> bool {
    const OWN: [FindingCode; 9] = [
        FindingCode::Accounting,
        FindingCode::SetupFailed,
        FindingCode::SentBelowOffered,
        FindingCode::GeneratorLate,
        FindingCode::GeneratorBusy,
        FindingCode::GeneratorPaused,
        FindingCode::ClientShedLoad,
        FindingCode::LocalLimit,
        FindingCode::NeverConnected,
    ];
    OWN.iter().any(|code| code.code() == finding.code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::ClockReading;
    use std::collections::BTreeMap;

    fn paused(quantile: f64, moved_ns: f64) -> Finding {
        let evidence = [("quantile", quantile), ("with_ns", moved_ns + 1e6), ("without_ns", 1e6)];
        Finding {
            code: FindingCode::GeneratorPaused.code().into(),
            severity: Severity::Degrades,
            message: String::new(),
            remedy: String::new(),
            evidence: BTreeMap::from(evidence.map(|(name, value)| (name.to_string(), value))),
            may_have_moved: None,
        }
    }

    /// What a clock has drifted since the start moves its arrivals, and how well that is known.
    #[test]
    fn a_clock_that_drifts_is_known_worse() {
        let agent = |first: Option<(i64, u64)>, last: Option<(i64, u64)>| Agent {
            plan: AgentPlan {
                first: 1,
                last: 1,
                of: 1,
                start_at: String::new(),
                clock_offset_ns: first.map(|(offset, _)| offset),
                clock_error_ns: first.map(|(_, error)| error),
                due: None,
                due_of_all: None,
                tolerate_lost: None,
                asked_sha256: None,
                command: Vec::new(),
                environment: Default::default(),
            },
            clock_last: last.map(|(offset_ns, error_ns)| ClockReading { at_ns: 1, offset_ns, error_ns }),
            bus_behind_ns: None,
            result: None,
        };
        assert_eq!(agent(None, None).clock_error_ns(), None);
        let [still, drifted, noisy] =
            [Some((-5, 30)), Some((-2_005, 20)), Some((-5, 70))].map(|last| agent(Some((-5, 40)), last));
        let known = [&still, &drifted, &noisy].map(Agent::clock_error_ns);
        assert_eq!(known, [Some(40), Some(2_020), Some(70)]);
        assert_eq!(clock_error(&[still, drifted, noisy]), Some(Nanos(2_090)));
        assert_eq!(clock_error(&[agent(Some((i64::MIN, 1)), Some((i64::MAX, 1)))]), Some(Nanos(u64::MAX)));
    }

    /// The last of equals was named, whatever the others had.
    #[test]
    fn the_machine_that_fares_worst_is_named() {
        let agent = |name: &str, is_invalid, finding: Finding| {
            (WorstAgent { name: name.into(), message: String::new(), is_invalid, of: 1 }, weight(&finding))
        };
        let worst = |agents| gravest(agents).map(|worst: WorstAgent| (worst.name, worst.of));
        let (p95, p98) = (paused(0.95, 50e6), paused(0.98, 17e6));
        let both = vec![agent("first", false, p95.clone()), agent("second", false, p98.clone())];
        assert_eq!(worst(both), Some(("first".into(), 2)));
        let longer = vec![agent("first", false, p98.clone()), agent("second", false, paused(0.98, 18e6))];
        assert_eq!(worst(longer), Some(("second".into(), 2)));
        let equal = vec![agent("first", false, p98.clone()), agent("second", false, p98.clone())];
        assert_eq!(worst(equal), Some(("first".into(), 2)));
        let invalid = vec![agent("first", false, p95), agent("second", true, p98)];
        assert_eq!(worst(invalid), Some(("second".into(), 2)));
        assert_eq!(gravest(Vec::new()), None);
    }
}
