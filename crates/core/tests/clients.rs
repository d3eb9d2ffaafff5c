//! Simulated load tools against the exact values of the scenarios (see oracle.rs), and each rule of theirs against
//! cases by hand.

use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{
    ClientSpec, ClockFrom, Correct, Late, Pacing, Return, ServerSpec, Service, ToolSpec, UsersSpec, Windows,
    WorldSpec, simulate, simulate_client,
};
use unblink_core::time::Nanos;

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn plan(per_s: u64, seconds: u64) -> Plan {
    poisson_or_even(per_s, seconds, Process::Even, None)
}

fn poisson_or_even(per_s: u64, seconds: u64, process: Process, limit: Option<u64>) -> Plan {
    let phases = vec![Phase::hold(Rate::per_second(per_s), Nanos::from_secs(seconds))];
    Plan::new(PlanSpec {
        limit,
        ..PlanSpec::plain(
            LoadSpec::Open { phases, process },
            Pool::Auto { max: 100_000 },
            Nanos::from_secs(3600),
        )
    })
    .unwrap()
}

fn totals(plan: &Plan, client: ClientSpec, server: &ServerSpec) -> Bank<u64> {
    let (mut totals, mut end) = (Bank::new(1), Nanos::ZERO);
    simulate_client(plan, &WorldSpec::new(server.clone()), &client, |interval| {
        assert_eq!(interval.start, end);
        end = interval.start + interval.length;
        totals.add(&interval.bank);
    });
    let measured = &totals.counters.measured;
    assert_eq!(measured.ended(), measured.due, "every request that the tool knows of has one end");
    totals
}

fn tool(spec: ToolSpec, server: &ServerSpec) -> Bank<u64> {
    totals(&plan(1000, 60), ClientSpec::Tool(spec), server)
}

/// Percentiles in ms at 0.5, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999.
#[track_caller]
fn check(bank: &Bank<u64>, n: u64, expected: [f64; 7]) {
    let track = bank.track(Series::Response);
    assert_eq!(track.count(), n);
    for (q, want) in [0.5, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999].into_iter().zip(expected) {
        let got = track.histogram.value_at_quantile(q) as f64 / 1e6;
        assert!((got - want).abs() <= want * 0.001, "p{}: {got} ms, expected {want} ms", q * 100.0);
    }
}

fn healthy() -> ServerSpec {
    ServerSpec::new(Service::Constant(ms(10)))
}

fn stall() -> ServerSpec {
    ServerSpec { shut: vec![Windows::once(ms(30_000), ms(1000))], ..healthy() }
}

fn pauses() -> ServerSpec {
    let every = Windows { first: ms(9500), length: ms(200), every: Some(ms(10_000)), count: Some(6) };
    ServerSpec { shut: vec![every], ..healthy() }
}

fn ramp() -> ServerSpec {
    ServerSpec::new(Service::Ramp { from: ms(10), to: ms(100), start: ms(20_000), end: ms(50_000) })
}

fn cap5() -> ServerSpec {
    ServerSpec { slots: Some(5), ..healthy() }
}

fn one_server() -> ServerSpec {
    let every_nth = Some((ms(200), 500));
    ServerSpec { slots: Some(1), every_nth, ..ServerSpec::new(Service::Constant(ms(1))) }
}

fn right() -> ToolSpec {
    ToolSpec::right()
}

fn pool(workers: u32) -> ToolSpec {
    ToolSpec { workers: Some(workers), ..right() }
}

fn closed(users: u32) -> ToolSpec {
    ToolSpec { pacing: Pacing::Closed, clock: ClockFrom::Sent, ..pool(users) }
}

