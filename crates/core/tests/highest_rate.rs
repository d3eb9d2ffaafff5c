//! Schedules up to the highest rate, against integers of any length.

use num_bigint::BigInt;
use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, PHASES_MAX, Plan, PlanError, PlanSpec};
use unblink_core::schedule::{
    Bursts, Cursor, HOLD_LENGTH_MAX, Phase, Process, RAMP_LENGTH_MAX, RATE_MAX_PER_S, Rate, Schedule,
    bursts_fit, common_seconds,
};
use unblink_core::share::Share;
use unblink_core::time::{Nanos, SECOND_NS};

const HIGHEST: Rate = Rate::per_second(RATE_MAX_PER_S);

/// The finest rate below the highest: nine digits before the point and nine behind it.
fn finest() -> Rate {
    Rate::new(RATE_MAX_PER_S * SECOND_NS - 1, SECOND_NS).unwrap()
}

/// Λ in requests, as a fraction of integers of any length.
struct Exact {
    top: BigInt,
    bottom: BigInt,
}

impl Exact {
    /// Not more than so many `parts` of a request.
    fn is_at_most(&self, whole: &BigInt, parts: u64) -> bool {
        &self.top * parts <= whole * &self.bottom
    }
}

/// Λ at `at`, from its definition: the integral of the rate.
fn lambda(phases: &[Phase], at: u64) -> Exact {
    let mut seconds: Vec<u64> =
        phases.iter().flat_map(|phase| [phase.from.seconds(), phase.to.seconds()]).collect();
    seconds.sort_unstable();
    seconds.dedup();
    // In this time, every rate is whole.
    let common: BigInt = seconds.iter().map(|&seconds| BigInt::from(seconds)).product();
    let whole = |rate: Rate| rate.requests() * (&common / rate.seconds());
    let bottom = 2 * SECOND_NS * &common;
    let (mut before, mut start) = (BigInt::from(0), 0);
    for phase in phases {
        let (from, to, span) = (whole(phase.from), whole(phase.to), phase.duration.0);
        if at - start < span {
            // r₀·t + (r₁ − r₀)·t²/(2T)
            let t = at - start;
            let inside = 2 * &from * t * span + (to - from) * t * t;
            return Exact { top: before * span + inside, bottom: bottom * span };
        }
        before += (from + to) * span;
        start += span;
    }
    Exact { top: before, bottom }
}

/// Arrival `k` is due at the last nanosecond at which no more than k requests have been expected.
fn check_arrival(phases: &[Phase], schedule: &Schedule, k: u64) {
    let (index, due) = Cursor::new(schedule, k, 1).next(schedule).expect("an arrival");
    assert_eq!(index, k);
    let k = BigInt::from(k);
    assert!(lambda(phases, due.0).is_at_most(&k, 1), "arrival {k} of {phases:?} is late: {due:?}");
    assert!(!lambda(phases, due.0 + 1).is_at_most(&k, 1), "arrival {k} of {phases:?} is early: {due:?}");
}

/// As many arrivals lie before `end` as there are whole numbers below Λ(end).
fn check_count(phases: &[Phase], schedule: &Schedule, end: Nanos) {
    let count = schedule.count_before(end);
    let expected = lambda(phases, end.0);
    assert!(expected.is_at_most(&BigInt::from(count), 1), "{count} before {end:?} of {phases:?} are too few");
    assert!(
        count == 0 || !expected.is_at_most(&BigInt::from(count - 1), 1),
        "{count} before {end:?} of {phases:?} are too many"
    );
}

fn check(phases: &[Phase], dice: &mut Dice) {
    let schedule = Schedule::new(phases, Process::Even, u64::MAX);
    let (all, end) = (schedule.count_before(schedule.end()), schedule.end().0);
    check_count(phases, &schedule, schedule.end());
    for k in
        [0, 1, all / 2, all.saturating_sub(2), all - 1].into_iter().chain((0..20).map(|_| dice.below(all)))
    {
        check_arrival(phases, &schedule, k.min(all - 1));
    }
    for _ in 0..20 {
        check_count(phases, &schedule, Nanos(dice.below(end)));
    }
    let mut place = 0;
    for phase in phases.iter().take(3) {
        place += phase.duration.0;
        for at in [place - 1, place, place + 1] {
            check_count(phases, &schedule, Nanos(at.min(end)));
        }
    }
}

