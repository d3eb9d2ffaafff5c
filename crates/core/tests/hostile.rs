//! Seeded hostile worlds: every arrival ends once, none is early, order holds, the seed decides all.

#[path = "hostile/held.rs"]
mod held;
#[path = "hostile/journeys.rs"]
mod journeys;
#[path = "hostile/own.rs"]
mod own;
#[path = "hostile/sockets.rs"]
mod sockets;
mod world;

use std::collections::{HashMap, HashSet};
use unblink_core::code::Code;
use unblink_core::dispatch::{Jitter, Pool, Retry, RetryOn, Room};
use unblink_core::failure::FailureKind;
use unblink_core::journey::{CERTAIN, JourneySpec, Journeys, Redirects, StepSpec, Think, Until};
use unblink_core::mix::{Mix, Order};
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Counters, LagCauses, Outcomes, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::{Instant, MILLISECOND_NS, Nanos};
use world::{SentRecord, Server, World};

const WORLDS: u64 = 300;

/// A small generator for the worlds, independent of the product's.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn random_world(seed: u64) -> (Plan, Server, Option<Nanos>) {
    let mut dice = Dice(seed);
    let duration = Nanos::from_millis(500 + dice.roll(4000));
    let rate = |dice: &mut Dice| Rate::from_milli(dice.roll(3_000_000));
    let phases = match dice.roll(3) {
        0 => vec![Phase::hold(Rate::from_milli(1 + dice.roll(2_000_000)), duration)],
        1 => vec![Phase { from: rate(&mut dice), to: Rate::per_second(1 + dice.roll(2000)), duration }],
        _ => (0..3).map(|i| Phase::hold(Rate::per_second(1 + i * dice.roll(1000)), duration)).collect(),
    };
    let load = if dice.roll(3) == 0 {
        let users = 1 + dice.roll(40) as u32;
        LoadSpec::closed(users, Nanos(dice.roll(30) * MILLISECOND_NS), duration)
    } else {
        let process =
            if dice.roll(2) == 0 { Process::Even } else { Process::Poisson { seed: dice.roll(1 << 30) } };
        LoadSpec::Open { phases, process }
    };
    let pool = match dice.roll(2) {
        0 => Pool::Fixed { n: 1 + dice.roll(50) as u32 },
        _ => Pool::Auto { max: 1 + dice.roll(3000) as u32 },
    };
    let plan = Plan::new(PlanSpec {
        load,
        warmup: Nanos(dice.roll(2) * 200 * MILLISECOND_NS),
        limit: (dice.roll(4) == 0).then(|| 1 + dice.roll(3000)),
        timeout: Nanos(1 + dice.roll(2000) * MILLISECOND_NS),
        drain: (dice.roll(2) == 0).then(|| Nanos(dice.roll(1500) * MILLISECOND_NS)),
        pool,
        threads: 1,
        retry: None,
        idempotent: vec![dice.roll(2) == 0, true],
        mix: Default::default(),
        origins: Default::default(),
        rate_cap: None,
    })
    .expect("a valid plan");
    let gate = dice.roll(2000) * MILLISECOND_NS;
    let server = Server {
        baseline: [|_| 0, |_| 10_000_000, |t| t % 50_000_000, |_| 300_000_000][dice.roll(4) as usize],
        gates: vec![(gate, gate + dice.roll(1500) * MILLISECOND_NS)],
        slots: (dice.roll(2) == 0).then(|| 1 + dice.roll(30) as usize),
        connect_ns: [0, 100_000, 20_000_000][dice.roll(3) as usize],
        room: Room::SINGLE,
        age: None,
        routes: false,
        hostile_one_in: [0, 3, 20, 500][dice.roll(4) as usize],
        seed,
    };
    let stop = (dice.roll(5) == 0).then(|| Nanos(dice.roll(2000) * MILLISECOND_NS));
    (plan, server, stop)
}

