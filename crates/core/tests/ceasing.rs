//! Once nothing may be sent any more, nothing is: what waits ends unsent, and what is under way is waited for.

use unblink_core::dispatch::{Action, Actions, ConnId, ConnectTimes, Dispatch, Event, FlightId, Pool};
use unblink_core::load::Open;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Answer, Bank, Recorder};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::{Instant, Nanos};

const START: Instant = Instant(1_000_000_000);

/// Arrivals every 100 ms over one connection.
struct Worker {
    dispatch: Dispatch<Open>,
    recorder: Recorder,
    conn: ConnId,
}

fn ms(ms: u64) -> Instant {
    START + Nanos::from_millis(ms)
}

impl Worker {
    fn new() -> Worker {
        let phases = vec![Phase::hold(Rate::per_second(10), Nanos::from_secs(60))];
        let plan = Plan::new(PlanSpec::plain(
            LoadSpec::Open { phases, process: Process::Even },
            Pool::Fixed { n: 1 },
            Nanos::from_secs(30),
        ))
        .unwrap();
        let mut recorder = Recorder::new(Box::new(Bank::new(1)), Nanos::from_secs(30));
        recorder.begin(START, Nanos::ZERO, plan.load_length());
        let mut dispatch: Dispatch<Open> = Dispatch::new(plan.policy(0));
        let mut opened = Actions::new();
        dispatch.handle(Instant(0), Event::Tick, &mut opened, &mut recorder);
        let Action::Open(conn) = opened[0] else { panic!("{opened:?}") };
        let connected = Event::Connected(conn, ConnectTimes::default());
        dispatch.handle(Instant(1), connected, &mut Actions::new(), &mut recorder);
        dispatch.start(plan.open_load(START, 0).unwrap());
        Worker { dispatch, recorder, conn }
    }

    /// What is to be sent.
    fn handle(&mut self, at: Instant, event: Event) -> Vec<FlightId> {
        let mut actions = Actions::new();
        self.dispatch.handle(at, event, &mut actions, &mut self.recorder);
        let sends = actions.iter().map(|action| match action {
            Action::Send { flight, conn, .. } if *conn == self.conn => *flight,
            other => panic!("{other:?}"),
        });
        sends.collect()
    }

    fn answered(flight: FlightId) -> Event {
        let answer = Answer::plain(ms(1));
        Event::Answered(flight, answer)
    }
}

#[test]
fn what_waits_ends_unsent_and_what_is_under_way_is_waited_for() {
    let mut worker = Worker::new();
    let sent = worker.handle(ms(0), Event::Tick);
    worker.handle(ms(0), Event::Sent(sent[0]));
    assert!(worker.handle(ms(250), Event::Tick).is_empty(), "there is no other connection");
    // It stood still until long after the lease had ended, of which it found that all had ended at 301 ms.
    worker.dispatch.cease();
    worker.dispatch.stop(ms(301));
    assert!(worker.handle(ms(15_000), Event::Tick).is_empty());
    assert!(!worker.dispatch.is_finished(), "an answer is awaited");
    assert!(worker.handle(ms(15_001), Worker::answered(sent[0])).is_empty());
    worker.handle(ms(15_001), Event::Tick);
    assert!(worker.dispatch.is_finished());
    let of = &worker.recorder.bank().counters.measured;
    assert_eq!((of.due, of.ok, of.unsent), (4, 1, 3), "{of:?}");
}

#[test]
fn what_was_chosen_and_is_not_sent_ends_unsent() {
    let mut worker = Worker::new();
    let chosen = worker.handle(ms(0), Event::Tick);
    worker.dispatch.cease();
    worker.dispatch.stop(ms(1));
    worker.handle(ms(15_000), Event::Unsent(chosen[0]));
    worker.handle(ms(15_000), Event::Tick);
    assert!(worker.dispatch.is_finished());
    let of = &worker.recorder.bank().counters.measured;
    assert_eq!((of.due, of.ok, of.unsent), (1, 0, 1), "{of:?}");
}
