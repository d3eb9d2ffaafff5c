//! Attempts to connect that come at a pace, and arrivals that share them.

mod at_once;

use at_once::{START, TIMEOUT, policy, users};
use unblink_core::code::Code;
use unblink_core::dispatch::{
    Action, Actions, ConnId, ConnectTimes, Dispatch, Event, Jitter, Policy, Pool, Retry, RetryOn, Room,
};
use unblink_core::failure::FailureKind;
use unblink_core::load::Closed;
use unblink_core::origins::Origins;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Recorder, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, Windows, WorldSpec, simulate};
use unblink_core::time::{Instant, Nanos};

const USERS: u64 = 1_000;
const REFUSED: FailureKind = FailureKind::CONNECT_REFUSED;

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// A thousand users who all ask at once, and again as soon as they know what has become of it.
struct Worker {
    dispatch: Dispatch<Closed>,
    recorder: Recorder,
    now: Instant,
}

impl Worker {
    fn new(pool: Pool) -> Worker {
        let policy = Policy { origins: Origins::default().with_pace(0), ..policy(pool, Room::SINGLE) };
        let mut dispatch = Dispatch::new(policy);
        dispatch.start(users(USERS as u32));
        let mut recorder = Recorder::new(Box::new(Bank::new(1)), TIMEOUT);
        recorder.begin(START, Nanos::ZERO, Nanos::from_secs(60));
        Worker { dispatch, recorder, now: START }
    }

    fn tell(&mut self, event: Event) -> Actions {
        let mut actions = Actions::new();
        self.dispatch.handle(self.now, event, &mut actions, &mut self.recorder);
        for action in actions.clone() {
            if let Action::Send { flight, .. } = action {
                let mut none = Actions::new();
                self.dispatch.handle(self.now, Event::Sent(flight), &mut none, &mut self.recorder);
            }
        }
        actions
    }

    /// What ticks ask to be opened, for as long as one is wanted at once.
    fn opens(&mut self) -> Vec<ConnId> {
        let mut opened = Vec::new();
        while self.dispatch.next_wake().is_some_and(|wake| wake <= self.now) {
            let open = |action| if let Action::Open(id) = action { Some(id) } else { None };
            opened.extend(self.tell(Event::Tick).into_iter().filter_map(open));
        }
        opened
    }

    fn refused(&self) -> u64 {
        self.recorder.bank().counters.measured.failed[REFUSED.index()]
    }
}

#[test]
fn whoever_waits_ends_with_the_attempt_and_the_next_one_comes_after_a_pause() {
    let mut worker = Worker::new(Pool::Auto { max: 10 });
    let all = worker.opens();
    assert_eq!(all.len(), 10, "before one has failed, there is no pause");
    for &id in &all[..9] {
        worker.tell(Event::ConnectFailed(id, REFUSED));
        assert_eq!(worker.refused(), 0, "another one is being opened");
    }
    worker.tell(Event::ConnectFailed(all[9], REFUSED));
    assert_eq!(worker.refused(), USERS, "all who waited end of it together");
    let mut rounds = 1;
    for pause in [10, 20, 40, 80, 160, 200, 200] {
        assert_eq!(worker.opens(), [], "all ask again, and wait");
        assert_eq!(worker.dispatch.next_wake(), Some(worker.now + ms(pause)), "after {rounds} rounds");
        worker.now = Instant((worker.now + ms(pause)).0 - 1);
        assert_eq!(worker.opens(), []);
        worker.now = worker.now + Nanos(1);
        let next = worker.opens();
        assert_eq!(next.len(), 1, "one at a time");
        worker.tell(Event::ConnectFailed(next[0], REFUSED));
        rounds += 1;
        assert_eq!(worker.refused(), rounds * USERS);
    }
    worker.opens();
    worker.now = worker.now + ms(200);
    let back = worker.opens();
    let sent = worker.tell(Event::Connected(back[0], ConnectTimes::default()));
    assert!(matches!(sent[..], [Action::Send { .. }]), "{sent:?}");
    let others = worker.opens();
    assert_eq!(others.len(), 9, "the pause is over for all");
    // Where one is open, the others wait for it.
    worker.tell(Event::ConnectFailed(others[0], REFUSED));
    assert_eq!(worker.refused(), rounds * USERS);
    assert_eq!(worker.opens(), []);
    let counts = worker.recorder.bank().counters.connections();
    assert_eq!((counts.attempted, counts.failed, counts.refused), (27, 18, 18), "each attempt counts once");
}

