//! The rate at which the percentile reaches its limit, from all trials near it.
//!
//! There the share s of response times above the limit is 1 − q. Where a queue decides it, ln s is a straight line over the
//! rate: for M/M/1 it is −(μ − λ)·limit exactly, for M/M/c and in heavy traffic nearly, and any curve is straight over a
//! short piece. The line a + b·λ solves Σ T·(ŝ − exp(a + b·λ))·(1, λ) = 0 over the trials, with T the measured time (the
//! equations of a Poisson regression; P. McCullagh, J. A. Nelder, "Generalized Linear Models", 1989). What is above the
//! limit is summed up and never divided by: so windows that were lengthened until they were clear, and rates that were
//! chosen by what came before, don't bias it (the sums are martingales). The error follows from that of each share, by
//! batches of its window, through the same equations (the sandwich of P. J. Huber, 1967).

use super::super::trial::{Purpose, Step};
use crate::interval::exact::{ONE_LOOK, student};

/// Trials whose rate is within this share of where the search ended count.
const NEAR_SHARE: f64 = 0.15;
/// Degrees of freedom of one error from 20 batches.
const FREEDOM: f64 = 19.0;
const ITERATIONS_MAX: usize = 100;
/// No step of the iteration is longer, in logarithms.
const STEP_MAX: f64 = 1.0;

/// Where the line reaches the limit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Border {
    /// Requests per second.
    pub(super) per_s: f64,
    /// Half the width of its 95 % interval; nothing when no trial has an error.
    pub(super) half_width_per_s: Option<f64>,
}

/// A trial near where the search ended.
struct Point {
    /// Rate over that of the search's end, less 1.
    x: f64,
    seconds: f64,
    above: f64,
    above_error: Option<f64>,
}

/// Nothing without trials at two rates within [`NEAR_SHARE`] of `around_per_s`, or when what is above the limit does not
/// grow with the rate, or reaches 1 − q nowhere among them.
pub(super) fn border(steps: &[Step], quantile: f64, around_per_s: f64) -> Option<Border> {
    // Latency is measured after the answer.
    let searched = steps.iter().filter(|s| s.trial.purpose != Purpose::Latency && s.outcome.is_stationary());
    let points: Vec<Point> = searched
        .filter_map(|step| {
            Some(Point {
                x: step.trial.rate.as_per_s() / around_per_s - 1.0,
                seconds: step.outcome.measured.as_secs_f64(),
                above: step.outcome.above_share?,
                above_error: step.outcome.above_error,
            })
        })
        .filter(|point| point.x.abs() <= NEAR_SHARE && point.seconds > 0.0)
        .collect();
    let (a, b) = line(&points)?;
    let x = ((1.0 - quantile).ln() - a) / b;
    let (least, most) = points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p.x), high.max(p.x)));
    if !(b > 0.0 && least <= x && x <= most) {
        return None;
    }
    let half_width = variance(&points, a, b, x).map(|variance| {
        let freedom = FREEDOM * points.iter().filter(|p| p.above_error.is_some()).count() as f64;
        student(freedom, ONE_LOOK.normal) * variance.sqrt() * around_per_s
    });
    Some(Border { per_s: around_per_s * (1.0 + x), half_width_per_s: half_width })
}

/// a and b of ln s = a + b·x.
fn line(points: &[Point]) -> Option<(f64, f64)> {
    let seconds: f64 = points.iter().map(|p| p.seconds).sum();
    let above: f64 = points.iter().map(|p| p.seconds * p.above).sum();
    if above <= 0.0 {
        return None;
    }
    let (mut a, mut b) = ((above / seconds).ln(), 0.0);
    for _ in 0..ITERATIONS_MAX {
        let (mut g0, mut g1, mut h) = (0.0, 0.0, [0.0; 3]);
        for p in points {
            let fitted = p.seconds * (a + b * p.x).exp();
            let off = p.seconds * p.above - fitted;
            g0 += off;
            g1 += off * p.x;
            h = [h[0] + fitted, h[1] + fitted * p.x, h[2] + fitted * p.x * p.x];
        }
        let determinant = h[0] * h[2] - h[1] * h[1];
        if determinant <= 1e-12 * h[0] * h[2].max(f64::MIN_POSITIVE) {
            return None;
        }
        let (da, db) = ((h[2] * g0 - h[1] * g1) / determinant, (h[0] * g1 - h[1] * g0) / determinant);
        // The farthest trial must not see a step longer than STEP_MAX.
        let length = (da.abs() + db.abs() * NEAR_SHARE).max(1e-300);
        let part = (STEP_MAX / length).min(1.0);
        (a, b) = (a + part * da, b + part * db);
        if length < 1e-9 {
            return Some((a, b));
        }
    }
    None
}

