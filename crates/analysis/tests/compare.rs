//! Comparisons of seeded runs: how often they err, and what they refuse.

#[path = "../examples/support/responses.rs"]
mod responses;
#[path = "../examples/comparing/servers.rs"]
#[allow(dead_code)] // the example uses more of it
mod servers;

use unblink_analysis::compare::power::Power;
use unblink_analysis::compare::{
    ALARM_LEVEL, ComparisonVerdict, NoVerdict, Quantity, Rule, Run, RunParts, band, compare,
    compare_with_failed, decided, noise, permutation,
};
use unblink_analysis::interval::History;
use unblink_core::record::Track;
use unblink_core::sim::Random;
use unblink_core::time::Nanos;

const RULE: Rule = Rule { quantile: 0.99, effect_min: 0.05 };

/// A run whose p99 is about `p99_ns`: a hundred arrivals a second for 10 s, of which 2 % take that long.
fn run_of(p99_ns: u64, seed: u64) -> Run {
    run_with(p99_ns, seed, 0, 0.0)
}

fn run_with(p99_ns: u64, seed: u64, censored_per_s: u64, failed_share: f64) -> Run {
    let mut history = History::default();
    let (mut completed, mut censored) = (Track::default(), Track::default());
    for second in 0..10 {
        let (mut known, mut open) = (Track::default(), Track::default());
        (0..98).for_each(|i| known.record(Nanos(1_000_000 + i)));
        (0..2).for_each(|_| known.record(Nanos(p99_ns)));
        (0..censored_per_s).for_each(|_| open.record(Nanos::from_secs(1)));
        history.add(Nanos::from_secs(second), Nanos::from_secs(1), 0, &known, &open);
        completed.add(&known);
        censored.add(&open);
    }
    let parts = RunParts {
        completed: &completed,
        censored: &censored,
        history: &history,
        load: (Nanos::ZERO, Nanos::from_secs(10)),
        slices: &[],
        achieved_per_s: 100.0,
        error_share: failed_share,
        failed_share,
    };
    Run::new(&parts, seed)
}

fn runs(p99_ms: [f64; 5]) -> Vec<Run> {
    p99_ms.iter().zip(0..).map(|(ms, seed)| run_of((ms * 1e6) as u64, seed)).collect()
}

#[test]
fn a_run_that_failed_is_slower_than_any_other() {
    let baseline = runs([10.0, 10.2, 10.1, 9.9, 10.3]);
    let beside = |candidate: &[Run], failed| compare_with_failed(&baseline, candidate, failed, &RULE);
    let all = beside(&[], 5);
    assert_eq!(all.verdict, ComparisonVerdict::Regression);
    assert!((all.p_value.expect("a test") - 2.0 / 252.0).abs() < 1e-12);
    assert_eq!((all.noise_sd, all.smallest_findable), (None, None), "nobody knows how slow they were");
    assert!(all.lines.iter().all(|line| line.candidate.is_none() && line.change.is_none()), "{all:?}");
    let alike = runs([10.1, 10.2, 9.9, 10.0, 10.3]);
    assert_eq!(beside(&alike[..4], 1).verdict, ComparisonVerdict::None(NoVerdict::CandidateFails));
    let slower = runs([10.35, 10.4, 10.45, 10.35, 1.0]);
    assert_eq!(
        beside(&slower[..4], 1).verdict,
        ComparisonVerdict::None(NoVerdict::CandidateFails),
        "2 % on average"
    );
    let slower = runs([11.4, 11.5, 11.6, 11.4, 1.0]);
    assert_eq!(beside(&slower[..4], 1).verdict, ComparisonVerdict::Regression);
    assert_eq!(beside(&[], 4).verdict, ComparisonVerdict::None(NoVerdict::TooFewRuns));
}

