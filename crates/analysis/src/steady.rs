//! Where the transient at a run's beginning ends: caches fill, code is compiled, connections are opened.
//!
//! MSER-5 (K. P. White, "An effective truncation heuristic for bias reduction in simulation output", 1997):
//! the mean response times of intervals are averaged in batches of five, and the cut is where the
//! standard error of the mean of what is left, Σ(x − x̄)²/m², is smallest. By itself it would delete a stall
//! as readily as a cold start. So the cut leaves at least three quarters of the run, it never passes an
//! interval that holds an event, events weigh no more than any other interval, and when what is left is not
//! of one level there is no cut at all.

use unblink_core::time::Nanos;

/// Intervals that are averaged into one value.
pub const BATCH: usize = 5;
/// Fewer intervals than this tell nothing: a quarter must be a batch.
pub const INTERVALS_MIN: usize = 4 * BATCH;
/// One part in this many of the run is left out at most.
pub const LEFT_OUT_MAX: usize = 4;
/// What is left is of one level when its medians agree within this factor.
pub const LEVELS_RATIO_MAX: f64 = 1.25;

/// An interval is calm when its mean response time is at most this many times the late median …
const CALM_MEAN: f64 = 1.25;
/// … and its p99 at most this many times.
const CALM_P99: f64 = 1.5;
/// After a calm interval, one whose mean is more than this many times the late median holds an event.
const EVENT_MEAN: f64 = 2.0;
/// The same for its p99.
const EVENT_P99: f64 = 3.0;

/// What is looked at of an interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IntervalLevel {
    /// Start, after t = 0.
    pub start: Nanos,
    /// Fell due in it.
    pub due: u64,
    /// Failed or timed out in it.
    pub lost: u64,
    /// Mean response time of what ended in it, in ns, timed-out arrivals at their ages; nothing when nothing
    /// did.
    pub mean_ns: Option<f64>,
    /// 99th percentile of response time, in ns.
    pub p99_ns: Option<u64>,
}

/// Where the measured part begins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cut {
    /// After t = 0; at the first interval's start when there is no transient.
    pub at: Nanos,
    /// The transient may last longer, but here is an event, which is never left out.
    pub held_back_by: Option<Nanos>,
}

/// Why nothing is left out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NotSteady {
    /// Too few intervals.
    TooShort {
        /// As many were recorded while the load lasted.
        intervals: usize,
    },
    /// What is left after the cut still changes.
    StillChanging {
        /// Median of the interval means of an earlier stretch, in ns.
        early_ns: f64,
        /// The same of what follows it.
        late_ns: f64,
    },
    /// Hardly any interval of the late half has an answer.
    NoAnswers,
    /// The run has no end, or the whole of it is invalid.
    NotBelievable,
    /// The folder does not hold every interval, so that it can't be added up again.
    RecordIncomplete,
}

/// Finds the cut in the intervals of the load, which are in order and of about one length.
pub fn find_cut(intervals: &[IntervalLevel]) -> Result<Cut, NotSteady> {
    if intervals.len() < INTERVALS_MIN {
        return Err(NotSteady::TooShort { intervals: intervals.len() });
    }
    let late = &intervals[intervals.len() / 2..];
    let usual_mean = median(late.iter().filter_map(|i| i.mean_ns)).ok_or(NotSteady::NoAnswers)?;
    let usual_p99 = median(late.iter().filter_map(|i| i.p99_ns.map(|ns| ns as f64)));
    let usual = Usual { mean_ns: usual_mean, p99_ns: usual_p99.unwrap_or(f64::INFINITY) };
    let event = first_event(intervals, &usual);

    let batches = batch_means(intervals, &usual);
    let quarter = batches.len() / LEFT_OUT_MAX;
    let before_event = event.map_or(quarter, |i| (i / BATCH).min(quarter));
    let (wanted, cut) = (mser(&batches, quarter), mser(&batches, before_event));
    let rest = &intervals[cut * BATCH..];
    check_level(rest)?;
    let held_back_by = event.filter(|_| wanted > cut).map(|i| intervals[i].start);
    Ok(Cut { at: rest[0].start, held_back_by })
}

/// Of the late half.
struct Usual {
    mean_ns: f64,
    p99_ns: f64,
}

