//! Quantiles against the textbook, against nearest ranks and against the saturation oracle.

use proptest::prelude::*;
use unblink_analysis::quantile::{QUANTILES, Survival};
use unblink_core::record::Track;
use unblink_core::time::Nanos;

fn track(values_ns: impl IntoIterator<Item = u64>) -> Track<u64> {
    let mut track = Track::default();
    values_ns.into_iter().for_each(|ns| track.record(Nanos(ns)));
    track
}

/// (value, censored) of a quantile.
fn quantile(survival: &Survival, q: f64) -> (u64, bool) {
    let value = survival.quantile(q).expect("not empty");
    (value.value_ns, value.censored)
}

/// Remission in weeks under 6-MP (Freireich et al. 1963), the example of most textbooks:
/// 6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+.
#[test]
fn textbook() {
    let survival = Survival::new(
        &track([6, 6, 6, 7, 10, 13, 16, 22, 23]),
        &track([6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]),
    );
    let survivors: Vec<(u64, f64)> =
        survival.steps().map(|(at, share)| (at, ((1.0 - share) * 1e4).round() / 1e4)).collect();
    let expected =
        [(6, 0.8571), (7, 0.8067), (10, 0.7529), (13, 0.6902), (16, 0.6275), (22, 0.5378), (23, 0.4482)];
    assert_eq!(survivors, expected);
    assert_eq!((survival.count(), survival.censored()), (21, 12));
    assert_eq!(quantile(&survival, 0.14), (6, false));
    assert_eq!(quantile(&survival, 0.25), (13, false));
    assert_eq!(quantile(&survival, 0.5), (23, false));
    // Not reached. By rank among all, had each been answered at its age, it is at least 16, and no shorter
    // than what is known of lower quantiles; the largest age, 35, would be no bound: most ages are lower.
    assert_eq!(quantile(&survival, 0.6), (23, true));
    assert_eq!(quantile(&survival, 0.9), (32, true));
    assert!(survival.quantile(0.5).is_some_and(|v| !v.few_samples));
    assert!(survival.quantile(0.6).is_some_and(|v| v.few_samples));
}

#[test]
fn at_a_tie_completions_come_before_censorings() {
    let survival = Survival::new(&track([5, 5]), &track([5, 5]));
    assert_eq!(quantile(&survival, 0.5), (5, false));
    assert_eq!(quantile(&survival, 0.51), (5, true));
    // In one bin of the histogram (1 ms to 1.001 ms), whichever of the two maxima is larger.
    for (done, age) in [(1_000_100, 1_000_200), (1_000_200, 1_000_100)] {
        let survival = Survival::new(&track([done]), &track([age]));
        assert_eq!(quantile(&survival, 0.5), (done, false));
        let (bound, open) = quantile(&survival, 0.9);
        assert!(open && (done..=1_000_200).contains(&bound), "{bound}");
    }
}

#[test]
fn nothing_and_nothing_known() {
    let nothing = track([]);
    assert_eq!(Survival::new(&nothing, &nothing).quantile(0.5), None);
    assert!(Survival::new(&nothing, &nothing).table().is_empty());
    assert!(Survival::new(&nothing, &nothing).spectrum(400).is_empty());
    let ages = Survival::new(&nothing, &track([7, 11]));
    assert_eq!(quantile(&ages, 0.5), (7, true));
    assert_eq!(quantile(&ages, 0.51), (11, true));
    assert!(ages.spectrum(400).is_empty());
}

/// The saturation oracle: 1,000/s for 60 s on 5 slots of 10 ms with a timeout of 5 s. Arrival k of the
/// served waits 10 ms and 1 ms more than the one before, until the timeout is reached.
#[test]
fn saturation_prints_the_timeout_and_not_its_bin() {
    let timeout = 5_000_000_000;
    let known = track((0..4_990u64).map(|k| 10_000_000 + k * 1_000_000));
    let censored = track((0..60_000 - 4_990).map(|_| timeout));
    let survival = Survival::new(&known, &censored);
    assert_eq!(survival.count(), 60_000);
    for q in QUANTILES {
        assert_eq!(quantile(&survival, q), (timeout, true), "q {q}");
    }
    let (median_of_known, false) = quantile(&survival, 4_990.0 / 60_000.0) else { panic!("is known") };
    assert!(median_of_known <= timeout);
}

#[test]
fn ten_samples_above_are_enough() {
    for (n, q, few) in [(1_000, 0.99, false), (999, 0.99, true), (20, 0.5, false), (19, 0.5, true)] {
        let survival = Survival::known(&track(1..=n));
        assert_eq!(survival.quantile(q).map(|v| v.few_samples), Some(few), "{n} samples, q {q}");
    }
    assert_eq!(Survival::known(&track(1..=10_000)).quantile(0.999).map(|v| v.few_samples), Some(false));
}

