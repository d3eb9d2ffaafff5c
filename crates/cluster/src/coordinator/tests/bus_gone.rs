//! A bus that is gone, for a moment or for good.

use super::*;

/// A bus that does not come back ends the wait, and so does whoever wants out.
#[test]
fn a_bus_that_is_gone_for_good_is_given_up() {
    let mut stand = Stand::running();
    stand.after(SECOND, Event::Bus(false));
    assert!(done(&stand.after(BUS_BACK_WITHIN - 1, Event::Tick)).is_none());
    assert!(done(&stand.after(1, Event::Tick)).is_some());
    let mut stand = Stand::running();
    stand.after(SECOND, Event::Bus(false));
    let out = stand.after(SECOND, Event::Interrupt("interrupted".into()));
    let Some(FleetOutcome::Run { parts, .. }) = done(&out) else { panic!("{out:?}") };
    assert!(parts.iter().all(|part| part.is_lost), "{parts:?}");
}

/// What ends a load in good order waits for a bus that is gone for a moment, as without it.
#[test]
fn a_stop_gives_up_no_bus() {
    for cause in [Cause::Enough, Cause::Rule, Cause::Guard("budget_requests".into()), Cause::Coordinator] {
        let mut stand = Stand::running();
        stand.after(SECOND, Event::Bus(false));
        assert!(done(&stand.after(SECOND, Event::Stop(cause.clone(), "why".into()))).is_none(), "{cause:?}");
        let out = stand.after(SECOND, Event::Bus(true));
        assert!(done(&out).is_none(), "{cause:?}");
        let out = stand.says("a", Stage::Running(Progress::default()));
        assert!(orders(&out).iter().any(|(_, order)| matches!(order, Order::Stop { .. })), "{out:?}");
        // Also after another stop, whoever is there wants no more of it.
        stand.after(SECOND, Event::Bus(false));
        assert!(done(&stand.after(SECOND, Event::Interrupt("interrupted".into()))).is_some(), "{cause:?}");
    }
}
