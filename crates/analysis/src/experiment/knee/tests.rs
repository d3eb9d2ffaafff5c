use super::super::criterion::Miss;
use super::super::trial::TrialOutcome;
use super::hold::CONFIRMATIONS_MAX;
use super::*;

pub(super) fn settings() -> Settings {
    Settings {
        quantile: 0.99,
        limit: Nanos::from_millis(50),
        start: Rate::per_second(100),
        max: Rate::per_second(100_000),
        resolution: 0.02,
        settle: Nanos::from_secs(5),
        measure: Nanos::from_secs(20),
        measure_max: Nanos::from_secs(160),
        seed: 1,
        then_latency: false,
        within: None,
        at_least: None,
    }
}

pub(super) fn outcome(trial: &Trial, verdict: RateVerdict) -> TrialOutcome {
    TrialOutcome {
        measured: trial.measure,
        scheduled: 0,
        ok: 0,
        failed: 0,
        timed_out: 0,
        unanswered: 0,
        offered_per_s: trial.rate.as_per_s(),
        delivered_per_s: trial.rate.as_per_s(),
        percentile: None,
        above_share: None,
        above_error: None,
        p50_ns: None,
        mean_ns: None,
        in_flight_mean: None,
        in_flight_end: 0,
        is_growing: verdict == RateVerdict::Missed(Miss::Growing),
        generator: (verdict == RateVerdict::Generator).then(|| "it was late".to_string()),
        verdict,
    }
}

/// Lets a target that is a function of the trial answer until the search ends.
pub(super) fn search(settings: Settings, verdict: impl Fn(&Trial) -> RateVerdict) -> Knee {
    let mut knee = Knee::new(settings);
    while let Some(trial) = knee.next_trial() {
        let outcome = outcome(&trial, verdict(&trial));
        knee.observe(Step { trial, outcome });
        assert!(knee.steps().len() < 100, "it never ends");
    }
    knee
}

pub(super) fn up_to(border: u64) -> impl Fn(&Trial) -> RateVerdict {
    move |trial| match trial.rate <= Rate::per_second(border) {
        true => RateVerdict::Met,
        false => RateVerdict::Missed(Miss::Percentile),
    }
}

fn rates(knee: &Knee, purpose: Purpose) -> Vec<u64> {
    let steps = knee.steps().iter().filter(|step| step.trial.purpose == purpose);
    steps.map(|step| step.trial.rate.milli_per_s() / 1000).collect()
}

#[test]
fn it_brackets_bisects_repeats_and_confirms() {
    let knee = search(settings(), up_to(1_000));
    assert!(knee.converged());
    assert_eq!(rates(&knee, Purpose::Bracket), [100, 200, 400, 800, 1600]);
    let found = knee.found().unwrap();
    assert!(found.rate <= Rate::per_second(1_000) && found.rate > Rate::per_second(980), "{found:?}");
    assert!(found.missed_from.unwrap() > Rate::per_second(1_000));
    // The second pass has the rates of the first, in another order.
    let first: Vec<u64> = [rates(&knee, Purpose::Bracket), rates(&knee, Purpose::Bisect)].concat();
    let second = rates(&knee, Purpose::Repeat);
    assert_ne!(first, second);
    let sorted = |mut rates: Vec<u64>| {
        rates.sort_unstable();
        rates
    };
    assert_eq!(sorted(first), sorted(second));
    assert_eq!(rates(&knee, Purpose::Confirm).len(), 1);
}

#[test]
fn any_border_is_found_from_any_start() {
    for border in [3, 17, 99, 100, 101, 640, 5_001, 99_999] {
        for start in [10, 100, 4_000] {
            let knee = search(Settings { start: Rate::per_second(start), ..settings() }, up_to(border));
            if border < start >> HALVINGS_MAX {
                assert!(matches!(knee.doomed(), Some(Doom::NothingMet { .. })), "{border} from {start}");
                continue;
            }
            let found = knee.found().unwrap().rate.as_per_s();
            let low = border as f64 * 0.97 - 0.001;
            assert!((low..=border as f64).contains(&found), "{border} from {start}: {found}");
        }
    }
}

#[test]
fn the_highest_rate_may_be_good() {
    let knee = search(Settings { max: Rate::per_second(1_000), ..settings() }, |_| RateVerdict::Met);
    let found = knee.found().unwrap();
    assert_eq!((found.rate, found.missed_from), (Rate::per_second(1_000), None));
    assert!(!found.has_border() && found.good == found.rate, "{found:?}");
    assert_eq!(rates(&knee, Purpose::Repeat).len(), 5, "the second pass has its own reasons");
}

/// The highest rate was good once and did not hold: the border lies below it, not above.
#[test]
fn the_highest_rate_may_give_way() {
    let settings = Settings { max: Rate::per_second(1_000), ..settings() };
    let knee = search(settings, |trial| match trial.purpose {
        Purpose::Confirm => up_to(990)(trial),
        _ => RateVerdict::Met,
    });
    let found = knee.found().unwrap();
    assert!(found.rate < Rate::per_second(1_000), "{found:?}");
    assert_eq!(found.missed_from, Some(Rate::per_second(1_000)));
}

