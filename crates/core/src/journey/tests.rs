//! What is drawn for journeys, and which can't be.

use super::*;

fn paths(steps: Vec<StepSpec>) -> Paths {
    let operations = steps.len();
    let journeys = Journeys {
        each: vec![JourneySpec { steps, ..JourneySpec::default() }],
        seed: 3,
        ..Journeys::default()
    };
    Paths::new(&journeys, operations, 256).unwrap().unwrap()
}

fn key(unit: u64) -> Key {
    Key { load: 0, unit, step: 1 }
}

/// Means, medians and shares of a hundred thousand draws, within 4σ.
#[test]
fn what_is_drawn_has_its_distribution() {
    const N: u64 = 100_000;
    let second = Nanos::from_secs(1);
    let step = StepSpec {
        think: Think::Exponential(second),
        repeat: (1, 5),
        chance: 3_000,
        exit: 2_000,
        ..StepSpec::ONCE
    };
    let log = StepSpec { think: Think::LogNormal { median: second, sigma_milli: 800 }, ..StepSpec::ONCE };
    let paths = paths(vec![StepSpec::ONCE, step, log]);
    let mean = |of: &dyn Fn(u64) -> f64| (0..N).map(of).sum::<f64>() / N as f64;
    let near = |found: f64, expected: f64, sd: f64| {
        let far = (found - expected).abs() / (sd / (N as f64).sqrt());
        assert!(far < 4.0, "{found} for {expected}: {far} σ");
    };
    near(mean(&|unit| paths.think(&step, key(unit)).as_secs_f64()), 1.0, 1.0);
    let beyond = step.think.longest_but_one_in_1000(&[]);
    near(mean(&|unit| f64::from(paths.think(&step, key(unit)) > beyond)), 1e-3, 1e-3f64.sqrt());
    near(mean(&|unit| f64::from(paths.repeats(&step, 1, key(unit)))), 3.0, 2f64.sqrt());
    near(mean(&|unit| f64::from(paths.is_taken(&step, 1, key(unit)))), 0.3, 0.21f64.sqrt());
    near(mean(&|unit| f64::from(paths.exits(&step, 1, key(unit)))), 0.2, 0.16f64.sqrt());
    near(mean(&|unit| f64::from(paths.think(&log, key(unit)) < second)), 0.5, 0.5);
    let sd = ((0.64f64.exp() - 1.0) * 0.64f64.exp()).sqrt();
    near(mean(&|unit| paths.think(&log, key(unit)).as_secs_f64()), 0.32f64.exp(), sd);
    let beyond = log.think.longest_but_one_in_1000(&[]);
    near(mean(&|unit| f64::from(paths.think(&log, key(unit)) > beyond)), 1e-3, 1e-3f64.sqrt());
}

/// 1, 2 and 9 s as 5 to 4 to 1, within 4σ, and what is the longest but for one in a thousand.
#[test]
fn measured_times_are_drawn_by_their_weights() {
    const N: u64 = 100_000;
    let weighted = |times: &[(u64, u64)]| {
        Times::new(times.iter().map(|&(s, weight)| (Nanos::from_secs(s), weight)).collect())
    };
    let times = weighted(&[(9, 1), (1, 5), (2, 4), (99, 0)]).unwrap();
    assert_eq!((times.count(), times.mean_s()), (3, 2.2));
    let step = StepSpec { think: Think::OneOf(0), ..StepSpec::ONCE };
    let journeys = Journeys {
        each: vec![JourneySpec { steps: vec![StepSpec::ONCE, step], ..JourneySpec::default() }],
        times: vec![times.into()],
        ..Journeys::default()
    };
    let paths = Paths::new(&journeys, 2, 256).unwrap().unwrap();
    for (seconds, share) in [(1, 0.5), (2, 0.4), (9, 0.1f64)] {
        let drawn = (0..N).filter(|&unit| paths.think(&step, key(unit)) == Nanos::from_secs(seconds)).count();
        let far = (drawn as f64 / N as f64 - share).abs() / (share * (1.0 - share) / N as f64).sqrt();
        assert!(far < 4.0, "{seconds} s: {drawn} of {N}");
    }
    assert_eq!(paths.drain(Nanos::from_secs(5)), Nanos::from_secs(5 + 5 + 9));
    let rare = weighted(&[(1, 999), (50, 1)]).unwrap();
    assert_eq!(step.think.longest_but_one_in_1000(&[rare.into()]), Nanos::from_secs(50));
    let rarer = weighted(&[(1, 9_991), (50, 9)]).unwrap();
    assert_eq!(step.think.longest_but_one_in_1000(&[rarer.into()]), Nanos::from_secs(1));
    assert_eq!((weighted(&[]), weighted(&[(1, 0)]), weighted(&[(1, u64::MAX), (2, 1)])), (None, None, None));
    let unknown = Journeys { times: Vec::new(), ..journeys };
    assert_eq!(Paths::new(&unknown, 2, 256), Err(JourneyError::UnknownTimes));
}

#[test]
fn the_drain_waits_for_the_longest_journey() {
    let think = Think::Constant(Nanos::from_secs(2));
    let twice = StepSpec { think, repeat: (1, 2), ..StepSpec::ONCE };
    assert_eq!(paths(vec![StepSpec::ONCE, twice]).drain(Nanos::from_secs(5)), Nanos::from_secs(5 + 2 * 7));
}

