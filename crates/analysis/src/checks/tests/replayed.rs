//! Replays.

use super::*;
use crate::evidence::Replayed;

fn replayed(by_user: Option<u64>, made_up_ids: Option<(u64, bool)>) -> World {
    World::with(|w| w.evidence.replayed = Some(Replayed { by_user, made_up_ids, recorded: N }))
}

#[test]
fn requests_that_nobody_came_to() {
    let found = replayed(Some(N + 7), None).finding(Code::RecordedNotReached).unwrap();
    assert!(found.message.starts_with("7 of "), "{}", found.message);
    assert!(found.severity == Severity::Note && found.evidence.contains(&("not_reached", 7.0)));
    let mut cut = replayed(Some(N + 7), None);
    cut.evidence.end = End::Interrupted;
    for none in [replayed(Some(N), None), replayed(None, None), cut, World::healthy()] {
        assert_eq!(none.severity(Code::RecordedNotReached), None);
    }
}

#[test]
fn ids_that_an_import_made() {
    let message = |is_certain| {
        replayed(None, Some((30, is_certain))).finding(Code::RecordedIdsReplaced).unwrap().message
    };
    assert!(message(true).starts_with("30 of the recorded") && !message(true).contains("unless"));
    assert!(message(false).contains("unless it kept paths"));
    assert_eq!(replayed(None, None).severity(Code::RecordedIdsReplaced), None);
}
