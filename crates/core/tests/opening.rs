//! When connections are opened, and whose doing it is when there are too few.

mod at_once;

use at_once::{START, TIMEOUT, policy, share_of, users};
use std::collections::HashMap;
use unblink_core::code::Code;
use unblink_core::dispatch::{
    Action, Actions, ConnId, ConnectTimes, Dispatch, Event, FlightId, OPENS_PER_TICK_MAX, Policy, Pool, Room,
};
use unblink_core::failure::FailureKind;
use unblink_core::load::{Closed, ClosedShare, Population};
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Answer, Bank, Recorder};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, Windows, WorldSpec, simulate};
use unblink_core::time::{Instant, Nanos};

const ANSWER: Answer = Answer { code: Code::of_status(200), ..Answer::plain(START) };

/// A thousand users who all ask at once, and a worker that is told of everything at one moment.
struct Worker {
    dispatch: Dispatch<Closed>,
    recorder: Recorder,
    actions: Actions,
    carried: HashMap<ConnId, FlightId>,
}

impl Worker {
    fn new() -> Worker {
        let policy = policy(Pool::Auto { max: 10_000 }, Room::SINGLE);
        let mut dispatch = Dispatch::new(policy);
        dispatch.start(users(1_000));
        let mut recorder = Recorder::new(Box::new(Bank::new(1)), TIMEOUT);
        recorder.begin(START, Nanos::ZERO, Nanos::from_secs(60));
        Worker { dispatch, recorder, actions: Actions::new(), carried: HashMap::new() }
    }

    fn tell(&mut self, event: Event) {
        self.dispatch.handle(START, event, &mut self.actions, &mut self.recorder);
        for i in 0..self.actions.len() {
            if let Action::Send { conn, flight, .. } = self.actions[i] {
                self.carried.insert(conn, flight);
                let mut none = Actions::new();
                self.dispatch.handle(START, Event::Sent(flight), &mut none, &mut self.recorder);
            }
        }
    }

    /// The connections that a tick asks for.
    fn tick(&mut self) -> Vec<ConnId> {
        self.actions.clear();
        self.tell(Event::Tick);
        let opened = (0..self.actions.len()).filter_map(|i| match self.actions[i] {
            Action::Open(id) => Some(id),
            _ => None,
        });
        opened.collect()
    }
}

#[test]
fn a_turn_full_of_answers_opens_one_connection() {
    let mut worker = Worker::new();
    let mut open = worker.tick();
    assert_eq!(open.len(), OPENS_PER_TICK_MAX, "at full speed while nothing comes free, as in a stall");
    open.extend(worker.tick());
    for &id in &open {
        worker.tell(Event::Connected(id, ConnectTimes { connect: Nanos(1), tls: None }));
    }
    assert_eq!(worker.tick().len(), OPENS_PER_TICK_MAX, "a connection that was opened is no answer");
    for (answers, opens) in [(1, 15), (10, 6), (15, 1), (32, 1), (0, 16)] {
        open.iter().take(answers).for_each(|id| worker.tell(Event::Answered(worker.carried[id], ANSWER)));
        assert_eq!(worker.tick().len(), opens, "after {answers} answers");
    }
}

/// What comes of 1,000 arrivals a second for 5 s, each of which is waited for 1 s.
fn simulated(pool: Pool, server: ServerSpec) -> Bank<u64> {
    let phases = vec![Phase::hold(Rate::per_second(1_000), Nanos::from_secs(5))];
    let plan = Plan::new(PlanSpec::plain(
        LoadSpec::Open { phases, process: Process::Even },
        pool,
        Nanos::from_secs(1),
    ))
    .unwrap();
    let mut totals: Bank<u64> = Bank::new(1);
    simulate(&plan, &WorldSpec::new(server), |interval| totals.add(&interval.bank));
    totals
}

