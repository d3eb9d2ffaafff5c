//! Steps that ask again and again, driven by hand: when they ask, and what is recorded of it.

use std::collections::VecDeque;
use unblink_core::code::Code;
use unblink_core::dispatch::{Action, Actions, ConnectTimes, Dispatch, Event, FlightId, Pool};
use unblink_core::journey::{JourneySpec, Journeys, StepSpec, Until};
use unblink_core::load::Travelling;
use unblink_core::mix::Mix;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Answer, Bank, Recorder, Series, StepCounts, Then};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::{Instant, Nanos};

const START: Instant = Instant(1_000_000_000);
const TIMEOUT: Nanos = Nanos::from_millis(500);
/// How long each answer takes.
const SERVICE: Nanos = Nanos::from_millis(10);

/// A single journey, which begins at once: it orders, and asks every 100 ms until the order is paid, for up to 250 ms.
fn plan() -> Plan {
    let until = Until { every: Nanos::from_millis(100), within: Nanos::from_millis(250) };
    let steps = vec![StepSpec::ONCE, StepSpec { until: Some(until), ..StepSpec::ONCE }, StepSpec::ONCE];
    Plan::new(PlanSpec {
        idempotent: vec![true; steps.len()],
        mix: Mix {
            journeys: Journeys {
                each: vec![JourneySpec { steps, ..JourneySpec::default() }],
                seed: 5,
                ..Journeys::default()
            },
            ..Mix::default()
        },
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

/// Plays the journey. `answer` says of the n-th request for the second step, from 0, whether its answer is not yet what is
/// waited for; nothing where none comes. Gives when each of these was sent, in ms, and what was recorded.
fn play(mut answer: impl FnMut(u32) -> Option<bool>) -> (Vec<u64>, Box<Bank<u32>>) {
    let plan = plan();
    let mut dispatch: Dispatch<Travelling> = Dispatch::new(plan.policy(0));
    let mut recorder = Recorder::new(Box::new(Bank::new(plan.layout())), TIMEOUT);
    recorder.begin(START, Nanos::ZERO, plan.load_length());
    dispatch.start(plan.journeys_load(START, 0).expect("journeys"));
    let (mut now, mut actions, mut asked) = (START, Actions::new(), Vec::new());
    let mut answers: VecDeque<(Instant, FlightId, bool)> = VecDeque::new();
    while !dispatch.is_finished() {
        let answer_at = answers.front().map(|(at, ..)| *at);
        now = now.max([dispatch.next_wake(), answer_at].into_iter().flatten().min().expect("goes on"));
        let event = match answer_at.filter(|&at| at <= now).and_then(|_| answers.pop_front()) {
            Some((_, flight, not_yet)) => {
                let answer = Answer {
                    code: Code::of_status(200),
                    then: if not_yet { Then::NotYet } else { Then::Done },
                    ..Answer::plain(now)
                };
                Event::Answered(flight, answer)
            }
            None => Event::Tick,
        };
        dispatch.handle(now, event, &mut actions, &mut recorder);
        for action in std::mem::take(&mut actions) {
            match action {
                Action::Open(id) => {
                    let event = Event::Connected(id, ConnectTimes::default());
                    dispatch.handle(now, event, &mut actions, &mut recorder);
                }
                Action::Send { flight, operation, .. } => {
                    dispatch.handle(now, Event::Sent(flight), &mut actions, &mut recorder);
                    let not_yet = match operation {
                        1 => {
                            asked.push(now.since(START).0 / 1_000_000);
                            answer(asked.len() as u32 - 1)
                        }
                        _ => Some(false),
                    };
                    answers.extend(not_yet.map(|not_yet| (now + SERVICE, flight, not_yet)));
                }
                Action::Cancel { .. } | Action::Close(..) => {}
            }
        }
        // What a new connection is used for.
        for action in std::mem::take(&mut actions) {
            let Action::Send { flight, .. } = action else { continue };
            dispatch.handle(now, Event::Sent(flight), &mut actions, &mut recorder);
            answers.push_back((now + SERVICE, flight, false));
        }
    }
    (asked, recorder.into_bank(now))
}

/// The first answer comes after 10 ms, and each takes 10 ms more.
#[test]
fn it_asks_until_it_has_its_answer() {
    let (asked, bank) = play(|n| Some(n < 2));
    assert_eq!(asked, [10, 120, 230]);
    let passed = StepCounts { entered: 1, passed: 1, requests: 1, ..StepCounts::default() };
    assert_eq!(bank.steps, [passed, StepCounts { requests: 3, ..passed }, passed]);
    let [journey, wait] =
        [0, 1].map(|place| bank.journeys.get(place).expect("a place").sums(Series::Response));
    assert_eq!((wait.count, wait.max_ns), (1, 230_000_000));
    assert_eq!((journey.count, journey.max_ns), (1, 250_000_000));
    // Each request is one, and its response time is its own.
    let requests = bank.operations.get(1).expect("recorded apart");
    assert_eq!((requests.outcomes.ok, requests.sums(Series::Response).max_ns), (3, 10_000_000));
}

/// The last request is intended at the end of the time, and shows that there was nothing until then.
#[test]
fn what_does_not_come_within_its_time_has_timed_out_at_that_age() {
    let (asked, bank) = play(|_| Some(true));
    assert_eq!(asked, [10, 120, 230, 260]);
    let timed_out = StepCounts { entered: 1, timed_out: 1, requests: 4, ..StepCounts::default() };
    assert_eq!((bank.steps[1], bank.steps[2]), (timed_out, StepCounts::default()));
    let sums = |place| bank.journeys.get(place).expect("a place").sums(Series::ResponseCensored);
    assert_eq!((sums(1).count, sums(1).max_ns, sums(0).max_ns), (1, 250_000_000, 260_000_000));
    // What comes with that last answer is too late as well.
    let (_, late) = play(|n| Some(n < 3));
    assert_eq!((late.steps[1], late.steps[2]), (timed_out, StepCounts::default()));
    assert_eq!(late.journeys.get(1).map(|of| of.outcomes.timed_out), Some(1));
}

/// The third request is intended at 230 ms and given up after the run's timeout, when the step's own time is over.
#[test]
fn an_answer_that_never_comes_times_out() {
    let (asked, bank) = play(|n| (n < 2).then_some(true));
    assert_eq!(asked, [10, 120, 230]);
    assert_eq!((bank.steps[1].timed_out, bank.steps[1].requests), (1, 3));
    let sums = |place| bank.journeys.get(place).expect("a place").sums(Series::ResponseCensored);
    assert_eq!((sums(1).max_ns, sums(0).max_ns), (250_000_000, 730_000_000));
}
