//! Targets with several addresses.

use super::*;
use crate::evidence::Address;

const GOOD: Address<'static> =
    Address { origin: 0, name: "192.0.2.1:80", usable: 10, refused: 0, unanswered: 0, unreachable: 0 };

fn finding(addresses: &[Address<'static>]) -> Option<Finding> {
    let world = World::healthy();
    let evidence = Evidence { totals: &world.bank, rows: &world.rows, addresses, ..world.evidence };
    assess(&evidence).findings.into_iter().find(|f| f.code == Code::AddressDead)
}

#[test]
fn a_dead_address_is_named() {
    let dead = Address { origin: 0, name: "192.0.2.2:80", usable: 0, refused: 7, unanswered: 2, ..GOOD };
    let found = finding(&[GOOD, dead]).expect("it is told");
    assert_eq!(found.severity, Severity::Degrades);
    for said in
        ["192.0.2.2:80, one of 2 addresses", "took 0 connections", "(7 refused, 2 left without an answer)"]
    {
        assert!(found.message.contains(said), "{}", found.message);
    }
    let refusing = finding(&[GOOD, Address { unanswered: 0, ..dead }]).expect("it is told");
    assert_eq!(refusing.severity, Severity::Note, "it costs nobody any time");
    let more =
        finding(&[GOOD, dead, Address { origin: 0, name: "192.0.2.3:80", refused: 1, usable: 0, ..GOOD }])
            .unwrap();
    assert!(more.message.contains("192.0.2.2:80") && more.message.contains("1 other"), "{}", more.message);
    assert_eq!(finding(&[dead, dead]), None, "the target as a whole is dead, and other findings say so");
}

#[test]
fn an_address_that_takes_more_than_it_refuses_is_alive() {
    assert_eq!(finding(&[GOOD, Address { refused: 10, ..GOOD }]), None);
    assert!(finding(&[GOOD, Address { refused: 11, ..GOOD }]).is_some());
    assert_eq!(finding(&[GOOD]), None);
    assert_eq!(finding(&[]), None);
}
