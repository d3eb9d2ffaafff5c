//! Targets with several addresses.

use super::*;
use crate::evidence::Address;

const GOOD: Address<'static> = Address {
    origin: 0,
    name: "192.0.2.1:80",
    usable: 10,
    refused: 0,
    unanswered: 0,
    unreachable: 0,
    arrivals: None,
};

fn finding(addresses: &[Address<'static>]) -> Option<Finding> {
    found(addresses, Code::AddressDead)
}

fn found(addresses: &[Address<'static>], code: Code) -> Option<Finding> {
    let world = World::healthy();
    let evidence = Evidence { totals: &world.bank, rows: &world.rows, addresses, ..world.evidence };
    assess(&evidence).findings.into_iter().find(|f| f.code == code)
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

/// What an uneven load over addresses with so many arrivals each comes to.
fn uneven(arrivals: &[u64]) -> Option<Finding> {
    let names = ["192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80"];
    let of = |(&n, name): (&u64, &'static str)| Address { name, arrivals: Some(n), ..GOOD };
    let addresses: Vec<_> = arrivals.iter().zip(names).map(of).collect();
    found(&addresses, Code::AddressesUneven)
}

#[test]
fn an_address_far_off_its_share_is_named() {
    let found = uneven(&[970, 30]).expect("it is told");
    assert_eq!(found.severity, Severity::Note);
    for said in ["one of 2 addresses of the target", "an even share is 50"] {
        assert!(found.message.contains(said), "{}", found.message);
    }
    // The one that has too much is as far off as what the others lack together.
    let found = uneven(&[700, 100, 100, 100]).expect("it is told");
    assert!(
        found.message.contains("192.0.2.1:80, one of 4") && found.message.contains("got 70"),
        "{}",
        found.message
    );
    let found = uneven(&[400, 400, 400, 10]).expect("it is told");
    assert!(found.message.contains("192.0.2.4:80, one of 4"), "{}", found.message);
}

#[test]
fn four_standard_deviations_and_a_quarter_of_the_share_are_far() {
    // Of 16 and of 17 over two addresses, a standard deviation is 2 and 2.06: none at all is off by 4 and by 4.12.
    assert_eq!(uneven(&[16, 0]), None);
    assert!(uneven(&[17, 0]).is_some());
    // Of a million, 4 standard deviations are 0.4 % of the share.
    assert_eq!(uneven(&[625_000, 375_000]), None, "a quarter, and no more");
    assert!(uneven(&[625_001, 374_999]).is_some());
    assert_eq!(uneven(&[0, 0]), None);
    assert_eq!(uneven(&[1_000]), None);
}

#[test]
fn only_what_is_known_and_lives_is_compared() {
    let one = Address { arrivals: Some(1_000), ..GOOD };
    let other = Address { name: "192.0.2.2:80", arrivals: Some(0), ..GOOD };
    let of = |addresses: &[_]| found(addresses, Code::AddressesUneven);
    assert!(of(&[one, other]).is_some());
    assert_eq!(
        of(&[one, Address { refused: 11, ..other }]),
        None,
        "it takes no connections: another finding says so"
    );
    assert_eq!(of(&[one, Address { arrivals: None, ..other }]), None);
    assert_eq!(of(&[one, Address { origin: 1, ..other }]), None, "each is the only address of its origin");
    assert_eq!(of(&[]), None);
}

/// If each arrival goes to an address by chance, the finding comes hardly ever; if one address has a share that is 40 % too
/// small, always.
#[test]
fn chance_is_no_finding_and_a_bias_is_one() {
    const RUNS: u64 = 2_000;
    let mut state = 7_u64;
    let mut roll = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let mut shares = |first: f64, n: u64| {
        let mut all = [0_u64; 4];
        for _ in 0..n {
            let at = if roll() < first { 0 } else { 1 + (roll() * 3.0) as usize };
            all[at] += 1;
        }
        all
    };
    let mut told = 0;
    for _ in 0..RUNS {
        told += u64::from(uneven(&shares(0.25, 200)).is_some());
    }
    // 0.5 are expected among 8,000 shares, or a few more: with 200 arrivals the law is skewed.
    assert!(told <= 5, "{told} of {RUNS}");
    for _ in 0..100 {
        assert!(uneven(&shares(0.15, 2_000)).is_some());
    }
}
