//! Messages that nobody asked for.

use super::*;

fn finding(count: impl FnOnce(&mut World)) -> Option<Finding> {
    let mut world = World::healthy();
    count(&mut world);
    let evidence = Evidence { totals: &world.bank, rows: &world.rows, ..world.evidence };
    assess(&evidence).findings.into_iter().find(|f| f.code == Code::PushesAmongAnswers)
}

#[test]
fn pushes_cast_doubt_on_answers_that_are_told_by_their_order() {
    let found = finding(|world| world.bank.counters.origins[0].unsolicited_in_order = 3).expect("it is told");
    assert_eq!(found.severity, Severity::Degrades);
    assert!(found.message.starts_with("3 messages came while nothing was awaited"), "{}", found.message);
    assert_eq!(finding(|_| {}), None);
    // Where answers have names, nothing else is taken for one.
    assert_eq!(finding(|world| world.bank.counters.origins[0].unsolicited = 3), None);
}
