//! This machine has no port or descriptor for one more connection: whoever waits for it, the dispatcher looks again after the pause.

use unblink_core::dispatch::{
    Action, Actions, Closing, ConnId, ConnectTimes, Dispatch, Event, FlightId, Jitter, Policy, Pool, Retry,
    RetryOn,
};
use unblink_core::failure::FailureKind;
use unblink_core::load::Open;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Answer, Bank, Recorder};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::{Instant, Nanos};

const START: Instant = Instant(1_000_000_000);
const TIMEOUT: Nanos = Nanos::from_secs(30);
/// The pause after a connection for which there was no port.
const PAUSE_MS: u64 = 100;

/// Times are in milliseconds after the start.
fn at(ms: u64) -> Instant {
    START + Nanos::from_millis(ms)
}

/// An arrival every second, for so long.
fn plan(seconds: u64, pool: Pool, retry: Option<Retry>) -> Plan {
    let phases = vec![Phase::hold(Rate::per_second(1), Nanos::from_secs(seconds))];
    Plan::new(PlanSpec {
        retry,
        ..PlanSpec::plain(LoadSpec::Open { phases, process: Process::Even }, pool, TIMEOUT)
    })
    .expect("a plan")
}

/// A dispatcher that is told of everything by hand.
struct Rig {
    dispatch: Dispatch<Open>,
    recorder: Recorder,
}

impl Rig {
    /// Of a load that lasts so long.
    fn new(seconds: u64, pool: Pool, retry: Option<Retry>, connection_age: Option<Nanos>) -> Rig {
        let plan = plan(seconds, pool, retry);
        let mut rig = Rig::unstarted(&plan, connection_age);
        if let Pool::Fixed { .. } = pool {
            for id in rig.opens_some(START) {
                rig.handle(START, Event::Connected(id, ConnectTimes::default()));
            }
        }
        rig.dispatch.start(plan.open_load(START, 0).expect("an open load"));
        rig
    }

    fn unstarted(plan: &Plan, connection_age: Option<Nanos>) -> Rig {
        let mut recorder = Recorder::new(Box::new(Bank::new(1)), TIMEOUT);
        recorder.begin(START, Nanos::ZERO, plan.load_length());
        let policy = Policy { connection_age, ..plan.policy(0) };
        Rig { dispatch: Dispatch::new(policy), recorder }
    }

    fn handle(&mut self, now: Instant, event: Event) -> Actions {
        let mut actions = Actions::new();
        self.dispatch.handle(now, event, &mut actions, &mut self.recorder);
        for action in &actions {
            if let Action::Send { flight, .. } = action {
                self.dispatch.handle(now, Event::Sent(*flight), &mut Actions::new(), &mut self.recorder);
            }
        }
        actions
    }

    /// The connections that a tick opens.
    fn opens_some(&mut self, now: Instant) -> Vec<ConnId> {
        let opened = |action| match action {
            Action::Open(id) => Some(id),
            _ => None,
        };
        self.handle(now, Event::Tick).into_iter().filter_map(opened).collect()
    }

    fn opens(&mut self, now: Instant) -> ConnId {
        let ids = self.opens_some(now);
        let [id] = ids[..] else { panic!("{ids:?}") };
        id
    }

    /// Ticks when it asks for one, from then on, until it opens a connection.
    fn opens_by_itself(&mut self, from: Instant) -> (Instant, ConnId) {
        let mut now = from;
        for _ in 0..10 {
            if let [id] = self.opens_some(now)[..] {
                return (now, id);
            }
            now = self.dispatch.next_wake().expect("a request is under way").max(now);
        }
        panic!("no connection is opened until {now:?}")
    }

    /// What waits goes over a connection that has just been opened.
    fn sends_over(&mut self, now: Instant, id: ConnId) -> FlightId {
        let actions = self.handle(now, Event::Connected(id, ConnectTimes::default()));
        let [Action::Send { flight, .. }] = actions[..] else { panic!("{actions:?}") };
        flight
    }

