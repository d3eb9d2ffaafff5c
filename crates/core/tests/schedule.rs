//! Schedules against closed forms and against the distribution they claim.

use unblink_core::mix::Asked;
use unblink_core::schedule::{Cursor, Phase, Process, Rate, Schedule};
use unblink_core::share::Share;
use unblink_core::time::{Nanos, SECOND_NS};

fn arrivals(schedule: &Schedule, shard: u64, shards: u64) -> Vec<(u64, u64)> {
    let mut cursor = Cursor::new(schedule, shard, shards);
    std::iter::from_fn(|| cursor.next(schedule)).map(|(k, d)| (k, d.0)).collect()
}

fn even(phases: &[Phase]) -> Schedule {
    Schedule::new(phases, Process::Even, u64::MAX)
}

#[test]
fn a_hold_is_the_multiplication_table() {
    let schedule = even(&[Phase::hold(Rate::per_second(1000), Nanos::from_secs(60))]);
    let all = arrivals(&schedule, 0, 1);
    assert_eq!(all.len(), 60_000);
    assert!(all.iter().all(|&(k, d)| d == k * 1_000_000));
    // 3/s does not divide a second: the k-th arrival is ⌊k·10⁹/3⌋, without drift after a day.
    let day = even(&[Phase::hold(Rate::per_second(3), Nanos::from_secs(86_400))]);
    let all = arrivals(&day, 0, 1);
    assert_eq!(all.len(), 259_200);
    assert!(all.iter().all(|&(k, d)| d == k * SECOND_NS / 3));
}

#[test]
fn a_hold_is_exact_for_every_fraction() {
    // 10/min, 2/h, one in 3 s, 100,000 in 7 s, 0.333333333/s, and fractions drawn at random: arrival k is due at
    // ⌊k·seconds·10⁹/requests⌋, whatever the number, also a day later and behind a warm-up of another rate.
    let mut state = 7u64;
    let mut dice = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) % most
    };
    let mut fractions =
        vec![(1, 6), (1, 1_800), (1, 3), (100_000, 7), (333_333_333, 1_000_000_000), (1, 86_400)];
    fractions.extend((0..200).map(|_| (dice(5_000), dice(3_600))));
    for (requests, seconds) in fractions {
        let rate = Rate::new(requests, seconds).expect("a rate");
        let hold = even(&[Phase::hold(rate, Nanos::from_secs(86_400))]);
        let due = |k: u64| (u128::from(k) * u128::from(seconds * SECOND_NS) / u128::from(requests)) as u64;
        let mut cursor = Cursor::new(&hold, 0, 1);
        for expected in 0..2_000 {
            let Some((k, d)) = cursor.next(&hold) else { break };
            assert_eq!((k, d.0), (expected, due(k)), "{requests} in {seconds} s");
        }
        // The last one of the day, by a cursor that has nothing before it.
        let all = (86_400 * requests).div_ceil(seconds);
        assert_eq!(hold.count_before(hold.end()), all, "{requests} in {seconds} s");
        let last = Cursor::new(&hold, all - 1, all).next(&hold);
        assert_eq!(last, Some((all - 1, Nanos(due(all - 1)))), "{requests} in {seconds} s");
    }
}

/// At the highest rate, and at the one with the finest fraction: beside each other and alone.
#[test]
fn a_hold_of_a_week_is_exact_to_its_end() {
    const WEEK_S: u64 = 7 * 86_400;
    let fine = Rate::new(999_999_999_999_999, 1_000_000_000).expect("a rate");
    for (rate, requests, seconds) in
        [(Rate::per_second(1_000_000), 1_000_000, 1), (fine, 999_999_999_999_999u128, 1_000_000_000u128)]
    {
        let week = Phase::hold(rate, Nanos::from_secs(WEEK_S));
        assert_eq!(week.duration, week.length_max());
        let due = |k: u64| (u128::from(k) * seconds * u128::from(SECOND_NS) / requests) as u64;
        let all = (u128::from(WEEK_S) * requests).div_ceil(seconds) as u64;
        for before in [0, 1] {
            // A week of the same rate may stand before it.
            let phases = vec![week; before + 1];
            let (hold, first) =
                (even(&phases), (u128::from(WEEK_S) * requests * before as u128).div_ceil(seconds) as u64);
            let total = (u128::from(WEEK_S) * (before as u128 + 1) * requests).div_ceil(seconds) as u64;
            assert_eq!(hold.count_before(hold.end()), total);
            assert!(total - first <= all);
            for k in [first, total - 1_000_000, total - 2, total - 1] {
                let mut cursor = Cursor::new(&hold, k, 1);
                assert_eq!(cursor.next(&hold), Some((k, Nanos(due(k)))));
            }
            assert_eq!(Cursor::new(&hold, total, 1).next(&hold), None);
        }
    }
    assert_eq!(
        Phase { from: Rate::per_second(1), to: fine, duration: Nanos(1) }.length_max(),
        Nanos::from_secs(86_400)
    );
}

