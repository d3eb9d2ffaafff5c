//! What the sampled arrivals say about their process.

use super::Tally;
use crate::document::{self, Process};
use unblink_analysis::arrivals::{ArrivalProcess, ClaimedProcess, Shape, ShapePhase, TimesTest};
use unblink_core::time::Nanos;

impl Tally {
    /// Nothing for a closed load, which has no process of arrivals.
    pub(super) fn arrival_process(&self) -> Option<ArrivalProcess> {
        let load = &self.header.plan;
        let claimed = match self.header.loads.first()?.process()? {
            Process::Even => ClaimedProcess::Even,
            Process::Poisson { .. } => ClaimedProcess::Poisson,
        };
        // The warm-up holds the rate with which the shape begins.
        let first_per_s = load.phases.first()?.from_per_s;
        let warmup =
            ShapePhase { from_per_s: first_per_s, to_per_s: first_per_s, duration: Nanos(load.warmup_ns) };
        let phases = load.phases.iter().map(|phase| ShapePhase {
            from_per_s: phase.from_per_s,
            to_per_s: phase.to_per_s,
            duration: Nanos(phase.duration_ns),
        });
        let warmup = (load.warmup_ns > 0).then_some(warmup);
        ArrivalProcess::of(&self.totals.samples[0], claimed, &Shape::new(warmup.into_iter().chain(phases)))
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
