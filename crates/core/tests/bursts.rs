//! Bursty arrivals against the laws of the process that they claim to be.

use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, OpenPart, Plan, PlanError, PlanSpec};
use unblink_core::schedule::{Bursts, Cursor, Phase, Process, Rate, Schedule};
use unblink_core::share::Share;
use unblink_core::time::{Nanos, SECOND_NS};

const BURSTS: Bursts = Bursts { peak_milli: 5_000, on: Nanos::from_millis(200), off: Nanos::from_secs(1) };

fn hold(per_s: u64, seconds: u64) -> Vec<Phase> {
    vec![Phase::hold(Rate::per_second(per_s), Nanos::from_secs(seconds))]
}

fn bursty(seed: u64, bursts: Bursts) -> Process {
    Process::Bursty { seed, bursts }
}

fn arrivals(schedule: &Schedule, share: Share) -> Vec<(u64, u64)> {
    let mut cursor = Cursor::of_share(schedule, share);
    std::iter::from_fn(|| cursor.next(schedule)).map(|(k, d)| (k, d.0)).collect()
}

/// Largest distance between the sample's distribution and `cdf` (Kolmogorov–Smirnov), times √n; above 1.95 in one of 1,000
/// samples of it.
fn kolmogorov_smirnov(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let off = |(i, &x): (usize, &f64)| (cdf(x) - i as f64 / n).abs().max(((i + 1) as f64 / n - cdf(x)).abs());
    sample.iter().enumerate().map(off).fold(0.0, f64::max) * n.sqrt()
}

#[test]
fn bursts_and_lulls_last_as_they_should() {
    let (mut begin_in_burst, mut on, mut off) = (0, Vec::new(), Vec::new());
    for seed in 0..2_000 {
        let mut begin = Nanos::ZERO;
        for (place, stretch) in BURSTS.stretches(seed, 0).take(6).enumerate() {
            begin_in_burst += u32::from(place == 0 && stretch.in_burst);
            let length_s = (stretch.end - begin).as_secs_f64();
            if stretch.in_burst { &mut on } else { &mut off }.push(length_s);
            assert_eq!(stretch.factor, if stretch.in_burst { 5.0 } else { 0.2 });
            begin = stretch.end;
        }
    }
    assert!(kolmogorov_smirnov(on, |x| -(-x / 0.2).exp_m1()) < 1.95);
    assert!(kolmogorov_smirnov(off, |x| -(-x).exp_m1()) < 1.95);
    // A sixth of the time is a burst; five standard deviations of the binomial distribution.
    assert!((f64::from(begin_in_burst) - 2_000.0 / 6.0).abs() < 5.0 * 16.7, "{begin_in_burst} of 2,000");
}

/// The index of dispersion for counts, Var N(t)/E N(t), of a Markov-modulated Poisson process with two states (Fischer,
/// Meier-Hellstern 1993): 1 + 2·p·(1−p)·(λ₁−λ₂)²/(λ̄·θ)·(1 − (1−e^−θt)/(θt)), with θ = 1/on + 1/off.
fn dispersion(per_s: f64, bursts: &Bursts, t: f64) -> f64 {
    let [on, off] = [bursts.on, bursts.off].map(Nanos::as_secs_f64);
    let (p, theta) = (on / (on + off), 1.0 / on + 1.0 / off);
    let apart = per_s * (bursts.peak() - bursts.lull());
    1.0 + 2.0 * p * (1.0 - p) * apart * apart / (per_s * theta) * (1.0 + (-theta * t).exp_m1() / (theta * t))
}

#[test]
fn counts_have_the_mean_and_the_dispersion_of_the_process() {
    const PER_S: u64 = 100;
    const SECONDS: u64 = 600;
    let silent = Bursts { peak_milli: 3_000, on: Nanos::from_millis(500), off: Nanos::from_secs(1) };
    for bursts in [BURSTS, silent] {
        for window_ms in [50, 1_000, 10_000] {
            let mut counts: Vec<f64> = Vec::new();
            for seed in 0..40 {
                let schedule = Schedule::new(&hold(PER_S, SECONDS), bursty(seed, bursts), u64::MAX);
                let mut windows = vec![0.0; (SECONDS * 1_000 / window_ms) as usize];
                for (_, due) in arrivals(&schedule, Share::WHOLE) {
                    windows[(due / (window_ms * 1_000_000)) as usize] += 1.0;
                }
                counts.extend(windows);
            }
            let n = counts.len() as f64;
            let mean = counts.iter().sum::<f64>() / n;
            let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let expected = (PER_S * window_ms) as f64 / 1e3;
            // 24,000 s hold 20,000 bursts.
            assert!((mean / expected - 1.0).abs() < 0.03, "{bursts:?}, {window_ms} ms: a mean of {mean}");
            let (found, law) = (variance / mean, dispersion(PER_S as f64, &bursts, window_ms as f64 / 1e3));
            assert!((found / law - 1.0).abs() < 0.08, "{bursts:?}, {window_ms} ms: {found}, not {law}");
        }
    }
}

/// A ramp, a pause, and a hold that starts with a fraction: what bursts are laid over.
fn shape() -> [Phase; 4] {
    [
        Phase { from: Rate::from_milli(333), to: Rate::per_second(900), duration: Nanos(7_123_456_789) },
        Phase::hold(Rate::default(), Nanos::from_secs(2)),
        Phase::hold(Rate::new(100_000, 7).unwrap(), Nanos::from_millis(900)),
        Phase { from: Rate::per_second(900), to: Rate::from_milli(1), duration: Nanos(5_000_000_001) },
    ]
}