#[test]
fn ramps_and_steps_of_fractions_offer_what_their_areas_say() {
    let rate = |requests, seconds| Rate::new(requests, seconds).expect("a rate");
    // From 10/min to 100/min in 6 min: 330 arrivals. Then 1 in 3 s and 1 in 7 s for 21 min: 420 and 180.
    let minutes = |n: u64| Nanos::from_secs(60 * n);
    let ramp = Phase { from: rate(10, 60), to: rate(100, 60), duration: minutes(6) };
    let phases = [ramp, Phase::hold(rate(1, 3), minutes(21)), Phase::hold(rate(1, 7), minutes(21))];
    let schedule = even(&phases);
    let all = arrivals(&schedule, 0, 1);
    assert_eq!(all.len(), 330 + 420 + 180);
    assert_eq!((all[330].1, all[331].1), (minutes(6).0, minutes(6).0 + 3 * SECOND_NS));
    assert_eq!((all[750].1, all[751].1), (minutes(27).0, minutes(27).0 + 7 * SECOND_NS));
    assert_eq!(schedule.count_before(minutes(27)), 750);
    // What these integers can't hold is no schedule.
    assert!(unblink_core::schedule::common_seconds(&phases).is_some());
    let fine = Phase { from: rate(1, 999_983), to: rate(1, 999_979), duration: minutes(1) };
    assert_eq!(unblink_core::schedule::common_seconds(&[fine]), None);
}

#[test]
fn a_ramp_is_the_inverse_of_its_parabola() {
    for (from, to) in [(0, 1000), (1000, 0), (100, 5000), (999_999, 1_000_000), (0, 1)] {
        let seconds = 20u64;
        let phase = Phase {
            from: Rate::per_second(from),
            to: Rate::per_second(to),
            duration: Nanos::from_secs(seconds),
        };
        let schedule = even(&[phase]);
        let mut cursor = Cursor::new(&schedule, 0, 1);
        let mut count = 0u64;
        while let Some((k, d)) = cursor.next(&schedule) {
            count += 1;
            if k % 97 != 0 {
                continue;
            }
            // Λ(t)·2·10⁹·T in integers, T and t in ns: 2·r0·t·T + (r1−r0)·t².
            let span = i128::from(seconds * SECOND_NS);
            let expected = 2 * i128::from(k) * i128::from(SECOND_NS) * span;
            let lambda = |t: u64| {
                let t = i128::from(t);
                2 * i128::from(from) * t * span + (i128::from(to) - i128::from(from)) * t * t
            };
            assert!(lambda(d.0) <= expected, "{from}→{to}: arrival {k} is late");
            assert!(lambda(d.0 + 1) > expected, "{from}→{to}: arrival {k} is early");
        }
        assert_eq!(count, ((from + to) * seconds).div_ceil(2), "{from}→{to}");
        assert_eq!(count, schedule.count_before(schedule.end()), "{from}→{to}");
    }
}

#[test]
fn phases_join_without_a_seam() {
    let one = even(&[Phase::hold(Rate::per_second(777), Nanos::from_secs(10))]);
    let two = even(&[
        Phase::hold(Rate::per_second(777), Nanos(3_333_333_333)),
        Phase::hold(Rate::per_second(777), Nanos(6_666_666_667)),
    ]);
    assert_eq!(arrivals(&one, 0, 1), arrivals(&two, 0, 1));
    // A pause offers nothing and loses nothing.
    let paused = even(&[
        Phase::hold(Rate::per_second(10), Nanos::from_secs(1)),
        Phase::hold(Rate::default(), Nanos::from_secs(5)),
        Phase::hold(Rate::per_second(10), Nanos::from_secs(1)),
    ]);
    let all = arrivals(&paused, 0, 1);
    assert_eq!(all.len(), 20);
    assert_eq!(all[10].1, 6 * SECOND_NS);
}