/// Nobody thinks before the first request, one to three follow, and a lognormal time has a mean above its median.
#[test]
fn thinking_is_foreseen_on_average() {
    let repeated = StepSpec { think: Think::Constant(Nanos::from_secs(2)), repeat: (2, 4), ..StepSpec::ONCE };
    let median = Nanos::from_secs(4);
    let think = Think::LogNormal { median, sigma_milli: 1_000 };
    let skipped = StepSpec { think, chance: 5_000, exit: 5_000, ..StepSpec::ONCE };
    let last = StepSpec { think: Think::Exponential(Nanos::from_secs(1)), ..StepSpec::ONCE };
    let paths = paths(vec![repeated, skipped, last]);
    let expected = 2.0 * 2.0 + 0.5 * 4.0 * 0.5f64.exp() + 0.75;
    assert!((paths.thinking_s(0) - expected).abs() < 1e-9, "{}", paths.thinking_s(0));
    // Three requests, half of one, and three quarters of one; a request that stands alone is one.
    assert!((paths.requests_mean(0) - 4.25).abs() < 1e-12);
    let stand_alone = paths.plain();
    let weights: Vec<u32> = (0..=stand_alone).map(|entry| if entry < stand_alone { 0 } else { 1 }).collect();
    assert!((paths.requests_per_arrival(Some(&weights)) - 4.25).abs() < 1e-12);
}

/// Of the journeys, 30 % take the second step, of whom 20 % leave behind it; the rest asks at most five times.
#[test]
fn requests_are_counted_as_they_are_expected_at_the_most() {
    let until = Until { every: Nanos::from_secs(1), within: Nanos::from_millis(3_500) };
    let last = StepSpec { until: Some(until), ..StepSpec::ONCE };
    let left = StepSpec { chance: 3_000, exit: 2_000, repeat: (1, 3), ..StepSpec::ONCE };
    let paths = paths(vec![StepSpec::ONCE, left, last]);
    assert!((paths.requests_mean(0) - (1.0 + 0.3 * 2.0 + (1.0 - 0.3 * 0.2) * 5.0)).abs() < 1e-12);
    assert_eq!((paths.waits(), paths.wait(0, 1), paths.wait(0, 2)), (1, None, Some(1)));
    // Each request may take five seconds, and what is waited for comes within its time before the last one is sent.
    assert_eq!(paths.drain(Nanos::from_secs(5)), Nanos::from_millis(5_000 + 15_000 + 5_000 + 3_500));
}

/// Two steps, the first of which may be sent on twice, to one of two places.
#[test]
fn redirected_requests_come_behind_the_steps_and_belong_to_theirs() {
    let redirects = Redirects { max: 2, operations: 2 };
    let steps = vec![StepSpec { redirects, ..StepSpec::ONCE }, StepSpec::ONCE];
    let journeys = Journeys {
        each: vec![JourneySpec { steps, ..JourneySpec::default() }],
        seed: 3,
        ..Journeys::default()
    };
    let paths = Paths::new(&journeys, 5, 256).unwrap().unwrap();
    assert_eq!((paths.plain(), paths.steps(), paths.redirected()), (1, 2, 2));
    assert_eq!([0, 1, 2, 3, 4].map(|operation| paths.step_of(operation)), [0, 1, 2, 1, 1]);
    assert_eq!([0, 1, 2, 3, 4].map(|operation| paths.entry_of(operation)), [0, 1, 1, 1, 1]);
    assert_eq!([0, 1, 2, 3, 4].map(|n| paths.can_come_first(n)), [true, true, false, false, false]);
    assert!((paths.requests_mean(0) - 4.0).abs() < 1e-12);
    assert_eq!(paths.drain(Nanos::from_secs(5)), Nanos::from_secs(20));
}

#[test]
fn what_can_not_be_is_refused() {
    let refused = |steps: Vec<StepSpec>| {
        let journeys =
            Journeys { each: vec![JourneySpec { steps, ..JourneySpec::default() }], ..Journeys::default() };
        Paths::new(&journeys, 10, 256).unwrap_err()
    };
    let once = StepSpec::ONCE;
    assert_eq!(refused(vec![]), JourneyError::NoSteps);
    assert_eq!(refused(vec![StepSpec { chance: 9_999, ..once }]), JourneyError::FirstMayBeSkipped);
    assert_eq!(refused(vec![once, StepSpec { chance: 0, ..once }]), JourneyError::NoChance);
    assert_eq!(refused(vec![StepSpec { repeat: (0, 1), ..once }]), JourneyError::Repeat(0, 1));
    assert_eq!(refused(vec![StepSpec { repeat: (2, 1), ..once }]), JourneyError::Repeat(2, 1));
    assert_eq!(refused(vec![StepSpec { exit: 1, ..once }]), JourneyError::ExitAtTheEnd);
    let until = |every, within| Some(Until { every: Nanos(every), within: Nanos(within) });
    let twice = StepSpec { repeat: (1, 2), until: until(1, 5), ..once };
    assert_eq!(refused(vec![twice]), JourneyError::RepeatOfUntil);
    let followed = StepSpec { until: until(1, 5), redirects: Redirects { max: 1, operations: 1 }, ..once };
    assert_eq!(refused(vec![followed]), JourneyError::RedirectsOfUntil);
    assert_eq!(refused(vec![StepSpec { until: until(0, 5), ..once }]), JourneyError::Polls);
    assert_eq!(refused(vec![StepSpec { until: until(1, 1_000), ..once }]), JourneyError::Polls);
    assert_eq!(refused(vec![once; STEPS_MAX + 1]), JourneyError::TooManySteps(STEPS_MAX + 1));
    assert_eq!(Paths::new(&Journeys::default(), 10, 256), Ok(None));
}
