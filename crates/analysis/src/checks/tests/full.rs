//! Targets that take no more connections.

use super::*;
use unblink_core::record::Operations;

#[test]
fn a_target_that_let_nobody_in_was_full_and_took_nothing() {
    let full = |opened: u64| {
        World::with(|w| {
            let counts = &mut w.bank.counters.origins[0];
            (counts.attempted, counts.opened, counts.full) = (605, opened, 605 - opened);
        })
    };
    let never = full(0);
    let finding = never.finding(Code::NeverConnected).expect("found");
    assert!(
        finding.message.contains("605 of 605 because it had as many connections as it takes"),
        "{finding:?}"
    );
    assert!(
        finding.severity == Severity::Invalidates && finding.remedy.contains("maxclients"),
        "{finding:?}"
    );
    assert_eq!(never.severity(Code::TargetFull), None, "arrivals went over no connection");
    let some = full(5);
    assert_eq!((some.severity(Code::NeverConnected), some.severity(Code::TargetFull)), (None, NOTE));
}

/// `failed` arrivals end as the kind of this number of the protocol's own.
fn failing(w: &mut World, number: usize, failed: u64) {
    w.measured().ok -= failed;
    w.measured().failed[FailureKind::protocol(number).index()] = failed;
}

/// A server that closes its connections during the run, and then takes no others.
#[test]
fn arrivals_that_fail_at_the_limit_are_told_and_weighed() {
    let names = ["http_answer".to_string(), "max_clients".to_string()];
    let finding = |number: usize, failed: u64| {
        let mut world = World::healthy();
        let counts = &mut world.bank.counters.origins[0];
        (counts.attempted, counts.opened, counts.full) = (30, 10, 20);
        failing(&mut world, number, failed);
        let evidence =
            Evidence { totals: &world.bank, rows: &world.rows, protocol_failures: &names, ..world.evidence };
        let found = assess(&evidence).findings.into_iter().find(|f| f.code == Code::TargetFull);
        found.expect("it is told")
    };
    let of_share = |share: f64| (N as f64 * share) as u64;
    for (failed, expected) in [
        (1, Severity::Note),
        (of_share(FAILED_SHARE_DEGRADES), Severity::Note),
        (of_share(FAILED_SHARE_DEGRADES) + 1, Severity::Degrades),
        (of_share(FAILED_SHARE_INVALIDATES) + 1, Severity::Invalidates),
    ] {
        let found = finding(1, failed);
        assert_eq!((found.severity, found.number("failed")), (expected, Some(failed as f64)), "{found:?}");
        assert!(found.message.contains("arrivals failed because of it."), "{}", found.message);
        assert!(!found.message.contains("went over those"), "{}", found.message);
    }
    // They failed of something else.
    let found = finding(0, of_share(0.9));
    assert_eq!((found.severity, found.number("failed")), (Severity::Note, Some(0.0)), "{found:?}");
    assert!(found.message.contains("arrivals went over those that it took"), "{}", found.message);
}

#[test]
fn a_target_that_lets_nobody_in_says_why() {
    let names = ["password_wrong".to_string()];
    let finding = |kind: FailureKind| {
        let mut world = World::healthy();
        *world.measured() = Outcomes { due: N, ..Outcomes::default() };
        world.measured().failed[kind.index()] = N;
        (world.bank.counters.origins[0].attempted, world.bank.counters.origins[0].opened) = (8, 0);
        let evidence =
            Evidence { totals: &world.bank, rows: &world.rows, protocol_failures: &names, ..world.evidence };
        let found = assess(&evidence).findings.into_iter().find(|f| f.code == Code::NeverConnected);
        found.expect("it is told")
    };
    for (kind, said, remedy) in [
        (FailureKind::protocol(0), "let none in: protocol_password_wrong.", "unblink try"),
        (FailureKind::TLS, "let none in: tls.", "unblink try"),
        (FailureKind::CONNECT_REFUSED, "0 were refused by the target.", "listens on this address"),
        // A number that no failure of the protocol has.
        (FailureKind::protocol(1), "0 were refused by the target.", "listens on this address"),
    ] {
        let found = finding(kind);
        assert!(found.message.ends_with(said) && found.remedy.contains(remedy), "{found:?}");
    }
}

/// Of two origins, each is judged by its own arrivals.
#[test]
fn an_origin_that_lets_nobody_in_is_judged_by_its_own_arrivals() {
    let names = ["password_wrong".to_string()];
    let origins = ["redis://a".to_string(), "redis://b".to_string()];
    let World { mut bank, rows, evidence } = World::healthy();
    (bank.counters.origins[1].attempted, bank.counters.origins[1].opened) = (8, 0);
    bank.counters.measured.ok -= 30;
    bank.origins = Operations::new(2);
    for (place, kind, failed) in [(0, FailureKind::RESET, 20), (1, FailureKind::protocol(0), 10)] {
        bank.counters.measured.failed[kind.index()] = failed;
        let account = &mut bank.origins.get_mut(place).expect("an origin").outcomes;
        (account.due, account.failed[kind.index()]) = (N / 2, failed);
    }
    let evidence =
        Evidence { totals: &bank, rows: &rows, origins: &origins, protocol_failures: &names, ..evidence };
    let found = assess(&evidence).findings.into_iter().find(|f| f.code == Code::NeverConnected);
    let message = found.expect("it is told").message;
    assert!(message.contains("to redis://b") && message.ends_with("protocol_password_wrong."), "{message}");
}
