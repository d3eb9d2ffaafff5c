//! Journeys that hold a connection of all: counted by hand, in virtual time and event by event.

use unblink_core::code::Code;
use unblink_core::dispatch::{
    Action, Actions, CloseKind, Closing, ConnId, ConnectTimes, Dispatch, Event, FlightId, Pool,
};
use unblink_core::failure::FailureKind;
use unblink_core::journey::{JourneyError, JourneySpec, Journeys, StepSpec, Think};
use unblink_core::load::Travelling;
use unblink_core::mix::{Mix, Order};
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Answer, Bank, Recorder, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, SimPart, WorldSpec, simulate_part};
use unblink_core::time::{Instant, Nanos};

const THINK: Nanos = Nanos::from_millis(80);

/// One journey of two steps every 100 ms, with 80 ms of thinking between them.
fn spec(pool: Pool, journeys: u64) -> PlanSpec {
    let steps = vec![StepSpec::ONCE, StepSpec { think: Think::Constant(THINK), ..StepSpec::ONCE }];
    let journey = JourneySpec { steps, hold_connection: true, ..JourneySpec::default() };
    PlanSpec {
        idempotent: vec![true; 2],
        mix: Mix { journeys: Journeys { each: vec![journey], ..Journeys::default() }, ..Mix::default() },
        ..PlanSpec::plain(
            LoadSpec::Open {
                phases: vec![Phase::hold(Rate::per_second(10), Nanos::from_millis(100 * journeys))],
                process: Process::Even,
            },
            pool,
            Nanos::from_secs(30),
        )
    }
}

fn simulated(spec: PlanSpec, service: Nanos) -> Bank<u64> {
    let plan = Plan::new(spec).unwrap();
    let mut all = Bank::new(plan.layout());
    let world = WorldSpec::new(ServerSpec::new(Service::Constant(service)));
    simulate_part(&plan, &world, SimPart::default(), (), |interval| all.add(&interval.bank));
    all
}

/// A journey takes 30 + 80 + 30 = 140 ms, one begins every 100 ms, and there is one connection: journey k waits for 40·k ms.
#[test]
fn who_finds_all_connections_held_waits_with_its_intended_time() {
    let all = simulated(spec(Pool::Fixed { n: 1 }, 10), Nanos::from_millis(30));
    let of = all.journeys.get(0).unwrap();
    let waited = (0..10).map(|k| 40_000_000 * k).sum::<u128>();
    assert_eq!((of.outcomes.due, of.outcomes.ok), (10, 10));
    assert_eq!(of.sums(Series::Response).sum_ns, 10 * 140_000_000 + waited);
    let lag = all.counters.lag;
    assert_eq!((lag.no_connection, u128::from(lag.no_connection_ns)), (9, waited));
    assert_eq!((lag.connecting, lag.generator_ns), (0, 0));
    let counts = all.counters.connections();
    assert_eq!((counts.opened, counts.held, counts.closed_open), (1, 10, 0));
}

/// The same, with requests that stand alone: none goes over a connection while somebody who holds it thinks.
#[test]
fn a_request_that_stands_alone_waits_until_the_journey_has_ended() {
    let mut alone = spec(Pool::Fixed { n: 1 }, 1);
    // A request and a journey, 50 ms apart.
    alone.idempotent.push(true);
    alone.load = LoadSpec::Open {
        phases: vec![Phase::hold(Rate::per_second(20), Nanos::from_millis(100))],
        process: Process::Even,
    };
    (alone.mix.weights, alone.mix.order) = (Some(vec![1, 1]), Order::Shuffled { seed: 1 });
    let all = simulated(alone, Nanos::from_millis(30));
    let (request, journey) = (all.operations.get(0).unwrap(), all.journeys.get(0).unwrap());
    assert_eq!((request.outcomes.ok, journey.outcomes.ok), (1, 1));
    let took = [request.sums(Series::Response).max_ns, journey.sums(Series::Response).max_ns];
    // Whoever comes first: the journey holds it for 140 ms, the request uses it for 30.
    assert!(took == [120_000_000, 140_000_000] || took == [30_000_000, 140_000_000], "{took:?}");
}