    /// No port is left for a connection that a tick has opened. There is another one by the end of the pause, without any event
    /// before it.
    fn is_tried_after_the_pause(&mut self, now_ms: u64, id: ConnId) -> FlightId {
        let actions = self.handle(at(now_ms), Event::ConnectFailed(id, FailureKind::NO_LOCAL_PORT));
        assert!(actions.is_empty(), "{actions:?}");
        assert!(self.handle(at(now_ms + 1), Event::Tick).is_empty(), "within the pause");
        assert_eq!(self.dispatch.next_wake(), Some(at(now_ms + PAUSE_MS)));
        let id = self.opens(at(now_ms + PAUSE_MS));
        assert_eq!(self.recorder.bank().counters.measured.failed_total(), 0);
        self.sends_over(at(now_ms + PAUSE_MS), id)
    }
}

/// The connection of the first arrival hangs, and that of the second ends.
#[test]
fn a_further_attempt_gets_a_connection_after_the_pause() {
    let mut on = RetryOn::default();
    on.add_kind(FailureKind::RESET);
    let retry = Retry {
        attempts: 3,
        on,
        try_timeout: None,
        wait: Nanos::from_millis(10),
        jitter: Jitter::None,
        budget_percent: None,
        is_unsafe: false,
        seed: 1,
    };
    let mut rig = Rig::new(2, Pool::Auto { max: 10 }, Some(retry), None);
    let first = rig.opens(at(0));
    rig.sends_over(at(1), first);
    let second = rig.opens(at(1_000));
    rig.sends_over(at(1_001), second);
    let closing = Closing { kind: FailureKind::RESET, answered: true };
    assert!(rig.handle(at(1_002), Event::Closed(second, closing)).is_empty());
    // The load has no other arrival, which the first look takes note of.
    assert!(rig.opens_some(at(1_003)).is_empty());
    assert_eq!(rig.dispatch.next_wake(), Some(at(1_012)));
    let third = rig.opens(at(1_012));
    rig.is_tried_after_the_pause(1_013, third);
}

/// The connection of the first arrival hangs, and another one ends just as the third is sent on it.
#[test]
fn a_second_send_gets_a_connection_after_the_pause() {
    let mut rig = Rig::new(3, Pool::Auto { max: 10 }, None, None);
    let first = rig.opens(at(0));
    rig.sends_over(at(1), first);
    let second = rig.opens(at(1_000));
    let flight = rig.sends_over(at(1_001), second);
    let answer = Answer::plain(at(1_002));
    assert!(rig.handle(at(1_002), Event::Answered(flight, answer)).is_empty());
    let actions = rig.handle(at(2_000), Event::Tick);
    assert!(matches!(actions[..], [Action::Send { conn, .. }] if conn == second), "{actions:?}");
    let closing = Closing { kind: FailureKind::RESET, answered: false };
    assert!(rig.handle(at(2_001), Event::Closed(second, closing)).is_empty());
    let third = rig.opens(at(2_002));
    rig.is_tried_after_the_pause(2_003, third);
    assert_eq!(rig.recorder.bank().counters.connections().resent, 1);
}

/// Of two connections one has grown old, and nobody waits for the one in its place.
#[test]
fn a_pool_gets_its_size_back() {
    let mut rig = Rig::new(1, Pool::Fixed { n: 2 }, None, Some(Nanos::from_secs(10)));
    let (failed_at, id) = rig.opens_by_itself(START);
    rig.handle(failed_at, Event::ConnectFailed(id, FailureKind::NO_FILE_DESCRIPTOR));
    let (again_at, _) = rig.opens_by_itself(failed_at);
    assert_eq!(again_at, failed_at + Nanos::from_secs(1), "the pause of a pool that nobody waits for");
}

/// So are the rest of those that are opened before the start.
#[test]
fn a_pool_is_opened_to_its_end() {
    let plan = plan(1, Pool::Fixed { n: 20 }, None);
    let mut rig = Rig::unstarted(&plan, None);
    let ids = rig.opens_some(START);
    assert!(ids.len() < 20, "a few at a time");
    for id in &ids[1..] {
        rig.handle(START, Event::Connected(*id, ConnectTimes::default()));
    }
    rig.handle(START, Event::ConnectFailed(ids[0], FailureKind::NO_LOCAL_PORT));
    assert!(rig.opens_some(at(1)).is_empty(), "within the pause");
    assert_eq!(rig.dispatch.next_wake(), Some(at(PAUSE_MS)));
    assert_eq!(rig.opens_some(at(PAUSE_MS)).len(), 20 - ids.len());
}