#[test]
fn the_right_tool_agrees_with_the_oracle() {
    check(&tool(right(), &healthy()), 60_000, [10.0; 7]);
    check(&tool(right(), &stall()), 60_000, [10.0, 10.0, 10.0, 10.0, 410.0, 950.0, 1004.0]);
    check(&tool(right(), &ramp()), 60_000, [39.997, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
    check(&tool(right(), &pauses()), 60_000, [10.0, 10.0, 10.0, 10.0, 110.0, 200.0, 209.0]);
    let queueing = [30_005.0, 54_005.0, 57_005.0, 58_805.0, 59_405.0, 59_945.0, 60_000.0];
    check(&tool(right(), &cap5()), 60_000, queueing);
    let one = totals(&plan(450, 30), ClientSpec::Tool(right()), &one_server());
    check(&one, 13_500, [1.0, 137.667, 169.444, 187.778, 193.889, 200.0, 200.0]);
}

#[test]
fn a_pool_queues_drops_or_hides() {
    let q = [1001.0, 1009.0, 1010.0, 1010.0, 1010.0, 1010.0, 1010.0];
    check(&tool(pool(10), &stall()), 60_000, q);
    check(&tool(pool(20), &stall()), 60_000, [10.0, 10.0, 10.0, 405.0, 705.0, 975.0, 1004.0]);
    check(&tool(pool(50), &stall()), 60_000, [10.0, 10.0, 10.0, 45.0, 525.0, 960.0, 1004.0]);
    let sent = ToolSpec { clock: ClockFrom::Sent, ..pool(50) };
    check(&tool(sent, &stall()), 60_000, [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1004.0]);
    let drop = ToolSpec { late: Late::Drop, ..sent };
    check(&tool(drop, &stall()), 59_040, [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1005.0]);
}

#[test]
fn closed_users_coordinate() {
    check(&tool(closed(10), &stall()), 59_000, [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1005.0]);
    let q = [10.0, 57.132, 87.788, 100.0, 100.0, 100.0, 100.0];
    check(&tool(closed(10), &ramp()), 28_687, q);
    check(&tool(closed(10), &pauses()), 58_800, [10.0, 10.0, 10.0, 10.0, 10.0, 202.0, 210.0]);
    check(&tool(closed(10), &cap5()), 30_005, [20.0; 7]);
    // Until 60,000 requests are answered instead of for 60 s: more of them meet the slow server.
    let by_count = ToolSpec { by_count: true, ..closed(10) };
    let counted = poisson_or_even(1000, 60, Process::Even, Some(60_000));
    let bank = totals(&counted, ClientSpec::Tool(by_count), &ramp());
    check(&bank, 60_000, [100.0; 7]);
    assert_eq!((bank.track(Series::Response).mean_ns().unwrap() / 1e3).round(), 62_195.0);
    let limited = poisson_or_even(450, 30, Process::Even, Some(13_500));
    let one = totals(&limited, ClientSpec::Tool(ToolSpec { by_count: true, ..closed(1) }), &one_server());
    check(&one, 13_500, [1.0, 1.0, 1.0, 1.0, 1.0, 200.0, 200.0]);
}

#[test]
fn an_expected_interval_invents_most_of_a_stall() {
    let correct = Correct::ExpectedInterval(Nanos::from_micros(10_170));
    let bank = tool(ToolSpec { correct, ..closed(10) }, &stall());
    let track = bank.track(Series::Response);
    // By hand: each of the ten users has one value of 1,001 to 1,010 ms, beside which stand 97 or 98 others. The
    // reference says 59,984, with its ten more of 10 ms.
    assert_eq!((track.count(), bank.counters.measured.ok), (59_974, 59_000));
    for (q, want) in [(0.5, 10.0), (0.98, 10.0), (0.99, 400.97), (0.999, 950.15), (0.9999, 1005.0)] {
        let got = track.histogram.value_at_quantile(q) as f64 / 1e6;
        // One rank in ten values that lie 1 ms apart.
        assert!((got - want).abs() <= want * 0.001 + 1.0, "{q}: {got}, {want}");
    }
}

/// 10/s for 4 s against 10 ms of work and a gate that is shut from 1 s to 2 s.
fn small(client: ClientSpec) -> Bank<u64> {
    let server = ServerSpec { shut: vec![Windows::once(ms(1000), ms(1000))], ..healthy() };
    totals(&plan(10, 4), client, &server)
}

/// (count, sum in ms, maximum in ms) of the response times.
fn sums(bank: &Bank<u64>) -> (u64, u64, u64) {
    let track = bank.track(Series::Response);
    assert_eq!(track.sum_ns % 1_000_000, 0);
    (track.count(), (track.sum_ns / 1_000_000) as u64, track.max_ns / 1_000_000)
}

#[test]
fn what_becomes_of_late_requests() {
    let with = |spec: ToolSpec| sums(&small(ClientSpec::Tool(spec)));
    // 1,000 ms, then 910, 820 … 100 ms for those due at 1.1 s, 1.2 s … 2 s, then 10 ms.
    assert_eq!(with(pool(1)), (40, 1000 + 5050 + 29 * 10, 1000));
    assert_eq!(with(ToolSpec { clock: ClockFrom::Sent, ..pool(1) }), (40, 1000 + 39 * 10, 1000));
    // Due from 1.1 s to 1.9 s: never sent.
    let drop = ToolSpec { late: Late::Drop, ..pool(1) };
    assert_eq!(with(drop), (31, 1000 + 30 * 10, 1000));
    // The one due at 1.1 s goes at 2 s, and all others 0.9 s late: 31 of them before 4 s.
    let shift = ToolSpec { late: Late::Shift, ..pool(1) };
    assert_eq!(with(shift), (31, 1000 + 910 + 29 * 10, 1000));
    // The limiter gives that one its permit at 2 s.
    let dynamic = ToolSpec { pacing: Pacing::Dynamic, ..pool(1) };
    assert_eq!(with(dynamic), (31, 1000 + 30 * 10, 1000));
    // One that saves three permits gives them at 2 s, with the one that is due then, and has forgotten six.
    assert_eq!(with(ToolSpec { burst: 3, ..dynamic }), (34, 1000 + 33 * 10, 1000));
    assert_eq!(with(ToolSpec { burst: 8, ..dynamic }), (39, 1000 + 38 * 10, 1000));
    for burst in [9, 40, 1_000_000] {
        assert_eq!(
            with(ToolSpec { burst, ..dynamic }),
            (40, 1000 + 39 * 10, 1000),
            "{burst}: nothing is forgotten"
        );
    }
    // Two workers at 5/s: one loses 0.8 s, the other 0.7 s.
    let local = ToolSpec { pacing: Pacing::DynamicLocal, ..pool(2) };
    assert_eq!(with(local), (32, 1000 + 900 + 30 * 10, 1000));
    // Even when as many are sent in the end as were planned, late ones by the count of the schedule.
    assert_eq!(with(ToolSpec { by_count: true, ..dynamic }), (40, 1000 + 39 * 10, 1000));
}

/// From 2 s on it sends every 50 ms, until the schedule has been caught up with at 2.9 s.
#[test]
fn wrk2_catches_up_at_twice_its_rate() {
    let spec = ToolSpec { pacing: Pacing::StaticLocal, catch_up: Some(2), ..pool(1) };
    assert_eq!(sums(&small(ClientSpec::Tool(spec))), (40, 1000 + 18 * (910 + 60) / 2 + 21 * 10, 1000));
    let at_once = ToolSpec { catch_up: None, ..spec };
    assert_eq!(sums(&small(ClientSpec::Tool(at_once))), (40, 1000 + 5050 + 29 * 10, 1000));
}

#[test]
fn corrections_invent_what_was_dropped() {
    let drop = ToolSpec { late: Late::Drop, clock: ClockFrom::Sent, ..pool(1) };
    let expected = ToolSpec { correct: Correct::ExpectedInterval(ms(100)), ..drop };
    // 900, 800 … 100 ms.
    assert_eq!(sums(&small(ClientSpec::Tool(expected))), (40, 1000 + 4500 + 30 * 10, 1000));
    // 31 answers in 4 s are one in 129.03 ms: six values are invented, down to 1,000 − 6 · 129.03 ms.
    let bank = small(ClientSpec::Tool(ToolSpec { correct: Correct::Backfill, ..drop }));
    assert_eq!(bank.track(Series::Response).count(), 31 + 6);
}

#[test]
fn what_is_discarded_is_warm_up() {
    let bank = small(ClientSpec::Tool(ToolSpec { discard: ms(1500), ..pool(1) }));
    assert_eq!((bank.counters.warmup.ok, bank.counters.measured.ok), (15, 25));
}

#[test]
fn a_request_that_takes_too_long_is_given_up() {
    let mut spec = plan(10, 4).spec().clone();
    spec.timeout = ms(500);
    let server = ServerSpec { shut: vec![Windows::once(ms(1000), ms(1000))], ..healthy() };
    let bank = totals(&Plan::new(spec).unwrap(), ClientSpec::Tool(right()), &server);
    // Due from 1 s to 1.4 s; what is due at 1.5 s is answered after 500 ms.
    assert_eq!((bank.counters.measured.timed_out, bank.counters.measured.ok), (5, 35));
}

fn impatient(budget_percent: Option<u32>) -> UsersSpec {
    let comes_back = Return::After(ms(100));
    UsersSpec { patience: Some(ms(300)), attempts_max: 3, comes_back, budget_percent }
}

#[test]
fn impatient_users_amplify_the_load() {
    let bank = small(ClientSpec::Users(impatient(None)));
    let felt = 1000 + 910 + 910 + 700 + 600 + 500 + 410 + 300 + 200 + 100;
    assert_eq!(sums(&bank), (40, felt + 30 * 10, 1000));
    assert_eq!((bank.counters.measured.sent, bank.counters.measured.retries.sent_again), (40, 10));
    // At 1.3 s 13 users have come: one further attempt is within a tenth of them, a second one at 2 s only.
    let bank = small(ClientSpec::Users(impatient(Some(10))));
    assert_eq!(bank.counters.measured.retries.sent_again, 1);
}

#[test]
fn a_herd_returns_at_once() {
    let server = ServerSpec { down: vec![Windows::once(ms(1000), ms(1000))], ..healthy() };
    let comes_back = Return::Together(Nanos::from_secs(10));
    let spec = UsersSpec { patience: None, attempts_max: 9, comes_back, budget_percent: None };
    let bank = totals(&plan(10, 4), ClientSpec::Users(spec), &server);
    // The one due at 2 s is answered at 2.01 s, and the ten before it 10 ms later.
    assert_eq!(sums(&bank), (40, (1020 + 120) * 5 + 30 * 10, 1020));
    assert_eq!(bank.counters.measured.retries.sent_again, 10);
    // Nobody is left who could be answered: one of them asks, ten seconds after the first was turned away.
    let bank = totals(&plan(10, 2), ClientSpec::Users(spec), &server);
    assert_eq!((bank.counters.measured.ok, bank.track(Series::Response).max_ns), (20, 10_010_000_000));
}

/// Nobody is answered. Whoever would come back after the timeout leaves with its last failure, and sends nothing more.
#[test]
fn a_user_whose_timeout_passes_is_gone() {
    let mut spec = plan(10, 2).spec().clone();
    spec.timeout = ms(500);
    let server = ServerSpec { error_one_in: 1, ..healthy() };
    let run = |spec: &PlanSpec, comes_back, attempts_max| {
        let users = UsersSpec { patience: None, attempts_max, comes_back, budget_percent: None };
        let counters = totals(&Plan::new(spec.clone()).unwrap(), ClientSpec::Users(users), &server).counters;
        (counters.measured.timed_out, counters.measured.failed_total(), counters.measured.retries.sent_again)
    };
    // Refused at 0 ms; 300 ms later again, and the next time would be 600 ms after that.
    assert_eq!(run(&spec, Return::After(ms(300)), 9), (0, 20, 20));
    // A return at the very moment of the timeout is too late.
    assert_eq!(run(&spec, Return::After(ms(500)), 9), (0, 20, 0));
    assert_eq!(run(&spec, Return::After(ms(499)), 9), (0, 20, 20));
    assert_eq!(run(&spec, Return::After(Nanos(u64::MAX)), 9), (0, 20, 0));
    // The last attempt fails before that.
    assert_eq!(run(&spec, Return::After(ms(300)), 2), (0, 20, 20));
    // The run ends at 2.2 s: those due after 1.7 s still wait for their next attempt.
    spec.drain = Some(ms(200));
    assert_eq!(run(&spec, Return::After(ms(490)), 9), (0, 18, 18));
}

/// The real dispatcher and the tool that does the same.
#[test]
fn the_ideal_is_the_dispatcher() {
    let mut honest = Bank::new(1);
    simulate(&plan(1000, 60), &WorldSpec::new(stall()), |interval| honest.add(&interval.bank));
    let tool = tool(right(), &stall());
    assert_eq!(honest.track(Series::Response).sum_ns, tool.track(Series::Response).sum_ns);
}
