//! Machines whose load ended before that of the others did: from then on the target met less than what was asked for.

use super::Ending;
use crate::document::{Aborted, Agent, AgentResult, GuardKind, RunStatus, shares_missing};
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

/// Measured arrivals that these did not offer because something stopped them.
pub(super) fn withheld_early(agents: &[Agent]) -> u64 {
    withheld(early(agents).map(|early| early.agent))
}

fn withheld<'a>(agents: impl Iterator<Item = &'a Agent>) -> u64 {
    let results = agents.filter_map(|agent| agent.result.as_ref());
    results.filter(|result| result.status == RunStatus::Aborted).map(|result| result.arrivals.withheld).sum()
}

/// Machines that were cut off from their coordinator until their load had ended, while all others went on to the planned end, if so many
/// may be lost: more is known of them than of lost ones, so they spoil no more.
fn tolerated(agents: &[Agent]) -> Vec<&Agent> {
    let is_cut_off =
        |result: &AgentResult| result.aborted.as_ref().is_some_and(|by| by.guard == Some(GuardKind::Lease));
    let cut_off: Vec<&Agent> = early(agents)
        .map(|early| early.agent)
        .filter(|agent| agent.plan.due.is_some() && agent.result.as_ref().is_some_and(is_cut_off))
        .collect();
    let with = |status| {
        let of = move |agent: &&Agent| agent.result.as_ref().is_some_and(|result| result.status == status);
        agents.iter().filter(of).count()
    };
    let (lost, complete) = (with(RunStatus::Running), with(RunStatus::Complete));
    let others_went_on = complete > 0 && lost + complete + cut_off.len() == agents.len();
    let missing = shares_missing(agents.iter().map(|agent| &agent.plan)) as usize;
    let may_be = agents.iter().filter_map(|agent| agent.plan.tolerate_lost).min().unwrap_or(0) as usize;
    let is_tolerated = others_went_on && missing + lost + cut_off.len() <= may_be;
    if is_tolerated { cut_off } else { Vec::new() }
}

/// What they did not offer: nobody knows how it would have fared.
pub(super) fn tolerated_withheld(agents: &[Agent]) -> u64 {
    withheld(tolerated(agents).into_iter())
}

impl Ending {
    /// The end of the run as it is judged: one that would be worth something without the machines that were cut off was not stopped by
    /// what stopped these.
    pub(super) fn tolerating(&self) -> Ending {
        let mut ending = self.clone();
        if !tolerated(&self.agents).is_empty() {
            (ending.status, ending.aborted) = (RunStatus::Complete, None);
            ending.withheld = ending.withheld.saturating_sub(tolerated_withheld(&self.agents));
        }
        ending
    }

    /// The inverse, of what a document says.
    pub(super) fn untolerated(mut self) -> Ending {
        if self.status == RunStatus::Complete && !tolerated(&self.agents).is_empty() {
            (self.status, self.aborted) =
                (RunStatus::Aborted, last_stop(self.agents.iter().filter_map(stop_of)));
            self.withheld += tolerated_withheld(&self.agents);
        }
        self
    }
}

fn stop_of(agent: &Agent) -> Option<&Aborted> {
    agent.result.as_ref()?.aborted.as_ref()
}

/// Up to the last of them there was load. Of equals the first.
pub(super) fn last_stop<'a>(all: impl Iterator<Item = &'a Aborted>) -> Option<Aborted> {
    all.reduce(|last, next| if next.at_ns > last.at_ns { next } else { last }).cloned()
}
