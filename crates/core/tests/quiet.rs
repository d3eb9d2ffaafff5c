//! A tick looks at nothing that can't have taken too long yet, and still misses nothing.

use unblink_core::dispatch::{Action, Actions, ConnectTimes, Dispatch, Event, FlightId, Pool};
use unblink_core::load::Open;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::random::{below, mixed};
use unblink_core::record::{Answer, Bank, Recorder};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::{Instant, Nanos};

const START: Instant = Instant(1_000_000_000);
const TIMEOUT: Nanos = Nanos::from_millis(20);

/// A dispatcher, and what is under way by it.
struct Driven {
    dispatch: Dispatch<Open>,
    recorder: Recorder,
    under_way: Vec<(Instant, FlightId)>,
    log: Vec<(Instant, Action)>,
}

impl Driven {
    fn new(seed: u64) -> Driven {
        let plan = Plan::new(PlanSpec::plain(
            LoadSpec::Open {
                phases: vec![Phase::hold(Rate::per_second(2_000), Nanos::from_millis(200))],
                process: Process::Poisson { seed },
            },
            Pool::Auto { max: 6 },
            TIMEOUT,
        ))
        .expect("a plan");
        let mut recorder = Recorder::new(Box::new(Bank::new(1)), TIMEOUT);
        recorder.begin(START, Nanos::ZERO, plan.load_length());
        let mut dispatch = Dispatch::new(plan.policy(0));
        dispatch.start(plan.open_load(START, 0).expect("an open load"));
        Driven { dispatch, recorder, under_way: Vec::new(), log: Vec::new() }
    }

    /// Hands an event over. What follows from it happens at once; of answers one in eight never comes.
    fn handle(&mut self, now: Instant, event: Event, seed: u64) {
        let mut actions = Actions::new();
        self.dispatch.handle(now, event, &mut actions, &mut self.recorder);
        for action in actions {
            self.log.push((now, action));
            let random = mixed(seed ^ self.log.len() as u64);
            match action {
                Action::Open(id) if !random.is_multiple_of(4) => {
                    self.handle(now, Event::Connected(id, ConnectTimes::default()), seed);
                }
                Action::Send { flight, .. } => {
                    self.handle(now, Event::Sent(flight), seed);
                    if !random.is_multiple_of(8) {
                        self.under_way.push((now + Nanos(below(random, 2 * TIMEOUT.0)), flight));
                    }
                }
                Action::Open(_) | Action::Cancel { .. } | Action::Close(..) => {}
            }
        }
    }

    fn answer(&mut self, now: Instant, seed: u64) {
        while let Some(place) = self.under_way.iter().position(|&(at, _)| at <= now) {
            let (_, flight) = self.under_way.swap_remove(place);
            let answer = Answer::plain(now);
            self.handle(now, Event::Answered(flight, answer), seed);
        }
    }
}

/// One is asked before each tick when it is due, and so knows until when nothing has taken too long; the other is never asked.
#[test]
fn a_tick_after_a_look_ahead_does_what_any_other_does() {
    let (mut sends, mut closes) = (0, 0);
    for seed in 0..40 {
        let (mut asked, mut never) = (Driven::new(seed), Driven::new(seed));
        let mut now = START;
        for step in 0.. {
            if asked.dispatch.is_finished() {
                break;
            }
            let wake = asked.dispatch.next_wake().map_or(now, |wake| wake.max(now));
            // As a rule sooner, and now and then later than need be.
            let random = mixed(seed << 32 ^ step);
            now = match random % 4 {
                0 => wake.min(now + TIMEOUT),
                1 => now + Nanos(below(random, TIMEOUT.0 / 4)),
                _ => now + Nanos(below(random, TIMEOUT.0 / 100)),
            };
            for driven in [&mut asked, &mut never] {
                driven.handle(now, Event::Tick, seed);
                driven.answer(now, seed);
            }
            assert_eq!(asked.log, never.log, "seed {seed}, step {step}");
        }
        assert!(never.dispatch.is_finished());
        assert_eq!(asked.recorder.bank().counters, never.recorder.bank().counters, "seed {seed}");
        sends += asked.log.iter().filter(|(_, action)| matches!(action, Action::Send { .. })).count();
        closes += asked.log.iter().filter(|(_, action)| matches!(action, Action::Close(..))).count();
    }
    assert!(sends > 1_000 && closes > 200, "{sends} {closes}");
}
