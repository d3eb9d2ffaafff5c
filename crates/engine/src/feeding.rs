//! Sends requests as fast as the target takes them, beside any load: what fills a store before it is measured.
//!
//! The calling thread does it all. Nothing is timed and nothing recorded; connections and protocol are those of a run.

use crate::clock::Clock;
use crate::codes::CodeRules;
use crate::conn::{Attempt, Buffers, Common, Conn, Hearing, News, Reading, kind_of_connect_error};
use crate::job::Job;
use crate::pace::{Pacer, TIMER_TOKEN};
use crate::pacing::Pacing;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io;
use unblink_core::dispatch::{CloseKind, FlightId};
use unblink_core::failure::FailureKind;
use unblink_core::time::Nanos;
use unblink_wire::blank::Filler;
use unblink_wire::protocol::Protocol;

/// What is sent, and what becomes of it.
pub trait Feed {
    /// The operation of the next request and a number that names it; `None` once all are sent.
    fn next(&mut self) -> Option<(u32, u64)>;
    /// Appends what stands in the place of the request with this number.
    fn fill(&mut self, number: u64, place: u32, out: &mut Vec<u8>);
    /// The request with this number was answered; `failure` says why that counts as failed. The body is there if all of each
    /// answer is to be looked at.
    fn answered(&mut self, number: u64, failure: Option<FailureKind>, body: &[u8]);
    /// So much time has passed. Asked several times a second: false ends it once what is under way is answered.
    fn goes_on(&mut self, elapsed: Nanos) -> bool;
}

/// Why not all was sent.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// This machine has no more descriptors, or no epoll.
    #[error("this machine can't do it: {0}")]
    Machine(#[from] io::Error),
    /// A connection can't be made, or has ended.
    #[error("a connection {}", if *was_usable { "broke" } else { "could not be made" })]
    Connection {
        /// How.
        kind: FailureKind,
        /// It had been usable.
        was_usable: bool,
    },
    /// Nothing came for this long.
    #[error("the target has answered nothing for {} s", .0.0 / 1_000_000_000)]
    Silent(Nanos),
}

/// Whoever looks is asked this often.
const LOOK_EVERY: Nanos = Nanos::from_millis(100);

struct One<P> {
    conn: Conn<P>,
    is_usable: bool,
}

/// Fills in the request with one number.
struct Of<'a, F> {
    feed: &'a mut F,
    number: u64,
}

impl<F: Feed> Filler for Of<'_, F> {
    fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
        self.feed.fill(self.number, place, out);
    }
}

struct Feeding<'a, P: Protocol, F> {
    job: &'a Job<P>,
    feed: &'a mut F,
    common: Common<P>,
    pacer: Pacer,
    conns: Vec<One<P>>,
    depth: u32,
    /// By flight: the number of its request.
    numbers: Vec<Option<u64>>,
    under_way: usize,
    is_over: bool,
}

/// Sends all that `feed` has over so many connections to the first address of the job, as many requests at once on each as
/// the protocol takes. Ends once all are answered, and gives how long that took.
///
/// # Errors
/// A connection could not be made or has broken, or the target says nothing for `patience`.
pub fn feed<P: Protocol>(
    job: &Job<P>,
    connections: u32,
    patience: Nanos,
    feed: &mut impl Feed,
) -> Result<Nanos, FeedError> {
    let depth = P::places(&job.settings).max;
    let flights = (connections * depth) as usize;
    let mut feeding = Feeding {
        job,
        feed,
        common: Common {
            buffers: Buffers::new(),
            hearing: Hearing::with_capacity(flights, 0, &job.expects, CodeRules::of::<P>()),
            of_protocol: P::shared(job.operations.len()),
        },
        pacer: Pacer::new(Clock::start(), Pacing::Frugal).map_err(io::Error::from)?,
        conns: Vec::with_capacity(connections as usize),
        depth,
        numbers: vec![None; flights],
        under_way: 0,
        is_over: false,
    };
    let fed = feeding.open(connections).and_then(|()| feeding.run(patience));
    for one in feeding.conns {
        one.conn.close(CloseKind::Graceful);
    }
    fed
}

