//! A bus that has lost what it kept of records.

use super::*;

/// What agents are told of how often that was.
fn told(actions: &[Action]) -> Vec<(&str, u32)> {
    let replies = actions.iter().filter_map(|action| match action {
        Action::Reply(to, reply) => Some((to.as_str(), reply.lost_by_bus)),
        _ => None,
    });
    replies.collect()
}

fn notes(actions: &[Action]) -> usize {
    let is_note =
        |action: &&Action| matches!(action, Action::Note(note) if note.contains("the bus has lost"));
    actions.iter().filter(is_note).count()
}

/// Each hears of it in every answer, so that no word of it has to arrive; the user hears of it once.
#[test]
fn all_hear_that_the_bus_has_lost_what_it_kept() {
    let mut stand = Stand::running();
    let running = || Stage::Running(Progress::default());
    assert_eq!(told(&stand.says("a", running())), [("a", 0)]);
    assert_eq!(notes(&stand.after(SECOND, Event::Forgotten)), 1);
    for _ in 0..2 {
        let out = stand.says("a", running());
        assert_eq!((told(&out), notes(&out)), (vec![("a", 1)], 0));
    }
    stand.after(SECOND, Event::Forgotten);
    // Also who has come to its end, for as long as its record is not here.
    assert_eq!(told(&stand.ended("b", None)), [("b", 2)]);
    // Whoever takes the run up goes on from there.
    stand.coordinator = resumed(&stand, stand.now);
    let out = stand.says("a", running());
    assert!(!told(&out).is_empty() && told(&out).iter().all(|(_, times)| *times == 2), "{out:?}");
}

/// A piece that does not come on a bus that has kept all else leads to the same, and is called what it is.
#[test]
fn a_piece_that_does_not_come_is_asked_for_again() {
    let mut stand = Stand::running();
    let out = stand.after(SECOND, Event::Missing);
    let said = Action::Note("of a record something is missing; agents send their records again".into());
    assert!(out.contains(&said) && notes(&out) == 0, "{out:?}");
    let out = stand.says("a", Stage::Running(Progress::default()));
    assert_eq!(told(&out), [("a", 1)]);
}

/// Before there is a record, nothing is lost that the user should hear of.
#[test]
fn a_bus_that_has_lost_nothing_yet_is_not_told_of() {
    let mut stand = Stand::new(2);
    stand.says("a", Stage::Waiting(machine("1", 2)));
    assert_eq!(notes(&stand.after(SECOND, Event::Forgotten)), 0);
}

/// What is kept for another coordinator changes with it: it must be kept before anybody hears of it.
#[test]
fn what_the_bus_has_lost_is_kept_for_the_next_coordinator() {
    let mut stand = Stand::running();
    let mark = stand.coordinator.mark();
    stand.after(SECOND, Event::Forgotten);
    assert_ne!(stand.coordinator.mark(), mark);
    assert_eq!(stand.coordinator.saved().expect("a start").lost_by_bus, 1);
}

/// Whose record comes again is waited for again, however long the bus was away.
#[test]
fn what_comes_again_is_waited_for_again() {
    let mut stand = Stand::running();
    stand.after(START_AHEAD, Event::Tick);
    let overdue = 10 * SECOND + END_WITHIN + 1;
    stand.ended("a", None);
    stand.ended("b", None);
    stand.after(overdue, Event::Tick);
    for agent in ["a", "b"] {
        stand.ended(agent, None);
    }
    stand.after(RETURN_WITHIN - SECOND, Event::Tick);
    for agent in ["a", "b"] {
        stand.ended(agent, None);
    }
    stand.after(0, Event::Forgotten);
    for agent in ["a", "b"] {
        stand.ended(agent, None);
    }
    assert_eq!(done(&stand.after(RETURN_WITHIN - SECOND, Event::Tick)), None);
    for agent in ["a", "b"] {
        stand.ended(agent, None);
    }
    assert!(done(&stand.after(SECOND, Event::Tick)).is_some(), "and no longer");
}
