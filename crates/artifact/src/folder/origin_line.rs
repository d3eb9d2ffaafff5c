//! What a line of `intervals.jsonl` says of the connections to one origin.

use serde::{Deserialize, Serialize};
use unblink_core::record::{ConnectionCounts, ConnectionLevels, Counters, Gauges, LaneLevels};

/// Counts of the interval, and levels at its end.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct OriginLine {
    attempted: u64,
    opened: u64,
    failed: u64,
    refused: u64,
    local_limit: u64,
    closed_by_target: u64,
    closed_on_timeout: u64,
    closed_unneeded: u64,
    closed_by_age: u64,
    resent: u64,
    /// Usable ones.
    connections: u64,
    connections_peak: u64,
    /// Arrivals without an end. Of the only origin these are those of the interval.
    #[serde(skip_serializing_if = "is_zero")]
    in_flight: u64,
    #[serde(skip_serializing_if = "is_zero")]
    backlog: u64,
}

impl OriginLine {
    /// Of each of the first `origins`.
    pub(super) fn all(counters: &Counters, gauges: &Gauges, origins: usize) -> Vec<OriginLine> {
        let several = |lane: &LaneLevels| if origins > 1 { *lane } else { LaneLevels::default() };
        let lines = counters.origins.iter().zip(&gauges.origins).zip(&gauges.lanes).take(origins);
        lines.map(|((counts, levels), lane)| OriginLine::of(counts, levels, several(lane))).collect()
    }

    fn of(counts: &ConnectionCounts, levels: &ConnectionLevels, lane: LaneLevels) -> OriginLine {
        OriginLine {
            attempted: counts.attempted,
            opened: counts.opened,
            failed: counts.failed,
            refused: counts.refused,
            local_limit: counts.local_limit,
            closed_by_target: counts.closed_by_target,
            closed_on_timeout: counts.closed_on_timeout,
            closed_unneeded: counts.closed_unneeded,
            closed_by_age: counts.closed_by_age,
            resent: counts.resent,
            connections: levels.connections,
            connections_peak: levels.connections_peak,
            in_flight: lane.in_flight,
            backlog: lane.backlog,
        }
    }

    fn fill(&self, counts: &mut ConnectionCounts, levels: &mut ConnectionLevels) {
        *counts = ConnectionCounts {
            attempted: self.attempted,
            opened: self.opened,
            failed: self.failed,
            refused: self.refused,
            local_limit: self.local_limit,
            closed_by_target: self.closed_by_target,
            closed_on_timeout: self.closed_on_timeout,
            closed_unneeded: self.closed_unneeded,
            closed_by_age: self.closed_by_age,
            resent: self.resent,
        };
        *levels = ConnectionLevels { connections: self.connections, connections_peak: self.connections_peak };
    }
}

/// What is not there is not written.
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Levels of the only origin, as earlier versions had them.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct EarlierLevels {
    #[serde(skip_serializing)]
    connections: u64,
    #[serde(skip_serializing)]
    connections_peak: u64,
}

/// Fills in what is said of each origin: of the only one in lines of earlier versions, which had no list.
pub(super) fn fill(
    lines: &[OriginLine],
    (counts, levels): (&Option<OriginLine>, EarlierLevels),
    counters: &mut Counters,
    gauges: &mut Gauges,
) -> Result<(), String> {
    if lines.len() > counters.origins.len() {
        return Err(format!("{} origins are more than a run has", lines.len()));
    }
    if let Some(counts) = counts {
        counts.fill(&mut counters.origins[0], &mut gauges.origins[0]);
        let EarlierLevels { connections, connections_peak } = levels;
        gauges.origins[0] = ConnectionLevels { connections, connections_peak };
    }
    for (line, (counts, levels)) in lines.iter().zip(counters.origins.iter_mut().zip(&mut gauges.origins)) {
        line.fill(counts, levels);
    }
    for (line, lane) in lines.iter().zip(&mut gauges.lanes) {
        *lane = LaneLevels { in_flight: line.in_flight, backlog: line.backlog };
    }
    if lines.len() < 2 {
        gauges.lanes[0] = LaneLevels { in_flight: gauges.in_flight, backlog: gauges.backlog };
    }
    Ok(())
}
