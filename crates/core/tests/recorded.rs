//! A replay is what was recorded: each arrival at its time, with its operation, for any number of workers.

use std::sync::Arc;
use unblink_core::arrival::Arrival;
use unblink_core::dispatch::Pool;
use unblink_core::load::Load;
use unblink_core::plan::{LoadSpec, Plan, PlanError, PlanSpec};
use unblink_core::random::mixed;
use unblink_core::record::BLOCK_EXPECTED;
use unblink_core::recorded::{Recorded, RecordedArrival};
use unblink_core::schedule::{Cursor, Process, Rate};
use unblink_core::share::Share;
use unblink_core::time::{Instant, Nanos};

const START: Instant = Instant(5_000_000_000);
const OPERATIONS: u16 = 3;

/// Bursts and lulls of 20,000 arrivals in about 20 s; some fall into one moment.
fn recorded() -> (Recorded, Vec<RecordedArrival>) {
    let mut at = 0;
    let arrivals = (0..20_000u64).map(|k| {
        let random = mixed(k);
        at += if k / 500 % 2 == 0 { random % 3 * 50_000 } else { random % 4_000_000 };
        RecordedArrival { at: Nanos(at), operation: (mixed(random) % u64::from(OPERATIONS)) as u16, text: 0 }
    });
    let arrivals: Vec<RecordedArrival> = arrivals.collect();
    let bytes: Vec<u8> = arrivals.iter().flat_map(|arrival| arrival.to_bytes()).collect();
    let recorded = Recorded::new(Arc::new(bytes), Arc::new(Vec::new()), Nanos(at + 1_000_000)).unwrap();
    (recorded, arrivals)
}

fn spec(recorded: Recorded, threads: u32) -> PlanSpec {
    PlanSpec {
        threads,
        idempotent: vec![true; usize::from(OPERATIONS)],
        ..PlanSpec::plain(LoadSpec::Recorded(recorded), Pool::Auto { max: 64 }, Nanos::from_secs(3600))
    }
}

#[test]
fn all_workers_together_send_what_was_recorded() {
    let (recorded, expected) = recorded();
    for threads in [1, 2, 3, 7] {
        let plan = Plan::new(spec(recorded.clone(), threads)).unwrap();
        let mut all: Vec<Arrival> = Vec::new();
        for worker in 0..threads {
            let mut load = plan.open_load(START, worker).unwrap();
            let from = all.len();
            load.advance(Instant(u64::MAX), |arrival| all.push(arrival));
            assert!(all[from..].is_sorted_by_key(|arrival| arrival.intended), "worker {worker} of {threads}");
            assert!(all.len() - from >= expected.len() / threads as usize);
        }
        all.sort_by_key(|arrival| arrival.index);
        let sent =
            all.iter().map(|arrival| (arrival.index, arrival.intended.since(START), arrival.operation));
        let due = (0..).zip(&expected).map(|(k, arrival)| (k, arrival.at, u32::from(arrival.operation)));
        assert!(sent.eq(due), "{threads} threads");
    }
}

#[test]
fn what_is_due_is_counted_without_drawing_it() {
    let (recorded, expected) = recorded();
    let plan = Plan::new(spec(recorded.clone(), 2)).unwrap();
    let schedule = plan.schedule().unwrap();
    assert_eq!((schedule.process(), schedule.span()), (Process::Recorded, recorded.length()));
    let until = |end: Nanos| expected.iter().filter(move |arrival| arrival.at < end);
    for end in [Nanos(0), Nanos(1), Nanos::from_millis(777), Nanos::from_secs(9), recorded.length()] {
        assert_eq!(schedule.count_before(end), until(end).count() as u64);
        let shares = [0, 1].map(|first| schedule.counts_before(Share { first, of: 2 }, [end])[0]);
        assert_eq!(shares.iter().sum::<u64>(), until(end).count() as u64);
        let apart = plan.scheduled_apart(Nanos::ZERO, end).unwrap().by_operation;
        let of = |number| until(end).filter(|arrival| u32::from(arrival.operation) == number).count() as u64;
        assert_eq!(apart, (0..3).map(of).collect::<Vec<_>>());
    }
    for (k, arrival) in (0..).zip(&expected) {
        assert_eq!(plan.arrival(k).map(|found| found.intended), Some(Instant(0) + arrival.at));
    }
    assert_eq!(plan.arrival(expected.len() as u64), None);
    let first = |number: u16| expected.iter().position(|arrival| arrival.operation == number).unwrap() as u64;
    let firsts: Vec<u64> = plan.first_arrivals().iter().map(|arrival| arrival.unwrap().index).collect();
    assert_eq!(firsts, (0..OPERATIONS).map(first).collect::<Vec<_>>());
}