#[test]
fn counting_agrees_with_walking() {
    let phases = [
        Phase { from: Rate::from_milli(333), to: Rate::per_second(90), duration: Nanos(7_123_456_789) },
        Phase::hold(Rate::from_milli(12_345), Nanos::from_secs(9)),
        Phase { from: Rate::per_second(90), to: Rate::from_milli(1), duration: Nanos(5_000_000_001) },
    ];
    for process in [Process::Even, Process::Poisson { seed: 3 }] {
        for limit in [u64::MAX, 100] {
            let schedule = Schedule::new(&phases, process, limit);
            let all = arrivals(&schedule, 0, 1);
            for end in
                (0..22).map(Nanos::from_secs).chain(all.iter().flat_map(|a| [Nanos(a.1), Nanos(a.1 + 1)]))
            {
                let walked = all.iter().filter(|a| a.1 < end.0).count() as u64;
                assert_eq!(schedule.count_before(end), walked, "{process:?} before {end:?}");
                let half = Nanos(end.0 / 2);
                let both = [schedule.count_before(half), walked];
                let counted = schedule.counts_before(Share::WHOLE, [half, end]);
                assert_eq!(counted, both, "{process:?} before {end:?}");
            }
        }
    }
}

#[test]
fn shards_partition_the_arrivals() {
    for process in [Process::Even, Process::Poisson { seed: 11 }] {
        let phases =
            [Phase { from: Rate::per_second(10), to: Rate::per_second(900), duration: Nanos::from_secs(4) }];
        let schedule = Schedule::new(&phases, process, u64::MAX);
        let whole = arrivals(&schedule, 0, 1);
        for shards in [2, 3, 7] {
            let mut merged: Vec<_> = (0..shards).flat_map(|i| arrivals(&schedule, i, shards)).collect();
            merged.sort_unstable_by_key(|&(_, d)| d);
            assert_eq!(merged, whole);
        }
    }
}

#[test]
fn a_limit_ends_the_schedule_and_its_span() {
    let hold = [Phase::hold(Rate::per_second(100), Nanos::from_secs(86_400))];
    let schedule = Schedule::new(&hold, Process::Even, 500);
    assert_eq!(arrivals(&schedule, 0, 1).len(), 500);
    assert_eq!(schedule.span(), Nanos::from_secs(5));
    // Also where nearly all streams have passed before, and where every one is at its first arrival.
    for (seed, limit) in [(1, 500), (2, 3), (3, 100_000), (4, 1)] {
        let poisson = Schedule::new(&hold, Process::Poisson { seed }, limit as u64);
        let limited = arrivals(&poisson, 0, 1);
        let all = Schedule::new(&hold, Process::Poisson { seed }, u64::MAX);
        let mut cursor = Cursor::new(&all, 0, 1);
        let first: Vec<_> = (0..=limit).filter_map(|_| cursor.next(&all)).map(|(k, d)| (k, d.0)).collect();
        assert!(limited == first[..limit], "{limit}");
        assert_eq!(poisson.span().0, first[limit].1);
    }
    // A limit that is never reached.
    let short = [Phase::hold(Rate::per_second(100), Nanos::from_secs(1))];
    let poisson = Schedule::new(&short, Process::Poisson { seed: 1 }, 10_000);
    assert_eq!(poisson.span(), poisson.end());
    assert_eq!(poisson, Schedule::new(&short, Process::Poisson { seed: 1 }, u64::MAX));
}

/// Largest distance between the sample's distribution and `cdf` (Kolmogorov–Smirnov), times √n.
fn kolmogorov_smirnov(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = sample.iter().enumerate().fold(0.0f64, |worst, (i, &x)| {
        let f = cdf(x);
        worst.max((f - i as f64 / n).abs()).max(((i + 1) as f64 / n - f).abs())
    });
    distance * n.sqrt()
}

/// The 99.9 % point of the Kolmogorov distribution; seeds are fixed, so this never flickers.
const KS_CRITICAL: f64 = 1.95;

