//! Who comes, who goes before the start, and what is said of it.

use super::*;

fn leaves(agent: &str) -> Event {
    Event::Left(agent.into(), "SIGTERM".into())
}

/// Why it fails, once it has.
fn reasons(stand: &mut Stand) -> Vec<String> {
    let out = stand.after(START_AHEAD + LEAVE_FOR, Event::Tick);
    match done(&out) {
        Some(FleetOutcome::NotBegun(why)) => why.reasons.clone(),
        _ => Vec::new(),
    }
}

/// An agent that obeys somebody else is named at once, with what helps. What it says of another key or run is somebody else's doing,
/// who must not end this one.
#[test]
fn an_agent_that_does_not_accept_the_key_is_told_of_at_once() {
    let mut stand = Stand::new(2);
    for agent in ["a", "b"] {
        stand.says(agent, Stage::Waiting(machine("1", 1)));
    }
    let stranger = |agent: &str, run: &str, by: &str| Event::Stranger {
        agent: agent.into(),
        run: run.into(),
        by: by.into(),
        accepts: vec!["UTHEIRS".into()],
    };
    for event in [stranger("b", "r", "UEVIL"), stranger("b", "other", "UOWN"), stranger("c", "r", "UOWN")] {
        stand.after(0, event);
        assert!(matches!(stand.coordinator.phase, Phase::Preparing { .. }));
    }
    // It has taken the offer meanwhile: somebody else pretends to be it.
    stand.says("a", Stage::Preparing);
    stand.after(0, stranger("a", "r", "UOWN"));
    assert!(matches!(stand.coordinator.phase, Phase::Preparing { .. }));
    stand.after(0, stranger("b", "r", "UOWN"));
    let reasons = reasons(&mut stand);
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    for part in
        ["the agent on h with share 2: it accepts the key UTHEIRS", "signed by UOWN", "--accept-from UOWN"]
    {
        assert!(reasons[0].contains(part), "{reasons:?}");
    }
}

/// Its place is free at once for one that waits; a word of it that comes late brings it back for nobody.
#[test]
fn who_leaves_while_agents_gather_makes_room() {
    let mut stand = Stand::new(2);
    stand.says("a", Stage::Waiting(machine("1", 1)));
    assert!(is_noted(&stand.after(0, leaves("a")), "an agent on h has left (SIGTERM)"));
    stand.says("a", Stage::Waiting(machine("1", 1)));
    stand.says("b", Stage::Waiting(machine("1", 1)));
    assert!(matches!(stand.coordinator.phase, Phase::Gathering { .. }), "there is one of two");
    let out = stand.says("c", Stage::Waiting(machine("1", 1)));
    let offered: Vec<&str> = orders(&out)
        .into_iter()
        .filter_map(|(to, order)| matches!(order, Order::Offer(_)).then_some(to))
        .collect();
    assert!(offered.contains(&"b") && offered.contains(&"c") && !offered.contains(&"a"), "{offered:?}");
}

/// Once there are offers, it is named at once, with what helps. Once the start is settled, its part is lost, and that is told, too.
#[test]
fn who_leaves_later_is_named() {
    for is_armed in [false, true] {
        let mut stand = Stand::new(2);
        for agent in ["a", "b"] {
            stand.says(agent, Stage::Waiting(machine("1", 1)));
        }
        for agent in ["a", "b"].into_iter().filter(|_| is_armed) {
            stand.says(agent, Stage::Armed(Reading::default()));
        }
        assert_eq!(stand.coordinator.start_at().is_some(), is_armed);
        stand.after(0, leaves("stranger"));
        stand.after(0, leaves("b"));
        let named = "the agent on h with share 2 has left (SIGTERM): start another one, and the run again";
        assert_eq!(reasons(&mut stand), [named]);
    }
    let mut stand = Stand::running();
    assert!(is_noted(&stand.after(0, leaves("b")), "shares 3–4 has left (SIGTERM) before its load began"));
    assert!(stand.says("b", Stage::Going).is_empty(), "it is not heard any more");
    stand.ended("a", None);
    stand.after(0, Event::Received("a".into()));
    let out = stand.after(RETURN_WITHIN, Event::Tick);
    let Some(FleetOutcome::Run { parts, .. }) = done(&out) else { panic!("{out:?}") };
    assert_eq!(parts.iter().map(|part| part.is_lost).collect::<Vec<_>>(), [false, true]);
}

/// Gathers again for a command whose agents have been in a run.
fn later(stand: &mut Stand, change: impl FnOnce(&mut Task)) {
    let mut task = Task { is_first: false, then: Then::Again, ..stand.coordinator.task.clone() };
    change(&mut task);
    stand.coordinator = Coordinator::new(task, stand.now);
}