/// An attempt that nobody answers keeps others from being made no more than a pause does, and those that wait for it wait.
#[test]
fn an_attempt_that_hangs_does_not_stop_the_others() {
    let mut worker = Worker::new(Pool::Auto { max: 2 });
    let both = worker.opens();
    worker.tell(Event::ConnectFailed(both[0], REFUSED));
    assert_eq!((worker.refused(), worker.opens().len()), (0, 0));
    worker.now = worker.now + ms(10);
    let another = worker.opens();
    assert_eq!(another.len(), 1);
    worker.tell(Event::Connected(another[0], ConnectTimes::default()));
    assert_eq!(worker.recorder.bank().counters.measured.sent, 1);
    // The one that hangs ends with the timeout, and so does what it was for.
    worker.now = START + TIMEOUT + Nanos(1);
    worker.opens();
    let measured = worker.recorder.bank().counters.measured;
    assert_eq!((measured.timed_out, measured.failed_total()), (USERS, 0));
}

fn spec(pool: Pool, retry: Option<Retry>, origins: Origins) -> PlanSpec {
    let phases = vec![Phase::hold(Rate::per_second(20_000), Nanos::from_secs(5))];
    PlanSpec {
        retry,
        origins,
        ..PlanSpec::plain(LoadSpec::Open { phases, process: Process::Even }, pool, Nanos::from_secs(1))
    }
}

/// The target is gone from 1 s to 3 s.
fn simulated(spec: PlanSpec) -> Bank<u64> {
    let server = ServerSpec {
        down: vec![Windows::once(ms(1_000), ms(2_000))],
        ..ServerSpec::new(Service::Constant(Nanos::from_micros(100)))
    };
    let plan = Plan::new(spec).expect("a plan");
    let mut totals: Bank<u64> = Bank::new(1);
    simulate(&plan, &WorldSpec::new(server), |interval| totals.add(&interval.bank));
    let measured = totals.counters.measured;
    assert_eq!((measured.due, measured.ended()), (100_000, 100_000));
    totals
}

#[test]
fn a_target_that_goes_and_comes_back_is_asked_at_a_pace() {
    for pool in [Pool::Fixed { n: 20 }, Pool::Auto { max: 1_000 }] {
        let totals = simulated(spec(pool, None, Origins::default().with_pace(0)));
        let (measured, counts) = (totals.counters.measured, totals.counters.connections());
        // 10 + 20 + 40 + 80 + 160 ms, and then every 200; at first, those that are opened together fail together.
        assert!((10..=16 + 20).contains(&counts.refused), "{pool:?}: {counts:?}");
        assert_eq!(counts.failed, counts.refused);
        assert!(counts.opened > counts.closed_by_target, "{pool:?}: it is back: {counts:?}");
        // All that fell due in it fail, and no queue builds up: those behind the last attempt wait for the next.
        let refused = measured.failed[REFUSED.index()];
        assert!((35_000..=40_000).contains(&refused), "{pool:?}: {measured:?}");
        assert!(measured.ok > 59_000 && measured.timed_out == 0, "{pool:?}: {measured:?}");
        assert!(totals.track(Series::Response).max_ns < 220_000_000, "{pool:?}");
    }
    // Elsewhere there is one for each.
    let totals = simulated(spec(Pool::Fixed { n: 20 }, None, Origins::default()));
    assert!(totals.counters.connections().refused > 30_000);
}

#[test]
fn those_that_share_an_attempt_are_tried_again_each() {
    let mut on = RetryOn::default();
    on.add_kind(REFUSED);
    Code::of_status(503).into_iter().for_each(|code| on.add_code(code));
    let retry = Retry {
        attempts: 3,
        on,
        try_timeout: None,
        wait: ms(50),
        jitter: Jitter::None,
        budget_percent: None,
        is_unsafe: false,
        seed: 1,
    };
    let totals = simulated(spec(Pool::Fixed { n: 20 }, Some(retry), Origins::default().with_pace(0)));
    let (measured, counts) = (totals.counters.measured, totals.counters.connections());
    assert!((10..=16 + 20).contains(&counts.refused), "{counts:?}");
    let tried = measured.retries;
    assert!(tried.recovered > 1_000 && tried.exhausted > 25_000, "{tried:?}");
    assert_eq!(tried.retried, tried.recovered + tried.exhausted, "{tried:?}");
    assert!(measured.ok > 60_000 && measured.timed_out == 0, "{measured:?}");
}
