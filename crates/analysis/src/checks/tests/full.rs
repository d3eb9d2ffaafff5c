//! A target that takes no more connections.

use super::*;

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
