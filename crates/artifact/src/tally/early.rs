//! Machines whose load ended before that of the others did: from then on the target met less than what was asked for.

use crate::document::{Aborted, Agent, AgentResult, GuardKind, RunStatus, shares_missing, stopped};
use std::cmp::Reverse;
use unblink_core::time::Nanos;

/// Leases end within half a second of each other where nobody is heard any more, and a stop at one instant within what clocks are
/// known to.
const TOGETHER: Nanos = Nanos::from_secs(1);

/// A machine whose load was stopped while others went on.
pub(super) struct Early<'a> {
    pub(super) agent: &'a Agent,
    /// Where its load ended, after t = 0.
    pub(super) at: Nanos,
    /// How long before the last one.
    pub(super) by: Nanos,
}

/// Those whose load was stopped more than that before the last one's end. Of one that is lost nobody knows that.
pub(super) fn early(agents: &[Agent]) -> impl Iterator<Item = Early<'_>> {
    let results = || agents.iter().filter_map(|agent| Some((agent, agent.result.as_ref()?)));
    let ended = results().filter(|(_, result)| result.status != RunStatus::Running);
    let last = ended.filter_map(|(_, result)| result.load_to_ns).max().unwrap_or_default();
    // Users of some machines may have sent the last of a fixed number before others have.
    let stopped =
        results().filter(|(_, result)| matches!(result.status, RunStatus::Aborted | RunStatus::Interrupted));
    stopped.filter_map(move |(agent, result)| {
        let at = Nanos(result.load_to_ns?);
        let by = Nanos(last.saturating_sub(at.0));
        (by > TOGETHER).then_some(Early { agent, at, by })
    })
}

/// Measured arrivals that machines which something stopped did not offer while others went on.
pub(super) fn withheld_early(agents: &[Agent]) -> u64 {
    not_offered(early(agents).map(|early| early.agent), RunStatus::Aborted)
}

/// What those did not offer that ended in this way.
pub(super) fn not_offered<'a>(agents: impl IntoIterator<Item = &'a Agent>, status: RunStatus) -> u64 {
    let results = agents.into_iter().filter_map(|agent| Some((agent, agent.result.as_ref()?)));
    let of_status = results.filter(|(_, result)| result.status == status);
    let each = of_status.map(|(agent, result)| match status {
        // Its own account ends where its user stopped it.
        RunStatus::Interrupted => agent.plan.due.unwrap_or(0).saturating_sub(result.begun()),
        _ => result.arrivals.withheld,
    });
    each.sum()
}

/// Machines that were cut off from their coordinator until their load had ended, or that were stopped by themselves, while all others
/// went on to the planned end, if so many may be lost: more is known of them than of lost ones, so they spoil no more.
pub(super) fn tolerated(agents: &[Agent]) -> Vec<&Agent> {
    let is_of_itself = |result: &AgentResult| {
        let guard = result.aborted.as_ref().map(|by| by.guard);
        result.status == RunStatus::Interrupted || guard == Some(Some(GuardKind::Lease))
    };
    let gone: Vec<&Agent> = early(agents)
        .map(|early| early.agent)
        .filter(|agent| agent.plan.due.is_some() && agent.result.as_ref().is_some_and(is_of_itself))
        .collect();
    let with = |status| agents.iter().filter(|agent| agent.is(status)).count();
    let (lost, complete) = (with(RunStatus::Running), with(RunStatus::Complete));
    let others_went_on = complete > 0 && lost + complete + gone.len() == agents.len();
    let missing = shares_missing(agents.iter().map(|agent| &agent.plan)) as usize;
    let may_be = agents.iter().filter_map(|agent| agent.plan.tolerate_lost).min().unwrap_or(0) as usize;
    let is_tolerated = others_went_on && missing + lost + gone.len() <= may_be;
    if is_tolerated { gone } else { Vec::new() }
}

/// What tolerated ones did not offer: nobody knows how it would have fared.
pub(super) fn tolerated_withheld(agents: &[Agent]) -> u64 {
    let tolerated = tolerated(agents);
    let of = |status| not_offered(tolerated.iter().copied(), status);
    of(RunStatus::Aborted) + of(RunStatus::Interrupted)
}

/// Measured arrivals that machines did not offer which their users stopped while others went on, but for tolerated ones.
pub(super) fn stopped_alone(agents: &[Agent]) -> u64 {
    stopped(agents).saturating_sub(not_offered(tolerated(agents), RunStatus::Interrupted))
}

pub(super) fn stop_of(agent: &Agent) -> Option<&Aborted> {
    agent.result.as_ref()?.aborted.as_ref()
}

/// Up to the last of them there was load. Of equals always the same one, whichever machines were merged before.
pub(super) fn last_stop<'a>(all: impl Iterator<Item = &'a Aborted>) -> Option<Aborted> {
    all.min_by_key(|stop| (Reverse(stop.at_ns), &stop.rule)).cloned()
}
