//! Journeys in the simulated world: against closed forms, and against what can be counted by hand.

use unblink_core::dispatch::Pool;
use unblink_core::journey::{JourneySpec, Journeys, StepSpec, Think};
use unblink_core::load::Load;
use unblink_core::mix::Mix;
use unblink_core::origins::Origins;
use unblink_core::outcome::Outcome;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Layout, Recorder, Series, StepCounts};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, SimPart, WorldSpec, simulate_part};
use unblink_core::time::{Instant, Nanos};

const SECOND: Nanos = Nanos::from_secs(1);

fn spec(rate_per_s: u64, length: Nanos, process: Process, steps: Vec<StepSpec>) -> PlanSpec {
    PlanSpec {
        idempotent: vec![true; steps.len()],
        mix: Mix {
            journeys: Journeys {
                each: vec![JourneySpec { steps, ..JourneySpec::default() }],
                seed: 5,
                ..Journeys::default()
            },
            ..Mix::default()
        },
        ..PlanSpec::plain(
            LoadSpec::Open { phases: vec![Phase::hold(Rate::per_second(rate_per_s), length)], process },
            Pool::Auto { max: 60_000 },
            Nanos::from_secs(30),
        )
    }
}

/// All workers of a plan, one after the other, each with a world of its own.
fn run(spec: PlanSpec, world: &WorldSpec) -> Bank<u64> {
    let plan = Plan::new(spec).unwrap();
    let mut all = Bank::new(plan.layout());
    for worker in 0..plan.threads() {
        let part = SimPart { worker, ..SimPart::default() };
        simulate_part(&plan, world, part, (), |interval| all.add(&interval.bank));
    }
    all
}

fn server(service: Nanos) -> WorldSpec {
    WorldSpec::new(ServerSpec::new(Service::Constant(service)))
}

/// Two M/M/1 queues, one behind the other: what leaves the first is Poisson again (Burke, 1956), so that the mean time from
/// end to end is 1/(μ₁ − λ) + 1/(μ₂ − λ).
#[test]
fn a_tandem_of_two_queues_has_the_mean_of_the_closed_form() {
    let (mu, length) = ([1_000.0, 1_400.0], Nanos::from_secs(3_000));
    let exponential = |mu: f64| ServerSpec {
        slots: Some(1),
        ..ServerSpec::new(Service::Exponential { mean: Nanos((1e9 / mu) as u64) })
    };
    let world = WorldSpec { others: vec![exponential(mu[1])], ..WorldSpec::new(exponential(mu[0])) };
    for lambda in [300, 700] {
        let poisson = Process::Poisson { seed: 8 };
        let origins = Origins::new(&[0, 1]).unwrap();
        let all = run(PlanSpec { origins, ..spec(lambda, length, poisson, vec![StepSpec::ONCE; 2]) }, &world);
        let of = all.journeys.get(0).unwrap();
        assert_eq!(of.outcomes.ok, of.outcomes.due);
        let sums = of.sums(Series::Response);
        let mean = sums.sum_ns as f64 / sums.count as f64 / 1e9;
        let exact: f64 = mu.iter().map(|mu| 1.0 / (mu - lambda as f64)).sum();
        assert!((mean / exact - 1.0).abs() < 0.01, "λ = {lambda}: {mean} s, exact {exact} s");
    }
}

/// Three steps of 10 ms, with 1 s and twice 2 s of thinking: 10 + 1,000 + 10 + 2 · (2,000 + 10) ms.
#[test]
fn a_journey_takes_what_its_steps_and_its_thinking_take() {
    let think = |s| Think::Constant(Nanos::from_secs(s));
    let steps = vec![
        StepSpec::ONCE,
        StepSpec { think: think(1), ..StepSpec::ONCE },
        StepSpec { think: think(2), repeat: (2, 2), ..StepSpec::ONCE },
    ];
    let all = run(spec(50, Nanos::from_secs(4), Process::Even, steps), &server(Nanos::from_millis(10)));
    let of = all.journeys.get(0).unwrap();
    let sums = of.sums(Series::Response);
    assert_eq!((of.outcomes.due, of.outcomes.ok), (200, 200));
    assert_eq!((sums.max_ns, sums.sum_ns), (5_040_000_000, 200 * 5_040_000_000));
    let requests: Vec<u64> = all.steps.iter().map(|step| step.requests).collect();
    assert_eq!(requests, [200, 200, 400]);
    assert_eq!(all.counters.measured.followed, 600);
    assert_eq!(all.counters.measured.sent, 800);
    // Thinking is nobody's lateness.
    assert_eq!(all.track(Series::SendLag).max_ns, 0);
    assert_eq!(all.track(Series::Response).max_ns, 10_000_000);
}

