//! What happened to connections.

use super::{Ending, Tally};
use crate::document::{Connections, Origin};

impl Tally {
    /// Every origin, of which there is one.
    pub(super) fn origins(&self, ending: &Ending) -> Vec<Origin> {
        let origin = self.header.origins.first();
        let of = |plan: &crate::header::OriginPlan| Origin {
            name: plan.name.clone(),
            connections: self.connections(ending),
            preflight: ending.preflight.clone(),
        };
        origin.map(of).into_iter().collect()
    }

    fn connections(&self, ending: &Ending) -> Connections {
        let (counts, plan) = (self.totals.counters.connections, self.header.connections());
        Connections {
            mode: plan.mode,
            limit: plan.limit,
            limited_by: plan.limited_by,
            peak: self.connections_peak,
            attempted: counts.attempted,
            opened: counts.opened,
            failed: counts.failed,
            refused: counts.refused,
            reconnects: counts.opened.saturating_sub(self.connections_peak),
            closed_by_target: counts.closed_by_target,
            closed_on_timeout: counts.closed_on_timeout,
            closed_unneeded: counts.closed_unneeded,
            closed_by_age: counts.closed_by_age,
            age_ns: plan.age_ns,
            resolve_every_ns: plan.resolve_every_ns,
            resolving_failed: ending.resolving_failed,
            resent: counts.resent,
            local_limit: counts.local_limit,
            by_address: ending.by_address.clone(),
            failed_by_address: ending.failed_by_address.clone(),
        }
    }
}
