//! Journeys with connections of their own: the books of the world check each send, and here is what it comes to.

use super::{Dice, Server, WORLDS, random_world, retrying_world, travelling_world};
use unblink_core::dispatch::Pool;
use unblink_core::plan::{Plan, PlanSpec};
use unblink_core::time::Nanos;

/// One of two journeys has connections of its own, or both have; often there are few connections, and half try again.
fn own_world(seed: u64) -> (Plan, Server, Option<Nanos>) {
    let mut dice = Dice(seed ^ 0x0417);
    let (plan, server, stop) = travelling_world(seed);
    let mut spec = plan.spec().clone();
    let which = 1 + dice.roll(3);
    for (number, journey) in spec.mix.journeys.each.iter_mut().enumerate() {
        journey.own_connection = which >> number & 1 == 1;
    }
    let (few, many) = (1 + dice.roll(4) as u32, 1 + dice.roll(3000) as u32);
    let n = if dice.roll(2) == 0 { few } else { many };
    spec.pool = if dice.roll(2) == 0 { Pool::Auto { max: n } } else { Pool::Fixed { n } };
    if dice.roll(2) == 0 {
        // The books of journeys know of no attempt that was given up.
        spec.retry = retrying_world(seed).0.spec().retry.clone();
        spec.retry.iter_mut().for_each(|retry| retry.try_timeout = None);
    }
    let age = (dice.roll(4) == 0).then(|| Nanos::from_millis(1 + dice.roll(1000)));
    (Plan::new(spec).expect("a valid plan"), Server { age, ..server }, stop)
}

#[test]
fn no_request_shares_the_connection_of_a_journey() {
    let (mut own, mut again, mut left, mut waited) = (0, 0, 0, 0);
    for seed in (0..WORLDS).filter(|&seed| random_world(seed).0.is_open()) {
        let (plan, server, stop) = own_world(seed);
        let (bank, world) = super::journeys::play_and_check(seed, &plan, server, stop);
        let counts = bank.counters.connections();
        assert_eq!(counts.own, world.books.owned.taken, "seed {seed}");
        assert!(counts.own_again < counts.own.max(1), "seed {seed}: the first of all is in place of none");
        assert_eq!(
            world.books.owned_and_open(),
            0,
            "seed {seed}: a journey has ended, and its connection has not"
        );
        own += counts.own;
        again += counts.own_again;
        left += counts.closed_with_journey;
        waited += bank.counters.lag.no_connection;
    }
    assert!(own > 30 * WORLDS, "journeys have connections of their own: {own}");
    assert!(again > WORLDS / 4, "they lose some: {again}");
    assert!(left > 15 * WORLDS, "they leave them: {left}");
    assert!(waited > 3 * WORLDS, "the limit makes them wait: {waited}");
}

/// Who waits for a connection of its own, and who for anybody's, ends with an attempt that nothing else is there for.
#[test]
fn attempts_at_a_pace_lose_no_journey() {
    let (mut own, mut refused) = (0, 0);
    for seed in (0..WORLDS).filter(|&seed| random_world(seed).0.is_open()) {
        let (plan, server, stop) = own_world(seed);
        let origins = plan.spec().origins.clone().with_pace(0);
        let plan = Plan::new(PlanSpec { origins, ..plan.spec().clone() }).expect("a valid plan");
        let (bank, world) = super::journeys::play_and_check(seed, &plan, server, stop);
        assert_eq!(world.books.owned_and_open(), 0, "seed {seed}");
        let counts = bank.counters.connections();
        own += counts.own;
        refused += counts.refused;
    }
    assert!(own > WORLDS && refused > 0, "{own} {refused}");
}
