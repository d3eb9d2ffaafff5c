//! What came of a load of a named shape.

use super::loss::Loss;
use super::{Ending, Tally};
use crate::document::{
    Broken, LevelBefore, LoadShape, RecoveryTime, RunPlan, ShapeResult, Spike, Stress, TimeLimit,
};
use crate::header::RunHeader;
use unblink_analysis::quantile::Survival;
use unblink_analysis::shapes::{Before, Limit, Recovery, Row, Seen, Stretch, spike, stress};
use unblink_analysis::slo::{Figure, Measure, Slo};
use unblink_core::record::{Interval, Series, Track};
use unblink_core::time::Nanos;

/// Response times of what was recorded before anything grew.
#[derive(Clone, Debug)]
pub(super) struct BeforeGrowth {
    from: Nanos,
    to: Nanos,
    completed: Track<u64>,
    censored: Track<u64>,
}

impl BeforeGrowth {
    /// Nothing of a load that does not grow on purpose.
    pub(super) fn of(load: &RunPlan) -> Option<Box<BeforeGrowth>> {
        let (from, to) = stretches(load).first().filter(|_| is_by_phase(load))?.settled();
        Some(Box::new(BeforeGrowth { from, to, completed: Track::default(), censored: Track::default() }))
    }

    /// Takes in the next interval.
    pub(super) fn add(&mut self, interval: &Interval) {
        if interval.start >= self.from && interval.start + interval.length <= self.to {
            self.completed.add(interval.bank.track(Series::Response));
            self.censored.add(interval.bank.track(Series::ResponseCensored));
        }
    }
}

/// The load grows on purpose beyond what the target carries, and is judged phase by phase.
fn is_by_phase(load: &RunPlan) -> bool {
    matches!(load.shape, Some(LoadShape::Spike | LoadShape::Stress))
}

impl Tally {
    /// The load grows on purpose beyond what the target carries, and is judged phase by phase.
    pub(super) fn is_by_phase(&self) -> bool {
        is_by_phase(&self.header.plan)
    }

    /// Nothing of a part of a run, of a load without a name, and where too little was run. What machines that were lost or stopped had under
    /// way, and what they no longer offered, would pass for a target that recovers.
    pub(super) fn shape(&self, ending: &Ending) -> Option<ShapeResult> {
        let load = &self.header.plan;
        let shape = load.shape.filter(|_| self.part.is_none())?;
        let is_less = self.loss(ending) != Loss::default() || ending.is_partial_before(self.looked_to());
        if self.is_by_phase() && is_less {
            return None;
        }
        let rows: Vec<Row> = self.rows.shape_rows();
        let before = match &self.before_growth {
            Some(before) => Survival::new(&before.completed, &before.censored),
            None => Survival::known(&Track::<u64>::default()),
        };
        let seen =
            Seen { heat: &self.totals.heat, rows: &rows, before: &before, load_to: ending.ended_after };
        let (stretches, asked) = (stretches(load), limit(&self.header));
        match shape {
            LoadShape::Load | LoadShape::Sine => None,
            LoadShape::Soak => Some(ShapeResult::Soak(self.soak(ending))),
            LoadShape::Spike => {
                let found = spike::spike(&seen, stretches.as_slice().try_into().ok()?, asked)?;
                Some(ShapeResult::Spike(spike_document(&found, asked.is_some())))
            }
            LoadShape::Stress => {
                let shape: &[Stretch; 5] = stretches.as_slice().try_into().ok()?;
                let found = stress::stress(&seen, shape, asked)?;
                let rates = (shape[0].to_per_s, shape[2].to_per_s);
                Some(ShapeResult::Stress(stress_document(&found, rates, asked.is_some(), ending.ended_after)))
            }
        }
    }
}

/// The shape's stretches after t = 0.
fn stretches(load: &RunPlan) -> Vec<Stretch> {
    let mut from = Nanos(load.warmup_ns);
    let place = |phase: &crate::document::LoadPhase| {
        let to = from + Nanos(phase.duration_ns);
        let stretch = Stretch { from, to, from_per_s: phase.from_per_s, to_per_s: phase.to_per_s };
        from = to;
        stretch
    };
    load.phases.iter().map(place).collect()
}

/// Of the first objective that bounds a percentile of all arrivals.
fn limit(header: &RunHeader) -> Option<Limit> {
    header.objectives.slos.iter().filter_map(|text| Slo::parse(text).ok()).find_map(|slo| {
        let objective = &slo.objective;
        match objective.figure {
            Figure::Quantile(quantile)
                if slo.name.is_none() && slo.measure == Measure::Response && objective.is_upper_limit() =>
            {
                Some(Limit { ns: objective.limit.round() as u64, quantile })
            }
            _ => None,
        }
    })
}

fn spike_document(found: &spike::Spike, is_objective: bool) -> Spike {
    let from = found.spike.to;
    Spike {
        before: before(&found.before),
        base_per_s: found.base_per_s,
        peak_per_s: found.spike.to_per_s,
        from_ns: found.spike.from.0,
        to_ns: found.spike.to.0,
        limit: time_limit(found.limit, is_objective),
        above_ns: found.above.0,
        above_from_ns: found.above_between.map(|(from, _)| from.0),
        above_to_ns: found.above_between.map(|(_, to)| to.0),
        unanswered_max: found.unanswered_max.0,
        unanswered_max_at_ns: found.unanswered_max.1.0,
        lost: found.lost,
        recovery: recovery(from, found.recovery, found.resolution, found.watched),
    }
}

fn stress_document(
    found: &stress::Stress,
    (base_per_s, peak_per_s): (f64, f64),
    is_objective: bool,
    load_to: Nanos,
) -> Stress {
    let relieved = found.broken.map(|broken| broken.relieved_at);
    Stress {
        before: before(&found.before),
        base_per_s,
        peak_per_s,
        limit: time_limit(found.limit, is_objective),
        mode: found.mode,
        delivered_best_per_s: found.delivered_best_per_s,
        broken: found.broken.map(|broken| Broken {
            at_ns: broken.at.0,
            per_s: broken.per_s,
            ended: broken.ended,
            failed: broken.failed,
            shed: broken.shed,
            timed_out: broken.timed_out,
            delivered_least_share: broken.delivered_least_share,
            stalled_ns: broken.stalled.0,
        }),
        unanswered_max: found.unanswered_max.0,
        unanswered_max_at_ns: found.unanswered_max.1.0,
        recovery: relieved.map(|from| recovery(from, found.recovery, found.resolution, load_to - from)),
    }
}

fn time_limit(limit: Limit, is_objective: bool) -> TimeLimit {
    TimeLimit { ns: limit.ns, quantile: limit.quantile, is_objective }
}

fn before(before: &Before) -> LevelBefore {
    LevelBefore {
        p50_ns: before.p50_ns,
        p99_ns: before.p99_ns,
        unanswered: before.level,
        failed_share: before.failed_share,
    }
}

fn recovery(from: Nanos, recovery: Option<Recovery>, resolution: Nanos, watched: Nanos) -> RecoveryTime {
    RecoveryTime {
        from_ns: from.0,
        after_ns: recovery.map(|recovery| (recovery.at - from).0),
        resolution_ns: resolution.0,
        watched_ns: watched.0,
    }
}