/// A third of the arrivals begin journeys: of one step, or of up to four, with repeats, chances, exits and think times. Some
/// steps ask again and again, and some are sent on by their answers.
fn travelling_world(seed: u64) -> (Plan, Server, Option<Nanos>) {
    let mut dice = Dice(seed ^ 0x7a);
    let (plan, server, stop) = if seed.is_multiple_of(3) { roomy_world(seed) } else { random_world(seed) };
    let think = |dice: &mut Dice| match dice.roll(3) {
        0 => Think::Constant(Nanos(dice.roll(3) * 50 * MILLISECOND_NS)),
        1 => Think::Exponential(Nanos(dice.roll(300) * MILLISECOND_NS)),
        _ => Think::LogNormal { median: Nanos(dice.roll(100) * MILLISECOND_NS), sigma_milli: 700 },
    };
    let until = |dice: &mut Dice| Until {
        every: Nanos((1 + dice.roll(20)) * 10 * MILLISECOND_NS),
        within: Nanos(dice.roll(2000) * MILLISECOND_NS),
    };
    let step = |dice: &mut Dice, place: u64, steps: u64| {
        let until = (dice.roll(4) == 0).then(|| until(dice));
        let least = 1 + dice.roll(2) as u16;
        let repeat = if until.is_some() { (1, 1) } else { (least, least + dice.roll(3) as u16) };
        let chance = if place == 0 || dice.roll(2) == 0 { CERTAIN } else { 1 + dice.roll(9_999) as u16 };
        let exit = if place + 1 == steps || dice.roll(2) == 0 { 0 } else { 1 + dice.roll(5_000) as u16 };
        // Those that ask again and again are not sent on.
        let redirects = match until {
            None if dice.roll(3) == 0 => {
                Redirects { max: dice.roll(4) as u8, operations: 1 + dice.roll(2) as u16 }
            }
            _ => Redirects::default(),
        };
        let inserts = place % 2 == 1;
        StepSpec { think: think(dice), repeat, chance, exit, until, redirects, inserts }
    };
    let journeys = [1, 1 + dice.roll(4)]
        .map(|steps| (0..steps).map(|place| step(&mut dice, place, steps)).collect())
        .map(|steps| JourneySpec { steps, ..JourneySpec::default() });
    let plain = plan.spec().idempotent.clone();
    let of_step = |step: &StepSpec| 1 + usize::from(step.redirects.operations);
    let steps = journeys.iter().flat_map(|journey| &journey.steps).map(of_step).sum::<usize>();
    let under_way_max = [1, 5, 10_000][dice.roll(3) as usize];
    let mix = Mix {
        weights: Some(vec![2, 2, 1, 1]),
        order: Order::Shuffled { seed },
        journeys: Journeys { each: journeys.to_vec(), seed, under_way_max, ..Journeys::default() },
    };
    let idempotent = plain.into_iter().chain((0..steps).map(|_| dice.roll(2) == 0)).collect();
    (Plan::new(PlanSpec { mix, idempotent, ..plan.spec().clone() }).expect("a valid plan"), server, stop)
}

#[test]
fn every_journey_ends_once_and_asks_after_its_answers() {
    let (mut followed, mut redirected, mut held, mut exited) = (0, 0, 0, 0);
    let mut waited = Outcomes::default();
    for seed in (0..WORLDS).filter(|&seed| random_world(seed).0.is_open()) {
        let (plan, server, stop) = travelling_world(seed);
        let (bank, world) = play(&plan, server, stop);
        let mut all = bank.counters.measured;
        all.add(&bank.counters.warmup);
        assert_eq!(all.ended(), all.due, "seed {seed}: {all:?}");
        // The books have no request that the recorder lacks, and each that the recorder has was sent once or twice.
        assert!(all.followed >= bank.counters.measured.followed, "seed {seed}");
        let length = plan.load_length().min(stop.unwrap_or(plan.load_length()));
        let scheduled = plan.scheduled(plan.measured_from(), length).expect("open");
        assert_eq!(scheduled.warmup + scheduled.measured + all.followed, all.due, "seed {seed}");
        check_recorder(seed, &bank, &bank.counters.measured, plan.spec().timeout);
        journeys::check_journeys(seed, &plan, &bank, length);
        followed += world.books.chains.followed;
        redirected += world.books.chains.redirected;
        held += bank.counters.lag.held;
        exited += bank.steps.iter().map(|step| step.exited).sum::<u64>();
        let waits = bank.journeys.iter().skip(plan.journeys().map_or(0, |paths| paths.len()));
        waits.for_each(|of| waited.add(&of.outcomes));
    }
    assert!(redirected > WORLDS, "requests are sent on: {redirected}");
    assert!(exited > WORLDS, "journeys are left: {exited}");
    let ended = [waited.ok, waited.timed_out, waited.failed_total(), waited.unfinished];
    assert!(ended.iter().all(|&n| n > WORLDS / 10), "waits end in every way: {ended:?}");
    assert!(followed > 20 * WORLDS && held > WORLDS, "journeys go on, and wait: {followed}, {held}");
}