/// The first interval that holds an event: something was lost, nothing ended, or the response time rose after
/// it had been calm. High values from the very beginning are the transient itself.
fn first_event(intervals: &[IntervalLevel], usual: &Usual) -> Option<usize> {
    let mut was_calm = false;
    intervals.iter().position(|interval| {
        let Some(mean_ns) = interval.mean_ns else { return interval.due > 0 };
        let p99_ns = interval.p99_ns.map_or(0.0, |ns| ns as f64);
        was_calm |= mean_ns <= CALM_MEAN * usual.mean_ns && p99_ns <= CALM_P99 * usual.p99_ns;
        let is_high = mean_ns > EVENT_MEAN * usual.mean_ns || p99_ns > EVENT_P99 * usual.p99_ns;
        interval.lost > 0 || (was_calm && is_high)
    })
}

/// Means of [`BATCH`] intervals. After the first calm interval nothing counts for more than the usual level
/// of an event: a stall late in the run must not move the cut.
fn batch_means(intervals: &[IntervalLevel], usual: &Usual) -> Vec<f64> {
    let mut was_calm = false;
    let value = |interval: &IntervalLevel| {
        let mean_ns = interval.mean_ns.unwrap_or(usual.mean_ns);
        was_calm |= mean_ns <= CALM_MEAN * usual.mean_ns;
        if was_calm { mean_ns.min(EVENT_MEAN * usual.mean_ns) } else { mean_ns }
    };
    let values: Vec<f64> = intervals.iter().map(value).collect();
    values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect()
}

/// How many batches to leave out, at most `most`: where Σ(x − x̄)²/m² of the rest is smallest.
fn mser(batches: &[f64], most: usize) -> usize {
    let error = |cut: usize| {
        let rest = &batches[cut..];
        let m = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / m;
        rest.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (m * m)
    };
    (0..=most).min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap_or(0)
}

/// What is left is of one level: its first fifth like the rest, its first half like its last.
fn check_level(rest: &[IntervalLevel]) -> Result<(), NotSteady> {
    for border in [rest.len() / 5, rest.len() / 2] {
        let level = |part: &[IntervalLevel]| median(part.iter().filter_map(|i| i.mean_ns));
        let (early, late) = (level(&rest[..border]), level(&rest[border..]));
        let (Some(early_ns), Some(late_ns)) = (early, late) else { return Err(NotSteady::NoAnswers) };
        let ratio = early_ns.max(late_ns) / early_ns.min(late_ns).max(f64::MIN_POSITIVE);
        if ratio > LEVELS_RATIO_MAX {
            return Err(NotSteady::StillChanging { early_ns, late_ns });
        }
    }
    Ok(())
}

