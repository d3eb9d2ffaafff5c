//! What a line of `intervals.jsonl` says of the connections to one origin.

use super::by_name::ByName;
use super::kinds::Kinds;
use crate::causes;
use crate::header::RunHeader;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unblink_core::record::{Allowed, ConnectionCounts, ConnectionLevels, Counters, Gauges, LaneLevels};

/// Counts of the interval, and levels at its end.
#[derive(Serialize, Deserialize)]
pub(super) struct OriginLine {
    #[serde(flatten)]
    counts: ByName<ConnectionCounts>,
    #[serde(flatten)]
    levels: ByName<ConnectionLevels>,
    /// Fewest and most requests at once that a connection was allowed, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allowed: Option<(u32, u32)>,
    /// Connections that were closed because of what came on them, by what was wrong.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    breaches: BTreeMap<String, u64>,
    /// Arrivals without an end. Those of the only origin are those of the interval.
    #[serde(flatten, skip_serializing_if = "ByName::is_empty")]
    lane: ByName<LaneLevels>,
}

impl OriginLine {
    /// Of each of the run's origins.
    pub(super) fn all(counters: &Counters, gauges: &Gauges, header: &RunHeader) -> Vec<OriginLine> {
        let origins = header.origins.len();
        let several = |lane: &LaneLevels| if origins > 1 { *lane } else { LaneLevels::default() };
        let counts = counters.origins.iter().zip(&counters.breaches);
        let lines = counts.zip(&gauges.origins).zip(&gauges.lanes).take(origins);
        lines
            .map(|(((counts, breaches), levels), lane)| OriginLine {
                counts: ByName(*counts),
                allowed: counts.allowed.range(),
                breaches: causes::breaches(breaches, header),
                levels: ByName(*levels),
                lane: ByName(several(lane)),
            })
            .collect()
    }
}

/// Fills in what is said of each origin: of the only one in lines of earlier versions, which had no list.
pub(super) fn fill(
    lines: &[OriginLine],
    (counts, levels): (&Option<ByName<ConnectionCounts>>, ConnectionLevels),
    (counters, gauges): (&mut Counters, &mut Gauges),
    kinds: &Kinds<'_>,
) -> Result<(), String> {
    if lines.len() > counters.origins.len() {
        return Err(format!("{} origins are more than a run has", lines.len()));
    }
    if let Some(counts) = counts {
        counters.origins[0] = counts.0;
        gauges.origins[0] = levels;
    }
    for (place, line) in lines.iter().enumerate() {
        counters.origins[place] = line.counts.0;
        counters.breaches[place] = causes::read_breaches(&line.breaches, |code| kinds.kind(code))?;
        if let Some((least, most)) = line.allowed {
            counters.origins[place].allowed = Allowed::between(least, most);
        }
        gauges.origins[place] = line.levels.0;
        gauges.lanes[place] = line.lane.0;
    }
    if lines.len() < 2 {
        gauges.lanes[0] = LaneLevels { in_flight: gauges.in_flight, backlog: gauges.backlog };
    }
    Ok(())
}
