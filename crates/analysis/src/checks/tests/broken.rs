//! What breaks the protocol.

use super::*;
use crate::evidence::BrokenConnections;

/// Of ten connections, `unasked` were closed for answers that nobody had asked for, and `unreadable` for others.
fn finding(unasked: u64, unreadable: u64) -> Option<Finding> {
    let mut world = World::healthy();
    let counts = &mut world.bank.counters.origins[0];
    (counts.closed_broken, counts.closed_unasked) = (unasked + unreadable, unasked);
    let broken = |code: &str, connections| BrokenConnections { origin: 0, code: code.into(), connections };
    let mut broken = vec![broken("protocol_unasked", unasked), broken("protocol_unknown_type", unreadable)];
    broken.retain(|one| one.connections > 0);
    let evidence = Evidence { totals: &world.bank, rows: &world.rows, broken: &broken, ..world.evidence };
    assess(&evidence).findings.into_iter().find(|f| f.code == Code::ProtocolBroken)
}

#[test]
fn answers_that_nobody_had_asked_for_cast_doubt_on_their_connections() {
    let found = finding(5, 1).expect("it is told");
    assert_eq!(found.severity, Severity::Degrades);
    let names = "6 connections to the target (protocol_unasked 5, protocol_unknown_type 1)";
    assert!(found.message.contains(names), "{}", found.message);
    assert!(found.message.contains("can't be trusted"), "{}", found.message);
    assert_eq!((found.number("connections"), found.number("unasked")), (Some(6.0), Some(5.0)));
}

#[test]
fn answers_that_cannot_be_read_only_fail_their_requests() {
    let found = finding(0, 6).expect("it is told");
    assert_eq!(found.severity, Severity::Note);
    assert!(!found.message.contains("trusted"), "{}", found.message);
    assert_eq!(finding(0, 0), None);
}
