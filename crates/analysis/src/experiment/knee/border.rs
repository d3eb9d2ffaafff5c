//! The rate at which the percentile reaches its limit, from all trials near it.
//!
//! There the share s of response times above the limit is 1 − q. Where a queue decides it, ln s is a straight line over the
//! rate: for M/M/1 it is −(μ − λ)·limit exactly, for M/M/c and in heavy traffic nearly, and any curve is straight over a
//! short piece. What is above the limit comes in bouts, each longer by 1/(μ − λ)², which is as 1/ln²s: so the share
//! measured in a time T varies by φ·s/(T·ln²s), and the line a + b·λ solves Σ T·ln²s·(ŝ − s)·(1, λ) = 0 (quasi-likelihood;
//! P. McCullagh, J. A. Nelder, "Generalized Linear Models", 1989). ŝ is summed up and never divided by: so windows that
//! were lengthened until they were clear, and rates that were chosen by what came before, don't bias it (the sums are
//! martingales). φ is taken from batches of all windows together, or from how far the trials are off the line, whichever
//! is more; the interval follows by the delta method.

use super::super::criterion::BATCHES;
use super::super::trial::{Purpose, Step};
use crate::interval::exact::{ONE_LOOK, student};

/// Trials whose rate is within this share of where the search ended count.
const NEAR_SHARE: f64 = 0.15;
/// Degrees of freedom of one error from its batches.
const FREEDOM: f64 = (BATCHES - 1) as f64;
/// Further beyond the trials than this the line is not believed: a trial there comes first.
const REACH_SHARE: f64 = 0.03;
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
/// grow with the rate. No further than [`REACH_SHARE`] beyond the trials.
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
    if b <= 0.0 {
        return None;
    }
    let x = x.clamp(least - REACH_SHARE, most + REACH_SHARE);
    let half_width = dispersion(&points, a, b).map(|phi| {
        let [h0, h1, h2] = information(&points, a, b);
        // The gradient of x is −(1, x)/b.
        let variance = phi * (h2 - 2.0 * h1 * x + h0 * x * x) / (h0 * h2 - h1 * h1) / (b * b);
        let freedom = FREEDOM * points.iter().filter(|p| p.above_error.is_some()).count() as f64;
        student(freedom, ONE_LOOK.normal) * variance.sqrt() * around_per_s
    });
    Some(Border { per_s: around_per_s * (1.0 + x), half_width_per_s: half_width })
}

/// s by the line, and the weight ln²s of what is off it. A share near 1 has little to say about the border.
fn fitted(p: &Point, a: f64, b: f64) -> (f64, f64) {
    let ln = (a + b * p.x).min(0.0);
    (ln.exp(), ln * ln)
}

/// Sums of T·s·ln²s times 1, x and x².
fn information(points: &[Point], a: f64, b: f64) -> [f64; 3] {
    points.iter().fold([0.0; 3], |h, p| {
        let (share, weight) = fitted(p, a, b);
        let part = p.seconds * share * weight;
        [h[0] + part, h[1] + part * p.x, h[2] + part * p.x * p.x]
    })
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
        let [h0, h1, h2] = information(points, a, b);
        let (mut g0, mut g1) = (0.0, 0.0);
        for p in points {
            let (share, weight) = fitted(p, a, b);
            let off = p.seconds * weight * (p.above - share);
            (g0, g1) = (g0 + off, g1 + off * p.x);
        }
        let determinant = h0 * h2 - h1 * h1;
        if determinant.is_nan() || determinant <= 1e-12 * h0 * h2 {
            return None;
        }
        let (da, db) = ((h2 * g0 - h1 * g1) / determinant, (h0 * g1 - h1 * g0) / determinant);
        // The farthest trial must not see a step longer than STEP_MAX.
        let length = da.abs() + db.abs() * NEAR_SHARE;
        let part = (STEP_MAX / length.max(f64::MIN_POSITIVE)).min(1.0);
        (a, b) = (a + part * da, b + part * db);
        if length < 1e-9 {
            return Some((a, b));
        }
    }
    None
}

/// φ, in seconds; nothing when no trial has an error.
fn dispersion(points: &[Point], a: f64, b: f64) -> Option<f64> {
    let scaled = |p: &Point, square: f64| {
        let (share, weight) = fitted(p, a, b);
        p.seconds * square * weight / share
    };
    let known: Vec<(f64, f64)> =
        points.iter().filter_map(|p| Some((p.seconds, scaled(p, p.above_error?.powi(2))))).collect();
    let seconds: f64 = known.iter().map(|(seconds, _)| seconds).sum();
    let within = known.iter().map(|(seconds, phi)| seconds * phi).sum::<f64>() / seconds;
    let off = |p: &Point| scaled(p, (p.above - fitted(p, a, b).0).powi(2));
    let between = points.iter().map(off).sum::<f64>() / points.len().saturating_sub(2).max(1) as f64;
    (!known.is_empty()).then_some(within.max(between))
}

#[cfg(test)]
mod tests {
    use super::super::super::criterion::RateVerdict;
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
        let mut outcome = outcome(&trial, RateVerdict::Undecided);
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
        assert!((4.0..12.0).contains(&half_width), "{found:?}");
    }

    #[test]
    fn no_line_where_nothing_is_above_or_it_does_not_grow() {
        let of = |steps: &[Step]| border(steps, 0.99, 900.0);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[step(890, 20, 0.0), step(910, 20, 0.0)]), None);
        assert_eq!(of(&[step(900, 20, 1.0), step(900, 20, 1.1)]), None);
        assert_eq!(of(&[step(900, 20, 1.0), step(920, 20, 0.1)]), None);
        let beyond = of(&[step(860, 20, 1.0), step(870, 20, 1.0)]).unwrap();
        assert!((beyond.per_s - 897.0).abs() < 0.1, "no further than 3 % of 900 beyond: {beyond:?}");
    }
}
