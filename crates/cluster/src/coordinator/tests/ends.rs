//! Who ends a load before its time, and for how long that is waited for.

use super::*;

/// A long run in which one record is whole and another one never will be, stopped after that time.
fn stopped(at: Time) -> Stand {
    let mut stand = Stand::running();
    stand.coordinator.task.length = 24 * 3_600 * SECOND;
    let (mut elapsed, step) = (0, 2 * SECOND);
    while elapsed < at {
        for agent in ["a", "b"] {
            stand.says(agent, Stage::Running(Progress::default()));
        }
        stand.after(step, Event::Tick);
        elapsed += step;
    }
    stand.after(0, Event::Interrupt("Ctrl-C".into()));
    stand
}

/// What is said until it is over, and how long that took.
fn until_over(stand: &mut Stand) -> (Vec<Action>, Time) {
    let (begun, mut all) = (stand.now, Vec::new());
    while done(&all).is_none() {
        assert!(stand.now < begun + 3_600 * SECOND, "it waits for the planned end");
        for agent in ["a", "b"] {
            stand.ended(agent, None);
        }
        all.extend(stand.after(0, Event::Received("a".into())));
        all.extend(stand.after(SECOND, Event::Tick));
    }
    (all, stand.now - begun)
}

#[test]
fn who_stops_a_long_run_does_not_wait_for_its_planned_end() {
    let mut stand = stopped(60 * SECOND);
    let (out, took) = until_over(&mut stand);
    assert!(is_noted(&out, "its record does not come"), "{out:?}");
    let Some(FleetOutcome::Run { parts, .. }) = done(&out) else { panic!("{out:?}") };
    assert_eq!(parts.iter().map(|part| part.is_lost).collect::<Vec<_>>(), [false, true]);
    let at_most = STOP_AHEAD + stand.coordinator.task.drain + END_WITHIN + RETURN_WITHIN + 3 * SECOND;
    assert!(took >= END_WITHIN && took <= at_most, "{took}");
}

/// Also who takes the run up after the stop.
#[test]
fn a_stop_is_no_longer_waited_for_by_who_takes_the_run_up() {
    let mut stand = stopped(60 * SECOND);
    stand.coordinator = resumed(&stand, stand.now);
    let (_, took) = until_over(&mut stand);
    assert!(took <= 60 * SECOND, "{took}");
}

#[test]
fn a_guard_of_one_stops_all_at_one_instant() {
    let mut stand = Stand::running();
    stand.after(START_AHEAD + SECOND, Event::Tick);
    stand.says("b", Stage::Running(Progress::default()));
    let out = stand.ended("a", Some("--budget-errors 5 is used up"));
    let at = stand.now + STOP_AHEAD;
    let is_stop = |(to, order): &(&str, &Order)| {
        *to == "b"
            && matches!(order, Order::Stop { at: told, why, .. } if *told == at && why.contains("budget-errors"))
    };
    let out = [out, stand.after(SAY_AGAIN, Event::Tick)].concat();
    assert!(orders(&out).iter().any(is_stop), "{out:?}");
}
