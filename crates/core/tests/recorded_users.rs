//! Recorded users: each asks in the recorded order, and pauses after each answer as it was recorded.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use unblink_core::arrival::Arrival;
use unblink_core::dispatch::Pool;
use unblink_core::load::Load;
use unblink_core::outcome::Outcome;
use unblink_core::plan::{LoadSpec, Plan, PlanError, PlanSpec};
use unblink_core::random::mixed;
use unblink_core::record::{Bank, Recorder};
use unblink_core::recorded::{Recorded, RecordedArrival};
use unblink_core::recorded_users::{Link, RecordedUsers};
use unblink_core::sim::{ServerSpec, Service, WorldSpec, simulate};
use unblink_core::time::{Instant, Nanos};

const USERS: u64 = 50;
const START: Instant = Instant(5_000_000_000);
const TOOK: Nanos = Nanos::from_millis(10);

/// Whose arrival it is.
fn user(k: u64) -> u64 {
    mixed(k) % USERS
}

/// 2,000 arrivals of 50 users in about 20 s, each answered after 10 ms. Where a user asked again before that, it did not pause.
fn users() -> (RecordedUsers, Vec<RecordedArrival>) {
    let mut at = 0;
    let arrivals: Vec<RecordedArrival> = (0..2_000)
        .map(|k| {
            at += mixed(k ^ 77) % 20_000_000;
            RecordedArrival { at: Nanos(at), operation: (k % 3) as u16, text: 0 }
        })
        .collect();
    let next = |k: u64| (k + 1..2_000).find(|&later| user(later) == user(k));
    let link = |k: u64| match next(k) {
        None => Link { pause: Nanos::ZERO, next: 0 },
        Some(next) => {
            let answered = arrivals[k as usize].at + TOOK;
            Link { pause: Nanos(arrivals[next as usize].at.0.saturating_sub(answered.0)), next }
        }
    };
    let links: Vec<u8> = (0..2_000).flat_map(|k| link(k).to_bytes()).collect();
    let begins = (0..2_000).filter(|&k| (0..k).all(|before| user(before) != user(k)));
    let begins: Vec<u8> = begins.flat_map(u64::to_le_bytes).collect();
    let bytes: Vec<u8> = arrivals.iter().flat_map(|arrival| arrival.to_bytes()).collect();
    let recorded = Recorded::new(Arc::new(bytes), Arc::new(Vec::new()), Nanos(at + 1_000_000)).unwrap();
    (RecordedUsers::new(recorded, Arc::new(links), Arc::new(begins)).unwrap(), arrivals)
}

fn spec(users: RecordedUsers, threads: u32) -> PlanSpec {
    PlanSpec {
        threads,
        idempotent: vec![true; 3],
        ..PlanSpec::plain(LoadSpec::RecordedUsers(users), Pool::Auto { max: 1_000 }, Nanos::from_secs(60))
    }
}

/// What all workers send where each answer takes `service`.
fn sent(plan: &Plan, service: Nanos) -> Vec<Arrival> {
    let mut all = Vec::new();
    for worker in 0..plan.threads() {
        let mut load = plan.closed_load(START, worker).unwrap();
        let mut recorder = Recorder::new(Box::new(Bank::new(1)), Nanos::from_secs(60));
        let mut answers = BinaryHeap::new();
        let mut under_way: Vec<Arrival> = Vec::new();
        loop {
            let answer = answers.peek().map(|Reverse((at, _))| *at);
            let Some(now) = [load.next_due(), answer].into_iter().flatten().min() else { break };
            while answers.peek().is_some_and(|Reverse((at, _))| *at <= now) {
                let Some(Reverse((_, number))) = answers.pop() else { break };
                let arrival: Arrival = under_way[number];
                load.ended(&arrival, Outcome::Ok, now, &mut recorder);
            }
            load.advance(now, |_| {});
            while let Some(arrival) = load.head(0) {
                load.pop(0);
                answers.push(Reverse((now + service, under_way.len())));
                under_way.push(arrival);
            }
        }
        assert!(load.is_exhausted(load.end()));
        all.extend(under_way);
    }
    all.sort_by_key(|arrival| arrival.index);
    all
}

#[test]
fn each_user_keeps_its_order_and_its_pauses_whoever_works_for_it() {
    let (users, recorded) = users();
    assert_eq!(users.users(), USERS);
    let one = sent(&Plan::new(spec(users.clone(), 1)).unwrap(), TOOK);
    for threads in [2, 3] {
        assert_eq!(sent(&Plan::new(spec(users.clone(), threads)).unwrap(), TOOK), one);
    }
    // As quick as it was recorded: nothing is early, and only whoever asked before its answer is later.
    let mut last = vec![None; USERS as usize];
    let mut exact = 0;
    for (k, arrival) in (0..).zip(&one) {
        assert_eq!((arrival.index, arrival.key.unit, arrival.operation), (k, k, (k % 3) as u32));
        assert_eq!(arrival.begins, last[user(k) as usize].is_none());
        let planned = START + recorded[k as usize].at;
        assert!(arrival.intended >= planned);
        exact += u64::from(arrival.intended == planned);
        let before = last[user(k) as usize].replace(arrival.intended);
        assert!(before.is_none_or(|before| arrival.intended >= before + TOOK), "one at a time");
    }
    assert!(one.len() >= 1_990 && exact > 1_000, "{} {exact}", one.len());
}

#[test]
fn a_slower_target_makes_users_late_and_some_never_come() {
    let (users, recorded) = users();
    let slow = sent(&Plan::new(spec(users.clone(), 1)).unwrap(), Nanos::from_secs(1));
    assert!(slow.len() < 1_500, "{}", slow.len());
    let end = START + users.recorded().length();
    assert!(slow.iter().all(|arrival| arrival.intended < end));
    for arrival in &slow {
        let link = users.link(arrival.index);
        if let Some(next) = slow.iter().find(|next| next.index == link.next && link.next > 0) {
            assert_eq!(next.intended, arrival.intended + Nanos::from_secs(1) + link.pause);
        }
    }
    assert!(recorded.len() == 2_000);
}

#[test]
fn a_simulated_run_has_one_outcome_for_each_that_fell_due() {
    let (users, _) = users();
    let plan = Plan::new(spec(users, 1)).unwrap();
    assert!(!plan.is_open() && plan.recorded().is_some());
    let mut totals = Bank::new(1);
    let world = WorldSpec::new(ServerSpec::new(Service::Constant(TOOK)));
    simulate(&plan, &world, |interval| totals.add(&interval.bank));
    let counters = totals.counters;
    assert_eq!(counters.measured.due, counters.measured.ok);
    assert!(counters.measured.due >= 1_990, "{}", counters.measured.due);
    for k in [0, 17, 1_999] {
        let arrival = plan.arrival(k).unwrap();
        assert_eq!((arrival.index, arrival.operation), (k, (k % 3) as u32));
    }
    assert_eq!(plan.arrival(2_000), None);
}

#[test]
fn each_thread_needs_a_user() {
    let (users, _) = users();
    let error = Plan::new(spec(users, 51)).map(|_| ());
    assert_eq!(error, Err(PlanError::FewerUsersThanThreads { users: 50, threads: 51 }));
}
