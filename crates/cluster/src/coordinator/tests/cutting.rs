//! Load that a rule has stopped, and that goes on by itself.

use super::*;

/// A rule lets journeys come to their ends; whoever then wants all to end is heard, and the reason stays.
#[test]
fn what_goes_on_after_a_rule_is_cut_off_by_a_guard() {
    let mut stand = Stand::running();
    stand.after(START_AHEAD + SECOND, Event::Stop(Cause::Rule, "p99".into()));
    let told = |out: &[Action], wanted: &Cause| {
        let all = orders(out);
        all.len() == 2
            && all.iter().all(|(_, order)| matches!(order, Order::Stop { cause, .. } if cause == wanted))
    };
    assert!(told(&stand.after(SAY_AGAIN, Event::Stop(Cause::Enough, "enough".into())), &Cause::Rule));
    let guard = Cause::Guard("kill_file".into());
    let out = stand.after(SECOND, Event::Stop(guard.clone(), "it is there".into()));
    assert!(told(&out, &guard), "{out:?}");
    assert!(told(&stand.after(SAY_AGAIN, Event::Stop(Cause::Coordinator, "later".into())), &guard));
    // Whoever takes it up says the same.
    let mut again = resumed(&stand, stand.now);
    let mut out = Vec::new();
    again.handle(stand.now, Event::Tick, &mut out);
    assert!(told(&out, &guard), "{out:?}");
    let ended = |stand: &mut Stand, agent: &str| {
        stand.ended(agent, None);
        stand.after(0, Event::Received(agent.into()))
    };
    ended(&mut stand, "a");
    let out = ended(&mut stand, "b");
    let Some(FleetOutcome::Run { stopped, .. }) = done(&out) else { panic!("{out:?}") };
    assert_eq!(stopped.as_deref(), Some("p99"), "the first");
}

/// After a rule, a guard of one agent ends what goes on with all of them; what else ends there is no reason.
#[test]
fn what_goes_on_after_a_rule_is_cut_off_by_a_guard_of_one() {
    let stopped = || {
        let mut stand = Stand::running();
        stand.after(START_AHEAD + SECOND, Event::Stop(Cause::Rule, "p99".into()));
        stand
    };
    let cuts = |out: &[Action]| {
        orders(out).iter().any(|(_, order)| matches!(order, Order::Stop { cause: Cause::Guard(_), .. }))
    };
    let mut stand = stopped();
    assert!(cuts(&stand.ended("a", Some("--budget-errors 5 is used up"))));
    let out = stand.after(SAY_AGAIN, Event::Tick);
    assert!(!is_noted(&out, "stopping all agents"), "once: {out:?}");
    assert!(!cuts(&stopped().ended("a", None)));
}