#[test]
fn capacity_is_not_known_without_overload() {
    let met = search(Settings { max: Rate::per_second(1_000), ..settings() }, |_| RateVerdict::Met);
    assert_eq!((met.curve().capacity_per_s, met.curve().theory_ns(500.0)), (None, None));
    let slow = search(settings(), up_to(1_000));
    assert_eq!(slow.curve().capacity_per_s, None, "too slow is not overloaded");
    let fails = search(settings(), |_| RateVerdict::Missed(Miss::Delivered));
    assert_eq!(fails.curve().capacity_per_s, None, "it fails at any rate");
    let overloaded = search(settings(), |trial| match trial.rate <= Rate::per_second(1_000) {
        true => RateVerdict::Met,
        false => RateVerdict::Missed(Miss::Growing),
    });
    assert!(overloaded.curve().capacity_per_s.is_some());
}

#[test]
fn what_is_not_confirmed_goes_down() {
    let strict = |trial: &Trial| match trial.purpose {
        Purpose::Confirm => up_to(960)(trial),
        _ => up_to(1_000)(trial),
    };
    let knee = search(settings(), strict);
    let found = knee.found().unwrap().rate.as_per_s();
    assert!((940.0..=960.0).contains(&found), "{found}");
    let never = search(settings(), |trial| match trial.purpose {
        Purpose::Confirm => RateVerdict::Undecided,
        _ => up_to(1_000)(trial),
    });
    assert!(matches!(never.doomed(), Some(Doom::NotConfirmed { .. })));
    assert!(never.found().is_none());
    assert_eq!(rates(&never, Purpose::Confirm).len(), CONFIRMATIONS_MAX);
}

#[test]
fn the_generator_is_no_knee() {
    let knee = search(settings(), |trial| match trial.rate <= Rate::per_second(1_000) {
        true => RateVerdict::Met,
        false => RateVerdict::Generator,
    });
    assert!(matches!(knee.doomed(), Some(Doom::Generator { .. })), "{:?}", knee.doomed());
    assert!(knee.found().is_none() && knee.next_trial().is_none());
    // One bad moment is not held against it.
    let once = search(settings(), |trial| match trial.number {
        3 => RateVerdict::Generator,
        _ => up_to(1_000)(trial),
    });
    assert!(once.found().is_some());
}

#[test]
fn a_target_that_changes_is_not_believed() {
    let tired = search(settings(), |trial| match trial.purpose {
        Purpose::Repeat => up_to(500)(trial),
        _ => up_to(1_000)(trial),
    });
    assert!(matches!(tired.doomed(), Some(Doom::Hysteresis { was_good: true, .. })), "{:?}", tired.doomed());
    let warmed_up = search(settings(), |trial| match trial.purpose {
        Purpose::Repeat => up_to(2_000)(trial),
        _ => up_to(1_000)(trial),
    });
    let doom = warmed_up.doomed();
    assert!(matches!(doom, Some(Doom::Hysteresis { was_good: false, .. })), "{doom:?}");
    // At the border chance decides.
    let border = search(settings(), |trial| match trial.purpose {
        Purpose::Repeat => up_to(985)(trial),
        _ => up_to(1_000)(trial),
    });
    assert!(border.found().is_some(), "{:?}", border.doomed());
}

#[test]
fn a_search_goes_on_from_what_was_observed() {
    let whole = search(settings(), up_to(1_000));
    for finished in 0..whole.steps().len() {
        let mut resumed = Knee::new(settings());
        whole.steps()[..finished].iter().for_each(|step| resumed.observe(step.clone()));
        assert_eq!(resumed.next_trial().as_ref(), Some(&whole.steps()[finished].trial));
    }
}

#[test]
fn latency_is_measured_below_the_last_stationary_rate() {
    let overload = |trial: &Trial| match trial.rate <= Rate::per_second(1_000) {
        true => RateVerdict::Met,
        false => RateVerdict::Missed(Miss::Growing),
    };
    let knee = search(Settings { then_latency: true, ..settings() }, overload);
    let last = knee.curve().knees.last_stationary.unwrap().as_per_s();
    let at = rates(&knee, Purpose::Latency);
    assert!((at[0] as f64 - 0.75 * last).abs() <= 1.0 && at.len() == 1, "{at:?} {last}");
    assert!(knee.found().is_some());
}

#[test]
fn kneedle_finds_the_bend() {
    let cap = |capacity: f64| -> Vec<(f64, f64)> {
        (1..=20).map(|i| f64::from(i) * 100.0).map(|x| (x, x.min(capacity))).collect()
    };
    assert_eq!(kneedle(&cap(1_000.0)), Some(1_000.0));
    assert_eq!(kneedle(&cap(400.0)), Some(400.0));
    assert_eq!(kneedle(&cap(9_000.0)), None, "a straight line has no bend");
    // Beyond the knee delivered work falls.
    let falls: Vec<(f64, f64)> = cap(1_000.0)
        .iter()
        .map(|&(x, y)| (x, if x > 1_000.0 { y - 0.3 * (x - 1_000.0) } else { y }))
        .collect();
    assert_eq!(kneedle(&falls), Some(1_000.0));
    // The paper's own: y = −1/(x + 0.1) + 5 bends at x = 0.22.
    let paper: Vec<(f64, f64)> =
        (0..10).map(|i| f64::from(i) / 9.0).map(|x| (x, -1.0 / (x + 0.1) + 5.0)).collect();
    assert_eq!(kneedle(&paper).map(|x| (x * 100.0).round() / 100.0), Some(0.22));
    assert_eq!(kneedle(&[]), None);
}
