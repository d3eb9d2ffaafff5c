//! What the sampled arrivals say about their process.

use super::{Ending, Tally};
use crate::document::{self, LoadKind, Process};
use unblink_analysis::arrivals::{ArrivalProcess, ClaimedProcess, Shape, ShapePhase, TimesTest};
use unblink_analysis::evidence::LoadArrivals;
use unblink_core::time::Nanos;

impl Tally {
    /// Those of all loads.
    pub(super) fn arrival_processes(&self, ending: &Ending) -> Vec<LoadArrivals<'_>> {
        let several = self.header.loads.len() > 1;
        let loads = self.header.loads.iter().enumerate();
        loads
            .filter_map(|(number, plan)| {
                let load = plan.name.as_deref().filter(|_| several);
                Some(LoadArrivals { load, process: self.arrival_process(number, ending)? })
            })
            .collect()
    }

    /// Of the load with this number. Nothing for a closed load, which has no process of arrivals.
    pub(super) fn arrival_process(&self, load: usize, ending: &Ending) -> Option<ArrivalProcess> {
        // Some shares of the arrivals are not the process that all of them are.
        if !self.is_whole_load(ending) {
            return None;
        }
        let LoadKind::Open { process, phases, start_ns, .. } = &self.header.loads.get(load)?.kind else {
            return None;
        };
        let claimed = match process {
            Process::Even => ClaimedProcess::Even,
            Process::Recorded => ClaimedProcess::Recorded,
            Process::Poisson { .. } => ClaimedProcess::Poisson,
            Process::Bursty { .. } => ClaimedProcess::Bursty,
        };
        // The warm-up holds the rate with which the shape begins, unless that begins later.
        let first_per_s = if *start_ns == 0 { phases.first()?.from_per_s } else { 0.0 };
        let before_ns = self.header.plan.warmup_ns + start_ns;
        let before =
            ShapePhase { from_per_s: first_per_s, to_per_s: first_per_s, duration: Nanos(before_ns) };
        let phases = phases.iter().map(|phase| ShapePhase {
            from_per_s: phase.from_per_s,
            to_per_s: phase.to_per_s,
            duration: Nanos(phase.duration_ns),
        });
        let before = (before_ns > 0).then_some(before);
        let sample = self.totals.samples.get(load)?;
        let phases = before.into_iter().chain(phases);
        let shape = match process.bursts() {
            None => Shape::new(phases),
            // The same bursts as in the run: a seed gives no others.
            Some((seed, bursts)) => Shape::in_bursts(phases, bursts.stretches(seed, load as u32)),
        };
        ArrivalProcess::of(sample, claimed, &shape)
    }
}

/// For the document.
pub(super) fn document(process: ArrivalProcess) -> document::ArrivalProcess {
    document::ArrivalProcess {
        arrivals: process.arrivals,
        intended: times(&process.intended),
        sent: times(&process.sent),
    }
}

fn times(test: &TimesTest) -> document::ArrivalTimes {
    document::ArrivalTimes {
        exponential: test.gaps.map(|gaps| document::ExponentialTest {
            gaps: gaps.gaps,
            a2: rounded(gaps.a2),
            p_value: rounded(gaps.p_value),
            distance: rounded(gaps.distance),
            correlation: rounded(gaps.correlation),
        }),
        deviation_ns_max: test.deviation_max.map(|off| off.0),
    }
}

/// To six decimals: the test itself is no finer.
fn rounded(figure: f64) -> f64 {
    (figure * 1e6).round() / 1e6
}