/// A stall: 98 of 100 take 10 ms, the rest up to 1 s. The curve keeps both ends of the jump.
#[test]
fn spectrum_keeps_jumps_and_ends_with_the_data() {
    let known = track((0..9_800).map(|_| 10_000_000).chain((0..200).map(|i| 500_000_000 + i * 2_500_000)));
    let survival = Survival::known(&known);
    let curve = survival.spectrum(400);
    assert!(curve.len() <= 400);
    assert!(curve.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1), "ascending in both");
    let foot = curve.iter().position(|&(q, v)| q == 0.98 && v < 10_100_000).expect("the foot of the jump");
    assert!(curve[foot + 1].0 == 0.98 && curve[foot + 1].1 >= 500_000_000);
    assert_eq!(curve.last(), Some(&(1.0 - 0.5 / 10_000.0, 500_000_000 + 199 * 2_500_000)));
    for (q, value) in &curve {
        let below = known.bins().filter(|(v, _)| v <= value).map(|(_, n)| n).sum::<u64>() as f64 / 1e4;
        assert!(below + 1e-9 >= *q, "{q} takes at most {value}: {below}");
    }

    let half_known = Survival::new(&track([1, 2, 3, 4, 5]), &track([9, 9, 9, 9, 9]));
    assert_eq!(half_known.spectrum(400).last(), Some(&(0.5, 5)));
}

proptest! {
    /// Values below 2,048 have bins of their own, so that ranks must come out exactly; the ones above
    /// within a thousandth.
    #[test]
    fn without_censoring_it_is_the_nearest_rank(
        mut values in prop::collection::vec(prop_oneof![1u64..2_000, 1u64..3_600_000_000_000], 1..600),
        q in prop_oneof![Just(0.5), Just(0.9), Just(0.99), Just(0.999), 0.0f64..1.0],
    ) {
        let known = track(values.iter().copied());
        values.sort_unstable();
        let rank = ((q * values.len() as f64 - 1e-9).ceil() as usize).max(1);
        let exact = values[rank - 1];
        for survival in [Survival::known(&known), Survival::new(&known, &track([]))] {
            let found = survival.quantile(q).expect("not empty");
            prop_assert!(!found.censored);
            prop_assert!(found.value_ns >= exact && found.value_ns - exact <= exact / 1_000);
            prop_assert!(found.value_ns <= known.max_ns);
        }
    }

    /// One constant timeout: the known have the ranks that they would have among all.
    #[test]
    fn a_constant_timeout_leaves_ranks_whole(
        mut known in prop::collection::vec(1u64..1_500, 0..300),
        timed_out in 0u64..300,
        q in 0.0f64..1.0,
    ) {
        prop_assume!(!known.is_empty() || timed_out > 0);
        let survival = Survival::new(&track(known.iter().copied()), &track((0..timed_out).map(|_| 1_500)));
        known.sort_unstable();
        let n = known.len() as u64 + timed_out;
        let rank = ((q * n as f64 - 1e-9).ceil() as usize).max(1);
        let expected = known.get(rank - 1).map_or((1_500, true), |&value| (value, false));
        prop_assert_eq!(quantile(&survival, q), expected);
    }

    /// Against the definition, computed sample by sample.
    #[test]
    fn against_the_product_limit(
        samples in prop::collection::vec((1u64..60, any::<bool>()), 1..120),
        q in 0.01f64..0.99,
    ) {
        let of = |done: bool| samples.iter().filter(move |(_, d)| *d == done).map(|(v, _)| *v);
        let survival = Survival::new(&track(of(true)), &track(of(false)));
        let (mut left, mut expected) = (1.0f64, None);
        for at in 1..60u64 {
            let deaths = of(true).filter(|v| *v == at).count() as f64;
            let at_risk = samples.iter().filter(|(v, _)| *v >= at).count() as f64;
            if deaths > 0.0 {
                left *= 1.0 - deaths / at_risk;
                if expected.is_none() && left <= 1.0 - q + 1e-9 {
                    expected = Some(at);
                }
            }
        }
        let found = quantile(&survival, q);
        // Where no censoring precedes, the rank is rounded up to a whole sample, which is the same value.
        prop_assert_eq!(found.1, expected.is_none());
        // Beyond the known: by rank with everything open answered at its age, and monotone.
        let mut at_ages: Vec<u64> = samples.iter().map(|(v, _)| *v).collect();
        at_ages.sort_unstable();
        let rank = ((q * at_ages.len() as f64 - 1e-9).ceil() as usize).max(1);
        let bound = at_ages[rank - 1].max(of(true).max().unwrap_or(0));
        prop_assert_eq!(found.0, expected.unwrap_or(bound));
    }
}

/// 90 known, 10 open: what lies above p90 is longer than anything known.
#[test]
fn what_is_open_counts_as_longer() {
    let survival = Survival::with_open(&track(1..=90), &track([]), 10);
    assert_eq!((survival.count(), survival.censored()), (100, 10));
    assert_eq!(quantile(&survival, 0.9), (90, false));
    assert_eq!(quantile(&survival, 0.95), (90, true));
    assert_eq!(quantile(&survival, 0.5), (50, false));
}