/// The target accepts nothing for the whole run: no connection of the pool is ever in use.
#[test]
fn a_pool_that_is_never_accepted_is_not_too_small() {
    for max in [1, 64, 20_000] {
        let never = Windows::once(Nanos::ZERO, Nanos::from_secs(3600));
        let server = ServerSpec {
            accept_stalled: vec![never],
            ..ServerSpec::new(Service::Constant(Nanos::from_millis(10)))
        };
        let totals = simulated(Pool::Auto { max }, server);
        let measured = totals.counters.measured;
        assert_eq!((measured.timed_out_never_sent, measured.timed_out_pool_full), (5_000, 0), "of {max}");
    }
}

/// More is offered than the pool carries, and each request that is given up ends its connection, which is replaced at once: it is
/// still the size of the pool that keeps the others waiting.
#[test]
fn a_pool_whose_connections_are_replaced_is_too_small() {
    let server = ServerSpec::new(Service::Constant(Nanos::from_millis(10)));
    let totals = simulated(Pool::Fixed { n: 4 }, server);
    let (measured, lag) = (totals.counters.measured, totals.counters.lag);
    assert!(totals.counters.connections().closed_on_timeout > 100, "{:?}", totals.counters.connections());
    assert!(measured.timed_out > 1_000, "{measured:?}");
    assert!(measured.timed_out_pool_full * 100 > measured.timed_out * 99, "{measured:?}");
    assert!(lag.connecting * 20 < lag.no_connection, "{lag:?}");
}

/// A fixed pool whose connections grow old while the target takes no new ones, and then does again.
#[test]
fn a_fixed_pool_is_as_large_again_once_the_target_accepts() {
    const AGE: Nanos = Nanos::from_secs(1);
    let policy = Policy { connection_age: Some(AGE), ..policy(Pool::Fixed { n: 4 }, Room::SINGLE) };
    let mut recorder = Recorder::new(Box::new(Bank::new(1)), TIMEOUT);
    recorder.begin(START, Nanos::ZERO, Nanos::from_secs(60));
    let mut dispatch: Dispatch<Closed> = Dispatch::new(policy);
    let users = ClosedShare {
        population: Population::Alike { users: 1, think: Nanos::from_secs(1), ramp_up: Nanos::ZERO },
        // Nobody asks for anything while this goes on.
        start: START + Nanos::from_secs(50),
        ..share_of(1)
    };
    let (mut now, mut actions) = (Instant(0), Actions::new());
    let mut open_by_quarter = vec![];
    let mut refused = 0;
    let mut has_started = false;
    while now < START + Nanos::from_secs(6) {
        dispatch.handle(now, Event::Tick, &mut actions, &mut recorder);
        // For two seconds the target refuses.
        let refuses = now > START && now < START + Nanos::from_secs(2);
        for action in std::mem::take(&mut actions) {
            let Action::Open(id) = action else { continue };
            refused += u32::from(refuses);
            let event = match refuses {
                true => Event::ConnectFailed(id, FailureKind::CONNECT_REFUSED),
                false => Event::Connected(id, ConnectTimes::default()),
            };
            dispatch.handle(now, event, &mut actions, &mut recorder);
        }
        if !has_started && !dispatch.is_prewarming() {
            has_started = true;
            now = START;
            dispatch.start(Closed::new(users.clone()));
        } else {
            now = now + Nanos::from_millis(50);
        }
        if has_started && now.since(START).0.is_multiple_of(500_000_000) {
            open_by_quarter.push(dispatch.gauges().connections());
        }
    }
    // One every quarter of a second goes; each is tried again once a second.
    assert_eq!(open_by_quarter[..4], [4, 3, 1, 0], "{open_by_quarter:?}");
    assert!((4..=12).contains(&refused), "{refused}");
    assert!(open_by_quarter[6..].iter().all(|&open| open >= 3), "{open_by_quarter:?}");
    assert_eq!(recorder.bank().counters.measured.failed_total(), 0, "no arrival pays for it");
}