#[test]
fn poisson_gaps_are_exponential_and_independent() {
    for seed in 0..20 {
        let phases = [Phase::hold(Rate::per_second(500), Nanos::from_secs(20))];
        let schedule = Schedule::new(&phases, Process::Poisson { seed }, u64::MAX);
        let times: Vec<f64> = arrivals(&schedule, 0, 1).iter().map(|a| a.1 as f64 / 1e9).collect();
        let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        let statistic = kolmogorov_smirnov(gaps.clone(), |x| 1.0 - (-500.0 * x).exp());
        assert!(statistic < KS_CRITICAL, "seed {seed}: {statistic}");
        // Given their number, arrivals of a homogeneous process are uniform.
        let statistic = kolmogorov_smirnov(times, |x| x / 20.0);
        assert!(statistic < KS_CRITICAL, "seed {seed}: {statistic}");
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let lag_one: f64 = gaps.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
        let variance: f64 = gaps.iter().map(|g| (g - mean).powi(2)).sum();
        assert!((lag_one / variance).abs() < 4.0 / (gaps.len() as f64).sqrt(), "seed {seed}");
    }
}

#[test]
fn poisson_follows_the_shape() {
    let phases =
        [Phase { from: Rate::default(), to: Rate::per_second(1000), duration: Nanos::from_secs(20) }];
    for seed in 0..10 {
        let schedule = Schedule::new(&phases, Process::Poisson { seed }, u64::MAX);
        let times: Vec<f64> = arrivals(&schedule, 0, 1).iter().map(|a| a.1 as f64 / 20e9).collect();
        let count = times.len() as f64;
        assert!((count - 10_000.0).abs() < 4.0 * 100.0, "seed {seed}: {count}");
        let statistic = kolmogorov_smirnov(times, |x| x * x);
        assert!(statistic < KS_CRITICAL, "seed {seed}: {statistic}");
    }
}

#[test]
fn a_seed_always_gives_the_same_arrivals() {
    let phases = [Phase::hold(Rate::per_second(1000), Nanos::from_secs(1))];
    let schedule = Schedule::new(&phases, Process::Poisson { seed: 42 }, u64::MAX);
    let first: Vec<u64> = arrivals(&schedule, 0, 1).iter().take(5).map(|a| a.1).collect();
    assert_eq!(first, GOLDEN_SEED_42);
}

/// As a program of its own, in another language, draws them: a change of these changes every run that quotes a seed.
const GOLDEN_SEED_42: [u64; 5] = [1_196_726, 2_008_228, 2_311_315, 4_893_478, 5_078_229];

/// The workers of a run: together the whole schedule, whatever their number.
#[test]
fn shares_together_are_the_schedule() {
    let ramp =
        Phase { duration: Nanos::from_secs(20), from: Rate::per_second(50), to: Rate::per_second(400) };
    for process in [Process::Even, Process::Poisson { seed: 9 }] {
        for limit in [u64::MAX, 1_001] {
            let schedule = Schedule::new(&[ramp], process, limit);
            let whole = arrivals(&schedule, 0, 1);
            for of in [1, 2, 3, 8, 1024] {
                let mut all = Vec::new();
                for first in 0..of {
                    let mut cursor = Cursor::of_share(&schedule, Share { first, of });
                    let mine: Vec<_> =
                        std::iter::from_fn(|| cursor.next(&schedule)).map(|(k, d)| (k, d.0)).collect();
                    assert!(mine.is_sorted_by_key(|&(_, d)| d), "{process:?}, {first} of {of}");
                    let ends = [Nanos::ZERO, Nanos::from_secs(7), schedule.end()];
                    let walked = ends.map(|end| mine.iter().filter(|(_, d)| *d < end.0).count() as u64);
                    let counted = schedule.counts_before(Share { first, of }, ends);
                    assert_eq!(counted, walked, "{process:?}, {first} of {of}");
                    all.extend(mine);
                }
                all.sort_unstable_by_key(|&(k, d)| (d, k));
                let mut whole = whole.clone();
                whole.sort_unstable_by_key(|&(k, d)| (d, k));
                assert!(all == whole, "{process:?}, {of} shares");
            }
        }
    }
}

/// A request that is listed four times beside another: 80:20 for each worker in each second, within 4σ.
#[test]
fn requests_in_turn_are_in_their_shares_for_each_worker() {
    let hold = even(&[Phase::hold(Rate::per_second(1_000), Nanos::from_secs(60))]);
    for of in [2, 4, 5] {
        let per_second = 1_000.0 / f64::from(of);
        let sd = (per_second * 0.8 * 0.2).sqrt();
        for first in 0..of {
            let mut cursor = Cursor::of_share(&hold, Share { first, of });
            let mut counts = [(0u32, 0u32); 60];
            while let Some((k, d)) = cursor.next(&hold) {
                let (all, often) = &mut counts[(d.0 / SECOND_NS) as usize];
                *all += 1;
                *often += u32::from(k % 5 != 4);
            }
            for (all, often) in counts {
                assert!((f64::from(all) - per_second).abs() <= 1.0, "{first} of {of}: {all} in a second");
                assert!(
                    (f64::from(often) - 0.8 * f64::from(all)).abs() < 4.0 * sd,
                    "{first} of {of}: {often} of {all}"
                );
            }
        }
    }
}

