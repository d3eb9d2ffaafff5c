//! Journeys over WebSockets of their own: each message goes over the socket that its own journey has opened, and over no other.

use super::{Dice, Server, WORLDS, play, random_world, travelling_world};
use unblink_core::dispatch::{Pool, Room};
use unblink_core::failure::FailureKind;
use unblink_core::journey::{CERTAIN, Journeys, Redirects};
use unblink_core::mix::Mix;
use unblink_core::origins::{Origins, SocketUse};
use unblink_core::plan::{Plan, PlanSpec};
use unblink_core::time::Nanos;

/// All arrivals begin journeys. Their first step opens a socket, those behind it use it, and one in four of these opens
/// another in its place. Often there are few sockets.
fn socket_world(seed: u64) -> (Plan, Server, Option<Nanos>) {
    let mut dice = Dice(seed ^ 0x50c);
    let (plan, server, stop) = travelling_world(seed);
    let mut spec = plan.spec().clone();
    let mut journeys = spec.mix.journeys.each.clone();
    let mut sockets = vec![];
    for journey in &mut journeys {
        for (place, step) in journey.steps.iter_mut().enumerate() {
            step.redirects = Redirects::default();
            step.until = None;
            let opens = place == 0 || dice.roll(4) == 0;
            if opens {
                (step.repeat, step.chance) = ((1, 1), CERTAIN);
            }
            sockets.push(if opens { SocketUse::Opens } else { SocketUse::Uses });
        }
    }
    let n = if dice.roll(2) == 0 { 1 + dice.roll(4) as u32 } else { 1 + dice.roll(3000) as u32 };
    spec = PlanSpec {
        mix: Mix {
            weights: Some(vec![1, 2]),
            journeys: Journeys { each: journeys, ..spec.mix.journeys.clone() },
            ..spec.mix
        },
        // A message is not sent twice.
        idempotent: vec![false; sockets.len()],
        origins: Origins::default().with_sockets(&sockets),
        pool: if dice.roll(2) == 0 { Pool::Auto { max: n } } else { Pool::Fixed { n } },
        ..spec
    };
    (Plan::new(spec).expect("a valid plan"), Server { room: Room::SINGLE, age: None, ..server }, stop)
}

#[test]
fn each_message_goes_over_the_socket_of_its_journey() {
    let (mut opened, mut used, mut broken, mut waited) = (0, 0, 0, 0);
    for seed in (0..WORLDS).filter(|&seed| random_world(seed).0.is_open()) {
        let (plan, server, stop) = socket_world(seed);
        let (bank, world) = play(&plan, server, stop);
        let mut all = bank.counters.measured;
        all.add(&bank.counters.warmup);
        assert_eq!(all.ended(), all.due, "seed {seed}: {all:?}");
        let length = plan.load_length().min(stop.unwrap_or(plan.load_length()));
        let scheduled = plan.scheduled(plan.measured_from(), length).expect("open");
        assert_eq!(scheduled.warmup + scheduled.measured + all.followed, all.due, "seed {seed}");
        super::check_recorder(seed, &bank, &bank.counters.measured, plan.spec().timeout);
        super::journeys::check_journeys(seed, &plan, &bank, length);
        let owned = &world.books.owned;
        assert_eq!(owned.taken + owned.used, world.sent.len() as u64, "seed {seed}: nothing is sent twice");
        assert_eq!(all.sent, world.sent.len() as u64, "seed {seed}");
        assert_eq!(
            world.books.owned_and_open(),
            0,
            "seed {seed}: a journey has ended, and its socket has not"
        );
        opened += owned.taken;
        used += owned.used;
        broken += [FailureKind::CLOSED_EARLY, FailureKind::RESET]
            .map(|kind| all.failed[kind.index()])
            .iter()
            .sum::<u64>();
        waited += bank.counters.lag.no_connection;
    }
    assert!(opened > 30 * WORLDS, "journeys open sockets: {opened}");
    assert!(used > 30 * WORLDS, "and use them: {used}");
    assert!(broken > WORLDS, "some break, which fails the steps behind: {broken}");
    assert!(waited > WORLDS, "the limit makes them wait: {waited}");
}
