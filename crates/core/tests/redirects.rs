//! Redirects that a step follows: when each is asked for, what is counted, and where they end.

use std::collections::VecDeque;
use unblink_core::code::Code;
use unblink_core::dispatch::{Action, Actions, ConnectTimes, Dispatch, Event, FlightId, Pool};
use unblink_core::failure::FailureKind;
use unblink_core::journey::{JourneySpec, Journeys, Redirects, StepSpec, Think};
use unblink_core::load::Travelling;
use unblink_core::mix::Mix;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Answer, Bank, Recorder, Series, StepCounts, Then};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::{Instant, Nanos};

const START: Instant = Instant(1_000_000_000);
const SERVICE: Nanos = Nanos::from_millis(10);
const TIMEOUT: Nanos = Nanos::from_secs(1);

/// One journey of two steps, one second of thought apart. The first step is asked twice, and each of its requests may be sent
/// on twice, to operation 2 or 3.
fn plan() -> Plan {
    let redirects = Redirects { max: 2, operations: 2 };
    let steps = vec![
        StepSpec { repeat: (2, 2), redirects, ..StepSpec::ONCE },
        StepSpec { think: Think::Constant(Nanos::from_secs(1)), ..StepSpec::ONCE },
    ];
    let journeys =
        Journeys { each: vec![JourneySpec { steps, ..JourneySpec::default() }], ..Journeys::default() };
    Plan::new(PlanSpec {
        idempotent: vec![true; 4],
        mix: Mix { journeys, ..Mix::default() },
        ..PlanSpec::plain(
            LoadSpec::Open {
                phases: vec![Phase::hold(Rate::per_second(1), Nanos::from_secs(1))],
                process: Process::Even,
            },
            Pool::Auto { max: 10 },
            TIMEOUT,
        )
    })
    .expect("a valid plan")
}

/// Plays the journey; the n-th answer says `then(n)`. Gives when each request was sent, in ms, what it asked for, and what was
/// recorded.
fn play(then: impl Fn(usize) -> Then) -> (Vec<(u64, u32)>, Box<Bank<u32>>) {
    let plan = plan();
    let mut dispatch: Dispatch<Travelling> = Dispatch::new(plan.policy(0));
    let mut recorder = Recorder::new(Box::new(Bank::new(plan.layout())), TIMEOUT);
    recorder.begin(START, Nanos::ZERO, plan.load_length());
    dispatch.start(plan.journeys_load(START, 0).expect("journeys"));
    let (mut now, mut actions, mut asked) = (START, Actions::new(), Vec::new());
    let mut answers: VecDeque<(Instant, FlightId)> = VecDeque::new();
    let mut told = 0;
    while !dispatch.is_finished() {
        let answer_at = answers.front().map(|(at, _)| *at);
        now = now.max([dispatch.next_wake(), answer_at].into_iter().flatten().min().expect("goes on"));
        let event = match answer_at.filter(|&at| at <= now).and_then(|_| answers.pop_front()) {
            Some((_, flight)) => {
                told += 1;
                let (then, code) = (then(told - 1), Code::of_status(200));
                let answer = Answer { code, then, ..Answer::plain(now) };
                Event::Answered(flight, answer)
            }
            None => Event::Tick,
        };
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            dispatch.handle(now, event, &mut actions, &mut recorder);
            for action in std::mem::take(&mut actions) {
                match action {
                    Action::Open(id) => events.push_back(Event::Connected(id, ConnectTimes::default())),
                    Action::Send { flight, operation, .. } => {
                        events.push_back(Event::Sent(flight));
                        asked.push((now.since(START).0 / 1_000_000, operation));
                        answers.push_back((now + SERVICE, flight));
                    }
                    Action::Cancel { .. } | Action::Close(..) => {}
                }
            }
        }
    }
    (asked, recorder.into_bank(now))
}

#[test]
fn each_redirect_is_a_request_of_its_step_at_once() {
    let (asked, all) = play(|n| match n {
        0 => Then::Redirected(2),
        1 => Then::Redirected(3),
        // The second request of the step may be sent on as often again.
        3 => Then::Redirected(3),
        4 => Then::Redirected(2),
        _ => Then::Done,
    });
    assert_eq!(asked, [(0, 0), (10, 2), (20, 3), (30, 0), (40, 3), (50, 2), (1_060, 1)]);
    let first = StepCounts { entered: 1, passed: 1, requests: 6, ..StepCounts::default() };
    let second = StepCounts { entered: 1, passed: 1, requests: 1, ..StepCounts::default() };
    assert_eq!(all.steps, [first, second]);
    let of = all.journeys.get(0).expect("a journey");
    assert_eq!((of.outcomes.ok, of.sums(Series::Response).sum_ns), (1, 1_070_000_000));
    let by_operation: Vec<u64> = all.operations.iter().map(|of| of.outcomes.ok).collect();
    assert_eq!(by_operation, [2, 1, 2, 2]);
    assert_eq!((all.counters.measured.ok, all.counters.measured.followed), (7, 6));
    assert_eq!(all.track(Series::Response).max_ns, SERVICE.0);
}

#[test]
fn one_redirect_too_many_fails_the_request_and_the_journey() {
    let (asked, all) = play(|_| Then::Redirected(2));
    assert_eq!(asked, [(0, 0), (10, 2), (20, 2)]);
    let kind = FailureKind::TOO_MANY_REDIRECTS.index();
    assert_eq!(all.steps[0], StepCounts { entered: 1, failed: 1, requests: 3, ..StepCounts::default() });
    assert_eq!(all.journeys.get(0).expect("a journey").outcomes.failed[kind], 1);
    assert_eq!((all.counters.measured.ok, all.counters.measured.failed[kind]), (2, 1));
}

#[test]
fn a_step_that_follows_nothing_is_not_sent_on() {
    let (asked, all) = play(|n| if n == 2 { Then::Redirected(2) } else { Then::Done });
    assert_eq!(asked, [(0, 0), (10, 0), (1_020, 1)]);
    assert_eq!(all.steps[1].failed, 1);
}
