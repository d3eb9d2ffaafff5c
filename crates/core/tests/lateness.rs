//! What has taken longer than the timeout is timed out, whatever else befalls it before anyone looks.

use unblink_core::code::Code;
use unblink_core::dispatch::{
    Action, Actions, Closing, ConnId, ConnectTimes, Dispatch, Event, FlightId, Pool,
};
use unblink_core::failure::FailureKind;
use unblink_core::load::Open;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Answer, Bank, Counters, Recorder};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::{Instant, Nanos};

const START: Instant = Instant(1_000_000_000);
const TIMEOUT: Nanos = Nanos::from_secs(1);

struct Rig {
    dispatch: Dispatch<Open>,
    recorder: Recorder,
    sent: Vec<FlightId>,
}

impl Rig {
    /// `arrivals` within the first 100 ms, a timeout of a second and no drain.
    fn new(arrivals: u64, pool: Pool) -> Rig {
        let phases = vec![Phase::hold(Rate::per_second(arrivals * 10), Nanos::from_millis(100))];
        let plan = Plan::new(PlanSpec {
            drain: Some(Nanos::from_secs(2)),
            ..PlanSpec::plain(LoadSpec::Open { phases, process: Process::Even }, pool, TIMEOUT)
        })
        .unwrap();
        let mut recorder = Recorder::new(Box::new(Bank::new(1)), TIMEOUT);
        recorder.begin(START, Nanos::ZERO, plan.load_length());
        let mut dispatch = Dispatch::new(plan.policy(0));
        dispatch.start(plan.open_load(START, 0).unwrap());
        Rig { dispatch, recorder, sent: vec![] }
    }

    /// Feeds an event `ms` after the start; sends are confirmed at once.
    fn at(&mut self, ms: u64, event: Event) -> Actions {
        let (now, mut actions) = (START + Nanos::from_millis(ms), Actions::new());
        self.dispatch.handle(now, event, &mut actions, &mut self.recorder);
        for i in 0..actions.len() {
            if let Action::Send { flight, .. } = actions[i] {
                self.sent.push(flight);
                self.dispatch.handle(now, Event::Sent(flight), &mut actions, &mut self.recorder);
            }
        }
        actions
    }

    /// Opens a connection for every arrival of the first 100 ms.
    fn open(&mut self) -> Vec<ConnId> {
        let mut opened = vec![];
        loop {
            let actions = self.at(100, Event::Tick);
            let new = actions.iter().filter_map(|action| match action {
                Action::Open(id) => Some(*id),
                _ => None,
            });
            let before = opened.len();
            opened.extend(new);
            if opened.len() == before {
                return opened;
            }
        }
    }

    fn connect(&mut self) -> Vec<ConnId> {
        let opened = self.open();
        for &id in &opened {
            self.at(100, Event::Connected(id, ConnectTimes::default()));
        }
        opened
    }

    fn counters(&self) -> &Counters {
        &self.recorder.bank().counters
    }
}

const RESET: Closing = Closing { kind: FailureKind::RESET, answered: false };

#[test]
fn a_refusal_that_is_noticed_too_late_costs_an_arrival_that_still_has_time() {
    let mut rig = Rig::new(2, Pool::Auto { max: 2 });
    let opened = rig.open();
    // Arrival 0 was due at 0 ms, arrival 1 at 50 ms: only the latter is still in time.
    rig.at(1_020, Event::ConnectFailed(opened[0], FailureKind::CONNECT_REFUSED));
    let outcomes = rig.counters().measured;
    assert_eq!((outcomes.timed_out, outcomes.failed_total()), (1, 1));
    assert_eq!(outcomes.timed_out_never_sent, 1);
}

#[test]
fn a_reset_that_is_noticed_too_late_is_a_timeout() {
    let mut rig = Rig::new(1, Pool::Auto { max: 1 });
    let opened = rig.connect();
    rig.at(1_100, Event::Closed(opened[0], RESET));
    let counters = rig.counters();
    assert_eq!((counters.measured.timed_out, counters.measured.failed_total()), (1, 0));
    assert_eq!(counters.connections().closed_by_target, 1);
}

#[test]
fn whatever_is_late_at_the_end_has_timed_out() {
    let mut rig = Rig::new(200, Pool::Auto { max: 100 });
    rig.connect();
    // Half of the arrivals are in flight and half of them wait. Nobody looks until the drain is over.
    let outcomes = rig.counters().measured;
    assert_eq!((outcomes.due, outcomes.sent), (200, 100));
    rig.at(2_101, Event::Tick);
    assert!(rig.dispatch.is_finished());
    let counters = rig.counters();
    let outcomes = counters.measured;
    assert_eq!((outcomes.timed_out, outcomes.unfinished, outcomes.unsent), (200, 0, 0));
    assert_eq!((outcomes.timed_out_never_sent, counters.connections().closed_on_timeout), (100, 100));
}

#[test]
fn a_second_send_that_never_comes_is_not_counted() {
    let mut rig = Rig::new(2, Pool::Auto { max: 1 });
    let opened = rig.connect();
    let first_byte = START + Nanos::from_millis(110);
    let answer = Answer { code: Code::of_status(200), ..Answer::plain(first_byte) };
    rig.at(110, Event::Answered(rig.sent[0], answer));
    // Arrival 1 went out on the connection that had answered, which is reset; no other one can be had.
    rig.at(120, Event::Closed(opened[0], RESET));
    rig.at(2_100, Event::Tick);
    let counters = rig.counters();
    assert_eq!((counters.measured.ok, counters.measured.timed_out), (1, 1));
    assert_eq!((counters.measured.sent, counters.connections().resent), (2, 0));
}
