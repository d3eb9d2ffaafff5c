//! Targets that ask for less: by answers that ask for patience, and by refusing connections.

use super::*;

#[test]
fn answers_that_ask_to_wait_are_told() {
    let finding = |asked: u64| {
        let mut world = World::healthy();
        world.bank.counters.origins[0].asked_to_wait = asked;
        let evidence = Evidence { totals: &world.bank, rows: &world.rows, ..world.evidence };
        assess(&evidence).findings.into_iter().find(|f| f.code == Code::AskedToWait)
    };
    let found = finding(3).expect("it is told");
    assert_eq!(found.severity, Severity::Note);
    assert!(found.message.starts_with("3 answers asked to wait"), "{}", found.message);
    assert_eq!(finding(0), None);
}

#[test]
fn a_full_target_is_told() {
    let finding = |full: u64| {
        let mut world = World::healthy();
        world.bank.counters.origins[0].full = full;
        let evidence = Evidence { totals: &world.bank, rows: &world.rows, ..world.evidence };
        assess(&evidence).findings.into_iter().find(|f| f.code == Code::TargetFull)
    };
    let found = finding(1).expect("it is told");
    assert_eq!(found.severity, Severity::Note);
    assert!(found.message.starts_with("The target refused 1 connection because"), "{}", found.message);
    assert_eq!(finding(0), None);
}