/// Of x where the line reaches the limit.
fn variance(points: &[Point], a: f64, b: f64, x: f64) -> Option<f64> {
    let (mut bread, mut meat) = ([0.0; 3], [0.0; 3]);
    let known: Vec<&Point> = points.iter().filter(|p| p.above_error.is_some()).collect();
    for p in points {
        let fitted = p.seconds * (a + b * p.x).exp();
        bread = [bread[0] + fitted, bread[1] + fitted * p.x, bread[2] + fitted * p.x * p.x];
    }
    for p in &known {
        let square = (p.seconds * p.above_error?).powi(2);
        meat = [meat[0] + square, meat[1] + square * p.x, meat[2] + square * p.x * p.x];
    }
    let determinant = bread[0] * bread[2] - bread[1] * bread[1];
    // The gradient of x is −(1, x)/b; times the inverse of the bread.
    let u = (bread[2] - bread[1] * x) / determinant / b;
    let v = (bread[0] * x - bread[1]) / determinant / b;
    let variance = u * u * meat[0] + 2.0 * u * v * meat[1] + v * v * meat[2];
    (!known.is_empty() && variance.is_finite()).then_some(variance)
}

#[cfg(test)]
mod tests {
    use super::super::super::criterion::Verdict;
    use super::super::super::trial::Trial;
    use super::super::tests::outcome;
    use super::*;
    use unblink_core::schedule::Rate;
    use unblink_core::time::Nanos;

    /// A trial of M/M/1 with 1,000/s and a limit of 50 ms whose share above is `times` what it should be.
    fn step(per_s: u64, seconds: u64, times: f64) -> Step {
        let length = Nanos::from_secs(seconds);
        let trial = Trial {
            number: 1,
            purpose: Purpose::Bisect,
            rate: Rate::per_second(per_s),
            settle: Nanos::ZERO,
            measure: length,
            measure_max: length,
        };
        let above = (-0.05 * (1_000.0 - per_s as f64)).exp() * times;
        let mut outcome = outcome(&trial, Verdict::Undecided);
        (outcome.measured, outcome.above_share, outcome.above_error) =
            (length, Some(above), Some(0.3 * above));
        Step { trial, outcome }
    }

    #[test]
    fn one_queue_is_a_straight_line() {
        // 1,000 − ln 100/0.05 = 907.9; trials far away do not count.
        let far = [step(100, 20, 3.0), step(400, 20, 1.0)];
        let near = [step(880, 160, 1.0), step(920, 160, 1.0), step(940, 80, 1.0)];
        let found = border(&[&far[..], &near].concat(), 0.99, 900.0).unwrap();
        assert!((found.per_s - 907.9).abs() < 0.1, "{found:?}");
        // An error of 0.3 in ln s is 6/s for each of three trials.
        let half_width = found.half_width_per_s.unwrap();
        assert!((5.0..12.0).contains(&half_width), "{found:?}");
    }

    #[test]
    fn no_line_where_nothing_is_above_or_it_does_not_grow() {
        let of = |steps: &[Step]| border(steps, 0.99, 900.0);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[step(890, 20, 0.0), step(910, 20, 0.0)]), None);
        assert_eq!(of(&[step(900, 20, 1.0), step(900, 20, 1.1)]), None);
        assert_eq!(of(&[step(900, 20, 1.0), step(920, 20, 0.1)]), None);
        assert_eq!(of(&[step(860, 20, 1.0), step(880, 20, 1.0)]), None, "it would lie above both");
    }
}
