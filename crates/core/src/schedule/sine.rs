//! A rate that swings like a day: from its lowest to its highest value and back.

use super::{Phase, Rate};
use crate::time::Nanos;
use std::f64::consts::TAU;

/// Pieces that a period is made of. A chord of so short an arc leaves it by 1 − cos(π/96) = 0.054 % of half of the swing at
/// the most.
pub const PIECES: u64 = 96;
/// Rates stand at whole such parts of the swing.
const PARTS: u64 = 10_000;

/// The phases of low + (high − low)·(1 − cos(2πt/period))/2 over `length`: straight lines between points of the curve,
/// [`PIECES`] for a period. Their mean over whole periods is exactly (low + high)/2. `None` where the rates between the two
/// have no fraction that fits.
pub fn sine(low: Rate, high: Rate, period: Nanos, length: Nanos) -> Option<Vec<Phase>> {
    let at = |piece: u64| {
        Nanos((u128::from(period.0) * u128::from(piece) / u128::from(PIECES)).min(u128::from(length.0)) as u64)
    };
    let rate = |at: Nanos| {
        let turn = (at.0 % period.0.max(1)) as f64 / period.0 as f64;
        // `libm`, for the same rates on every machine.
        let height = (1.0 - libm::cos(TAU * turn)) / 2.0;
        low.toward(high, (height * PARTS as f64).round() as u64, PARTS)
    };
    let (mut phases, mut piece) = (Vec::new(), 0);
    let mut from = low;
    while at(piece) < length {
        let (begin, end) = (at(piece), at(piece + 1));
        piece += 1;
        // A period of fewer nanoseconds than pieces.
        if end > begin {
            let to = rate(end)?;
            phases.push(Phase { from, to, duration: end - begin });
            from = to;
        }
    }
    Some(phases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Process, Schedule};

    const LOW: Rate = Rate::per_second(100);
    const HIGH: Rate = Rate::per_second(900);

    /// ∫ of the curve from 0 to `at_s`, in closed form.
    fn integral(period_s: f64, at_s: f64) -> f64 {
        500.0 * at_s - 400.0 * period_s / TAU * (TAU * at_s / period_s).sin()
    }

    #[test]
    fn the_count_is_that_of_the_curve() {
        for (period_s, length_s) in [(86_400, 86_400), (60, 150), (7, 100)] {
            let (period, length) = (Nanos::from_secs(period_s), Nanos::from_secs(length_s));
            let phases = sine(LOW, HIGH, period, length).unwrap();
            let schedule = Schedule::new(&phases, Process::Even, u64::MAX);
            assert_eq!(schedule.end(), length);
            for step in 0..=1_000 {
                let at_s = length_s as f64 * f64::from(step) / 1e3;
                let counted = schedule.count_before(Nanos((at_s * 1e9) as u64)) as f64;
                let off = (counted - integral(period_s as f64, at_s)).abs();
                // At its farthest after a quarter: ∫ of what chords cut off, 1/π·(π/96)²/6·amplitude·period.
                assert!(off <= 1.5 + 7e-5 * 400.0 * period_s as f64, "{at_s} s: off by {off}");
            }
            for periods in 1..=length_s / period_s {
                let counted = schedule.count_before(Nanos::from_secs(period_s * periods));
                assert_eq!(counted, 500 * period_s * periods, "{periods} periods of {period_s} s");
            }
        }
    }

    #[test]
    fn it_begins_at_its_lowest_and_is_highest_in_the_middle() {
        let phases = sine(LOW, HIGH, Nanos::from_secs(96), Nanos::from_secs(100)).unwrap();
        assert_eq!((phases.len(), phases[0].from, phases[47].to, phases[95].to), (100, LOW, HIGH, LOW));
        assert!(phases.windows(2).all(|two| two[0].to == two[1].from));
        assert!(phases.iter().all(|phase| phase.duration == Nanos::from_secs(1)));
        // Slow rates with denominators of their own.
        let [low, high] = [(1, 60), (10, 60)].map(|(n, s)| Rate::new(n, s).unwrap());
        let slow = sine(low, high, Nanos::from_secs(3_600), Nanos::from_secs(3_600)).unwrap();
        assert_eq!(Schedule::new(&slow, Process::Even, u64::MAX).count_before(Nanos::from_secs(3_600)), 330);
    }
}