/// The load ends after 4 s, and the run 1 s later: who thinks then is cut off behind the step before.
#[test]
fn who_thinks_at_the_end_is_unfinished() {
    let steps =
        vec![StepSpec::ONCE, StepSpec { think: Think::Constant(Nanos::from_secs(2)), ..StepSpec::ONCE }];
    let spec = PlanSpec { drain: Some(SECOND), ..spec(10, Nanos::from_secs(4), Process::Even, steps) };
    let all = run(spec, &server(Nanos::from_millis(10)));
    let [first, second] = [all.steps[0], all.steps[1]];
    // Of those that began within the last three seconds, and more than 10 ms of them.
    assert_eq!((first.entered, first.passed, first.thinking), (40, 40, 10));
    assert_eq!((second.entered, second.passed), (30, 30));
    assert_eq!(all.journeys.get(0).unwrap().outcomes.unfinished, 10);
}

/// One journey at a time: each takes 100 ms, and one begins every 50 ms.
#[test]
fn what_waits_for_its_start_keeps_its_intended_time() {
    let mut spec = spec(20, SECOND, Process::Even, vec![StepSpec::ONCE; 2]);
    spec.mix.journeys.under_way_max = 1;
    let all = run(spec, &server(Nanos::from_millis(50)));
    let of = all.journeys.get(0).unwrap();
    assert_eq!((of.outcomes.due, of.outcomes.ok), (20, 20));
    // Journey k begins at 100 k ms, and was to begin at 50 k.
    let lateness = (0..20).map(|k| 50_000_000 * k).sum::<u128>();
    assert_eq!(of.sums(Series::Response).sum_ns, 20 * 100_000_000 + lateness);
    assert_eq!(u128::from(all.counters.lag.held_ns), lateness);
    assert_eq!((all.counters.lag.held, all.counters.lag.generator_ns), (19, 0));
}

#[test]
fn requests_that_stand_alone_do_not_wait_for_journeys() {
    let mut spec = spec(20, SECOND, Process::Even, vec![StepSpec::ONCE; 2]);
    spec.idempotent.push(true);
    spec.mix.journeys.under_way_max = 1;
    let all = run(spec, &server(Nanos::from_millis(300)));
    let alone = all.operations.get(0).unwrap();
    assert_eq!((alone.outcomes.due, alone.sums(Series::Response).max_ns), (10, 300_000_000));
    assert!(all.operations.get(1).unwrap().sums(Series::Response).max_ns > 1_000_000_000);
}

/// Whoever is first, what is drawn for each journey is the same.
#[test]
fn any_number_of_workers_makes_the_same_journeys() {
    let drawn = StepSpec {
        think: Think::Exponential(Nanos::from_millis(300)),
        repeat: (1, 5),
        chance: 4_000,
        exit: 1_000,
        ..StepSpec::ONCE
    };
    let of = |threads| {
        let last = StepSpec { exit: 0, ..drawn };
        let steps = vec![StepSpec { repeat: (1, 3), ..StepSpec::ONCE }, drawn, last];
        let poisson = Process::Poisson { seed: 4 };
        let spec = PlanSpec { threads, ..spec(100, Nanos::from_secs(10), poisson, steps) };
        let all = run(spec, &server(Nanos::from_millis(5)));
        (all.journeys, all.steps)
    };
    let alone = of(1);
    assert!(alone.1.iter().any(|step| step.skipped > 100) && alone.1[1].exited > 20);
    for threads in [2, 3] {
        assert!(of(threads) == alone, "{threads} workers");
    }
}