/// A linear congruential generator.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16
    }

    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 48) as u64
    }
}

#[test]
fn holds_and_ramps_at_the_highest_rates_are_exact() {
    let mut dice = Dice(1);
    let (week, day) = (HOLD_LENGTH_MAX, RAMP_LENGTH_MAX);
    let ramp = |from, to, duration| Phase { from, to, duration };
    let one_in_a_day = Rate::new(1, 86_400).unwrap();
    for phases in [
        vec![Phase::hold(HIGHEST, week)],
        vec![Phase::hold(finest(), week)],
        vec![Phase::hold(finest(), week), Phase::hold(HIGHEST, week), ramp(HIGHEST, finest(), day)],
        vec![ramp(Rate::default(), HIGHEST, day)],
        vec![ramp(HIGHEST, Rate::default(), day)],
        vec![ramp(finest(), HIGHEST, day), ramp(HIGHEST, finest(), Nanos(1))],
        vec![
            ramp(one_in_a_day, HIGHEST, day),
            Phase::hold(Rate::default(), week),
            ramp(HIGHEST, one_in_a_day, day),
        ],
        vec![ramp(Rate::new(1, 999_983).unwrap(), HIGHEST, Nanos(day.0 - 1))],
        // As long as a plan may be.
        vec![Phase::hold(finest(), week); PHASES_MAX],
        vec![ramp(finest(), HIGHEST, day); PHASES_MAX],
    ] {
        assert!(common_seconds(&phases).is_some(), "{:?}", &phases[0]);
        check(&phases, &mut dice);
    }
}

#[test]
fn ramps_of_any_fraction_and_length_are_exact() {
    let mut dice = Dice(2);
    let mut checked = 0;
    while checked < 300 {
        // Of every order of magnitude.
        let mut rate = || {
            let most = [1, 60, 3_600, 1_000_000, SECOND_NS][dice.below(5) as usize];
            let seconds = 1 + dice.below(most);
            let highest = 10u64.pow(dice.below(9) as u32).saturating_mul(seconds);
            Rate::new(dice.below(highest + 1), seconds).unwrap()
        };
        let (from, to) = (rate(), rate());
        let most = 10u64.pow(1 + dice.below(14) as u32).min(RAMP_LENGTH_MAX.0);
        let duration = Nanos(1 + dice.below(most));
        let phases = [Phase { from, to, duration }];
        let expects_any = !from.is_zero() || !to.is_zero();
        if expects_any && common_seconds(&phases).is_some() {
            check(&phases, &mut dice);
            checked += 1;
        }
    }
}

/// Where the squares of a ramp's times just fit 128 bits, and where they just don't, both ways say the same.
#[test]
fn ramps_at_the_border_of_128_bits_are_exact() {
    let mut dice = Dice(3);
    for (from, to) in [(Rate::default(), HIGHEST), (HIGHEST, Rate::per_second(1)), (finest(), HIGHEST)] {
        let seconds = u128::from(common_seconds(&[Phase { from, to, duration: Nanos(1) }]).unwrap());
        // 2·r·T² = 2¹²⁷
        let border = (i128::MAX as u128 / (2 * u128::from(RATE_MAX_PER_S) * seconds)).isqrt() as u64;
        assert!(border < RAMP_LENGTH_MAX.0);
        for duration in [border - 1, border, border + 1, border + 2].map(Nanos) {
            check(&[Phase { from, to, duration }], &mut dice);
        }
    }
}

/// Points of Poisson streams do not depend on the rate. A request in 1,000 s has one of its units in half a nanosecond, so
/// that its arrivals show where the points are.
#[test]
fn drawn_arrivals_lie_where_their_points_are() {
    let slow = [Phase::hold(Rate::new(1, 1_000).unwrap(), Nanos(u64::MAX / 4))];
    let ramp = Phase { from: Rate::per_second(1), to: HIGHEST, duration: RAMP_LENGTH_MAX };
    let fast = [Phase::hold(HIGHEST, Nanos::from_millis(1)), ramp];
    let process = Process::Poisson { seed: 5 };
    let [points, schedule] = [&slow[..], &fast[..]].map(|phases| Schedule::new(phases, process, u64::MAX));
    let (mut point, mut cursor) = (Cursor::new(&points, 0, 1), Cursor::new(&schedule, 0, 1));
    for _ in 0..1_000_000 {
        let Some((number, halves)) = point.next(&points) else { break };
        let (index, due) = cursor.next(&schedule).expect("as many");
        assert_eq!(number, index);
        if !number.is_multiple_of(199) {
            continue;
        }
        let (first, last) = (BigInt::from(halves.0) * 2, BigInt::from(halves.0) * 2 + 1);
        let is_until = |at, units| lambda(&fast, at).is_at_most(units, 2_000_000_000_000);
        assert!(is_until(due.0, &last), "arrival {number} is late: {due:?}");
        assert!(!is_until(due.0 + 1, &first), "arrival {number} is early: {due:?}");
    }
}

