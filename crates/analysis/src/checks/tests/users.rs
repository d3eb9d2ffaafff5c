//! Closed populations.

use super::*;
use crate::evidence::Users;

fn population(all: u64, begun: Option<u64>) -> World {
    World::with(|w| {
        w.evidence.model = Model::Closed;
        w.evidence.users = Some(Users { all, begun });
    })
}

#[test]
fn users_who_had_not_begun() {
    let severity = |begun| population(1_000, begun).severity(Code::UsersNotBegun);
    assert_eq!(severity(Some(999)), Some(Severity::Degrades));
    assert_eq!(severity(Some(1_000)), None);
    assert_eq!(severity(None), None, "a run from before this was counted");
    let mut part = population(1_000, Some(0));
    part.evidence.is_part = true;
    assert_eq!(part.severity(Code::UsersNotBegun), None);
    let found = population(5_000, Some(3_000)).finding(Code::UsersNotBegun).unwrap();
    assert!(
        found.message.starts_with("2\u{202f}000 of 5\u{202f}000 users had not begun"),
        "{}",
        found.message
    );
    assert!(found.evidence.contains(&("users_begun", 3_000.0)));
    assert_eq!(World::healthy().severity(Code::UsersNotBegun), None, "an open load has no users");
}

#[test]
fn users_without_a_connection_each() {
    let with = |users, pool, waited| {
        let mut world = population(users, Some(users));
        world.evidence.pool = pool;
        world.bank.counters.lag.no_connection = waited;
        world.severity(Code::UsersOutnumberConnections)
    };
    let (auto, fixed) = (Pool::Auto { max: 1_000 }, Pool::Fixed { n: 1_000 });
    assert_eq!(with(1_000, auto, 0), None);
    assert_eq!(with(1_001, auto, 0), Some(Severity::Note));
    // A thousandth of the arrivals waited, or more.
    assert_eq!(with(1_001, auto, N / 1_000), Some(Severity::Note));
    assert_eq!(with(1_001, auto, N / 1_000 + 1), Some(Severity::Degrades));
    assert_eq!(with(1_001, fixed, N), Some(Severity::Note), "as asked for");
    assert_eq!(with(1_000, fixed, 0), None);
}

#[test]
fn users_share_connections_with_places() {
    let with = |users| {
        let mut world = population(users, Some(users));
        (world.evidence.pool, world.evidence.places) = (Pool::Fixed { n: 4 }, 100);
        world.finding(Code::UsersOutnumberConnections)
    };
    assert_eq!(with(400), None);
    let message = with(401).unwrap().message;
    assert!(
        message.starts_with("401 users have 4 connections with at most 100 requests at once on each:"),
        "{message}"
    );
}