/// The upper median; nothing of nothing.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::sim::Random;

    /// `n` intervals of a second around 10 ms, with noise of 5 %.
    fn run(n: usize, change: impl Fn(usize, &mut IntervalLevel)) -> Vec<IntervalLevel> {
        let mut random = Random::new(7, 1);
        let interval = |i: usize| {
            let mean_ns = 10e6 * (1.0 + 0.05 * random.normal());
            let mut interval = IntervalLevel {
                start: Nanos::from_secs(i as u64),
                due: 1_000,
                lost: 0,
                mean_ns: Some(mean_ns),
                p99_ns: Some((3.0 * mean_ns) as u64),
            };
            change(i, &mut interval);
            interval
        };
        (0..n).map(interval).collect()
    }

    /// `times` as slow.
    fn slow(interval: &mut IntervalLevel, times: f64) {
        interval.mean_ns = interval.mean_ns.map(|ns| ns * times);
        interval.p99_ns = interval.p99_ns.map(|ns| (ns as f64 * times) as u64);
    }

    fn cut_s(intervals: &[IntervalLevel]) -> Result<u64, NotSteady> {
        find_cut(intervals).map(|cut| cut.at.0 / 1_000_000_000)
    }

    fn plain_mser_s(intervals: &[IntervalLevel]) -> usize {
        let values: Vec<f64> = intervals.iter().filter_map(|i| i.mean_ns).collect();
        let batches: Vec<f64> = values.chunks_exact(BATCH).map(|b| b.iter().sum::<f64>() / 5.0).collect();
        BATCH * mser(&batches, batches.len() / 2)
    }

    /// The same without noise: interval i is `times(i)` as slow, mean and p99 alike.
    fn still(times: impl Fn(usize) -> f64, change: impl Fn(usize, &mut IntervalLevel)) -> Vec<IntervalLevel> {
        run(100, |i, interval| {
            (interval.mean_ns, interval.p99_ns) = (Some(10e6), Some(30_000_000));
            slow(interval, times(i));
            change(i, interval);
        })
    }

    /// (cut, event that held it back), in seconds.
    fn found_s(intervals: &[IntervalLevel]) -> (u64, Option<u64>) {
        let cut = find_cut(intervals).unwrap();
        let seconds = |at: Nanos| at.0 / 1_000_000_000;
        (seconds(cut.at), cut.held_back_by.map(seconds))
    }

    #[test]
    fn the_estimator_is_that_of_the_paper() {
        // By hand: Σ(x − x̄)²/m² is 22/16, 6/81 and 0.
        let batches = [7.0, 1.0, 2.0, 2.0];
        assert_eq!(mser(&batches, 0), 0);
        assert_eq!(mser(&batches, 1), 1);
        assert_eq!(mser(&batches, 2), 2, "two that are equal have no error at all");
        // 1/16 and 6/81; the variance itself, Σ(x − x̄)²/m, would be smaller without the first one.
        assert_eq!(mser(&[1.0, 0.0, 1.0, 0.0], 1), 0);
        // 2.8/25 and 2/16. By plain distances it would be 3.2/25 and 2/16, and the first one would go.
        assert_eq!(mser(&[0.0, 1.0, 0.0, 1.0, 2.0], 1), 0);
    }

    #[test]
    fn a_cold_start_is_left_out() {
        // Ten times as slow at first, gone after 12 s.
        let cold = run(100, |i, interval| slow(interval, 1.0 + 9.0 * (-(i as f64) / 3.0).exp()));
        assert!(found_s(&cold).0 >= 10 && found_s(&cold).1.is_none(), "{:?}", found_s(&cold));
        // A queue that fills: too fast at first.
        let filling = run(100, |i, interval| slow(interval, 1.0 - 0.8 * (-(i as f64) / 4.0).exp()));
        assert!(found_s(&filling).0 >= 10 && found_s(&filling).1.is_none(), "{:?}", found_s(&filling));
        // All of it, up to a quarter of the run.
        for length in [5, 10, 20, 25] {
            let step = still(|i| if i < length { 3.0 } else { 1.0 }, |_, _| ());
            assert_eq!(found_s(&step), (length as u64, None));
        }
    }

    /// Mean and p99 need not be slow together: what has not been calm in both yet is the transient itself.
    #[test]
    fn a_cold_start_may_show_in_one_figure_alone() {
        let cold = |mean: f64, p99: u64| {
            still(
                |_| 1.0,
                |i, interval| {
                    if i < 10 {
                        (interval.mean_ns, interval.p99_ns) = (Some(mean * 10e6), Some(p99 * 30_000_000));
                    }
                },
            )
        };
        assert_eq!(found_s(&cold(3.0, 1)), (10, None));
        assert_eq!(found_s(&cold(1.2, 10)), (10, None));
    }

    /// One that is slow enough to be an event holds the cut back, after the first calm interval; others don't.
    #[test]
    fn what_is_an_event_and_what_is_none() {
        let after_a_cold_start = |late: f64, mean: f64, p99: f64| {
            let times = |i| match i {
                0..10 => 3.0,
                50.. => late,
                _ => 1.0,
            };
            found_s(&still(times, |i, interval| {
                if (12..15).contains(&i) {
                    interval.mean_ns = interval.mean_ns.map(|ns| ns * mean);
                    interval.p99_ns = interval.p99_ns.map(|ns| (ns as f64 * p99) as u64);
                }
            }))
        };
        assert_eq!(after_a_cold_start(1.0, 1.9, 2.9), (15, None));
        assert_eq!(after_a_cold_start(1.0, 2.1, 1.0), (10, Some(12)));
        assert_eq!(after_a_cold_start(1.0, 1.5, 3.1), (10, Some(12)));
        // Measured by the late half: 1.7 times its level, and 2.04 times that of the early one.
        assert_eq!(after_a_cold_start(1.2, 2.04, 1.0).1, None);
    }

    /// Seconds in which nothing fell due and nothing ended say nothing.
    #[test]
    fn idle_seconds_are_no_event_and_no_transient() {
        let idle = |from: usize, to: usize, due: u64| {
            move |i: usize, interval: &mut IntervalLevel| {
                if (from..to).contains(&i) {
                    (interval.mean_ns, interval.p99_ns, interval.due) = (None, None, due);
                }
            }
        };
        assert_eq!(found_s(&still(|_| 1.0, idle(0, 5, 0))), (0, None));
        let step = |i| if i < 10 { 3.0 } else { 1.0 };
        assert_eq!(found_s(&still(step, idle(2, 4, 0))), (10, None));
        assert_eq!(found_s(&still(step, idle(2, 4, 7))), (0, Some(2)));
    }

    #[test]
    fn a_steady_run_loses_little() {
        let shares: Vec<f64> = (20..=200)
            .map(|n| cut_s(&run(n, |_, _| ())).unwrap() as f64 / n as f64)
            .inspect(|share| assert!(*share <= 0.25, "{share}"))
            .collect();
        // A cut by the toss of a coin would take an eighth.
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        assert!(mean < 0.1, "{mean}");
    }

    /// The trap: a stall in the first quarter is the target's doing. Plain MSER deletes it.
    #[test]
    fn a_stall_is_never_left_out() {
        for (from, to) in [(6, 8), (3, 4), (12, 20)] {
            let stalled = run(100, |i, interval| {
                if (from..to).contains(&i) {
                    slow(interval, 40.0);
                }
            });
            assert!(plain_mser_s(&stalled) >= to, "plain MSER cuts at {}", plain_mser_s(&stalled));
            let (cut, held_back) = found_s(&stalled);
            assert!(cut <= from as u64 && held_back == Some(from as u64), "{from}: {cut} {held_back:?}");
        }
        // A cold start, then a stall: the cut stops before it and says so.
        let both = run(100, |i, interval| match i {
            0..=11 => slow(interval, 8.0 - 0.6 * i as f64),
            14..=15 => slow(interval, 40.0),
            16..=18 => slow(interval, 1.6),
            _ => {}
        });
        assert_eq!(found_s(&both), (10, Some(14)));
        // What was lost or never came is an event even at the very beginning.
        let dead = run(100, |i, interval| match i {
            0 => interval.mean_ns = None,
            1..=6 => slow(interval, 20.0),
            _ => {}
        });
        assert_eq!(found_s(&dead), (0, Some(0)));
        let lost = run(100, |i, interval| {
            slow(interval, if i < 7 { 20.0 } else { 1.0 });
            interval.lost = u64::from(i == 2);
        });
        assert_eq!(found_s(&lost), (0, Some(2)));
    }

    #[test]
    fn a_late_stall_moves_nothing() {
        let cold = |i: usize, interval: &mut IntervalLevel| {
            slow(interval, 1.0 + 9.0 * (-(i as f64) / 3.0).exp());
            if (60..70).contains(&i) {
                slow(interval, 100.0);
            }
        };
        assert_eq!(found_s(&run(100, cold)), (10, None));
    }

    /// What comes before the first calm interval keeps its weight, however much goes on later.
    #[test]
    fn later_events_do_not_hide_a_cold_start() {
        let times = |i: usize| match i {
            0..5 => 10.0,
            30..50 | 60..65 | 70..75 | 80..85 => 5.0,
            _ => 1.0,
        };
        assert_eq!(found_s(&still(times, |_, _| ())), (5, None));
    }

    #[test]
    fn nothing_stationary_is_refused() {
        let growing = run(100, |i, interval| slow(interval, 1.0 + i as f64));
        assert!(matches!(cut_s(&growing), Err(NotSteady::StillChanging { .. })));
        let long_transient = run(100, |i, interval| slow(interval, if i < 45 { 5.0 } else { 1.0 }));
        assert!(matches!(cut_s(&long_transient), Err(NotSteady::StillChanging { .. })));
        assert_eq!(cut_s(&run(19, |_, _| ())), Err(NotSteady::TooShort { intervals: 19 }));
        assert!(cut_s(&run(20, |_, _| ())).is_ok());
        let silent = run(100, |_, interval| interval.mean_ns = None);
        assert_eq!(cut_s(&silent), Err(NotSteady::NoAnswers));
        // Nothing but seconds without load, then answers.
        let begun_late = run(100, |i, interval| {
            if i < 60 {
                (interval.mean_ns, interval.p99_ns, interval.due) = (None, None, 0);
            }
        });
        assert_eq!(cut_s(&begun_late), Err(NotSteady::NoAnswers));
    }

    /// The first fifth against the rest, and the halves: each finds what the other one doesn't.
    #[test]
    fn levels_are_compared_twice() {
        let changing = |early: f64, late: f64| {
            Err(NotSteady::StillChanging { early_ns: 10e6 * early, late_ns: 10e6 * late })
        };
        // An event at 1 s holds the cut back.
        let lost = |i: usize, interval: &mut IntervalLevel| interval.lost = u64::from(i == 1);
        let first_fifth = still(|i| if i < 15 { 1.3 } else { 1.0 }, lost);
        assert_eq!(cut_s(&first_fifth), changing(1.3, 1.0));
        assert_eq!(cut_s(&still(|i| if i < 15 { 1.2 } else { 1.0 }, lost)), Ok(0));
        assert_eq!(cut_s(&still(|i| if i < 74 { 1.0 } else { 1.3 }, lost)), changing(1.0, 1.3));
        assert_eq!(cut_s(&still(|i| if i < 76 { 1.0 } else { 1.3 }, lost)), Ok(0));
    }
}