fn play(plan: &Plan, server: Server, stop: Option<Nanos>) -> (Box<Bank<u32>>, World) {
    if plan.journeys().is_some() {
        return world::run(plan, |at| plan.journeys_load(at, 0).expect("journeys"), 0, server, stop);
    }
    match plan.schedule() {
        Some(_) => world::run(plan, |at| plan.open_load(at, 0).expect("open"), 0, server, stop),
        None => world::run(plan, |at| plan.closed_load(at, 0).expect("closed"), 0, server, stop),
    }
}

/// The same, with connections that take several requests at once.
fn roomy_world(seed: u64) -> (Plan, Server, Option<Nanos>) {
    let mut dice = Dice(!seed);
    let (plan, server, stop) = random_world(seed);
    let room = Room { places: [2, 3, 8, 100][dice.roll(4) as usize], cancels: dice.roll(2) == 0 };
    let age = (dice.roll(3) == 0).then(|| Nanos::from_millis(1 + dice.roll(1000)));
    (plan, Server { room, age, ..server }, stop)
}

#[test]
fn every_arrival_ends_once_and_none_is_early() {
    let broken = (0..WORLDS).map(|seed| check(seed, random_world(seed)).books.broken);
    assert!(broken.sum::<u64>() > WORLDS, "servers break the protocol in these worlds");
}

#[test]
fn so_it_is_with_connections_that_grow_old() {
    let closed = (0..WORLDS).map(|seed| {
        let (plan, server, stop) = random_world(seed);
        let age = Some(Nanos::from_millis(1 + seed % 500));
        check(seed, (plan, Server { age, ..server }, stop)).closed_by_age
    });
    assert!(closed.sum::<u64>() > 10 * WORLDS, "connections grow old in these worlds");
}

#[test]
fn so_it_is_with_connections_that_take_several_requests() {
    let seen = (0..WORLDS).map(|seed| check(seed, roomy_world(seed)).books);
    let (most, kept) = seen.fold((0, 0), |(most, kept), one| (one.carried_max.max(most), kept + one.kept));
    assert!(most == 100 && kept > 0, "{most} at once, {kept} not cancelled");
}

#[test]
fn so_it_is_where_some_connections_are_better_than_others() {
    let rerouted = (0..WORLDS).map(|seed| {
        let (plan, server, stop) =
            if seed.is_multiple_of(2) { roomy_world(seed) } else { retrying_world(seed) };
        check(seed, (plan, Server { routes: true, ..server }, stop)).rerouted
    });
    let rerouted = rerouted.sum::<u64>();
    assert!(rerouted > 20 * WORLDS, "{rerouted} requests went elsewhere");
}

/// The same with retries; half of them with connections that take several requests at once.
fn retrying_world(seed: u64) -> (Plan, Server, Option<Nanos>) {
    let mut dice = Dice(seed ^ 0x5eed);
    let (plan, server, stop) = if seed.is_multiple_of(2) { random_world(seed) } else { roomy_world(seed) };
    let timeout = plan.spec().timeout.0;
    let mut on = RetryOn::default();
    [500, 503].into_iter().filter_map(Code::of_status).for_each(|code| on.add_code(code));
    on.add_kind(FailureKind::RESET);
    if dice.roll(3) == 0 {
        on.add_kind(FailureKind::CONNECT_REFUSED);
    }
    let retry = Retry {
        attempts: 2 + dice.roll(4) as u32,
        on,
        try_timeout: (dice.roll(2) == 0 && timeout > 1).then(|| Nanos(1 + dice.roll(timeout - 1))),
        wait: Nanos([0, 1, MILLISECOND_NS, dice.roll(200) * MILLISECOND_NS][dice.roll(4) as usize]),
        jitter: [Jitter::None, Jitter::Equal, Jitter::Full][dice.roll(3) as usize],
        budget_percent: (dice.roll(3) == 0).then(|| dice.roll(60) as u32),
        is_unsafe: dice.roll(4) == 0,
        seed,
    };
    (Plan::new(PlanSpec { retry: Some(retry), ..plan.spec().clone() }).expect("a valid plan"), server, stop)
}

#[test]
fn so_it_is_with_arrivals_that_are_tried_again() {
    let (mut retries, mut second_sends) = (0, 0);
    for seed in 0..2 * WORLDS {
        let world = check(seed, retrying_world(seed));
        retries += world.tries.retries;
        second_sends += world.tries.second_sends;
    }
    assert!(
        retries > 100 * WORLDS && second_sends > WORLDS,
        "{retries} retries, {second_sends} second sends"
    );
}

