//! Arrivals that are taken note of together leave together, and their lateness is the generator's own.

use unblink_core::dispatch::{Action, Actions, ConnectTimes, Dispatch, Event, Grain, Pool};
use unblink_core::load::Open;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Recorder, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::{Instant, Nanos};

const START: Instant = Instant(1_000_000_000);

fn us(us: u64) -> Instant {
    START + Nanos::from_micros(us)
}

#[test]
fn arrivals_leave_at_multiples_of_the_grain() {
    // Due every 100 µs.
    let phases = vec![Phase::hold(Rate::per_second(10_000), Nanos::from_millis(10))];
    let plan = Plan::new(PlanSpec::plain(
        LoadSpec::Open { phases, process: Process::Even },
        Pool::Fixed { n: 20 },
        Nanos::from_secs(1),
    ))
    .unwrap();
    let mut recorder = Recorder::new(Box::new(Bank::new(1)), Nanos::from_secs(1));
    recorder.begin(START, Nanos::ZERO, plan.load_length());
    let mut policy = plan.policy(0);
    policy.grain = Some(Grain { length: Nanos::from_millis(1), phase: Nanos::ZERO });
    let mut dispatch: Dispatch<Open> = Dispatch::new(policy);
    let mut opened = Actions::new();
    while opened.len() < 20 {
        dispatch.handle(Instant(0), Event::Tick, &mut opened, &mut recorder);
    }
    for action in opened {
        let Action::Open(id) = action else { panic!("{action:?}") };
        let times = ConnectTimes::default();
        dispatch.handle(Instant(1), Event::Connected(id, times), &mut Actions::new(), &mut recorder);
    }
    dispatch.start(plan.open_load(START, 0).unwrap());

    let mut sends = Vec::new();
    for at in [0, 50, 950, 999, 1_000, 1_500] {
        let mut actions = Actions::new();
        dispatch.handle(us(at), Event::Tick, &mut actions, &mut recorder);
        for i in 0..actions.len() {
            let Action::Send { flight, .. } = actions[i] else { panic!("{actions:?}") };
            dispatch.handle(us(at), Event::Sent(flight), &mut Actions::new(), &mut recorder);
        }
        sends.push(actions.len());
        let next = if at < 1_000 { us(1_000) } else { us(2_000) };
        assert_eq!(dispatch.next_wake(), Some(next), "after {at} µs");
    }
    assert_eq!(sends, [1, 0, 0, 0, 10, 0]);
    let bank = recorder.into_bank(us(1_500));
    // 0, then 900 µs, 800 µs and so on, down to 0.
    assert_eq!(bank.track(Series::GeneratorLate).sum_ns, 4_500_000);
    assert_eq!(bank.track(Series::SendLag).sum_ns, 4_500_000);
}
