//! What is recorded of journeys and their steps adds up.

use super::{Server, World, check_breaches, check_recorder, play};
use unblink_core::plan::Plan;
use unblink_core::record::{Bank, Outcomes, Series, StepCounts};
use unblink_core::time::Nanos;

/// Plays a world of journeys: each arrival has ended once, and the record agrees with itself.
pub(crate) fn play_and_check(
    seed: u64,
    plan: &Plan,
    server: Server,
    stop: Option<Nanos>,
) -> (Box<Bank<u32>>, World) {
    let (bank, world) = play(plan, server, stop);
    let mut all = bank.counters.measured;
    all.add(&bank.counters.warmup);
    assert_eq!(all.ended(), all.due, "seed {seed}: {all:?}");
    let length = plan.load_length().min(stop.unwrap_or(plan.load_length()));
    check_recorder(seed, &bank, &bank.counters.measured, plan.spec().timeout);
    check_journeys(seed, plan, &bank, length);
    check_breaches(seed, &bank.counters, &world);
    (bank, world)
}

pub(crate) fn check_journeys(seed: u64, plan: &Plan, bank: &Bank<u32>, length: Nanos) {
    let paths = plan.journeys().expect("has journeys");
    let scheduled = plan.scheduled_by_journey(plan.measured_from(), length).expect("can be counted");
    for (journey, (of, scheduled)) in bank.journeys.iter().zip(scheduled).enumerate() {
        let Outcomes { due, ok, timed_out, unfinished, unsent, .. } = of.outcomes;
        assert_eq!((due, of.outcomes.ended()), (scheduled, scheduled), "seed {seed}, journey {journey}");
        let times = |series| of.sums(series).count;
        assert_eq!(times(Series::Response), ok, "seed {seed}");
        assert_eq!(times(Series::ResponseCensored), timed_out + unfinished + unsent, "seed {seed}");
        let places = paths.operations_of(journey);
        let steps = &bank.steps[places.start - paths.plain()..places.end - paths.plain()];
        assert_eq!(steps[0].entered, due, "seed {seed}");
        assert!(steps.iter().all(|step| step.entered == step.left()), "seed {seed}: {steps:?}");
        assert!(steps.iter().skip(1).all(|step| step.unsent == 0), "seed {seed}: {steps:?}");
        for pair in steps.windows(2) {
            let [before, step] = pair else { unreachable!() };
            assert_eq!(
                step.entered,
                before.passed + before.skipped - before.thinking - before.exited,
                "seed {seed}: {steps:?}"
            );
        }
        let last = steps[steps.len() - 1];
        let sum = |of: fn(&StepCounts) -> u64| steps.iter().map(of).sum::<u64>();
        let completed = last.passed + last.skipped + sum(|step| step.exited);
        assert_eq!((completed, last.thinking, last.exited), (ok, 0, 0), "seed {seed}: {steps:?}");
        for (number, step) in steps.iter().enumerate() {
            let Some(place) = paths.wait(journey, number) else { continue };
            let of = bank.journeys.get(place).expect("a place for each");
            let Outcomes { due, ok, timed_out, unfinished, unsent, .. } = of.outcomes;
            let found =
                [due, of.outcomes.ended(), ok, of.outcomes.failed_total(), timed_out, unfinished, unsent];
            let StepCounts { entered, skipped, passed, failed, timed_out, unfinished, unsent, .. } = *step;
            let taken = entered - skipped;
            assert_eq!(found, [taken, taken, passed, failed, timed_out, unfinished, unsent], "seed {seed}");
            let times = |series| of.sums(series).count;
            assert_eq!(times(Series::Response), passed, "seed {seed}");
            assert_eq!(times(Series::ResponseCensored), timed_out + unfinished + unsent, "seed {seed}");
        }
        assert_eq!(sum(|step| step.failed), of.outcomes.failed_total(), "seed {seed}");
        assert_eq!(sum(|step| step.timed_out), timed_out, "seed {seed}");
        assert_eq!(sum(|step| step.unfinished + step.thinking), unfinished, "seed {seed}");
        assert_eq!(sum(|step| step.unsent), unsent, "seed {seed}");
        // Requests of journeys that began in the warm-up may be measured.
        if plan.spec().warmup == Nanos::ZERO {
            for (step, operation) in steps.iter().zip(places) {
                // Its own, and those that were redirected.
                let own = (0..plan.spec().idempotent.len())
                    .filter(|&one| paths.step_of(one as u32) == operation as u32);
                let due = own.map(|one| bank.operations.get(one).expect("recorded apart").outcomes.due);
                assert_eq!(step.requests, due.sum::<u64>(), "seed {seed}");
            }
        }
    }
}