#[test]
fn own_and_held_connections_are_not_in_one_run() {
    let mut both = spec(Pool::Fixed { n: 1 }, 1);
    let own =
        JourneySpec { own_connection: true, hold_connection: false, ..both.mix.journeys.each[0].clone() };
    both.mix.journeys.each.push(own);
    both.idempotent.extend([true; 2]);
    let error = Plan::new(both).unwrap_err().to_string();
    assert_eq!(error, JourneyError::OwnAndHeld.to_string());
}

/// A worker that is told what happens, one journey every 100 ms.
struct Worker {
    dispatch: Dispatch<Travelling>,
    recorder: Recorder,
    actions: Actions,
}

const START: Instant = Instant(1_000_000_000);

fn at(ms: u64) -> Instant {
    START + Nanos::from_millis(ms)
}

impl Worker {
    fn new(pool: Pool) -> Worker {
        let plan = Plan::new(spec(pool, 3)).unwrap();
        let mut dispatch = Dispatch::new(plan.policy(0));
        dispatch.start(plan.journeys_load(START, 0).unwrap());
        let mut recorder = Recorder::new(Box::new(Bank::new(plan.layout())), plan.spec().timeout);
        recorder.begin(START, Nanos::ZERO, plan.load_length());
        Worker { dispatch, recorder, actions: Actions::new() }
    }

    /// What it asks for then.
    fn tell(&mut self, now: Instant, event: Event) -> Vec<Action> {
        self.actions.clear();
        self.dispatch.handle(now, event, &mut self.actions, &mut self.recorder);
        let asked = self.actions.clone();
        for action in &asked {
            if let Action::Send { flight, .. } = action {
                self.dispatch.handle(now, Event::Sent(*flight), &mut self.actions, &mut self.recorder);
            }
        }
        asked
    }

    fn tick(&mut self, now: Instant) -> Vec<Action> {
        self.tell(now, Event::Tick)
    }

    fn answer(&mut self, now: Instant, flight: FlightId, is_ok: bool, leaves_open: bool) -> Vec<Action> {
        let failure = (!is_ok).then_some(FailureKind::STATUS_5XX);
        let code = Code::of_status(200);
        let answer = Answer { failure, code, leaves_open, ..Answer::plain(now) };
        self.tell(now, Event::Answered(flight, answer))
    }

    /// The first journey is due, and its first request is under way.
    fn begun(&mut self) -> (ConnId, FlightId) {
        let asked = self.tick(at(0));
        let [Action::Open(conn)] = asked[..] else { panic!("{asked:?}") };
        let sent = self.tell(at(0), Event::Connected(conn, ConnectTimes::default()));
        let [Action::Send { conn, flight, .. }] = sent[..] else { panic!("{sent:?}") };
        (conn, flight)
    }
}

#[test]
fn a_journey_that_fails_and_leaves_something_open_has_its_connection_closed() {
    let mut worker = Worker::new(Pool::Auto { max: 1 });
    let (conn, first) = worker.begun();
    assert_eq!(worker.answer(at(10), first, true, true), [], "it is held, and nothing is due");
    let sent = worker.tick(at(90));
    let [Action::Send { conn: again, flight, .. }] = sent[..] else { panic!("{sent:?}") };
    assert_eq!(again, conn);
    assert_eq!(worker.answer(at(95), flight, false, true), [Action::Close(conn, CloseKind::Graceful)]);
    // The next journey has another one.
    let asked = worker.tick(at(100));
    assert!(matches!(asked[..], [Action::Open(other)] if other != conn), "{asked:?}");
    let counts = *worker.recorder.connections(0);
    assert_eq!((counts.held, counts.closed_open), (1, 1));
}

#[test]
fn a_journey_that_leaves_nothing_open_gives_its_connection_back() {
    let mut worker = Worker::new(Pool::Auto { max: 1 });
    let (conn, first) = worker.begun();
    worker.answer(at(10), first, true, true);
    let sent = worker.tick(at(90));
    let [Action::Send { flight, .. }] = sent[..] else { panic!("{sent:?}") };
    // The next journey waits already.
    assert_eq!(worker.tick(at(100)), []);
    let sent = worker.answer(at(105), flight, true, false);
    assert!(matches!(sent[..], [Action::Send { conn: again, .. }] if again == conn), "{sent:?}");
    let counts = *worker.recorder.connections(0);
    assert_eq!((counts.held, counts.closed_open), (2, 0));
}