/// What clocks that differ leave of a Poisson load on many machines: shares of whole streams that are moved against each
/// other are still Poisson, by the index of dispersion of counts; its standard deviation over n windows is √(2/n).
#[test]
fn shares_on_clocks_that_differ_are_still_poisson() {
    // Shares, arrivals per second, how long, the window, and how far clocks are apart at the most.
    let quarter = 15 * 60;
    let cases = [
        (100, 1_000_000, 4, Nanos::from_micros(200), 200_000),
        (4, 5_000, quarter, Nanos::from_millis(1), 200_000),
        (4, 5_000, quarter, Nanos::from_millis(100), 200_000),
        (4, 5_000, quarter, Nanos::from_millis(1), 5_000_000),
    ];
    for (of, per_s, length_s, window, apart_ns) in cases {
        let length = Nanos::from_secs(length_s);
        let hold = [Phase::hold(Rate::per_second(per_s), length)];
        let schedule = Schedule::new(&hold, Process::Poisson { seed: 5 }, u64::MAX);
        let mut counts = vec![0.0; (length.0 / window.0) as usize];
        for first in 0..of {
            let mut cursor = Cursor::of_share(&schedule, Share { first, of });
            let off = u64::from(first) * 7_919_007 % apart_ns;
            while let Some((_, d)) = cursor.next(&schedule) {
                if let Some(count) = counts.get_mut(((d.0 + off) / window.0) as usize) {
                    *count += 1.0;
                }
            }
        }
        // The first windows miss what was moved out of them.
        let counts = &counts[1 + (apart_ns / window.0) as usize..];
        let n = counts.len() as f64;
        let (mean, expected) = (counts.iter().sum::<f64>() / n, per_s as f64 * window.as_secs_f64());
        let variance = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / n;
        assert!((mean - expected).abs() < 4.0 * (expected / n).sqrt(), "{mean} of {expected}");
        let dispersion = variance / mean;
        assert!((dispersion - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{dispersion} in {window:?} by {of}");
    }
}

/// Operations in turn are as often as they should be for each share of Poisson arrivals, from the first second on.
#[test]
fn operations_in_turn_are_alike_for_each_share_of_poisson_arrivals() {
    let hold = [Phase::hold(Rate::per_second(2_000), Nanos::from_secs(60))];
    let schedule = Schedule::new(&hold, Process::Poisson { seed: 8 }, u64::MAX);
    for (of, operations) in [(1, 2), (2, 2), (2, 5), (8, 4), (4, 4)] {
        let asked = Asked::all(operations);
        for first in 0..of {
            let mut cursor = Cursor::of_share(&schedule, Share { first, of });
            let mut counts = vec![vec![0u64; operations]; 2];
            while let Some((index, at)) = cursor.next(&schedule) {
                let operation = asked.at(schedule.place(index)) as usize;
                counts[0][operation] += u64::from(at < Nanos::from_secs(1));
                counts[1][operation] += 1;
            }
            for counts in counts {
                let all = counts.iter().sum::<u64>() as f64;
                let (mean, sd) = (all / operations as f64, (all / operations as f64).sqrt());
                let far = counts.iter().map(|&n| (n as f64 - mean).abs()).fold(0.0, f64::max);
                assert!(far < 4.0 * sd, "{first} of {of}, {operations}: {counts:?}");
            }
        }
    }
}

/// A list that is longer than there are streams is gone through as a whole, evenly.
#[test]
fn a_long_list_is_gone_through() {
    let hold = [Phase::hold(Rate::per_second(10_000), Nanos::from_secs(10))];
    let schedule = Schedule::new(&hold, Process::Poisson { seed: 1 }, 100_000);
    let (asked, mut counts) = (Asked::all(10_000), vec![0u32; 10_000]);
    let mut cursor = Cursor::new(&schedule, 0, 1);
    while let Some((index, _)) = cursor.next(&schedule) {
        counts[asked.at(schedule.place(index)) as usize] += 1;
    }
    // Ten of each, as often as the streams overlap: fewer than by chance are left out.
    assert!(counts.iter().all(|&n| n > 0 && n < 30), "{:?}", counts.iter().max());
}