/// The time is told as it was given, and what helps is what can be done.
#[test]
fn too_few_agents_are_told_what_helps() {
    let told = |is_first: bool, is_local: bool| {
        let mut stand = Stand::new(2);
        later(&mut stand, |task| {
            (task.is_first, task.is_local, task.gather_for) = (is_first, is_local, 1_500 * MS);
        });
        stand.says("a", Stage::Waiting(if is_first { machine("1", 1) } else { again("c") }));
        stand.after(1_500 * MS, Event::Tick);
        reasons(&mut stand).join("; ")
    };
    assert_eq!(told(true, false), "1 of 2 agents came within 1.5 s: start the others (unblink agent)");
    let here = told(true, true);
    assert!(here.contains("within 1.5 s: give them longer (--agents-within)"), "{here}");
    for (is_local, helps) in
        [(false, ": start the agents again, and go on with --resume"), (true, ": go on with --resume")]
    {
        let later = told(false, is_local);
        assert!(later.contains("1 of 2 agents of this command") && later.ends_with(helps), "{later}");
    }
}

/// A command can't go on without one of its agents: nobody waits for one that is known to be gone.
#[test]
fn a_command_that_has_lost_an_agent_ends_at_once() {
    for by_word in [true, false] {
        let mut stand = Stand::new(2);
        later(&mut stand, |_| {});
        stand.says("a", Stage::Waiting(again("c")));
        let (wait, event) = if by_word { (0, leaves("a")) } else { (LOST_AFTER + 1, Event::Tick) };
        stand.after(wait, event);
        let reasons = reasons(&mut stand);
        assert!(reasons.len() == 1 && reasons[0].contains("go on with --resume"), "{reasons:?}");
        let how = if by_word { "has left (SIGTERM)" } else { "has gone silent" };
        assert!(reasons[0].starts_with(&format!("an agent on h {how}, and no other")), "{reasons:?}");
    }
}

/// Of a run that has failed nobody is told that it has all of its agents, or that it has begun.
#[test]
fn who_has_no_place_is_told_what_is_so() {
    let comes = |stand: &mut Stand, name: &str| stand.says(name, Stage::Waiting(machine("1", 1)));
    let mut stand = Stand::new(1);
    comes(&mut stand, "a");
    assert!(is_noted(&comes(&mut stand, "b"), "enough others were there before it"));
    stand.says("a", Stage::Refused(Refusal { reasons: vec!["no".into()], by_target: false }));
    assert!(comes(&mut stand, "c").is_empty());
    let mut stand = Stand::running();
    assert!(is_noted(&comes(&mut stand, "c"), "the run has begun"));
}

/// When the coordinator stood still, agents have sent what they should: nobody says that their load has ended.
#[test]
fn who_is_heard_again_is_told_of_with_what_is_known() {
    let mut stand = Stand::running();
    stand.after(LOST_AFTER + 1, Event::Tick);
    let out = stand.says("a", Stage::Running(Progress::default()));
    let known = "is heard again: what it sent until its lease ended counts";
    assert!(is_noted(&out, known) && !is_noted(&out, "load has ended"), "{out:?}");
}

#[test]
fn who_is_not_ready_is_told_of_with_what_helps() {
    for (is_local, helps) in [(false, ": its own log says why"), (true, ": start fewer agents")] {
        let mut stand = Stand::new(1);
        stand.coordinator.task.is_local = is_local;
        stand.says("a", Stage::Waiting(machine("1", 1)));
        for _ in 0..PREPARE_FOR / SECOND {
            stand.after(SECOND, Event::Tick);
            stand.says("a", Stage::Preparing);
        }
        let reasons = reasons(&mut stand);
        assert!(reasons.len() == 1 && reasons[0].ends_with(helps), "{reasons:?}");
        assert!(reasons[0].contains("with share 1 was not ready within 120 s"), "{reasons:?}");
    }
}

/// Nobody who is let onto the bus ends a coordinator by a number.
#[test]
fn numbers_that_make_no_sense_are_not_taken_in() {
    let mut stand = Stand::new(2);
    for shares in [0, 9, u32::MAX] {
        let out = stand.says(&format!("of {shares}"), Stage::Waiting(machine("1", shares)));
        assert!(is_noted(&out, &format!("takes no part: it has {shares} shares")), "{out:?}");
    }
    assert!(stand.coordinator.members.is_empty());
    let mut stand = Stand::running();
    for agent in ["a", "b"] {
        let far = Progress { due: u64::MAX - 1, ok: u64::MAX, ..Progress::default() };
        stand.says(agent, Stage::Running(far));
    }
    assert_eq!(stand.coordinator.progress(), (u64::MAX, u64::MAX, 2));
}
