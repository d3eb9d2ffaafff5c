//! Flights that are moved to better connections before they are sent, and connections that give way to others.

mod at_once;

use at_once::{START, TIMEOUT, policy};
use unblink_core::dispatch::{
    Action, Actions, CloseKind, Closing, ConnId, ConnectTimes, Dispatch, Event, FlightId, Pool, Room,
};
use unblink_core::failure::FailureKind;
use unblink_core::load::Closed;
use unblink_core::record::{Answer, Bank, Recorder};
use unblink_core::time::{Instant, Nanos};

/// Users who all ask at once, over a fixed number of connections.
struct Worker {
    dispatch: Dispatch<Closed>,
    recorder: Recorder,
    now: Instant,
    conns: Vec<ConnId>,
}

impl Worker {
    fn new(users: u32, connections: u32, places: u32) -> Worker {
        let mut dispatch =
            Dispatch::new(policy(Pool::Fixed { n: connections }, Room { places, cancels: false }));
        dispatch.keep_size();
        let recorder = Recorder::new(Box::new(Bank::new(1)), TIMEOUT).with_room(places);
        let mut worker = Worker { dispatch, recorder, now: Instant(1), conns: Vec::new() };
        worker.open();
        assert_eq!(worker.conns.len(), connections as usize);
        worker.dispatch.start(at_once::users(users));
        worker.recorder.begin(START, Nanos::ZERO, Nanos::from_secs(60));
        worker.now = START;
        worker
    }

    fn tell(&mut self, event: Event) -> Actions {
        let mut actions = Actions::new();
        self.dispatch.handle(self.now, event, &mut actions, &mut self.recorder);
        actions
    }

    /// Opens what a tick asks for.
    fn open(&mut self) {
        for action in self.tell(Event::Tick) {
            if let Action::Open(id) = action {
                self.conns.push(id);
                self.tell(Event::Connected(id, ConnectTimes { connect: Nanos(1), tls: None }));
            }
        }
    }

    fn loads(&self) -> Vec<Option<u32>> {
        self.conns.iter().map(|&id| self.dispatch.load_of(id)).collect()
    }

    fn answer(&mut self, flight: FlightId) -> Actions {
        self.tell(Event::Answered(flight, Answer::plain(self.now)))
    }
}

fn sends(actions: &[Action]) -> Vec<(ConnId, FlightId)> {
    let send = |action: &Action| match *action {
        Action::Send { conn, flight, .. } => Some((conn, flight)),
        _ => None,
    };
    actions.iter().filter_map(send).collect()
}

#[test]
fn a_flight_moves_to_a_connection_with_room() {
    let mut worker = Worker::new(3, 2, 4);
    let sent = sends(&worker.tell(Event::Tick));
    assert_eq!(sent.len(), 3);
    let one = worker.conns[0];
    for &(conn, flight) in &sent {
        if conn != one {
            worker.dispatch.rebind(flight, one);
        }
    }
    assert_eq!(worker.loads(), [Some(3), Some(0)]);
    for &(_, flight) in &sent {
        worker.tell(Event::Sent(flight));
    }
    // It breaks, and all three with it; the users come again at once, over the other.
    let closing = Closing { kind: FailureKind::RESET, answered: true };
    let actions = worker.tell(Event::Closed(one, closing));
    assert_eq!(sends(&actions).len(), 3, "{actions:?}");
    // The pool keeps its size.
    worker.now = START + Nanos(1);
    worker.open();
    assert_eq!(worker.conns.len(), 3);
    assert_eq!(worker.dispatch.spreads()[0].requests().map(|(_, _, most)| most), Some(3));
}

#[test]
fn two_flights_take_the_places_of_each_other() {
    let mut worker = Worker::new(2, 2, 1);
    let sent = sends(&worker.tell(Event::Tick));
    let [(one, first), (other, second)] = sent[..] else { panic!("{sent:?}") };
    assert_eq!(worker.loads(), [None, None], "no room anywhere");
    worker.dispatch.exchange(first, second);
    assert_eq!(worker.loads(), [None, None]);
    for flight in [first, second] {
        worker.tell(Event::Sent(flight));
    }
    // The place that becomes free is that of the other connection, and the user's next request goes there.
    let again = sends(&worker.answer(first));
    assert_eq!(again.iter().map(|(conn, _)| *conn).collect::<Vec<_>>(), [other], "not {one:?}");
}

#[test]
fn a_connection_gives_way_when_it_has_nothing_to_do() {
    let mut worker = Worker::new(2, 2, 1);
    let sent = sends(&worker.tell(Event::Tick));
    let (conn, flight) = sent[0];
    worker.tell(Event::Sent(flight));
    let mut actions = Actions::new();
    worker.dispatch.give_way(conn, worker.now, &mut actions, &mut worker.recorder);
    assert!(actions.is_empty(), "a request is under way there: {actions:?}");
    let actions = worker.answer(flight);
    assert!(actions.contains(&Action::Close(conn, CloseKind::Graceful)), "{actions:?}");
    worker.open();
    let counts = worker.recorder.bank().counters.connections();
    assert_eq!((counts.closed_to_spread, counts.closed_by_target, counts.opened), (1, 0, 3));
}
