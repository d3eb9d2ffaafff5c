//! Connections that take several requests at once: how many are opened for what the target allows, what is sent on one that is
//! going to be closed, and what is sent again.

mod at_once;

use at_once::{START, TIMEOUT, policy};
use unblink_core::code::Code;
use unblink_core::dispatch::{
    Action, Actions, CloseKind, Closing, ConnId, ConnectTimes, Dispatch, Event, FlightId, OPENS_PER_TICK_MAX,
    Pool, Room,
};
use unblink_core::failure::FailureKind;
use unblink_core::load::Closed;
use unblink_core::record::{Answer, Bank, Breach, Recorder};
use unblink_core::time::{Instant, Nanos};

const ANSWER: Answer = Answer { code: Code::of_status(200), ..Answer::plain(START) };

/// Users who all ask at once, over connections that are asked for so many places.
struct Worker {
    dispatch: Dispatch<Closed>,
    recorder: Recorder,
    now: Instant,
    /// What was sent, and on which connection.
    sent: Vec<(ConnId, FlightId)>,
}

impl Worker {
    fn new(users: u32, places: u32) -> Worker {
        let policy = policy(Pool::Auto { max: 300 }, Room { places, cancels: true });
        let mut dispatch = Dispatch::new(policy);
        dispatch.start(at_once::users(users));
        let mut recorder = Recorder::new(Box::new(Bank::new(1)), TIMEOUT).with_room(places);
        recorder.begin(START, Nanos::ZERO, Nanos::from_secs(60));
        Worker { dispatch, recorder, now: START, sent: Vec::new() }
    }

    fn tell(&mut self, event: Event) -> Actions {
        let (mut actions, mut none) = (Actions::new(), Actions::new());
        self.dispatch.handle(self.now, event, &mut actions, &mut self.recorder);
        for action in &actions {
            if let Action::Send { conn, flight, .. } = *action {
                self.sent.push((conn, flight));
                self.dispatch.handle(self.now, Event::Sent(flight), &mut none, &mut self.recorder);
            }
        }
        actions
    }

    /// The connections that a tick asks for.
    fn tick(&mut self) -> Vec<ConnId> {
        let actions = self.tell(Event::Tick);
        let opened = actions.iter().filter_map(|action| match action {
            Action::Open(id) => Some(*id),
            _ => None,
        });
        opened.collect()
    }

    fn connect(&mut self, id: ConnId) -> Actions {
        self.tell(Event::Connected(id, ConnectTimes { connect: Nanos(1), tls: None }))
    }

    fn bank(&self) -> &Bank<u32> {
        self.recorder.bank()
    }
}

#[test]
fn as_many_are_opened_as_what_the_target_allows_asks_for() {
    let mut worker = Worker::new(1_000, 100);
    let opening = worker.tick();
    assert_eq!(opening.len(), 10, "each is expected to take 100");
    worker.tell(Event::Room(opening[0], 1));
    worker.connect(opening[0]);
    assert_eq!(worker.sent.len(), 1);
    // 999 wait, and the nine that are being opened will take one each.
    assert_eq!(worker.tick().len(), OPENS_PER_TICK_MAX);
    worker.tell(Event::Room(opening[1], 1_000));
    worker.connect(opening[1]);
    assert!(worker.tick().is_empty(), "24 are being opened, which take 100 each");
    assert_eq!(worker.sent.len(), 101);
}

#[test]
fn nothing_is_sent_on_one_that_takes_no_more_before_it_is_open() {
    let mut worker = Worker::new(50, 100);
    let opening = worker.tick();
    assert_eq!(opening.len(), 1);
    assert!(worker.tell(Event::Retired(opening[0])).is_empty());
    assert_eq!(worker.connect(opening[0]), [Action::Close(opening[0], CloseKind::Graceful)]);
    let opening = worker.tick();
    assert_eq!((worker.sent.len(), opening.len()), (0, 1), "another one takes its place");
    worker.connect(opening[0]);
    assert_eq!(worker.sent.len(), 50);
    let counts = worker.bank().counters.connections();
    assert_eq!((counts.opened, counts.closed_by_target), (2, 1));
}

