//! Each finding at its threshold and just below it.

use crate::evidence::{End, Evidence, Model, Pool, Row};
use crate::finding::{Finding, FindingCode as Code, Severity};
use crate::steady::NotSteady;
use crate::thresholds::*;
use crate::validity::{Status, assess};
use unblink_core::failure::FailureKind;
use unblink_core::record::{Bank, Outcomes, Series};
use unblink_core::time::{Nanos, SECOND_NS};

mod addresses;
mod agents;
mod arrivals;
mod asked_to_wait;
mod broken;
mod cross_check;
mod culprits;
mod full;
mod generator;
mod journeys;
mod operations;
mod percentiles;
mod pushes;
mod replayed;
mod users;

const RATE: u64 = 1_000;
const SECONDS: u64 = 100;
const N: u64 = RATE * SECONDS;
const RESPONSE: Nanos = Nanos::from_millis(10);

/// 100 s at 1,000/s in which all was well: every arrival sent at once and answered after 10 ms.
struct World {
    bank: Bank<u64>,
    rows: Vec<Row>,
    evidence: Evidence<'static>,
}

impl World {
    fn healthy() -> World {
        let mut bank = Bank::new(1);
        for _ in 0..N {
            bank.track_mut(Series::Response).record(RESPONSE);
            bank.track_mut(Series::GeneratorLate).record(Nanos::from_micros(5));
        }
        bank.counters.measured = Outcomes { due: N, sent: N, ok: N, ..Outcomes::default() };
        (bank.counters.origins[0].attempted, bank.counters.origins[0].opened) = (10, 10);
        bank.counters.lag.generator_ns = N * 5_000;
        bank.counters.own.total = Nanos::from_secs(SECONDS);
        let rows = (0..SECONDS).map(|i| Row {
            start: Nanos::from_secs(i),
            length: Nanos::from_secs(1),
            due: RATE,
            answered: RATE,
            in_flight: 10,
            ..Row::default()
        });
        World {
            bank,
            rows: rows.collect(),
            evidence: Evidence {
                model: Model::Open,
                users: None,
                replayed: None,
                is_hold: true,
                by_phase: false,
                has_objectives: false,
                end: End::Complete,
                script: None,
                preflight: None,
                setup_failed: None,
                cross_check: None,
                is_part: false,
                transient_left_out: false,
                not_steady: None,
                scheduled: N,
                accounts: &[],
                operations: &[],
                journeys: &[],
                without_ending: 0,
                sent_in_load: N,
                totals: empty_bank(),
                rows: &[],
                rows_by_origin: &[],
                load_from: Nanos::ZERO,
                load_to: Nanos::from_secs(SECONDS),
                timeout: Nanos::from_secs(5),
                pool: Pool::Auto { max: 1_000 },
                places: 1,
                origins: &[],
                addresses: &[],
                protocol_failures: &[],
                broken: &[],
                busy_share: 0.1,
                busy_share_max: 0.2,
                steal_share: Some(0.0),
                double_intervals: 0,
                arrivals: &[],
                client: None,
                agents: None,
            },
        }
    }

    fn with(change: impl FnOnce(&mut World)) -> World {
        let mut world = World::healthy();
        change(&mut world);
        world
    }

    fn measured(&mut self) -> &mut Outcomes {
        &mut self.bank.counters.measured
    }

    /// `n` arrivals that were `ok` end in another way: `count` says which, their ages are `age`.
    fn censor(&mut self, n: u64, age: Nanos, count: impl FnOnce(&mut Outcomes)) {
        self.measured().ok -= n;
        count(&mut self.bank.counters.measured);
        *self.bank.track_mut(Series::Response) = Default::default();
        let known = self.bank.counters.measured.ok;
        (0..known).for_each(|_| self.bank.track_mut(Series::Response).record(RESPONSE));
        (0..n).for_each(|_| self.bank.track_mut(Series::ResponseCensored).record(age));
    }

