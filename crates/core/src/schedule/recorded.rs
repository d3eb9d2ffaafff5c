//! The schedule of recorded arrivals.

use super::{Phase, Process, Rate, Schedule};
use crate::recorded::Recorded;
use crate::time::{Nanos, SECOND_NS};

/// Stretches at the most in which the rate of recorded arrivals is told.
const STRETCHES_MAX: u64 = 600;
/// None of these is shorter.
const STRETCH_MIN_NS: u64 = SECOND_NS / 10;

impl Schedule {
    /// Of these arrivals. A unit of its Λ is an arrival; the phases only tell the rate.
    pub fn of_recorded(recorded: &Recorded) -> Schedule {
        let schedule = Schedule::new(&recorded_phases(recorded), Process::Recorded, u64::MAX);
        let end_units = u128::from(recorded.count());
        Schedule { recorded: Some(recorded.clone()), units_per_request: 1, end_units, ..schedule }
    }
}

/// The rate over time, in stretches of the same length.
pub fn recorded_phases(recorded: &Recorded) -> Vec<Phase> {
    let length = recorded.length();
    let width = length.0.div_ceil(STRETCHES_MAX).max(STRETCH_MIN_NS);
    let stretch = |number: u64| {
        let [from, to] = [number, number + 1].map(|edge| Nanos(edge * width).min(length));
        let count = recorded.count_before(to) - recorded.count_before(from);
        let milli = u128::from(count) * 1_000 * u128::from(SECOND_NS) / u128::from((to - from).0);
        Phase::hold(Rate::from_milli(milli as u64), to - from)
    };
    (0..length.0.div_ceil(width)).map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::RecordedArrival;
    use std::sync::Arc;

    #[test]
    fn stretches_have_all_arrivals() {
        let at = |k: u64| RecordedArrival { at: Nanos::from_millis(k * k / 1_000), operation: 0, text: 0 };
        let bytes: Vec<u8> = (0..5_000).flat_map(|k| at(k).to_bytes()).collect();
        let all = Recorded::new(Arc::new(bytes), Arc::new(Vec::new()), Nanos::from_millis(25_001)).unwrap();
        let phases = recorded_phases(&all);
        assert_eq!(phases.iter().map(|phase| phase.duration.0).sum::<u64>(), 25_001_000_000);
        let sum: f64 = phases.iter().map(|p| p.from.as_per_s() * p.duration.as_secs_f64()).sum();
        assert!((sum - 5_000.0).abs() < 0.1, "{sum}");
        let days = recorded_phases(&all.lasting(Nanos::from_secs(90_000)));
        assert_eq!((phases.len(), days.len()), (251, 600));
    }
}
