//! What happened to connections.

use super::{Ending, OriginEnding, Tally};
use crate::document::{Connections, Origin};
use crate::header::{ConnectionPlan, OriginPlan};
use unblink_core::record::ConnectionCounts;

impl Tally {
    /// Every origin.
    pub(super) fn origins(&self, ending: &Ending) -> Vec<Origin> {
        let counts = self.totals.counters.origins.iter().zip(self.connections_peak);
        let origins = self.header.origins.iter().enumerate().zip(counts);
        let of = |((number, plan), (counts, peak)): ((usize, &OriginPlan), _)| {
            let ending = ending.origins.get(number).cloned().unwrap_or_default();
            Origin {
                name: plan.name.clone(),
                preflight: ending.preflight.clone(),
                connections: connections(&plan.connections, counts, peak, ending),
            }
        };
        origins.map(of).collect()
    }
}

fn connections(
    plan: &ConnectionPlan,
    counts: &ConnectionCounts,
    peak: u64,
    ending: OriginEnding,
) -> Connections {
    Connections {
        mode: plan.mode,
        limit: plan.limit,
        limited_by: plan.limited_by,
        peak,
        attempted: counts.attempted,
        opened: counts.opened,
        failed: counts.failed,
        refused: counts.refused,
        reconnects: counts.opened.saturating_sub(peak),
        closed_by_target: counts.closed_by_target,
        closed_on_timeout: counts.closed_on_timeout,
        closed_unneeded: counts.closed_unneeded,
        closed_by_age: counts.closed_by_age,
        age_ns: plan.age_ns,
        resolve_every_ns: plan.resolve_every_ns,
        resolving_failed: ending.resolving_failed,
        resent: counts.resent,
        local_limit: counts.local_limit,
        by_address: ending.by_address,
        failed_by_address: ending.failed_by_address,
    }
}
