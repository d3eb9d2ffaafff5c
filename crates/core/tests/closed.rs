//! Closed populations against the interactive law: N users, a response time of R and a think time of Z give
//! N ÷ (R + Z) requests per second, from the first measured second on.

use unblink_core::dispatch::Pool;
use unblink_core::load::{Closed, Load};
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::Bank;
use unblink_core::sim::{ServerSpec, Service, WorldSpec, ZERO, simulate};
use unblink_core::time::Nanos;

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

const SECOND: Nanos = Nanos::from_secs(1);

fn plan(load: LoadSpec, threads: u32) -> Plan {
    Plan::new(PlanSpec {
        threads,
        ..PlanSpec::plain(load, Pool::Auto { max: 1_000_000 }, Nanos::from_secs(60))
    })
    .unwrap()
}

/// Everything that a server with room for all did.
fn run(load: LoadSpec, service: Nanos) -> Bank<u64> {
    let mut totals = Bank::new(1);
    let world = WorldSpec::new(ServerSpec::new(Service::Constant(service)));
    simulate(&plan(load, 1), &world, |interval| totals.add(&interval.bank));
    totals
}

#[test]
fn throughput_is_users_over_response_and_think_time_from_the_first_second_on() {
    let cases = [(ms(100), Nanos::ZERO), (ms(10), ms(490)), (ms(20), SECOND)];
    for users in [10, 1_000, 5_000, 100_000] {
        for (service, think) in cases {
            let counters = run(LoadSpec::closed(users, think, SECOND), service).counters;
            let exact = f64::from(users) / (service + think).as_secs_f64();
            let sent = counters.measured.sent as f64;
            // Of ten users, one request more or less is already a tenth of what they send in a second.
            assert!(
                (sent - exact).abs() < (0.02 * exact).max(1.0),
                "{users} users, {service:?}, {think:?}: {sent} of {exact}"
            );
            assert_eq!(counters.users_begun, u64::from(users));
            assert_eq!(counters.measured.ok, counters.measured.due);
        }
    }
}

#[test]
fn users_begin_evenly_over_the_ramp_up_whoever_works_for_them() {
    let begin = |threads: u32| {
        let plan =
            plan(LoadSpec::Closed { users: 8, think: ms(5), ramp_up: ms(20), duration: SECOND }, threads);
        let mut starts = Vec::new();
        for shard in 0..threads {
            let mut load: Closed = plan.closed_load(ZERO, shard).unwrap();
            load.advance(ZERO + SECOND, |arrival| {
                assert!(arrival.begins);
                starts.push(arrival.intended.since(ZERO).0 / 1_000);
            });
        }
        starts.sort_unstable();
        starts
    };
    assert_eq!(begin(1), [0, 2_500, 5_000, 7_500, 10_000, 12_500, 15_000, 17_500]);
    assert_eq!(begin(3), begin(1));
}

#[test]
fn measuring_begins_after_the_ramp_up_and_the_warm_up() {
    let with = |load, warmup| Plan::new(PlanSpec { warmup, ..plan(load, 1).spec().clone() }).unwrap();
    let borders = |plan: Plan| (plan.measured_from(), plan.load_length());
    let thinking = LoadSpec::closed(10, ms(700), SECOND);
    assert_eq!(borders(with(thinking.clone(), Nanos::ZERO)), (ms(700), ms(1_700)));
    assert_eq!(borders(with(thinking, ms(50))), (ms(750), ms(1_750)));
    assert_eq!(borders(with(LoadSpec::closed(10, Nanos::ZERO, SECOND), Nanos::ZERO)), (ms(100), ms(1_100)));
}

#[test]
fn users_who_wait_for_a_connection_have_not_begun() {
    // Two of five are still busy when the measured second begins.
    let load = LoadSpec::Closed { users: 5, think: Nanos::ZERO, ramp_up: ms(50), duration: SECOND };
    let pool = Pool::Fixed { n: 2 };
    let plan = Plan::new(PlanSpec { pool, ..plan(load, 1).spec().clone() }).unwrap();
    let begun = |service| {
        let mut totals: Bank<u64> = Bank::new(1);
        let world = WorldSpec::new(ServerSpec::new(Service::Constant(service)));
        simulate(&plan, &world, |interval| totals.add(&interval.bank));
        totals.counters.users_begun
    };
    assert_eq!(begun(ms(5)), 5);
    assert_eq!(begun(ms(200)), 2);
    // Within the grace of 10 ms, the third has the first one's connection.
    assert_eq!(begun(ms(59)), 3);
    assert_eq!(begun(ms(60)), 2);
}
