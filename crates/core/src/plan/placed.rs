//! An open load in its run.

use super::{LoadSpec, OpenPart, PlanError, PlanSpec};
use crate::mix::Asked;
use crate::schedule::Schedule;
use crate::time::Nanos;
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
            let schedule = Schedule::of_recorded(recorded).with_limit(spec.limit.unwrap_or(u64::MAX));
            return Ok(PlacedLoad {
                schedule: Arc::new(schedule),
                asked: Asked::recorded(recorded, entries),
            });
        }
        let asked = asked_by(load, part, spec, entries)?;
        Ok(PlacedLoad { schedule: Arc::new(place(load, part, spec.warmup, spec.limit)), asked })
    }
}

fn asked_by(load: u32, part: &OpenPart, spec: &PlanSpec, entries: usize) -> Result<Asked, PlanError> {
    let only = part.only.as_deref();
    if only.is_some_and(|only| only.is_empty() || only.iter().any(|&number| number as usize >= entries)) {
        return Err(PlanError::NoOperations);
    }
    Ok(Asked::new(&spec.mix, entries, only, load)?)
}

/// The warm-up holds the rate with which the shape begins; the limit counts measured arrivals only.
fn place(load: u32, part: &OpenPart, warmup: Nanos, limit: Option<u64>) -> Schedule {
    let schedule = Schedule::new(&part.placed(warmup), part.process, u64::MAX).of_load(load);
    match limit {
        None => schedule,
        Some(limit) => {
            let warm = schedule.count_before(warmup);
            schedule.with_limit(warm.saturating_add(limit))
        }
    }
}
