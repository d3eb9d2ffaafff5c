//! Targets that take no more connections.

use super::*;

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