#[test]
fn a_difference_counts_when_it_is_found_and_large() {
    let baseline = runs([10.0, 10.2, 10.1, 9.9, 10.3]);
    let slower = compare(&baseline, &runs([12.0, 12.3, 11.9, 12.1, 12.2]), &RULE);
    assert_eq!(slower.verdict, ComparisonVerdict::Regression);
    assert!((slower.p_value.expect("a test") - 2.0 / 252.0).abs() < 1e-12);
    let line = slower.lines.iter().find(|line| line.quantity == Quantity::Percentile(0.99)).expect("p99");
    assert!((line.change.expect("known") - 0.198).abs() < 0.005, "{line:?}");
    let (low, high) = line.interval.expect("an interval");
    assert!(0.15 < low && low < 0.198 && 0.198 < high && high < 0.25, "{line:?}");
    // Found, and too small to count.
    let little = compare(&baseline, &runs([10.4, 10.5, 10.6, 10.45, 10.55]), &RULE);
    assert_eq!(little.verdict, ComparisonVerdict::NoRegression);
    assert!(little.p_value.expect("a test") <= ALARM_LEVEL);
    // Large, and not told from chance.
    let noisy = compare(&baseline, &runs([9.0, 14.0, 12.0, 11.0, 10.05]), &RULE);
    assert_eq!(noisy.verdict, ComparisonVerdict::NoRegression);
    assert!(noisy.smallest_findable > slower.smallest_findable);
    let faster = compare(&baseline, &runs([8.0, 8.3, 8.1, 7.9, 8.2]), &RULE);
    assert_eq!(faster.verdict, ComparisonVerdict::Improvement);
}

#[test]
fn what_cannot_be_decided_is_not() {
    let baseline = runs([10.0, 10.2, 10.1, 9.9, 10.3]);
    let slower = runs([20.0, 20.3, 19.9, 20.1, 20.2]);
    let four = compare(&baseline[..4], &slower[..4], &RULE);
    assert_eq!(four.verdict, ComparisonVerdict::None(NoVerdict::TooFewRuns));
    assert_eq!((four.p_value, four.smallest_findable), (None, None));
    assert!(four.noise_sd.is_some(), "the noise is known all the same");
    let one = compare(&baseline[..1], &slower[..1], &RULE);
    assert_eq!(one.verdict, ComparisonVerdict::None(NoVerdict::WithinRunOnly));
    assert_eq!(one.noise_sd, None);
    assert_eq!(
        compare(&baseline[..1], &slower, &RULE).verdict,
        ComparisonVerdict::None(NoVerdict::TooFewRuns)
    );
    let many: Vec<Run> = [&baseline[..], &slower, &slower].concat();
    assert_eq!(compare(&many, &many, &RULE).verdict, ComparisonVerdict::None(NoVerdict::TooManyRuns));
}

#[test]
fn a_bound_makes_the_candidate_slower_and_never_faster() {
    let baseline = runs([10.0, 10.2, 10.1, 9.9, 10.3]);
    // Two more arrivals a second are known only to take longer than a second.
    let timing_out: Vec<Run> = (0..5).map(|seed| run_with(5_000_000, seed, 2, 0.0)).collect();
    let found = compare(&baseline, &timing_out, &RULE);
    assert_eq!(found.verdict, ComparisonVerdict::Regression);
    let line = found.lines.iter().find(|line| line.quantity == Quantity::Percentile(0.99)).expect("p99");
    assert!(line.candidate_censored && line.change.is_none() && line.interval.is_none());
    assert_eq!(
        compare(&timing_out, &baseline, &RULE).verdict,
        ComparisonVerdict::None(NoVerdict::BaselineUnknown)
    );
    let slow = runs([3e3, 3.1e3, 3.2e3, 3.3e3, 3.4e3]);
    assert_eq!(
        compare(&slow, &timing_out, &RULE).verdict,
        ComparisonVerdict::None(NoVerdict::CandidateUnknown)
    );
}

