//! What a saturated load piles up before.

use super::*;
use unblink_core::record::Counters;

/// 500 of 1,000/s are answered, and of those that pile up `in_flight` are sent at each moment.
fn overflowing(in_flight: u64, change: impl FnOnce(&mut Counters, &mut Evidence<'static>)) -> Finding {
    let mut world = overloaded(0, SECONDS as usize, 500);
    for row in &mut world.rows {
        let level = row.in_flight;
        row.in_flight = in_flight.min(level);
        row.backlog = level - row.in_flight;
    }
    // Of 10 ms at least, so that 500/s are 5 at once.
    (0..1_000).for_each(|_| world.bank.track_mut(Series::Service).record(RESPONSE));
    change(&mut world.bank.counters, &mut world.evidence);
    world.finding(Code::Saturated).expect("it is saturated")
}

fn number(finding: &Finding, name: &str) -> Option<f64> {
    finding.evidence.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

#[track_caller]
fn blames(finding: &Finding, begin: &str, generator: f64) {
    assert!(finding.message.starts_with(begin), "{}", finding.message);
    assert_eq!(number(finding, crate::moves::GENERATOR_IS_NARROWEST), Some(generator));
}

#[test]
fn what_waits_in_the_target_is_the_targets() {
    blames(&overflowing(u64::MAX, |_, _| {}), "The target", 0.0);
}

#[test]
fn what_waits_for_a_connection_in_use_is_the_pools() {
    let pool = overflowing(5, |counters, _| counters.lag.no_connection_ns = 1 + N * 5_000);
    blames(&pool, "The client's 1", 0.0);
    // Those that timed out for lack of one never show in the lag.
    let shed = overflowing(5, |counters, _| {
        counters.measured.timed_out_never_sent = 100;
        counters.measured.timed_out_pool_full = 100;
    });
    blames(&shed, "The client's 1", 0.0);
}

#[test]
fn a_target_that_does_not_accept_is_named() {
    let silent = overflowing(0, |counters, _| {
        counters.measured.timed_out_never_sent = N / 2;
        (counters.origins[0].attempted, counters.origins[0].opened) = (128, 0);
    });
    blames(&silent, "The target, which accepted 0 of 128 connections", 0.0);
    let slow = |busy_share_max| {
        overflowing(5, |counters, evidence| {
            counters.lag.connecting_ns = N * 1_000_000;
            evidence.busy_share_max = busy_share_max;
        })
    };
    blames(&slow(BUSY_SHARE_DEGRADES - 0.01), "The target, which accepted 10 of 10", 0.0);
    // A full loop may be why connections are slow to open.
    blames(&slow(BUSY_SHARE_DEGRADES), "The generator", 1.0);
}

#[test]
fn a_late_generator_is_the_narrowest() {
    let late = overflowing(5, |counters, _| {
        counters.lag.generator_ns = N * 2_000_000;
        counters.lag.connecting_ns = N * 1_000_000;
    });
    blames(&late, "The generator", 1.0);
    // What timed out unsent by its doing never shows in the lag.
    let unsent = overflowing(5, |counters, _| {
        counters.measured.timed_out_never_sent = N / 2;
        counters.measured.timed_out_never_sent_own = N / 2;
    });
    blames(&unsent, "The generator", 1.0);
}

#[test]
fn where_a_script_takes_all_the_time_nothing_is_known_of_the_target() {
    let found = |busy_share, script| {
        let mut world = overloaded(0, SECONDS as usize, 500);
        (world.evidence.busy_share, world.evidence.script) = (busy_share, script);
        world.bank.counters.own.total = BUSY_TIME_MIN;
        [Code::Saturated, Code::GeneratorBusy].map(|code| world.severity(code))
    };
    assert_eq!(found(0.99, Some("script slow.lua")), [None, INVALIDATES]);
    assert_eq!(found(0.5, Some("script slow.lua")), [INVALIDATES, None]);
    assert_eq!(found(0.99, None), [INVALIDATES, INVALIDATES]);
}

/// Two origins, of which the second gets `due` arrivals a second and answers one in ten of them.
fn one_of_two(due: u64) -> Option<Finding> {
    static NAMES: std::sync::LazyLock<[String; 2]> =
        std::sync::LazyLock::new(|| ["http://a.test:80", "http://b.test:80"].map(String::from));
    let mut world = World::healthy();
    world.bank.origins = unblink_core::record::Operations::new(2);
    let calm: Vec<Row> = world.rows.iter().map(|row| Row { due: RATE - due, ..*row }).collect();
    let calm = calm.into_iter().map(|row| Row { answered: row.due, ..row }).collect();
    let (mut level, mut hung) = (0, Vec::new());
    for row in &mut world.rows {
        level += due - due / 10;
        (row.answered, row.in_flight) = (RATE - due + due / 10, 10 + level);
        hung.push(Row { due, answered: due / 10, in_flight: level, ..*row });
    }
    let rows_by_origin = [calm, hung];
    let evidence = Evidence {
        totals: &world.bank,
        rows: &world.rows,
        rows_by_origin: &rows_by_origin,
        origins: &*NAMES,
        ..world.evidence
    };
    assess(&evidence).findings.into_iter().find(|f| f.code == Code::Saturated)
}

#[test]
fn an_origin_that_hangs_is_named_though_all_together_carry_the_load() {
    // 0.9 % and 1.8 % of all are left unanswered: 98 % are answered.
    let (few, some, many) = (one_of_two(10), one_of_two(20), one_of_two(500));
    assert_eq!(few.as_ref().map(|f| f.severity), DEGRADES);
    assert_eq!(some.as_ref().map(|f| f.severity), INVALIDATES);
    for finding in [few, some, many].into_iter().flatten() {
        blames(&finding, "http://b.test:80 can't carry this load", 0.0);
        assert!(finding.message.contains("arrivals for http://b.test:80"), "{}", finding.message);
        assert_eq!(number(&finding, "origin"), Some(1.0));
    }
}

#[test]
fn a_flooded_target_is_named_with_a_number_of_connections() {
    // At its best it works on 5 at once; from 20 on more than enough are in flight.
    let flooded = |in_flight, pool| {
        overflowing(in_flight, |counters, evidence| {
            counters.lag.connecting_ns = N * 1_000_000;
            evidence.busy_share_max = 1.0;
            evidence.pool = pool;
        })
    };
    let auto = Pool::Auto { max: 20_000 };
    let finding = flooded((CONNECTIONS_ENOUGH * 5.0) as u64, auto);
    blames(&finding, "The target", 0.0);
    assert_eq!(number(&finding, "connections_suggested"), Some(CONNECTIONS_SUGGESTED * 5.0));
    assert!(finding.remedy.contains("-c 10 "), "{}", finding.remedy);
    let just_below = flooded((CONNECTIONS_ENOUGH * 5.0) as u64 - 1, auto);
    blames(&just_below, "The generator", 1.0);
    assert_eq!(number(&just_below, "connections_suggested"), None);
    let shared = overflowing(5_000, |counters, evidence| {
        counters.lag.connecting_ns = N * 1_000_000;
        (evidence.busy_share_max, evidence.pool, evidence.places) = (1.0, auto, 100);
    });
    assert_eq!(number(&shared, "connections_suggested"), None, "a connection carries many");
    assert!(!shared.remedy.contains("for each request"), "{}", shared.remedy);
    let fixed = flooded(5_000, Pool::Fixed { n: 5_000 });
    assert_eq!(number(&fixed, "connections_suggested"), None, "their number was asked for");
}
