//! An open load in its run.

use super::{LoadSpec, OpenPart, PlanError, PlanSpec};
use crate::mix::Asked;
use crate::schedule::Schedule;
use std::sync::Arc;

/// An open load, whose schedule counts from that of the run.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct PlacedLoad {
    pub(super) schedule: Arc<Schedule>,
    pub(super) asked: Asked,
}

impl PlacedLoad {
    /// The load with the number `load`, of a run whose mix has `entries`.
    pub(super) fn new(
        load: u32,
        part: &OpenPart,
        spec: &PlanSpec,
        entries: usize,
    ) -> Result<PlacedLoad, PlanError> {
        if let LoadSpec::Recorded(recorded) = &spec.load {
            let schedule = limited(Schedule::of_recorded(recorded), spec);
            return Ok(PlacedLoad {
                schedule: Arc::new(schedule),
                asked: Asked::recorded(recorded, entries),
            });
        }
        let asked = asked_by(load, part, spec, entries)?;
        // The warm-up holds the rate with which the shape begins.
        let schedule = Schedule::new(&part.placed(spec.warmup), part.process, u64::MAX).of_load(load);
        Ok(PlacedLoad { schedule: Arc::new(limited(schedule, spec)), asked })
    }
}

fn asked_by(load: u32, part: &OpenPart, spec: &PlanSpec, entries: usize) -> Result<Asked, PlanError> {
    let only = part.only.as_deref();
    if only.is_some_and(|only| only.is_empty() || only.iter().any(|&number| number as usize >= entries)) {
        return Err(PlanError::NoOperations);
    }
    Ok(Asked::new(&spec.mix, entries, only, load)?)
}

/// The limit counts measured arrivals only.
fn limited(schedule: Schedule, spec: &PlanSpec) -> Schedule {
    match spec.limit {
        None => schedule,
        Some(limit) => {
            let warm = schedule.count_before(spec.warmup);
            schedule.with_limit(warm.saturating_add(limit))
        }
    }
}