#[test]
fn fast_failures_hide_no_slow_answers() {
    let good = runs([10.0, 10.2, 10.1, 9.9, 10.3]);
    let failing = |ms: f64| -> Vec<Run> {
        (0..5).map(|seed| run_with((ms * 1e6) as u64 + seed * 10_000, seed, 0, 0.02)).collect()
    };
    let differ = ComparisonVerdict::None(NoVerdict::FailuresDiffer);
    assert_eq!(compare(&good, &failing(10.0), &RULE).verdict, differ);
    assert_eq!(compare(&good, &failing(5.0), &RULE).verdict, differ);
    // Slower and failing is slower for sure; so is a baseline that failed and was slow.
    assert_eq!(compare(&good, &failing(20.0), &RULE).verdict, ComparisonVerdict::Regression);
    assert_eq!(compare(&failing(5.0), &good, &RULE).verdict, differ);
    assert_eq!(compare(&failing(20.0), &good, &RULE).verdict, ComparisonVerdict::Improvement);
}

/// Lognormal noise between runs, where everything is known in closed form.
#[test]
fn alarms_and_finds_are_as_often_as_they_should_be() {
    const PAIRS: u64 = 4_000;
    let power = Power::new(5, 5).expect("5 + 5 reach 1 %");
    let side = |seed: u64, shift: f64| -> Vec<f64> {
        let mut random = Random::new(seed, 3);
        (0..5).map(|_| 16.0 + 0.08 * random.normal() + shift).collect()
    };
    let verdict = |pair: u64, shift: f64, effect_min: f64| {
        let (baseline, candidate) = (side(2 * pair, 0.0), side(2 * pair + 1, shift));
        let difference = (candidate.iter().sum::<f64>() - baseline.iter().sum::<f64>()) / 5.0;
        decided(permutation::test(&baseline, &candidate), difference, effect_min)
    };
    let share = |is: &dyn Fn(u64) -> bool| (0..PAIRS).filter(|&pair| is(pair)).count() as f64 / PAIRS as f64;
    // Exactly 2 of 252 splits; four standard errors.
    let alarms = share(&|pair| verdict(pair, 0.0, 0.0) != ComparisonVerdict::NoRegression);
    assert!((alarms - 2.0 / 252.0).abs() < 0.006, "{alarms}");
    let found = share(&|pair| verdict(pair, 4.5 * 0.08, 0.0) == ComparisonVerdict::Regression);
    assert!(found > 0.97, "{found}");
    // What one comparison prints, the next one finds in four of five cases.
    for effect_min in [0.0, 0.05, 0.4] {
        let found = share(&|pair| {
            let smallest = power.smallest(noise(&side(2 * pair, 0.0), &side(2 * pair + 1, 0.0)), effect_min);
            verdict(pair + PAIRS, smallest, effect_min) == ComparisonVerdict::Regression
        });
        assert!((found - 0.8).abs() < 0.03, "{effect_min}: {found}");
    }
}

#[test]
fn simulated_runs_are_compared_like_recorded_ones() {
    let server = &servers::all()[0];
    let runs: Vec<Run> = (0..10).map(|seed| server.record(seed).run(seed)).collect();
    let same = compare(&runs[..5], &runs[5..], &RULE);
    assert_eq!(same.verdict, ComparisonVerdict::NoRegression);
    // Of twenty intervals one misses.
    let mut missed = 0;
    for line in same.lines.iter().filter(|line| line.quantity != Quantity::Errors && !line.few_samples) {
        let (low, high) = line.interval.expect("an interval");
        let width = high - low;
        assert!(low <= width && -width <= high && width < 0.5, "{line:?}");
        missed += u32::from(low > 0.0 || high < 0.0);
    }
    assert!(missed <= 1, "{:?}", same.lines);
    let band = band(&runs[..5]);
    assert!(band.windows(2).all(|pair| pair[0].q < pair[1].q && pair[0].middle_ns <= pair[1].middle_ns));
    assert!(band.iter().all(|p| p.low_ns <= p.middle_ns && p.middle_ns <= p.high_ns));
    // M/M/1 at ρ = 0.5: the p99 is ln(100)/(1000 − 500) s = 9.21 ms; five runs of 20 s know it within 15 %.
    let middle = band.iter().find(|p| p.q >= 0.99).expect("p99").middle_ns as f64;
    assert!((middle / 9.21e6 - 1.0).abs() < 0.15, "{middle}");
}