    fn findings(&self) -> (Status, Vec<Finding>) {
        let evidence = Evidence { totals: &self.bank, rows: &self.rows, ..self.evidence };
        let assessment = assess(&evidence);
        (assessment.status, assessment.findings)
    }

    /// What `code` does to this run; `None` when it is not raised.
    fn severity(&self, code: Code) -> Option<Severity> {
        self.finding(code).map(|f| f.severity)
    }

    fn finding(&self, code: Code) -> Option<Finding> {
        self.findings().1.into_iter().find(|f| f.code == code)
    }
}

fn empty_bank() -> &'static Bank<u64> {
    static EMPTY: std::sync::LazyLock<Bank<u64>> = std::sync::LazyLock::new(|| Bank::new(1));
    &EMPTY
}

#[test]
fn a_part_in_which_nothing_ended_still_has_borders() {
    let part = |due: u64| {
        World::with(|w| {
            *w.measured() = Outcomes { due, sent: due, ..Outcomes::default() };
            w.bank.track_mut(Series::Response).clear();
            (w.evidence.is_part, w.evidence.scheduled) = (true, 0);
        })
    };
    assert_eq!(part(500).severity(Code::NothingMeasured), INVALIDATES);
    let borders = part(500).finding(Code::PartBorders).expect("raised");
    assert!(borders.message.starts_with("500 arrivals fell due in this part and 0 ended"), "{borders:?}");
    assert_eq!(part(0).severity(Code::PartBorders), None);
}

const NOTE: Option<Severity> = Some(Severity::Note);
const DEGRADES: Option<Severity> = Some(Severity::Degrades);
const INVALIDATES: Option<Severity> = Some(Severity::Invalidates);

