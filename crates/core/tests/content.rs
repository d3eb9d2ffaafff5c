//! What the answers of the simulated world say: steps that ask again and again, and redirects.

use std::collections::BTreeMap;
use unblink_core::dispatch::Pool;
use unblink_core::failure::FailureKind;
use unblink_core::journey::{JourneySpec, Journeys, Redirects, StepSpec, Until};
use unblink_core::mix::Mix;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Series, StepCounts};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{Content, Holds, Hops, ServerSpec, Service, SimPart, WorldSpec, simulate_part};
use unblink_core::time::Nanos;

const JOURNEYS: u64 = 200;

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

/// Two hundred journeys in 10 s, each answer after 10 ms, by all workers, one after the other.
fn run(steps: Vec<StepSpec>, content: Content, threads: u32) -> Bank<u64> {
    let redirected: usize = steps.iter().map(|step| usize::from(step.redirects.operations)).sum();
    let operations = steps.len() + redirected;
    let journeys = Journeys {
        each: vec![JourneySpec { steps, ..JourneySpec::default() }],
        seed: 5,
        ..Journeys::default()
    };
    let phases = vec![Phase::hold(Rate::per_second(JOURNEYS / 10), Nanos::from_secs(10))];
    let plan = Plan::new(PlanSpec {
        threads,
        idempotent: vec![true; operations],
        mix: Mix { journeys, ..Mix::default() },
        ..PlanSpec::plain(
            LoadSpec::Open { phases, process: Process::Even },
            Pool::Auto { max: 60_000 },
            Nanos::from_secs(30),
        )
    })
    .expect("a valid plan");
    let world = WorldSpec { content, ..WorldSpec::new(ServerSpec::new(Service::Constant(ms(10)))) };
    let mut all = Bank::new(plan.layout());
    for worker in 0..plan.threads() {
        let part = SimPart { worker, ..SimPart::default() };
        simulate_part(&plan, &world, part, (), |interval| all.add(&interval.bank));
    }
    all
}

/// It orders, and asks every 100 ms until the order is paid.
fn ordering(within: Nanos) -> Vec<StepSpec> {
    let until = Some(Until { every: ms(100), within });
    vec![StepSpec::ONCE, StepSpec { until, ..StepSpec::ONCE }]
}

fn paid(holds: Holds) -> Content {
    Content { holds: BTreeMap::from([(1, holds)]), ..Content::default() }
}

fn all(counts: StepCounts) -> StepCounts {
    let StepCounts { entered, passed, failed, timed_out, requests, .. } = counts;
    let [entered, passed, failed, timed_out, requests] =
        [entered, passed, failed, timed_out, requests].map(|each| each * JOURNEYS);
    StepCounts { entered, passed, failed, timed_out, requests, ..StepCounts::default() }
}

/// Of how long the journeys waited at their step: how many, in which outcome's series, and the sum in ms.
fn waited(of: &Bank<u64>, series: Series) -> (u64, u128) {
    let sums = of.journeys.get(1).expect("a step that waits").sums(series);
    (sums.count, sums.sum_ns / 1_000_000)
}

#[test]
fn a_step_asks_until_the_answer_that_holds() {
    let passed = StepCounts { entered: 1, passed: 1, requests: 1, ..StepCounts::default() };
    for (holds, requests, wait_ms) in [
        (None, 1, 10),
        (Some(Holds::Answer(1)), 1, 10),
        (Some(Holds::Answer(3)), 3, 230),
        // The answers leave after 10, 120, 230 and 340 ms.
        (Some(Holds::After(Service::Constant(ms(230)))), 3, 230),
        (Some(Holds::After(Service::Constant(ms(231)))), 4, 340),
    ] {
        let content = holds.clone().map(paid).unwrap_or_default();
        let bank = run(ordering(Nanos::from_secs(5)), content, 1);
        assert_eq!(bank.steps, [passed, StepCounts { requests, ..passed }].map(all), "{holds:?}");
        assert_eq!(waited(&bank, Series::Response), (JOURNEYS, u128::from(wait_ms * JOURNEYS)), "{holds:?}");
        // Each is a request with a service time of its own.
        let requests_of = bank.operations.get(1).expect("recorded apart");
        assert_eq!(requests_of.outcomes.ok, requests * JOURNEYS);
        assert_eq!(requests_of.sums(Series::Response).max_ns, ms(10).0);
    }
}

/// The last request is sent when the time is over.
#[test]
fn what_never_holds_has_timed_out_within_its_time() {
    for holds in [Holds::Answer(100), Holds::After(Service::Constant(Nanos::from_secs(60)))] {
        let bank = run(ordering(ms(250)), paid(holds), 1);
        let timed_out = StepCounts { entered: 1, timed_out: 1, requests: 4, ..StepCounts::default() };
        assert_eq!(bank.steps[1], all(timed_out));
        assert_eq!(waited(&bank, Series::ResponseCensored), (JOURNEYS, u128::from(250 * JOURNEYS)));
    }
}

/// When an answer holds is drawn for each journey, whichever worker plays it.
#[test]
fn the_same_seed_waits_as_long_over_any_number_of_workers() {
    let of = |threads| {
        let holds = Holds::After(Service::Exponential { mean: ms(300) });
        let bank = run(ordering(Nanos::from_secs(5)), paid(holds), threads);
        (bank.steps[1], waited(&bank, Series::Response))
    };
    let one = of(1);
    assert_eq!((one.0.passed, one.0.timed_out), (JOURNEYS, 0));
    // A journey asks 1 + exp(-10/300) / (1 - exp(-110/300)) = 4.15 times on average, with a standard error of 0.2.
    assert!((3.35..4.95).contains(&(one.0.requests as f64 / JOURNEYS as f64)), "{one:?}");
    for threads in [2, 3, 7] {
        assert_eq!(of(threads), one, "{threads} workers");
    }
}

#[test]
fn each_request_of_a_step_is_redirected_so_often() {
    let redirects = Redirects { max: 2, operations: 1 };
    let steps = vec![StepSpec { repeat: (2, 2), redirects, ..StepSpec::ONCE }, StepSpec::ONCE];
    let to =
        |count| Content { redirects: BTreeMap::from([(0, Hops { count, next: 2 })]), ..Content::default() };
    let passed = StepCounts { entered: 1, passed: 1, requests: 1, ..StepCounts::default() };
    for (count, requests) in [(1, 4), (2, 6)] {
        let bank = run(steps.clone(), to(count), 1);
        assert_eq!(bank.steps, [StepCounts { requests, ..passed }, passed].map(all));
        let by_operation: Vec<u64> = bank.operations.iter().map(|of| of.outcomes.ok).collect();
        assert_eq!(by_operation, [2, 1, requests - 2].map(|each| each * JOURNEYS));
        // No time passes between an answer and what follows it.
        let sums = bank.journeys.get(0).expect("a journey").sums(Series::Response);
        assert_eq!(sums.sum_ns, u128::from((requests + 1) * 10 * JOURNEYS) * 1_000_000);
    }
    // One more than it follows.
    let bank = run(steps, to(3), 1);
    assert_eq!(
        bank.steps[0],
        all(StepCounts { entered: 1, failed: 1, requests: 3, ..StepCounts::default() })
    );
    let failed = bank.journeys.get(0).expect("a journey").outcomes.failed;
    assert_eq!(failed[FailureKind::TOO_MANY_REDIRECTS.index()], JOURNEYS);
}