/// A server that is shut when the second step comes: the first is as fast as ever.
#[test]
fn a_stall_shows_in_the_step_that_met_it() {
    let mut shut = ServerSpec::new(Service::Constant(Nanos::from_millis(10)));
    shut.error_one_in = 1;
    let world = WorldSpec { others: vec![shut], ..server(Nanos::from_millis(10)) };
    let origins = Origins::new(&[0, 1, 0]).unwrap();
    let all = run(PlanSpec { origins, ..spec(10, SECOND, Process::Even, vec![StepSpec::ONCE; 3]) }, &world);
    let expected = [
        StepCounts { entered: 10, passed: 10, requests: 10, ..StepCounts::default() },
        StepCounts { entered: 10, failed: 10, requests: 10, ..StepCounts::default() },
        StepCounts::default(),
    ];
    assert_eq!(all.steps, expected);
    let of = all.journeys.get(0).unwrap();
    assert_eq!((of.outcomes.failed_total(), of.sums(Series::Response).count), (10, 0));
    assert_eq!(all.operations.get(2).unwrap().outcomes.due, 0);
}

#[test]
fn banks_without_journeys_have_no_place_for_them() {
    let bank = Bank::<u64>::new(Layout::from(3));
    assert!(bank.journeys.is_empty() && bank.steps.is_empty());
}

/// The next journey would find the connection of the one before it, or lose its own to the closing of that.
#[test]
fn a_slot_is_free_once_the_connections_of_its_journey_are_closed() {
    let start = Instant(1_000_000_000);
    for own_connection in [false, true] {
        let mut spec = spec(10, SECOND, Process::Even, vec![StepSpec::ONCE]);
        spec.mix.journeys.each[0].own_connection = own_connection;
        spec.mix.journeys.under_way_max = 1;
        let plan = Plan::new(spec).unwrap();
        let mut load = plan.journeys_load(start, 0).expect("journeys");
        let mut recorder = Recorder::new(Box::new(Bank::new(plan.layout())), Nanos::from_secs(30));
        recorder.begin(start, Nanos::ZERO, SECOND);
        let now = start + SECOND;
        load.advance(now, |_| {});
        let starts = if own_connection { 2 } else { 0 };
        let first = load.head(starts).expect("one is due");
        load.pop(starts);
        assert!(first.slot.is_some() && load.head(starts).is_none(), "its slot is the only one");
        load.ended(&first, Outcome::TimedOut, now, &mut recorder);
        assert_eq!(load.has_left(), own_connection);
        assert_eq!(load.head(starts).is_none(), own_connection, "until they are closed");
        let later = now + Nanos::from_millis(1);
        assert_eq!(load.take_left(later), first.slot.filter(|_| own_connection));
        let next = load.head(starts).expect("the next one");
        assert_eq!(next.slot, first.slot);
        let since = if own_connection { later } else { now };
        assert_eq!(load.held_until(&next), Some(since));
        assert!(!load.has_left() && load.take_left(later).is_none());
    }
}

/// Whoever asks how far the inserts are is told when the first journey was to start that is yet to make its own.
#[test]
fn a_journey_is_yet_to_insert_until_its_last_insert_has_ended() {
    let inserts = StepSpec { inserts: true, repeat: (2, 2), ..StepSpec::ONCE };
    let steps = vec![StepSpec::ONCE, inserts, StepSpec::ONCE];
    let plan = Plan::new(spec(1, Nanos::from_secs(3), Process::Even, steps)).unwrap();
    let mut load = plan.journeys_load(Instant(0), 0).unwrap();
    let mut recorder = Recorder::new(Box::new(Bank::new(3)), Nanos::from_secs(1));
    load.advance(Instant(0) + Nanos::from_secs(2), |_| {});
    let mut first = load.take(0).unwrap();
    let second = load.take(0).unwrap();
    let at = |n| Instant(0) + Nanos::from_secs(n);
    // The last one has not begun, and is known by the line in which it waits.
    assert_eq!(
        (load.inserting_from(), load.oldest(0).map(|waits| waits.intended)),
        (Some(at(0)), Some(at(2)))
    );
    for request in 0..3 {
        assert_eq!(load.inserting_from(), Some(at(0)), "request {request}");
        load.ended(&first, Outcome::Ok, at(2), &mut recorder);
        load.advance(at(2), |_| {});
        // What follows comes behind what waits for its start.
        first = std::iter::from_fn(|| load.take(0)).find(|next| next.follows()).unwrap();
    }
    assert_eq!((first.operation, load.inserting_from()), (2, Some(at(1))));
    // One that fails before has inserted all that it will.
    load.ended(&second, Outcome::TimedOut, at(2), &mut recorder);
    assert_eq!(load.inserting_from(), Some(at(2)));
}