#[test]
fn no_more_are_opened_while_the_target_allows_one_nothing() {
    let mut worker = Worker::new(1_000, 100);
    let opening = worker.tick();
    worker.tell(Event::Room(opening[0], 0));
    worker.connect(opening[0]);
    assert!(worker.tick().is_empty());
    for &id in &opening[1..] {
        worker.tell(Event::Room(id, 0));
        worker.connect(id);
        assert!(worker.tick().is_empty());
    }
    // It allows some, and what is under way ends the question.
    worker.tell(Event::Room(opening[0], 5));
    assert_eq!(worker.sent.len(), 5);
    assert!(worker.tick().is_empty(), "the nine others are allowed nothing");
    // Those end, and with them the reason to wait.
    for &id in &opening[1..] {
        worker.tell(Event::Closed(id, Closing { kind: FailureKind::CLOSED_EARLY, answered: false }));
    }
    assert!(!worker.tick().is_empty());
}

#[test]
fn who_waits_because_the_target_allows_nothing_was_not_held_back_by_the_client() {
    let mut worker = Worker::new(10, 100);
    let opening = worker.tick();
    worker.tell(Event::Room(opening[0], 0));
    worker.connect(opening[0]);
    worker.tick();
    worker.now = START + TIMEOUT + Nanos(1);
    worker.tick();
    let outcomes = worker.bank().counters.measured;
    assert_eq!((outcomes.timed_out, outcomes.timed_out_never_sent), (10, 10));
    assert_eq!((outcomes.timed_out_pool_full, outcomes.timed_out_never_sent_own), (0, 0));
    assert_eq!(worker.bank().counters.connections().allowed_none, 1);
}

#[test]
fn of_those_who_are_allowed_something_in_the_end_room_was_lacking() {
    let mut worker = Worker::new(10, 100);
    let opening = worker.tick();
    worker.tell(Event::Room(opening[0], 0));
    worker.connect(opening[0]);
    worker.now = START + Nanos::from_millis(1);
    worker.tell(Event::Room(opening[0], 100));
    let lag = worker.bank().counters.lag;
    assert_eq!((worker.sent.len(), lag.no_room, lag.connecting), (10, 10, 0));
}

/// Two are under way on a connection that has answered before, and it ends.
#[test]
fn of_several_under_way_none_is_sent_again_unless_the_target_did_not_look_at_it() {
    let resent = |places: u32, is_told: bool| {
        let mut worker = Worker::new(places, places);
        let opening = worker.tick();
        worker.connect(opening[0]);
        worker.tell(Event::Answered(worker.sent[0].1, ANSWER));
        worker.tick();
        if is_told {
            let &(_, flight) = worker.sent.last().expect("it was sent");
            worker.tell(Event::Lost(
                flight,
                unblink_core::dispatch::Loss { kind: FailureKind::CLOSED_EARLY, unprocessed: true },
            ));
        }
        let closing = Closing { kind: FailureKind::RESET, answered: false };
        worker.tell(Event::Closed(opening[0], closing));
        let failed = worker.bank().counters.measured.failed[FailureKind::RESET.index()];
        let opening = worker.tick();
        opening.iter().for_each(|&id| drop(worker.connect(id)));
        (failed, worker.bank().counters.connections().resent)
    };
    assert_eq!(resent(1, false), (0, 1), "it was idle before");
    assert_eq!(resent(2, false), (2, 0));
    assert!(resent(2, true).1 == 1, "the target said so");
}

/// What came whole before a breach of the protocol is told between the two; nothing is sent on it any more.
#[test]
fn a_connection_that_breaks_the_protocol_is_counted_as_that_however_it_ends() {
    let breach = Breach { kind: FailureKind::protocol(2), is_unasked: true };
    for answered in [0, 1, 2] {
        let mut worker = Worker::new(3, 2);
        let opening = worker.tick();
        worker.connect(opening[0]);
        assert!(worker.tell(Event::Broken(opening[0], breach)).is_empty());
        let under_way = worker.sent.clone();
        let mut asked = Actions::new();
        under_way[..answered].iter().for_each(|(_, flight)| {
            asked.extend(worker.tell(Event::Answered(*flight, Answer { reusable: false, ..ANSWER })));
        });
        let is_over = answered == 2;
        assert_eq!(asked, Vec::from_iter(is_over.then_some(Action::Close(opening[0], CloseKind::Graceful))));
        worker.tell(Event::Closed(opening[0], Closing { kind: breach.kind, answered: true }));
        let counters = &worker.bank().counters;
        let counts = counters.connections();
        assert_eq!((counts.closed_broken, counts.closed_unasked, counts.closed_by_target), (1, 1, 0));
        assert_eq!(counters.breaches[0].0[breach.kind.index()], 1);
        let failed = counters.measured.failed[breach.kind.index()];
        assert_eq!((counters.measured.ok, failed), (answered as u64, 2 - answered as u64));
    }
}