#[test]
fn counting_agrees_with_walking_for_any_number_of_shares() {
    let silent = Bursts { peak_milli: 6_000, ..BURSTS };
    for (seed, bursts) in [(1, BURSTS), (2, BURSTS), (3, silent), (4, silent)] {
        for limit in [u64::MAX, 1_001] {
            let schedule = Schedule::new(&shape(), bursty(seed, bursts), limit);
            let whole = arrivals(&schedule, Share::WHOLE);
            assert!(whole.is_sorted_by_key(|&(_, d)| d) && whole.len() as u64 <= limit);
            let ends: Vec<Nanos> = (0..=160).map(|tenth| Nanos(tenth * SECOND_NS / 10)).collect();
            for &end in ends.iter().chain(&[Nanos(whole[7].1), Nanos(whole[7].1 + 1)]) {
                let walked = whole.iter().filter(|&&(_, d)| d < end.0).count() as u64;
                assert_eq!(schedule.count_before(end), walked, "seed {seed} before {end:?}");
            }
            for of in [1, 2, 3, 7] {
                let mut all = Vec::new();
                for first in 0..of {
                    let mine = arrivals(&schedule, Share { first, of });
                    let [counted] = schedule.counts_before(Share { first, of }, [schedule.end()]);
                    assert_eq!(counted, mine.len() as u64);
                    all.extend(mine);
                }
                all.sort_unstable_by_key(|&(k, d)| (d, k));
                let mut sorted = whole.clone();
                sorted.sort_unstable_by_key(|&(k, d)| (d, k));
                assert!(all == sorted, "seed {seed}, {of} shares");
            }
        }
    }
}

/// Each arrival of a Poisson load with the same seed has its place, at another time.
#[test]
fn a_limit_is_exact_and_a_seed_decides() {
    let of = |seed, limit| Schedule::new(&hold(1_000, 60), bursty(seed, BURSTS), limit);
    let all = arrivals(&of(9, u64::MAX), Share::WHOLE);
    for limit in [1, 500, 20_000] {
        let limited = of(9, limit as u64);
        assert!(arrivals(&limited, Share::WHOLE) == all[..limit]);
        assert_eq!(limited.span().0, all[limit].1);
    }
    assert!(arrivals(&of(9, u64::MAX), Share::WHOLE) == all);
    assert!(arrivals(&of(10, u64::MAX), Share::WHOLE) != all);
    // Another load of the run has bursts of its own, also when it is asked for later.
    let other = of(9, u64::MAX).of_load(1);
    let ends = |load| BURSTS.stretches(9, load).take(3).map(|stretch| stretch.end).collect::<Vec<_>>();
    assert_ne!(ends(0), ends(1));
    assert!(arrivals(&other, Share::WHOLE) != all);
    assert!(arrivals(&other.of_load(0), Share::WHOLE) == all);
}

/// A cursor goes to where another one is, in the middle of a burst.
#[test]
fn a_cursor_goes_where_another_one_is() {
    let schedule = Schedule::new(&shape(), bursty(5, BURSTS), u64::MAX);
    let (mut there, mut here) =
        (Cursor::of_share(&schedule, Share::WHOLE), Cursor::of_share(&schedule, Share::WHOLE));
    for _ in 0..2_000 {
        there.next(&schedule);
    }
    here.go_to(&there);
    while let Some(next) = there.next(&schedule) {
        assert_eq!(here.next(&schedule), Some(next));
    }
}

fn plan(load: LoadSpec, rate_cap: Option<Rate>) -> Result<Plan, PlanError> {
    Plan::new(PlanSpec { rate_cap, ..PlanSpec::plain(load, Pool::Auto { max: 10 }, Nanos::from_secs(1)) })
}

#[test]
fn a_plan_says_which_bursts_there_can_be() {
    let refused = |bursts, per_s, seconds, rate_cap| {
        let load = LoadSpec::Open { phases: hold(per_s, seconds), process: bursty(1, bursts) };
        plan(load, rate_cap).err()
    };
    assert_eq!(refused(BURSTS, 100, 60, None), None);
    let high = Bursts { peak_milli: 6_001, ..BURSTS };
    assert_eq!(refused(high, 100, 60, None), Some(PlanError::BurstsImpossible { peak: 6.001, max: 6.0 }));
    let none = Bursts { peak_milli: 1_000, ..BURSTS };
    assert!(matches!(refused(none, 100, 60, None), Some(PlanError::BurstsImpossible { .. })));
    let no_lull = Bursts { off: Nanos::ZERO, ..BURSTS };
    assert_eq!(refused(no_lull, 100, 60, None), Some(PlanError::BurstsWithoutTime));
    let short = Bursts { on: Nanos::from_micros(20), off: Nanos::from_micros(100), ..BURSTS };
    assert_eq!(refused(short, 100, 120, None), Some(PlanError::TooManyBursts { bursts: 1_000_000 }));
    assert_eq!(
        refused(BURSTS, 30_000_000, 60, None),
        Some(PlanError::BurstsTooHigh { burst_per_s: 150_000_000.0 })
    );
    let cap = Rate::per_second(499);
    assert_eq!(
        refused(BURSTS, 100, 60, Some(cap)),
        Some(PlanError::BurstsAboveCap { burst_per_s: 500.0, cap })
    );
    assert_eq!(refused(BURSTS, 100, 60, Some(Rate::per_second(500))), None);
    // Bursts of several loads may coincide.
    let part = || OpenPart::whole(hold(100, 60), bursty(1, BURSTS));
    let two = LoadSpec::Several(vec![part(), part()]);
    assert_eq!(
        plan(two, Some(Rate::per_second(999))).err(),
        Some(PlanError::SumAboveCap { highest_per_s: 1_000.0, cap: Rate::per_second(999) })
    );
}
