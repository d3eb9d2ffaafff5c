//! Journeys that hold a connection of all: the books of the world check each send, and here is what it comes to.

use super::{Dice, Server, WORLDS, random_world, travelling_world};
use unblink_core::dispatch::{Pool, Room};
use unblink_core::origins::Origins;
use unblink_core::plan::{Plan, PlanSpec};
use unblink_core::time::Nanos;

/// One of two journeys holds its connection, or both do; often there are few connections.
fn held_world(seed: u64) -> (Plan, Server, Option<Nanos>) {
    let mut dice = Dice(seed ^ 0x4e1d);
    let (plan, server, stop) = travelling_world(seed);
    let mut spec = plan.spec().clone();
    let which = 1 + dice.roll(3);
    let steps: usize = spec.mix.journeys.each.iter().map(|journey| journey.steps.len()).sum();
    let mut of_operation: Vec<u8> =
        (0..spec.idempotent.len() as u32).map(|operation| spec.origins.of(operation) as u8).collect();
    let redirected: usize = (spec.mix.journeys.each.iter().flat_map(|journey| &journey.steps))
        .map(|step| usize::from(step.redirects.operations))
        .sum();
    let mut operation = of_operation.len() - steps - redirected;
    for (number, journey) in spec.mix.journeys.each.iter_mut().enumerate() {
        journey.hold_connection = which >> number & 1 == 1;
        for step in &mut journey.steps {
            if journey.hold_connection {
                step.redirects.max = 0;
                of_operation[operation] = 0;
            }
            operation += 1;
        }
    }
    spec.origins = Origins::new(&of_operation).unwrap_or_default();
    spec.retry = None;
    let (few, many) = (1 + dice.roll(4) as u32, 1 + dice.roll(3000) as u32);
    let n = if dice.roll(2) == 0 { few } else { many };
    spec.pool = if dice.roll(2) == 0 { Pool::Auto { max: n } } else { Pool::Fixed { n } };
    (Plan::new(spec).expect("a valid plan"), Server { room: Room::SINGLE, age: None, ..server }, stop)
}

#[test]
fn what_is_held_carries_nobody_elses_requests() {
    let (mut held, mut on, mut waited) = (0, 0, 0);
    for seed in (0..WORLDS).filter(|&seed| random_world(seed).0.is_open()) {
        let (plan, server, stop) = held_world(seed);
        let (bank, world) = super::journeys::play_and_check(seed, &plan, server, stop);
        let counts = bank.counters.connections();
        assert_eq!((counts.own, counts.closed_with_journey, counts.closed_open), (0, 0, 0), "seed {seed}");
        held += counts.held;
        on += world.books.owned.held_on;
        waited += bank.counters.lag.no_connection;
    }
    assert!(held > 30 * WORLDS, "journeys hold connections: {held}");
    assert!(on > 30 * WORLDS, "they go on there: {on}");
    assert!(waited > 3 * WORLDS, "the limit makes them wait: {waited}");
}

#[test]
fn attempts_at_a_pace_lose_no_journey_that_holds_one() {
    let mut held = 0;
    for seed in (0..WORLDS).filter(|&seed| random_world(seed).0.is_open()) {
        let (plan, server, stop) = held_world(seed);
        let origins = plan.spec().origins.clone().with_pace(0);
        let plan = Plan::new(PlanSpec { origins, ..plan.spec().clone() }).expect("a valid plan");
        let (bank, _) = super::journeys::play_and_check(seed, &plan, server, stop);
        held += bank.counters.connections().held;
    }
    assert!(held > WORLDS, "{held}");
}