impl<P: Protocol, F: Feed> Feeding<'_, P, F> {
    fn open(&mut self, connections: u32) -> Result<(), FeedError> {
        let address = self.job.targets[0].addresses.first();
        let Some(address) = address else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the target has no address").into());
        };
        for number in 0..connections {
            let began = self.pacer.watch().now();
            let attempt = Attempt { address: 0, source: 0, tried: 0, began };
            let conn = Conn::begin(self.job, 0, address, number, attempt);
            let conn = conn.map_err(|error| FeedError::Connection {
                kind: kind_of_connect_error(&error),
                was_usable: false,
            })?;
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            epoll::add(self.pacer.epoll(), conn.fd(), EventData::new_u64(u64::from(number)), flags)
                .map_err(io::Error::from)?;
            self.conns.push(One { conn, is_usable: false });
        }
        Ok(())
    }

    fn run(&mut self, patience: Nanos) -> Result<Nanos, FeedError> {
        let began = self.pacer.watch().now();
        let (mut looked, mut answered) = (began, began);
        // Connections that have more to be read.
        let mut unread: Vec<usize> = Vec::new();
        loop {
            let wake = if unread.is_empty() { looked + LOOK_EVERY } else { self.pacer.watch().now() };
            let now = self.pacer.wait(wake, false);
            let mut ready = std::mem::take(&mut unread);
            for (token, flags) in (0..).map_while(|i| self.pacer.event(i)) {
                if token == TIMER_TOKEN {
                    continue;
                }
                let number = token as usize;
                if flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
                    self.conns[number].conn.note_peer_closed();
                }
                if !ready.contains(&number) {
                    ready.push(number);
                }
            }
            for number in ready {
                let before = self.under_way;
                if self.read(number)? {
                    unread.push(number);
                }
                if self.under_way != before || !self.conns[number].is_usable {
                    answered = now;
                }
                self.send(number)?;
            }
            if now.since(looked) >= LOOK_EVERY {
                looked = now;
                self.is_over |= !self.feed.goes_on(now.since(began));
                if now.since(answered) > patience {
                    return Err(FeedError::Silent(patience));
                }
            }
            if self.is_over && self.under_way == 0 {
                return Ok(self.pacer.watch().now().since(began));
            }
        }
    }

    /// Reads what has come. True if there is more.
    fn read(&mut self, number: usize) -> Result<bool, FeedError> {
        let one = &mut self.conns[number];
        let (reading, _) = one.conn.ready(self.job, &mut self.common, self.pacer.watch());
        let was_usable = one.is_usable;
        let hearing = &mut self.common.hearing;
        let mut news = std::mem::take(&mut hearing.news);
        for news in news.drain(..) {
            match news {
                News::Answered(flight, answer) => {
                    if let Some(number) = self.numbers[flight.slot as usize].take() {
                        self.under_way -= 1;
                        let body = hearing.whole(flight).map_or(&[][..], |(_, body)| body);
                        self.feed.answered(number, answer.failure, body);
                    }
                }
                News::Lost(_, loss) => {
                    return Err(FeedError::Connection { kind: loss.kind, was_usable });
                }
                News::Heard(..) | News::Room(_) | News::Retired | News::Broken(_) => {}
            }
        }
        hearing.news = news;
        match reading {
            Reading::Quiet => Ok(false),
            Reading::More => Ok(true),
            Reading::Usable(_) => {
                self.conns[number].is_usable = true;
                Ok(true)
            }
            Reading::Unusable(kind) => Err(FeedError::Connection { kind, was_usable }),
            Reading::Ended(closing) => Err(FeedError::Connection { kind: closing.kind, was_usable }),
        }
    }

    /// Fills the places of a connection.
    fn send(&mut self, number: usize) -> Result<(), FeedError> {
        if !self.conns[number].is_usable {
            return Ok(());
        }
        let first = number as u32 * self.depth;
        for slot in first..first + self.depth {
            if self.is_over {
                break;
            }
            if self.numbers[slot as usize].is_some() {
                continue;
            }
            let Some((operation, of)) = self.feed.next() else {
                self.is_over = true;
                break;
            };
            self.numbers[slot as usize] = Some(of);
            self.under_way += 1;
            let flight = FlightId { slot, generation: 0 };
            let mut filler = Of { feed: &mut *self.feed, number: of };
            self.conns[number].conn.submit(self.job, &mut self.common, flight, operation, &mut filler);
        }
        let written = self.conns[number].conn.write_on(self.job);
        written.map_err(|closing| FeedError::Connection { kind: closing.kind, was_usable: true })
    }
}