#[test]
fn a_limit_ends_it_before_the_arrival_that_it_leaves_out() {
    let (recorded, expected) = recorded();
    let plan = Plan::new(PlanSpec { limit: Some(1_234), ..spec(recorded, 1) }).unwrap();
    let schedule = plan.schedule().unwrap();
    assert_eq!(schedule.count_before(schedule.end()), 1_234);
    assert_eq!(plan.load_length(), expected[1_234].at);
    let mut cursor = Cursor::new(schedule, 1_230, 1);
    let last: Vec<u64> = std::iter::from_fn(|| cursor.next(schedule)).map(|(k, _)| k).collect();
    assert_eq!(last, [1_230, 1_231, 1_232, 1_233]);
}

/// A backlog is a number and a cursor for any load; of a recorded one each place in it has its own time.
#[test]
fn what_waits_is_what_fell_due() {
    let (recorded, expected) = recorded();
    let plan = Plan::new(spec(recorded, 3)).unwrap();
    for worker in 0..3 {
        let [mut waiting, mut sent] = [(); 2].map(|()| plan.open_load(START, worker).unwrap());
        let mut due = Vec::new();
        sent.advance(Instant(u64::MAX), |arrival| due.push(arrival));
        waiting.advance(START + Nanos::from_secs(8), |_| {});
        for expected in due.iter().take_while(|arrival| arrival.intended <= START + Nanos::from_secs(8)) {
            assert_eq!(waiting.head(0).as_ref(), Some(expected));
            waiting.pop(0);
        }
        assert_eq!(waiting.head(0), None);
    }
    assert!(expected.len() > 1_000);
}

#[test]
fn any_number_of_workers_keeps_the_same_sample() {
    let (recorded, _) = recorded();
    let sample = |threads: u32| {
        let plan = Plan::new(spec(recorded.clone(), threads)).unwrap();
        let mut blocks = plan.sample_blocks().remove(0);
        let mut all: Vec<u64> = Vec::new();
        for worker in 0..threads {
            plan.open_load(START, worker).unwrap().advance(Instant(u64::MAX), |arrival| {
                if blocks.block_of(arrival.intended.since(START)).is_some() {
                    all.push(arrival.index);
                }
            });
        }
        all.sort_unstable();
        all
    };
    let one = sample(1);
    assert!(one.len() as u64 >= 5 * BLOCK_EXPECTED, "{}", one.len());
    assert_eq!(sample(3), one);
}

#[test]
fn a_plan_that_can_not_be_is_refused() {
    let (recorded, _) = recorded();
    let most = recorded.most_in_a_second();
    let capped =
        |per_s| Plan::new(PlanSpec { rate_cap: Some(Rate::per_second(per_s)), ..spec(recorded.clone(), 1) });
    assert!(capped(most).is_ok());
    let error = PlanError::RecordedAboveCap { most: Rate::per_second(most), cap: Rate::per_second(most - 1) };
    assert_eq!(capped(most - 1).map(|_| ()), Err(error));
    let warm = PlanSpec { warmup: recorded.length(), ..spec(recorded.clone(), 1) };
    assert_eq!(Plan::new(warm).map(|_| ()), Err(PlanError::WarmupOfRecorded));
    let few = PlanSpec { idempotent: vec![true; 2], ..spec(recorded.clone(), 1) };
    assert_eq!(Plan::new(few).map(|_| ()), Err(PlanError::NoOperations));
    let long = spec(recorded.lasting(Nanos::from_secs(8 * 24 * 3600)), 1);
    assert!(matches!(Plan::new(long), Err(PlanError::TooLong { .. })));
}

/// The warm-up is the beginning of the record, and a limit counts what follows.
#[test]
fn the_warm_up_is_a_part_of_the_record() {
    let (recorded, _) = recorded();
    let warmup = Nanos(recorded.length().0 / 3);
    let warm = recorded.count_before(warmup);
    let plan = Plan::new(PlanSpec { warmup, ..spec(recorded.clone(), 1) }).unwrap();
    assert_eq!((plan.measured_from(), plan.load_length()), (warmup, recorded.length()));
    let scheduled = plan.scheduled(warmup, plan.load_length()).unwrap();
    assert_eq!((scheduled.warmup, scheduled.measured), (warm, recorded.count() - warm));
    let limited = Plan::new(PlanSpec { limit: Some(10), ..plan.spec().clone() }).unwrap();
    let scheduled = limited.scheduled(warmup, limited.load_length()).unwrap();
    assert_eq!((scheduled.warmup, scheduled.measured), (warm, 10));
}