/// What was sent is what was counted, and no more was granted than a budget allows.
fn check_attempts(seed: u64, plan: &Plan, bank: &Bank<u32>, all: &Outcomes, world: &World) {
    let (counters, again) = (&bank.counters, all.retries);
    let (resent, granted) = (counters.connections().resent, counters.retry_causes.total());
    assert_eq!(world.sent.len() as u64, all.sent + again.sent_again + resent, "seed {seed}: {all:?}");
    assert!(world.tries.retries <= again.sent_again, "seed {seed}: {again:?}");
    assert!(world.tries.second_sends <= resent, "seed {seed}: {resent}");
    let measured = counters.measured.retries;
    assert!(measured.sent_again <= granted, "seed {seed}: {granted} granted, {measured:?}");
    assert!(measured.recovered + measured.exhausted <= measured.retried, "seed {seed}: {measured:?}");
    assert!(
        measured.retried <= granted && (measured.retried > 0) == (granted > 0),
        "seed {seed}: {granted} granted, {measured:?}"
    );
    if let Some(percent) = plan.spec().retry.as_ref().and_then(|retry| retry.budget_percent) {
        assert!(
            again.sent_again * 100 <= all.due * u64::from(percent),
            "seed {seed}: {again:?} of {}",
            all.due
        );
    }
}

fn check(seed: u64, (plan, server, stop): (Plan, Server, Option<Nanos>)) -> World {
    let is_shared = server.room.places > 1;
    let (bank, mut world) = play(&plan, server, stop);
    let counters = &bank.counters;
    let mut all = counters.measured;
    all.add(&counters.warmup);
    assert_eq!(all.ended(), all.due, "seed {seed}: {all:?}");
    assert_eq!(counters.measured.ended(), counters.measured.due, "seed {seed}");
    assert!(all.timed_out_pool_full <= all.timed_out, "seed {seed}");
    assert!(all.timed_out_never_sent <= all.timed_out, "seed {seed}");
    let LagCauses { no_connection, no_room, .. } = counters.lag;
    assert_eq!(if is_shared { no_connection } else { no_room }, 0, "seed {seed}: the cause of a full pool");
    if let Some(schedule) = plan.schedule() {
        let length = stop.map_or(schedule.end(), |s| s.min(schedule.end()));
        assert_eq!(all.due, schedule.count_before(length), "seed {seed}: due against the schedule");
        check_early_and_first_come_first_served(seed, &plan, &world.sent);
    }
    check_attempts(seed, &plan, &bank, &all, &world);
    let attempts = plan.spec().retry.as_ref().map_or(1, |retry| retry.attempts);
    check_sent_twice_at_most(seed, attempts, &world.sent);
    check_recorder(seed, &bank, &counters.measured, plan.spec().timeout);
    check_breaches(seed, counters, &world);
    world.closed_by_age = counters.connections().closed_by_age;
    world
}

/// Each connection that broke the protocol is counted so, once and by what was wrong.
fn check_breaches(seed: u64, counters: &Counters, world: &World) {
    let counts = counters.connections();
    let counted = (counts.closed_broken, counts.closed_unasked);
    assert_eq!(counted, (world.books.broken, world.books.broken_unasked), "seed {seed}");
    let of_kind = |kind: FailureKind| counters.breaches.iter().map(|of| of.0[kind.index()]).sum::<u64>();
    assert_eq!(of_kind(FailureKind::protocol(3)), counts.closed_broken, "seed {seed}");
}

fn check_early_and_first_come_first_served(seed: u64, plan: &Plan, sent: &[SentRecord]) {
    let schedule = plan.schedule().expect("open");
    let start = Instant(1_000_000_000);
    let mut cursor = unblink_core::schedule::Cursor::new(schedule, 0, 1);
    let intended: HashMap<u64, Instant> =
        std::iter::from_fn(|| cursor.next(schedule)).map(|(index, d)| (index, start + d)).collect();
    let (mut seen, mut last) = (HashSet::new(), start);
    for record in sent {
        let due = intended[&record.arrival];
        assert!(record.at >= due, "seed {seed}: {record:?}");
        // One that no connection was accepted for may have waited for its next attempt.
        if seen.insert(record.arrival) && !retries_connects(plan) {
            assert!(last <= due, "seed {seed}: {record:?} after {last:?}");
            last = due;
        }
    }
}

fn retries_connects(plan: &Plan) -> bool {
    let mut refused = RetryOn::default();
    refused.add_kind(FailureKind::CONNECT_REFUSED);
    plan.spec().retry.as_ref().is_some_and(|retry| retry.on.includes(&refused))
}

/// Each attempt twice, at the most.
fn check_sent_twice_at_most(seed: u64, attempts: u32, sent: &[SentRecord]) {
    let mut times = HashMap::new();
    for record in sent {
        *times.entry(record.arrival).or_insert(0) += 1;
    }
    assert!(times.values().all(|&n| n <= 2 * attempts), "seed {seed}: an attempt was sent more than twice");
}

