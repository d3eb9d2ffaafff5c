//! Operations by weight: the same ones for any number of workers, and as many as the plan says.

use unblink_core::dispatch::Pool;
use unblink_core::load::{Load, Open};
use unblink_core::mix::{Mix, Order};
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::Bank;
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, WorldSpec, simulate};
use unblink_core::time::{Instant, Nanos};

const EVEN: Process = Process::Even;
const POISSON: Process = Process::Poisson { seed: 9 };
const ORDERS: [Order; 2] = [Order::Shuffled { seed: 4 }, Order::Random { seed: 4 }];

fn plan(process: Process, order: Order, threads: u32) -> Plan {
    let hold = Phase::hold(Rate::per_second(2_000), Nanos::from_secs(4));
    let ramp =
        Phase { from: Rate::per_second(2_000), to: Rate::per_second(500), duration: Nanos::from_secs(3) };
    planned(LoadSpec::Open { phases: vec![hold, ramp], process }, order, threads)
}

fn planned(load: LoadSpec, order: Order, threads: u32) -> Plan {
    Plan::new(PlanSpec {
        warmup: Nanos::from_millis(700),
        threads,
        idempotent: vec![true; 3],
        mix: Mix { weights: Some(vec![80, 15, 5]), order, ..Mix::default() },
        ..PlanSpec::plain(load, Pool::Auto { max: 10_000 }, Nanos::from_secs(5))
    })
    .unwrap()
}

/// Each arrival of a worker's share until `end`: when, its number, its operation.
fn arrivals(mut load: impl Load, end: Nanos) -> Vec<(Instant, u64, u32)> {
    let mut all = Vec::new();
    load.advance(Instant(0) + end, |arrival| all.push((arrival.intended, arrival.index, arrival.operation)));
    all
}

fn open(plan: &Plan, worker: u32) -> Open {
    plan.open_load(Instant(0), worker).unwrap()
}

#[test]
fn any_number_of_workers_asks_for_the_same() {
    for process in [EVEN, POISSON] {
        for order in ORDERS {
            let of = |threads| {
                let plan = plan(process, order, threads);
                let shares = (0..threads).map(|worker| arrivals(open(&plan, worker), plan.load_length()));
                let mut all: Vec<_> = shares.flatten().collect();
                all.sort_unstable();
                all
            };
            let alone = of(1);
            assert!(alone.len() > 10_000);
            for threads in [2, 3, 7] {
                assert_eq!(of(threads), alone, "{process:?}, {order:?}, {threads} workers");
            }
        }
    }
}

#[test]
fn the_plan_knows_how_many_ask_for_each_wherever_the_run_ends() {
    for process in [EVEN, POISSON] {
        for order in ORDERS {
            let plan = plan(process, order, 1);
            let all = arrivals(open(&plan, 0), plan.load_length());
            for end in [Nanos::from_millis(1_234), Nanos(3_000_000_001), plan.load_length()] {
                let mut expected = vec![0; 3];
                for &(at, _, operation) in &all {
                    let at = at.since(Instant(0));
                    expected[operation as usize] += u64::from(plan.measured_from() <= at && at < end);
                }
                let scheduled = plan.scheduled_apart(plan.measured_from(), end).expect("a schedule");
                assert_eq!(scheduled.by_operation, expected);
            }
        }
    }
}

#[test]
fn a_simulated_run_asks_for_what_the_plan_says() {
    for order in ORDERS {
        let plan = plan(POISSON, order, 1);
        let world = WorldSpec::new(ServerSpec::new(Service::Constant(Nanos::from_micros(10))));
        let mut totals: Bank<u64> = Bank::new(3);
        simulate(&plan, &world, |interval| totals.add(&interval.bank));
        let counts: Vec<u64> = totals.operations.iter().map(|operation| operation.outcomes.due).collect();
        let scheduled = plan.scheduled_apart(plan.measured_from(), plan.load_length()).expect("a schedule");
        assert_eq!(scheduled.by_operation, counts);
    }
}

/// Within 4σ in each second, of each worker: hypergeometric where blocks are exact, but never more than binomial.
#[test]
fn each_worker_has_the_shares_in_each_second() {
    const SECONDS: u64 = 30;
    let hold = Phase::hold(Rate::per_second(1_000), Nanos::from_secs(SECONDS));
    for process in [EVEN, POISSON] {
        for order in ORDERS {
            for threads in [1, 2, 3, 7] {
                let load = LoadSpec::Open { phases: vec![hold], process };
                let plan = planned(load, order, threads);
                for worker in 0..threads {
                    let mut seconds = vec![[0.0; 2]; SECONDS as usize + 1];
                    for (at, _, operation) in arrivals(open(&plan, worker), plan.load_length()) {
                        let [all, first] = &mut seconds[(at.0 / 1_000_000_000) as usize];
                        *all += 1.0;
                        *first += f64::from(u8::from(operation == 0));
                    }
                    for (second, [all, first]) in
                        seconds.into_iter().enumerate().filter(|(_, [all, _])| *all > 0.0)
                    {
                        let sigma = (all * 0.8 * 0.2_f64).sqrt();
                        let far = (first - 0.8 * all).abs();
                        assert!(
                            far < 4.0 * sigma,
                            "{second} s of {worker} of {threads}, {order:?}: {first} of {all}"
                        );
                    }
                }
            }
        }
    }
}

/// What a user asks for first depends on the user alone, whoever else is there.
#[test]
fn closed_users_have_sequences_of_their_own() {
    let of = |threads: u32| {
        let plan =
            planned(LoadSpec::closed(40, Nanos::from_millis(10), Nanos::from_secs(5)), ORDERS[0], threads);
        let mut first = Vec::new();
        for worker in 0..threads {
            let mut load = plan.closed_load(Instant(0), worker).unwrap();
            load.advance(Instant(0) + Nanos::from_millis(10), |arrival| {
                first.push((arrival.key.unit, arrival.operation));
            });
        }
        first.sort_unstable();
        first
    };
    let alone = of(1);
    assert_eq!(alone.len(), 40);
    for threads in [2, 3, 7] {
        assert_eq!(of(threads), alone);
    }
    assert!(alone.iter().any(|(_, operation)| *operation != alone[0].1));
}
