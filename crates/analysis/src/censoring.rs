//! What can be said when censoring or failures are not by chance: bounds, and shares of all arrivals.
//!
//! Kaplan and Meier take it that what was censored would have gone on like the rest. Under overload it would not:
//! what timed out stood at the end of a queue. Two extremes hold whatever the truth is.

use crate::quantile::nearest_rank;
use unblink_core::record::Track;

/// Between which values a quantile lies, whatever became of the censored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extremes {
    /// If every censored arrival had been answered at its age, in ns.
    pub if_answered_now_ns: u64,
    /// If none was ever answered, in ns; `None`: without end.
    pub if_never_ns: Option<u64>,
}

/// The q-quantile for both extremes; `None` without samples.
pub fn extremes(completed: &Track<u64>, censored: &Track<u64>, q: f64) -> Option<Extremes> {
    let count = completed.count() + censored.count();
    if count == 0 {
        return None;
    }
    let rank = nearest_rank(q, count);
    let mut all: Vec<(u64, u64)> = completed.bins().chain(censored.bins()).collect();
    all.sort_unstable();
    Some(Extremes {
        if_answered_now_ns: at_rank(all.into_iter(), rank)?,
        if_never_ns: at_rank(completed.bins(), rank),
    })
}

fn at_rank(bins: impl Iterator<Item = (u64, u64)>, rank: u64) -> Option<u64> {
    let mut below = 0;
    for (value_ns, n) in bins {
        below += n;
        if below >= rank {
            return Some(value_ns);
        }
    }
    None
}

/// The share of all arrivals, failed ones included, that are answered `ok` within each of `marks_ns` (ascending): the
/// cumulative incidence with failure as the competing event (O. O. Aalen, S. Johansen, "An Empirical Transition
/// Matrix for Non-homogeneous Markov Chains Based on Censored Observations", 1978). Taking failures for censored
/// would answer how long they would have taken without the failure, which nobody will ever see.
pub fn answered_within(
    ok: &Track<u64>,
    failed: &Track<u64>,
    censored: &Track<u64>,
    marks_ns: &[u64],
) -> Vec<f64> {
    // Within a bin, what ended comes before what was censored.
    let kinds = [(ok, 0u8), (failed, 1), (censored, 2)];
    let mut ends: Vec<(u64, u8, u64)> = Vec::new();
    for (track, kind) in kinds {
        let bins = track.histogram.iter_recorded();
        ends.extend(bins.map(|bin| (bin.value_iterated_to(), kind, bin.count_at_value())));
    }
    ends.sort_unstable();
    let mut at_risk: u64 = ends.iter().map(|(_, _, n)| n).sum();
    let (mut open, mut answered) = (1.0, 0.0);
    let mut marks = marks_ns.iter().map(|ns| ok.histogram.highest_equivalent(*ns)).peekable();
    let mut shares = Vec::with_capacity(marks_ns.len());
    for of_bin in ends.chunk_by(|a, b| a.0 == b.0) {
        while marks.next_if(|mark| *mark < of_bin[0].0).is_some() {
            shares.push(answered);
        }
        let of = |kind: u8| of_bin.iter().filter(|end| end.1 == kind).map(|end| end.2).sum::<u64>();
        let (ok, failed) = (of(0), of(1));
        answered += open * ok as f64 / at_risk as f64;
        open *= (at_risk - ok - failed) as f64 / at_risk as f64;
        at_risk -= ok + failed + of(2);
    }
    shares.resize(marks_ns.len(), answered);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::time::Nanos;

    fn track(values_ms: impl IntoIterator<Item = u64>) -> Track<u64> {
        let mut track = Track::default();
        values_ms.into_iter().for_each(|ms| track.record(Nanos::from_millis(ms)));
        track
    }

    #[test]
    fn extremes_hold_the_truth_between_them() {
        let (completed, censored) = (track(1..=80), track(std::iter::repeat_n(50, 20)));
        let p50 = extremes(&completed, &censored, 0.5).expect("samples");
        assert_eq!(p50.if_answered_now_ns / 1_000_000, 50);
        assert_eq!(p50.if_never_ns.map(|ns| ns / 1_000_000), Some(50));
        let p90 = extremes(&completed, &censored, 0.9).expect("samples");
        assert_eq!(p90.if_answered_now_ns / 1_000_000, 70);
        assert_eq!(p90.if_never_ns, None);
        assert_eq!(extremes(&Track::default(), &Track::default(), 0.5), None);
    }

    #[test]
    fn failures_take_their_share_away() {
        // 100 arrivals: 80 ok at 1 to 80 ms, 20 failed at 10 ms.
        let (ok, failed) = (track(1..=80), track(std::iter::repeat_n(10, 20)));
        let marks = [5, 40, 80, 1_000].map(|ms| ms * 1_000_000);
        let found = answered_within(&ok, &failed, &Track::default(), &marks);
        for (found, exact) in found.iter().zip([0.05, 0.40, 0.80, 0.80]) {
            assert!((found - exact).abs() < 1e-12, "{found} {exact}");
        }
    }

    #[test]
    fn of_what_was_censored_the_rest_tells() {
        // Of 10 arrivals 5 were cut off at 1 ms; of the other 5 all are answered, 1 has failed.
        let (ok, failed, censored) = (track([2, 3, 4, 5]), track([6]), track([1; 5]));
        let found = answered_within(&ok, &failed, &censored, &[10_000_000]);
        assert!((found[0] - 0.8).abs() < 1e-12, "{found:?}");
    }
}
