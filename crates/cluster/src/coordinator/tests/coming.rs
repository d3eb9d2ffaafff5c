//! Who comes, who goes before the start, and what is said of it.

use super::*;

/// Why it fails, once it has.
fn reasons(stand: &mut Stand) -> Vec<String> {
    let out = stand.after(LEAVE_FOR, Event::Tick);
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