#[test]
fn what_follows_on_a_connection_that_is_lost_fails_and_is_sent_nowhere() {
    let mut worker = Worker::new(Pool::Auto { max: 2 });
    let (conn, first) = worker.begun();
    worker.answer(at(10), first, true, true);
    let closing = Closing { kind: FailureKind::RESET, answered: false };
    assert_eq!(worker.tell(at(50), Event::Closed(conn, closing)), []);
    assert_eq!(worker.tick(at(90)), [], "it is due, and nothing is sent or opened for it");
    let failed = worker.recorder.counters().measured.failed;
    assert_eq!(failed[FailureKind::CLOSED_EARLY.index()], 1);
}

#[test]
fn what_follows_is_not_sent_a_second_time_when_its_connection_dies() {
    let mut worker = Worker::new(Pool::Auto { max: 2 });
    let (conn, first) = worker.begun();
    worker.answer(at(10), first, true, false);
    assert_eq!(worker.tick(at(90)).len(), 1);
    let closing = Closing { kind: FailureKind::RESET, answered: false };
    // A request that stands alone and may be sent twice would be.
    assert_eq!(worker.tell(at(91), Event::Closed(conn, closing)), []);
    assert_eq!(worker.tick(at(92)), []);
    assert_eq!(worker.recorder.counters().measured.failed[FailureKind::RESET.index()], 1);
}

/// At its age nothing happens; it is closed when the journey gives it back.
#[test]
fn a_connection_grows_old_while_it_is_held() {
    let plan = Plan::new(spec(Pool::Auto { max: 1 }, 3)).unwrap();
    let mut policy = plan.policy(0);
    policy.connection_age = Some(Nanos::from_millis(50));
    let mut worker = Worker::new(Pool::Auto { max: 1 });
    worker.dispatch = Dispatch::new(policy);
    worker.dispatch.start(plan.journeys_load(START, 0).unwrap());
    let (conn, first) = worker.begun();
    worker.answer(at(10), first, true, true);
    assert_eq!(worker.tick(at(60)), []);
    let sent = worker.tick(at(90));
    let [Action::Send { conn: again, flight, .. }] = sent[..] else { panic!("{sent:?}") };
    assert_eq!(again, conn);
    let closed = worker.answer(at(95), flight, true, false);
    assert_eq!(closed, [Action::Close(conn, CloseKind::Graceful)]);
    assert_eq!(worker.recorder.connections(0).closed_by_age, 1);
}

/// The target ends the connection, and undoes what was open there by itself.
#[test]
fn a_connection_that_its_target_retires_is_not_one_that_was_left_open() {
    let mut worker = Worker::new(Pool::Auto { max: 1 });
    let (conn, first) = worker.begun();
    worker.answer(at(10), first, true, true);
    let closed = worker.tell(at(20), Event::Retired(conn));
    assert_eq!(closed, [Action::Close(conn, CloseKind::Graceful)]);
    let counts = *worker.recorder.connections(0);
    assert_eq!((counts.closed_by_target, counts.closed_open), (1, 0));
}

/// No journey goes on with it, so it must not be used again.
#[test]
fn a_request_that_leaves_something_open_and_ends_its_connection_has_left_it_open() {
    let mut worker = Worker::new(Pool::Auto { max: 1 });
    let (conn, first) = worker.begun();
    let answer =
        Answer { code: Code::of_status(200), reusable: false, leaves_open: true, ..Answer::plain(at(10)) };
    let closed = worker.tell(at(10), Event::Answered(first, answer));
    assert_eq!(closed, [Action::Close(conn, CloseKind::Graceful)]);
    let counts = *worker.recorder.connections(0);
    assert_eq!((counts.closed_by_target, counts.closed_open), (0, 1));
}
