//! Retries of the real dispatcher in virtual time: against closed forms, against cases by hand, and against the simulated
//! users who try again, whose code is another.

use unblink_core::code::Code;
use unblink_core::dispatch::{Jitter, Pool, Retry, RetryOn};
use unblink_core::failure::FailureKind;
use unblink_core::plan::{LoadSpec, Plan, PlanError, PlanSpec};
use unblink_core::record::{Bank, Outcomes, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{
    ClientSpec, Return, ServerSpec, Service, UsersSpec, Windows, WorldSpec, simulate, simulate_client,
};
use unblink_core::time::Nanos;

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

/// Three attempts after whatever goes wrong, 100 ms after each other and then 200 ms.
fn retry() -> Retry {
    let mut on = RetryOn::default();
    (400..600).filter_map(Code::of_status).for_each(|code| on.add_code(code));
    [FailureKind::RESET, FailureKind::CONNECT_REFUSED].into_iter().for_each(|kind| on.add_kind(kind));
    Retry {
        attempts: 3,
        on,
        try_timeout: None,
        wait: ms(100),
        jitter: Jitter::None,
        budget_percent: None,
        is_unsafe: false,
        seed: 1,
    }
}

fn spec(per_s: u64, seconds: u64, retry: Option<Retry>) -> PlanSpec {
    let phases = vec![Phase::hold(Rate::per_second(per_s), Nanos::from_secs(seconds))];
    PlanSpec {
        retry,
        ..PlanSpec::plain(
            LoadSpec::Open { phases, process: Process::Even },
            Pool::Auto { max: 100_000 },
            Nanos::from_secs(30),
        )
    }
}

fn run(spec: &PlanSpec, server: &ServerSpec) -> Bank<u64> {
    let plan = Plan::new(spec.clone()).expect("a plan");
    let mut totals = Bank::new(plan.layout());
    simulate(&plan, &WorldSpec::new(server.clone()), |interval| totals.add(&interval.bank));
    assert_eq!(totals.counters.measured.ended(), totals.counters.measured.due, "each has one end");
    totals
}

fn healthy() -> ServerSpec {
    ServerSpec::new(Service::Constant(ms(10)))
}

/// Of 10 s, the one between 1 s and 2 s.
fn stall() -> ServerSpec {
    ServerSpec { shut: vec![Windows::once(ms(1000), ms(1000))], ..healthy() }
}

fn measured(bank: &Bank<u64>) -> &Outcomes {
    &bank.counters.measured
}

/// Each attempt fails with probability p, whatever the others did: of n attempts at most an arrival has (1 − pⁿ)/(1 − p) on
/// average, and pⁿ of the arrivals fail.
#[test]
fn attempts_that_fail_independently() {
    for (one_in, attempts) in [(2, 2), (2, 5), (3, 3), (10, 4)] {
        let retry = Retry { attempts, wait: ms(1), ..retry() };
        let server = ServerSpec { error_one_in: one_in, ..healthy() };
        let bank = run(&spec(2_000, 30, Some(retry)), &server);
        let of = measured(&bank);
        let (n, p) = (of.due as f64, 1.0 / one_in as f64);
        let mean = (1.0 - p.powi(attempts as i32)) / (1.0 - p);
        let square: f64 = (1..=attempts)
            .map(|k| {
                let end = if k == attempts { p.powi(k as i32 - 1) } else { p.powi(k as i32 - 1) * (1.0 - p) };
                f64::from(k * k) * end
            })
            .sum();
        let sigma = ((square - mean * mean) / n).sqrt();
        let sent = (of.sent + of.retries.sent_again) as f64 / of.sent as f64;
        assert!((sent - mean).abs() < 4.0 * sigma, "1/{one_in}, {attempts}: {sent} against {mean} ± {sigma}");
        let failing = p.powi(attempts as i32);
        let sigma = (failing * (1.0 - failing) / n).sqrt();
        let failed = of.failed_total() as f64 / n;
        assert!((failed - failing).abs() < 4.0 * sigma, "1/{one_in}, {attempts}: {failed} against {failing}");
        assert_eq!(of.retries.exhausted, of.failed_total());
        assert_eq!(of.retries.retried, of.retries.exhausted + of.retries.recovered);
        assert_eq!(bank.counters.retry_causes.total(), of.retries.sent_again);
        assert_eq!(bank.counters.connections().resent, 0);
        // The service of an answer is its attempt's: each takes 10 ms, and it is in the response time with the waits.
        let service = bank.track(Series::Service);
        assert_eq!((service.count(), service.sum_ns), (of.ok, u128::from(of.ok) * 10_000_000));
        assert_eq!(bank.track(Series::Response).count(), of.ok);
        // An arrival counts with its last answer.
        assert_eq!(bank.counters.codes[400], of.failed_total());
    }
}

/// Ten arrivals fall into the stall. Seven of them with more than 300 ms to go are given up then and come back 100 ms later; once
/// more after 200 ms; and the last attempt is waited for.
#[test]
fn a_stall_is_tried_again() {
    let retry = Retry { try_timeout: Some(ms(300)), ..retry() };
    let bank = run(&spec(10, 4, Some(retry)), &stall());
    let of = measured(&bank);
    assert_eq!((of.ok, of.sent, of.retries.sent_again), (40, 40, 10));
    assert_eq!((of.retries.retried, of.retries.recovered, of.retries.exhausted), (7, 7, 0));
    assert_eq!(bank.counters.retry_causes.try_timeout, 10);
    // An attempt that was given up is known to have taken longer, and no more.
    let censored = bank.track(Series::ServiceCensored);
    assert_eq!((censored.count(), censored.max_ns), (10, 300_000_001));
    // The one of 1.0 s: its third attempt goes out at 1.9 s, 2 ns late, and is answered when the stall is over.
    assert_eq!(bank.track(Series::Response).max_ns, 1_000_000_000);
    // Send lag is the first attempt's.
    assert_eq!((bank.track(Series::SendLag).count(), bank.track(Series::SendLag).max_ns), (40, 0));
}

/// The same load from the users who try again, who know neither connections nor lanes.
#[test]
fn live_and_simulated_retries_have_one_law() {
    // No two requests reach the server at the same time: whose turn it is then would decide what becomes of them.
    let wait = Nanos::from_micros(100_300);
    let worst = ServerSpec { error_one_in: 4, ..stall() };
    for server in [stall(), ServerSpec { error_one_in: 3, ..healthy() }, worst] {
        for (try_timeout, budget_percent, attempts) in
            [(Some(ms(301)), None, 3), (Some(ms(251)), Some(10), 4), (None, Some(25), 2), (None, None, 6)]
        {
            for timeout in [ms(700), Nanos::from_secs(30)] {
                let retry = Retry { attempts, try_timeout, budget_percent, wait, ..retry() };
                let live = PlanSpec { timeout, ..spec(200, 6, Some(retry)) };
                let bank = run(&live, &server);
                let users = UsersSpec {
                    patience: try_timeout,
                    attempts_max: attempts,
                    comes_back: Return::After(wait),
                    budget_percent,
                };
                let plan = Plan::new(PlanSpec { retry: None, ..live }).expect("a plan");
                let mut simulated = Bank::new(1);
                let world = WorldSpec::new(server.clone());
                simulate_client(&plan, &world, &ClientSpec::Users(users), |i| simulated.add(&i.bank));
                let figures = |bank: &Bank<u64>| {
                    let of = measured(bank);
                    let Outcomes { ok, sent, timed_out, retries, .. } = *of;
                    let again = (retries.sent_again, retries.retried, retries.recovered, retries.exhausted);
                    ([ok, sent, timed_out, of.failed_total()], again, bank.counters.retry_causes)
                };
                assert_eq!(
                    figures(&bank),
                    figures(&simulated),
                    "{try_timeout:?} {budget_percent:?} {timeout:?}"
                );
                // An attempt that takes exactly as long as it may is in time for one of them and late for the other.
                let sum = |bank: &Bank<u64>, series| bank.track(series).sum_ns as f64;
                for series in [Series::Response, Series::Service, Series::ServiceCensored, Series::Failed] {
                    let (live, users) = (sum(&bank, series), sum(&simulated, series));
                    assert!((live - users).abs() < 10_000.0, "{series:?}: {live} against {users}");
                }
            }
        }
    }
}

#[test]
fn what_must_not_be_sent_twice_is_not() {
    let server = ServerSpec { error_one_in: 2, ..healthy() };
    let of = |is_unsafe| {
        let retry = Retry { is_unsafe, ..retry() };
        let bank = run(&PlanSpec { idempotent: vec![false], ..spec(100, 5, Some(retry)) }, &server);
        (measured(&bank).retries.sent_again > 100, measured(&bank).retries == Default::default())
    };
    assert_eq!((of(false), of(true)), ((false, true), (true, false)));
}

/// 10 % of the arrivals so far, counted from the first one on.
#[test]
fn a_budget_bounds_what_retries_add() {
    let server = ServerSpec { error_one_in: 1, ..healthy() };
    let retry = Retry { budget_percent: Some(10), attempts: 9, ..retry() };
    let bank = run(&spec(100, 10, Some(retry)), &server);
    let retries = measured(&bank).retries;
    // The last ones come when no further arrival does.
    assert_eq!(retries.sent_again, 100);
    assert!(retries.refused_by_budget >= 900, "{retries:?}");
    assert_eq!((retries.refused_by_room, retries.recovered), (0, 0));
}

/// A refused connection costs the oldest waiting arrival an attempt, which was never sent.
#[test]
fn refused_connections_are_tried_again() {
    let server = ServerSpec { refuse_one_in: 2, reset_one_in: 5, ..healthy() };
    let bank = run(&spec(10, 60, Some(Retry { attempts: 20, wait: ms(1), ..retry() })), &server);
    let of = measured(&bank);
    assert_eq!((of.ok, of.sent, of.failed_total()), (600, 600, 0));
    assert!(of.retries.recovered > 0 && of.retries.exhausted == 0, "{:?}", of.retries);
    let refused = bank.counters.retry_causes.failed[FailureKind::CONNECT_REFUSED.index()];
    assert!(refused > 0 && refused == bank.counters.connections().refused);
    // The wait for the next attempt is not the generator's lateness.
    assert_eq!(bank.track(Series::GeneratorLate).max_ns, 0);
}

#[test]
fn plans_refuse_retries_that_make_no_sense() {
    let refused = |retry: Retry| Plan::new(spec(1, 1, Some(retry))).expect_err("refused");
    assert_eq!(refused(Retry { attempts: 1, ..retry() }), PlanError::Attempts(1));
    assert_eq!(refused(Retry { attempts: 101, ..retry() }), PlanError::Attempts(101));
    assert_eq!(refused(Retry { try_timeout: Some(Nanos(0)), ..retry() }), PlanError::TryTimeoutZero);
    let too_long = refused(Retry { try_timeout: Some(Nanos::from_secs(30)), ..retry() });
    assert!(too_long.to_string().contains("--try-timeout"), "{too_long}");
    assert_eq!(refused(Retry { on: RetryOn::default(), ..retry() }), PlanError::RetriesOnNothing);
}