#[test]
fn shares_of_a_drawn_load_at_the_highest_rate_are_the_whole() {
    let bursts = Bursts { peak_milli: 5_000, on: Nanos::from_micros(200), off: Nanos::from_millis(1) };
    let fifth = Rate::per_second(RATE_MAX_PER_S / 5);
    for (process, rate) in
        [(Process::Poisson { seed: 3 }, HIGHEST), (Process::Bursty { seed: 3, bursts }, fifth)]
    {
        let schedule = Schedule::new(&[Phase::hold(rate, Nanos::from_millis(5))], process, u64::MAX);
        let walk = |share| {
            let mut cursor = Cursor::of_share(&schedule, share);
            std::iter::from_fn(|| cursor.next(&schedule)).map(|(k, due)| (due.0, k)).collect::<Vec<_>>()
        };
        let whole = walk(Share::WHOLE);
        assert!(whole.is_sorted_by_key(|(due, _)| *due));
        assert_eq!(whole.len() as u64, schedule.count_before(schedule.end()));
        let mut all: Vec<_> = (0..512).flat_map(|first| walk(Share { first, of: 512 })).collect();
        let mut sorted = whole.clone();
        all.sort_unstable();
        sorted.sort_unstable();
        assert!(all == sorted, "{process:?}");
        if process.peak() == 1.0 {
            let expected = rate.as_per_s() * 5e-3;
            assert!((whole.len() as f64 - expected).abs() < 5.0 * expected.sqrt(), "{}", whole.len());
        }
    }
}

fn planned(phases: Vec<Phase>, process: Process) -> Result<Plan, PlanError> {
    Plan::new(PlanSpec::plain(
        LoadSpec::Open { phases, process },
        Pool::Auto { max: 10 },
        Nanos::from_secs(1),
    ))
}

#[test]
fn what_integers_do_not_hold_is_refused() {
    let minute = Nanos::from_secs(60);
    let above = Rate::per_second(RATE_MAX_PER_S + 1);
    let refused = planned(vec![Phase::hold(above, minute)], Process::Even).err();
    assert_eq!(refused, Some(PlanError::RateTooHigh(above)));
    assert_eq!(
        refused.unwrap().to_string(),
        "a rate of 100000001/s is above the highest possible, 100000000/s"
    );
    assert!(planned(vec![Phase::hold(finest(), HOLD_LENGTH_MAX); PHASES_MAX], Process::Even).is_ok());
    // Bursts take 20 bits more: a week of the finest rate has none left for two more.
    let bursts = Bursts { peak_milli: 1_001, on: Nanos::from_secs(3_600), off: Nanos::from_secs(3_600) };
    let process = Process::Bursty { seed: 1, bursts };
    let fine = Rate::new(99_000_000 * SECOND_NS + 1, SECOND_NS).unwrap();
    let weeks = |n| vec![Phase::hold(fine, HOLD_LENGTH_MAX); n];
    assert!(bursts_fit(&weeks(1), &bursts) && !bursts_fit(&weeks(2), &bursts));
    assert_eq!(planned(weeks(2), process).err(), Some(PlanError::RatesTooFine));
    let plan = planned(weeks(1), process).unwrap();
    let schedule = plan.schedules().next().unwrap();
    // Most of it lies where it must, within what a thousandth of the rate does.
    let expected = fine.as_per_s() * HOLD_LENGTH_MAX.as_secs_f64();
    let within = |found: u64| (found as f64 / expected - 1.0).abs() < 1.1e-3;
    assert!(within(schedule.expected_before(schedule.end())));
    // Whole requests leave room for thousands of weeks.
    let whole = vec![Phase::hold(Rate::per_second(99_000_000), HOLD_LENGTH_MAX); 1_000];
    assert!(planned(whole, process).is_ok());
}