fn check_recorder(seed: u64, bank: &Bank<u32>, outcomes: &Outcomes, timeout: Nanos) {
    let count = |series: Series| bank.track(series).count();
    assert_eq!(count(Series::Response), outcomes.ok, "seed {seed}");
    assert_eq!(count(Series::Service), outcomes.ok, "seed {seed}");
    assert_eq!(count(Series::Failed), outcomes.failed_total(), "seed {seed}");
    assert_eq!(count(Series::SendLag), outcomes.sent, "seed {seed}");
    let censored = outcomes.timed_out + outcomes.unfinished + outcomes.unsent;
    assert_eq!(count(Series::ResponseCensored), censored, "seed {seed}");
    assert!(bank.track(Series::Response).max_ns <= timeout.0, "seed {seed}");
    let heat: u64 = bank.heat.nonzero().map(|(_, _, n)| u64::from(n)).sum();
    assert_eq!(heat, outcomes.ended(), "seed {seed}");
    let mut apart = Outcomes::default();
    for operation in bank.operations.iter() {
        let count = |series: Series| operation.sums(series).count;
        let of = &operation.outcomes;
        assert_eq!((count(Series::Response), count(Series::Service)), (of.ok, of.ok), "seed {seed}");
        let censored = of.timed_out + of.unfinished + of.unsent;
        assert_eq!((count(Series::ResponseCensored), of.ended()), (censored, of.due), "seed {seed}");
        apart.add(of);
    }
    assert_eq!(apart, *outcomes, "seed {seed}: operations add up to all");
    // The service time of an answer is never longer than its response time, so neither is the sum.
    assert!(bank.track(Series::Service).sum_ns <= bank.track(Series::Response).sum_ns, "seed {seed}");
    assert_eq!(bank.track(Series::GeneratorLate).max_ns, 0, "seed {seed}: a virtual client is never late");
}

#[test]
fn the_seed_decides_everything() {
    for seed in 0..30 {
        let (plan, server, stop) = if seed % 3 == 0 { roomy_world(seed) } else { random_world(seed) };
        let (first, world) = play(&plan, server.clone(), stop);
        let (second, again) = play(&plan, server, stop);
        assert_eq!(first.counters, second.counters, "seed {seed}");
        assert_eq!(world.sent, again.sent, "seed {seed}");
        assert_eq!(first.heat, second.heat, "seed {seed}");
    }
}

#[test]
fn workers_share_a_schedule_without_gap_or_overlap() {
    let plan = |threads| {
        Plan::new(PlanSpec {
            threads,
            ..PlanSpec::plain(
                LoadSpec::Open {
                    phases: vec![Phase::hold(Rate::per_second(700), Nanos::from_secs(3))],
                    process: Process::Poisson { seed: 7 },
                },
                Pool::Auto { max: 1000 },
                Nanos::from_secs(30),
            )
        })
        .expect("valid")
    };
    let alone = plan(1);
    let mut sent = play(&alone, Server::constant_10ms(), None).1.sent;
    let shared = plan(3);
    let of_shard = |shard| {
        let load = |at| shared.open_load(at, shard).expect("open");
        world::run(&shared, load, shard, Server::constant_10ms(), None).1.sent
    };
    let mut together: Vec<SentRecord> = (0..3).flat_map(of_shard).collect();
    together.sort_by_key(|r| r.arrival);
    sent.sort_by_key(|r| r.arrival);
    assert_eq!(together, sent);
}

/// What the dispatcher asked for, and when, in fifty worlds each. A change here is a change of behaviour: say so where it
/// is made, and put in what the failure prints.
const LOGS: [u64; 6] = [
    0x0073_00f6_fb5e_e7c3,
    0x308e_33dd_69d7_42a9,
    0x0e87_ab8f_25fc_7274,
    0x7686_6e6f_b6fc_af1e,
    0xa790_58ae_7cd9_d4ff,
    0x7b9a_a690_abe9_d2b0,
];

#[test]
fn the_dispatcher_asks_for_the_same_as_ever() {
    let played = |(plan, server, stop): (Plan, Server, Option<Nanos>)| play(&plan, server, stop).1;
    let digest = |seed: u64| played(random_world(seed)).books.digest();
    let fifty = |i: u64| (50 * i..50 * (i + 1)).fold(0_u64, |all, seed| all.rotate_left(1) ^ digest(seed));
    let logs: Vec<u64> = (0..LOGS.len() as u64).map(fifty).collect();
    assert_eq!(logs, LOGS, "{logs:#018x?}");
}
