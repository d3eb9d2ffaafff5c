//! What the dispatcher and the recorder cost one request, without sockets: eight users who ask again at once.
//!
//! The instructions of one request are the difference of two counts, divided by the requests between them:
//!
//! cargo build --profile profiling -p unblink-core --example dispatching
//! valgrind --tool=callgrind target/profiling/examples/dispatching 20000, and the same with 60000
#![allow(clippy::print_stdout)]

use std::collections::VecDeque;
use std::hint::black_box;
use unblink_core::code::Code;
use unblink_core::dispatch::{Action, Actions, ConnectTimes, Dispatch, Event, FlightId, Policy, Pool, Room};
use unblink_core::load::{Closed, ClosedShare, LoadNumber, Population};
use unblink_core::mix::Asked;
use unblink_core::origins::Origins;
use unblink_core::record::{Answer, Bank, Recorder, Then};
use unblink_core::share::Share;
use unblink_core::time::{Instant, Nanos};

const START: Instant = Instant(1_000_000_000);
const TIMEOUT: Nanos = Nanos::from_secs(10);
const LENGTH: Nanos = Nanos::from_secs(3600);
const USERS: u32 = 8;
/// From one answer to the next.
const GAP: Nanos = Nanos(10_000);

/// A worker without sockets.
struct Worker {
    dispatch: Dispatch<Closed>,
    recorder: Recorder,
    actions: Actions,
    in_flight: VecDeque<FlightId>,
}

impl Worker {
    fn new() -> Worker {
        let mut dispatch = Dispatch::new(Policy {
            pool: Pool::Auto { max: 1000 },
            own: None,
            held: None,
            origins: Origins::default(),
            room: Room::SINGLE,
            connection_age: None,
            share: Share::WHOLE,
            timeout: TIMEOUT,
            drain: TIMEOUT,
            idempotent: vec![true],
            retry: None,
            grain: None,
        });
        dispatch.start(Closed::new(ClosedShare {
            number: LoadNumber::ONLY,
            population: Population::Alike { users: USERS, think: Nanos::ZERO, ramp_up: Nanos::ZERO },
            start: START,
            end: START + LENGTH,
            measured_from: START,
            limit: u64::MAX,
            share: Share::WHOLE,
            asked: Asked::all(1),
            origins: Origins::default(),
        }));
        let mut recorder = Recorder::new(Box::new(Bank::new(1)), TIMEOUT);
        recorder.begin(START, Nanos::ZERO, LENGTH);
        let actions = Actions::with_capacity(1000);
        Worker { dispatch, recorder, actions, in_flight: VecDeque::with_capacity(100) }
    }

    fn handle(&mut self, now: Instant, event: Event) {
        self.dispatch.handle(now, event, &mut self.actions, &mut self.recorder);
    }

    fn act(&mut self, now: Instant) {
        let mut next = 0;
        while let Some(&action) = self.actions.get(next) {
            match action {
                Action::Open(id) => self.handle(now, Event::Connected(id, ConnectTimes::default())),
                Action::Send { flight, .. } => {
                    self.handle(now, Event::Sent(flight));
                    self.in_flight.push_back(flight);
                }
                Action::Cancel { .. } | Action::Close(..) => {}
            }
            next += 1;
        }
        self.actions.clear();
    }

    /// A turn of the loop, in which one answer comes.
    fn turn(&mut self, now: Instant) {
        let id = self.in_flight.pop_front().expect("each user waits for an answer");
        let answer = Answer {
            failure: None,
            code: Code::of_status(200),
            body_bytes: 0,
            first_byte: now,
            reusable: true,
            leaves_open: false,
            then: Then::Done,
        };
        self.handle(now, Event::Answered(id, answer));
        self.act(now);
        self.handle(now, Event::Tick);
        self.act(now);
        black_box(self.dispatch.next_wake());
    }
}

fn main() {
    let requests = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let (mut worker, mut now) = (Worker::new(), START);
    worker.handle(now, Event::Tick);
    worker.act(now);
    for _ in 0..requests {
        now = now + GAP;
        worker.turn(now);
    }
    println!("{requests} requests");
}