#[test]
fn all_well() {
    let (status, findings) = World::healthy().findings();
    assert_eq!(status, Status::Valid);
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn the_worst_comes_first_and_decides() {
    let world = World::with(|w| {
        w.evidence.double_intervals = 1;
        w.evidence.steal_share = Some(0.05);
        w.evidence.scheduled += 1;
    });
    let (status, findings) = world.findings();
    let codes: Vec<&str> = findings.iter().map(|f| f.code.code()).collect();
    assert_eq!(status, Status::Invalid);
    assert_eq!(codes, ["accounting", "cpu_steal", "double_intervals"]);
    assert_eq!(World::with(|w| w.evidence.steal_share = Some(0.05)).findings().0, Status::Degraded);
    assert_eq!(World::with(|w| w.evidence.double_intervals = 1).findings().0, Status::Valid);
}

#[test]
fn accounts() {
    let accounting = |change: fn(&mut World)| World::with(change).severity(Code::Accounting);
    assert_eq!(accounting(|w| w.measured().ok -= 1), INVALIDATES);
    assert_eq!(accounting(|w| w.measured().due -= 1), INVALIDATES);
    assert_eq!(accounting(|w| w.evidence.scheduled -= 1), INVALIDATES);
    let killed = World::with(|w| {
        w.evidence.end = End::Open;
        w.evidence.without_ending = 7;
        w.measured().ok -= 7;
    });
    assert_eq!(killed.severity(Code::Accounting), None);
    assert_eq!(killed.severity(Code::Killed), DEGRADES);
    // More than lie above p99 are lost: p99 and what is above it can't be told.
    let lost = World::with(|w| {
        w.evidence.end = End::Open;
        w.evidence.without_ending = N / 100 + 1;
        w.censor(N / 100 + 1, Nanos(1), |_| ());
        *w.bank.track_mut(Series::ResponseCensored) = Default::default();
    });
    assert_eq!(lost.severity(Code::Accounting), None);
    assert_eq!(lost.severity(Code::Killed), INVALIDATES);
    assert_eq!(accounting(|w| (w.evidence.is_part, w.evidence.scheduled) = (true, N + 5)), None);

    let interrupted = World::with(|w| w.evidence.end = End::Interrupted);
    assert_eq!(interrupted.severity(Code::Interrupted), NOTE);
    assert_eq!(World::with(|w| w.evidence.model = Model::Closed).severity(Code::ClosedLoop), NOTE);
}

#[test]
fn the_borders_of_a_part() {
    let borders = |due: u64, ended: u64| {
        let part = World::with(|w| {
            w.evidence.is_part = true;
            (w.measured().due, w.measured().ok) = (due, ended);
        });
        part.severity(Code::PartBorders)
    };
    assert_eq!(borders(1_000, 990), None);
    assert_eq!((borders(1_000, 989), borders(989, 1_000)), (DEGRADES, DEGRADES));
    assert_eq!(borders(100, 91), None, "a handful under way");
    assert_eq!(World::with(|w| w.measured().ok -= 500).severity(Code::PartBorders), None, "not a part");
    let steps = World::with(|w| w.evidence.is_hold = false);
    assert_eq!(steps.severity(Code::RateChanged), NOTE);
}

#[test]
fn figures_of_a_wrong_client_are_not_what_users_feel() {
    let client = crate::evidence::WrongClient { name: "k6", omitted: 960, waiting_omitted: 0, invented: 0 };
    let world = World::with(|w| w.evidence.client = Some(client));
    assert_eq!(world.severity(Code::SimulatedClient), DEGRADES);
    let message = &world.finding(Code::SimulatedClient).expect("found").message;
    assert!(message.contains("960 arrivals") && !message.contains("made up"), "{message}");
    assert!(!message.contains("waited"), "{message}");
    // It sent as many as were planned, at other times.
    let client =
        crate::evidence::WrongClient { name: "closed", omitted: 0, waiting_omitted: 2_430, ..client };
    let world = World::with(|w| w.evidence.client = Some(client));
    let message = &world.finding(Code::SimulatedClient).expect("found").message;
    assert!(
        message.contains("430") && message.contains("would have come") && !message.contains("never sent"),
        "{message}"
    );
    assert_eq!(World::with(|_| ()).severity(Code::SimulatedClient), None);
}

#[test]
fn nothing_measured_says_only_that() {
    let world = World::with(|w| {
        w.bank = Bank::new(1);
        w.evidence.scheduled = 0;
    });
    let (status, findings) = world.findings();
    assert_eq!((status, findings.len()), (Status::Invalid, 1));
    assert_eq!(findings[0].code, Code::NothingMeasured);
    // Users who wait since the warm-up have no rate that could be raised.
    let stuck = World::with(|w| {
        w.bank = Bank::new(1);
        (w.evidence.scheduled, w.evidence.model) = (0, Model::Closed);
    });
    let remedy = stuck.finding(Code::NothingMeasured).expect("found").remedy;
    assert!(!remedy.contains("rate") && remedy.contains("answers at all"), "{remedy}");
    // A longer load would have been stopped as well.
    let guarded = World::with(|w| {
        w.bank = Bank::new(1);
        w.evidence.scheduled = 0;
        w.evidence.end = End::Aborted { guard: Some("it was not ready"), withheld: 200 };
    });
    let found = guarded.finding(Code::NothingMeasured).expect("found");
    assert!(found.message.ends_with("had fallen due: it was not ready."), "{}", found.message);
    assert!(!found.remedy.contains("longer"), "{}", found.remedy);
    let lost = World::with(|w| w.evidence.scheduled = 0);
    assert_eq!(lost.severity(Code::Accounting), INVALIDATES);
}

#[test]
fn no_answers_and_no_connection() {
    let refused = World::with(|w| {
        *w.measured() = Outcomes { due: N, ..Outcomes::default() };
        w.measured().failed[FailureKind::CONNECT_REFUSED.index()] = N;
        w.bank.counters.origins[0].opened = 0;
        *w.bank.track_mut(Series::Response) = Default::default();
    });
    assert_eq!(refused.severity(Code::NoAnswers), INVALIDATES);
    assert_eq!(refused.severity(Code::NeverConnected), INVALIDATES);
    assert_eq!(refused.severity(Code::SentBelowOffered), None, "the target refused them");
    assert_eq!(World::healthy().severity(Code::NeverConnected), None);
}

/// From `from_s` on the target answers `answered` a second; what is older than the timeout is given up.
fn overloaded(from_s: usize, to_s: usize, answered: u64) -> World {
    World::with(|w| {
        let mut level = 10;
        let timeout_s = w.evidence.timeout.0 / SECOND_NS;
        for row in &mut w.rows[from_s..to_s] {
            row.answered = answered;
            level += RATE - answered;
            row.timed_out = level.saturating_sub(RATE * timeout_s);
            level -= row.timed_out;
            row.in_flight = level;
        }
        for row in &mut w.rows[to_s..] {
            row.answered = RATE + level - 10;
            level = 10;
            row.in_flight = level;
        }
    })
}

#[test]
fn saturated() {
    let seconds = SECONDS as usize;
    let limit = (SATURATED_ANSWERED_SHARE * RATE as f64) as u64;
    assert_eq!(overloaded(0, seconds, limit).severity(Code::Saturated), None);
    assert_eq!(overloaded(0, seconds, limit - 1).severity(Code::Saturated), INVALIDATES);
    // The seed's own: 500 of 1,000/s with a timeout of 5 s, so that nothing grows after 10 s.
    assert_eq!(overloaded(0, seconds, 500).severity(Code::Saturated), INVALIDATES);
    assert_eq!(overloaded(50, seconds, 500).severity(Code::Saturated), INVALIDATES);
    // A stall at the end has the same balance but no growth before.
    assert_eq!(overloaded(97, seconds, 0).severity(Code::Saturated), None);
    assert_eq!(overloaded(50, 90, 500).severity(Code::Saturated), None, "it recovers");
    assert_eq!(overloaded(10, 40, 500).severity(Code::Saturated), None, "over before the last half");

    // One in twenty is lost at any rate: not a queue.
    let lossy = World::with(|w| {
        for row in &mut w.rows {
            (row.answered, row.timed_out, row.in_flight) = (950, 50, 260);
        }
    });
    assert_eq!(lossy.severity(Code::Saturated), None);

    let mut ramp = overloaded(0, seconds, 500);
    ramp.evidence.is_hold = false;
    assert_eq!(ramp.severity(Code::Saturated), None, "a ramp grows on purpose");
    let mut closed = overloaded(0, seconds, 500);
    closed.evidence.model = Model::Closed;
    assert_eq!(closed.severity(Code::Saturated), None);
    let mut short = overloaded(0, 2, 500);
    (short.evidence.load_to, short.rows) = (Nanos::from_secs(2), short.rows[..2].to_vec());
    assert_eq!(short.severity(Code::Saturated), None, "one row shows no growth");
}

#[test]
fn not_steady() {
    let raised = |why| World::with(|w| w.evidence.not_steady = why).finding(Code::NotSteady);
    assert_eq!(raised(None), None);
    let whys = [
        (NotSteady::TooShort { intervals: 12 }, "lasted for 12 intervals"),
        (NotSteady::StillChanging { early_ns: 5e6, late_ns: 2e6 }, "around 5\u{a0}ms"),
        (NotSteady::NoAnswers, "hardly anything"),
        (NotSteady::NotBelievable, "can't be believed"),
        (NotSteady::RecordIncomplete, "does not hold every interval"),
    ];
    for (why, said) in whys {
        let finding = raised(Some(why)).expect("raised");
        assert_eq!(finding.severity, Severity::Degrades);
        assert!(finding.message.contains(said), "{}", finding.message);
    }
    // What is cut has no account of its own.
    let cut = |left_out| {
        World::with(|w| (w.evidence.transient_left_out, w.evidence.scheduled) = (left_out, N + 5))
            .severity(Code::Accounting)
    };
    assert_eq!((cut(true), cut(false)), (None, INVALIDATES));
}

#[test]
fn own_limits() {
    let waited = |n: u64, pool: Pool| {
        World::with(|w| {
            w.evidence.pool = pool;
            w.bank.counters.lag.no_connection = n;
            w.bank.counters.lag.no_connection_ns = n * 1_000;
        })
        .severity(Code::PoolLimitReached)
    };
    let limit = (POOL_WAITED_SHARE_DEGRADES * N as f64) as u64;
    assert_eq!(waited(0, Pool::Fixed { n: 10 }), None);
    assert_eq!(waited(N, Pool::Fixed { n: 10 }), NOTE);
    assert_eq!(waited(limit, Pool::Auto { max: 10 }), NOTE);
    assert_eq!(waited(limit + 1, Pool::Auto { max: 10 }), DEGRADES);

    let full = World::with(|w| {
        w.evidence.pool = Pool::Fixed { n: 3 };
        (w.bank.counters.lag.no_room, w.bank.counters.lag.no_room_ns) = (N, N * 1_000);
    });
    let full = full.finding(Code::PoolLimitReached).expect("found");
    assert!(full.message.contains("because all 3 connections were full"), "{full:?}");
    let remedy = &full.remedy;
    assert!(Some(full.severity) == NOTE && ["--streams", "--depth"].iter().all(|flag| remedy.contains(flag)));
    // A number that nobody asked for degrades, unless the target works on far fewer at once.
    let ours = |service: Nanos| {
        let mut world = World::with(|w| {
            w.evidence.pool = Pool::Default { n: 20, of: "PostgreSQL" };
            (w.bank.counters.lag.no_connection, w.bank.counters.lag.no_connection_ns) = (N, N * 1_000);
        });
        *world.bank.track_mut(Series::Service) = Default::default();
        (0..N).for_each(|_| world.bank.track_mut(Series::Service).record(service));
        world.finding(Code::PoolLimitReached).expect("found")
    };
    let busy = Nanos(1_000_000_000 * 10 / RATE);
    let (few, enough) = (ours(busy), ours(Nanos(busy.0 / 10)));
    assert_eq!((Some(few.severity), Some(enough.severity)), (DEGRADES, NOTE));
    let all = "because all 20 connections (the default for PostgreSQL) were in use";
    assert!(few.message.contains(all) && few.remedy.contains("-c"), "{few:?}");
    assert!(enough.remedy.starts_with("Nothing: the target works on far fewer"), "{enough:?}");
    // Connections that the target allows nothing are not too few.
    let none = World::with(|w| {
        w.evidence.pool = Pool::Auto { max: 300 };
        w.bank.counters.origins[0].allowed_none = 1;
        (w.bank.counters.lag.no_room, w.bank.counters.lag.no_room_ns) = (N, N * 1_000);
        w.measured().timed_out_pool_full = 1;
    });
    for code in [Code::PoolLimitReached, Code::ClientShedLoad] {
        let finding = none.finding(code).expect("found");
        assert!(finding.message.contains("the target allowed no requests on its connections"), "{finding:?}");
        assert!(finding.remedy.contains("MAX_CONCURRENT_STREAMS 0"), "{finding:?}");
    }
    let shed = |n: u64| World::with(|w| w.measured().timed_out_pool_full = n).severity(Code::ClientShedLoad);
    let limit = (SHED_SHARE_INVALIDATES * N as f64) as u64;
    assert_eq!((shed(0), shed(1), shed(limit), shed(limit + 1)), (None, DEGRADES, DEGRADES, INVALIDATES));

    let local = |attempts: u64, failed: u64| {
        World::with(|w| {
            w.bank.counters.origins[0].local_limit = attempts;
            w.measured().failed[FailureKind::NO_LOCAL_PORT.index()] = failed;
        })
        .severity(Code::LocalLimit)
    };
    assert_eq!(local(0, 0), None);
    let limit = (LOCAL_LIMIT_SHARE_INVALIDATES * N as f64) as u64;
    assert_eq!([0, limit, limit + 1].map(|n| local(1, n)), [DEGRADES, DEGRADES, INVALIDATES]);
}
