//! Arrivals of which nobody knows what came, and what figures can still rest on.

use super::early::{tolerated, tolerated_withheld};
use super::{Ending, Tally};
use crate::document::{Agent, RunStatus, breaks_off, lost, shares_missing};
use unblink_analysis::evidence::Row;
use unblink_core::time::Nanos;

/// Measured arrivals of machines of which nothing was heard, and those of machines that may as well have been lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Loss {
    /// As many as can be counted.
    pub(super) counted: u64,
    /// There may be more: no best and no worst follows from those that are counted.
    pub(super) is_unbounded: bool,
}

impl Loss {
    /// How many may have been anything, for the ranges of percentiles; 0 where none can be told.
    pub(super) fn bound(self) -> u64 {
        if self.is_unbounded { 0 } else { self.counted }
    }
}

impl Tally {
    /// What was lost of that which is looked at.
    pub(super) fn loss(&self, ending: &Ending) -> Loss {
        // No target was there that could have answered any of them.
        if ending.preflight().is_some() {
            return Loss::default();
        }
        let (is_known, counted) = (lost(&ending.agents).is_some(), ending.lost());
        let results = ending.agents.iter().filter_map(|agent| agent.result.as_ref());
        let is_nothing_under_way = results.map(|result| result.journeys_under_way).sum::<u64>() == 0;
        if is_known && counted == 0 && is_nothing_under_way {
            return Loss::default();
        }
        match &self.part {
            Some(part) if part.to_ns <= all_heard_to(&ending.agents) => Loss::default(),
            // In which part the missing ones fell due is not known.
            Some(_) => Loss { counted: 0, is_unbounded: true },
            None => Loss { counted, is_unbounded: !is_known || self.has_followers() },
        }
    }

    /// Requests follow others, as many as answers make of them: what would have followed those that are lost is not known.
    fn has_followers(&self) -> bool {
        !self.header.journeys.is_empty() || self.totals.counters.measured.followed > 0
    }
}

impl Ending {
    /// The record of some machine breaks off.
    pub(super) fn breaks_off(&self) -> bool {
        breaks_off(&self.agents)
    }

    /// Measured arrivals that are lost, as far as they can be counted.
    pub(super) fn lost(&self) -> u64 {
        if self.preflight().is_some() {
            return 0;
        }
        lost(&self.agents).unwrap_or(0) + tolerated_withheld(&self.agents)
    }
}

/// What a machine had under way when its record broke off is without an answer still, as far as is known: levels that fall because nobody
/// tells them are no target that catches up.
pub(super) fn with_under_way(mut rows: Vec<Row>, ending: &Ending) -> Vec<Row> {
    let killed = ending.agents.iter().filter(|agent| agent.is(RunStatus::Running));
    for (agent, result) in killed.filter_map(|agent| Some((agent, agent.result.as_ref()?))) {
        let not_begun = agent.plan.due.unwrap_or(0).saturating_sub(result.begun());
        let under_way = result.arrivals.lost.saturating_sub(not_begun);
        let told_to = Nanos(result.load_to_ns.unwrap_or(0));
        let untold = rows.iter_mut().filter(|row| row.end() > told_to && row.end() <= ending.ended_after);
        untold.for_each(|row| row.in_flight += under_way);
    }
    rows
}

/// So long, after t = 0, all machines offered their load and told of all that ended.
fn all_heard_to(agents: &[Agent]) -> u64 {
    if shares_missing(agents.iter().map(|agent| &agent.plan)) > 0 {
        return 0;
    }
    let killed = agents.iter().filter(|agent| agent.is(RunStatus::Running));
    let ends = killed.chain(tolerated(agents)).filter_map(|agent| agent.result.as_ref());
    ends.map(|result| result.load_to_ns.unwrap_or(0)).min().unwrap_or(u64::MAX)
}
