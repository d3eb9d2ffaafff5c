//! A connection of whoever mirrors: requests come in, and each is answered without a word.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use unblink_core::time::{Instant, Nanos};
use unblink_wire::Limits;
use unblink_wire::incoming::{Event, Incoming, Requests};

/// While more than this waits to be written, nothing more is read: a client that asks and never reads.
const UNWRITTEN_MAX: usize = 16 * 1024;
/// A connection on which nothing has come for so long is closed: longer than proxies keep theirs.
const IDLE_MAX: Nanos = Nanos::from_secs(300);
/// And one whose request is not whole after so long, or its answer not read.
const REQUEST_MAX: Nanos = Nanos::from_secs(60);
/// Reads of one connection in a row.
const READS_PER_TURN: u32 = 4;

const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
const ANSWER_1_0: &[u8] = b"HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n";
const LAST_ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
const LEAVE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
const REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

pub(super) struct Client {
    pub(super) fd: OwnedFd,
    requests: Requests,
    unwritten: Vec<u8>,
    /// It is closed once everything is written.
    is_last: bool,
    /// When something last came.
    pub(super) heard: Instant,
    /// When it last had nothing half done, or a request became whole.
    pub(super) settled: Instant,
}

/// What is held of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Holds {
    /// Bytes of a body that is not whole.
    pub(super) body: usize,
    /// Bytes of a head, and answers that nobody reads.
    pub(super) rest: usize,
}

impl Holds {
    pub(super) fn more(self, other: Holds) -> Holds {
        Holds { body: self.body + other.body, rest: self.rest + other.rest }
    }

    pub(super) fn less(self, other: Holds) -> Holds {
        Holds { body: self.body - other.body, rest: self.rest - other.rest }
    }
}

/// Why a connection is closed that says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Late {
    /// Nothing was under way.
    Idle,
    /// Something was.
    Unfinished,
}

/// What a turn of a connection brought.
pub(super) enum Brought {
    Request(Box<Incoming>),
    Unreadable,
}

impl Client {
    pub(super) fn new(fd: OwnedFd, body_max: usize, now: Instant) -> Client {
        let requests = Requests::new(Limits::default(), body_max);
        Client { fd, requests, unwritten: Vec::new(), is_last: false, heard: now, settled: now }
    }

    /// Wants to be told when it can be written to, rather than when there is something to read.
    pub(super) fn waits_to_write(&self) -> bool {
        self.is_last || self.unwritten.len() > UNWRITTEN_MAX
    }

    /// Something is to be written.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Reads what has come and answers it. False if the connection is to be closed now.
    pub(super) fn turn(&mut self, buffer: &mut [u8], now: Instant, mut brought: impl FnMut(Brought)) -> bool {
        let mut has_request = false;
        for _ in 0..READS_PER_TURN {
            if self.waits_to_write() {
                break;
            }
            let n = match rustix::net::recv(&self.fd, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => {
                    self.is_last = true;
                    break;
                }
                Ok((n, _)) => n,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(_) => return false,
            };
            self.heard = now;
            self.take(&buffer[..n], &mut |what| {
                has_request = true;
                brought(what);
            });
        }
        let stays = self.write_on();
        if has_request || self.requests.is_between() && self.unwritten.is_empty() {
            self.settled = now;
        }
        stays
    }

    /// What is held of it.
    pub(super) fn holds(&self) -> Holds {
        let rest = self.requests.held_of_head() + self.unwritten.len();
        Holds { body: self.requests.held_of_body(), rest }
    }

    /// Keeps nothing of the body that is being read.
    pub(super) fn give_up_body(&mut self) {
        self.requests.give_up_body();
    }

    /// Is it time to close it? It has been idle for long, or in the middle of something for longer than anybody needs.
    pub(super) fn is_late(&self, now: Instant) -> Option<Late> {
        if now.since(self.heard) >= IDLE_MAX {
            return Some(Late::Idle);
        }
        let is_settled = self.requests.is_between() && self.unwritten.is_empty();
        (!is_settled && now.since(self.settled) >= REQUEST_MAX).then_some(Late::Unfinished)
    }

    fn take(&mut self, mut bytes: &[u8], brought: &mut impl FnMut(Brought)) {
        while !bytes.is_empty() && !self.is_last {
            match self.requests.feed(bytes) {
                Ok((taken, event)) => {
                    bytes = &bytes[taken..];
                    match event {
                        None => {}
                        Some(Event::Continue) => self.unwritten.extend_from_slice(LEAVE),
                        Some(Event::Request(request)) => {
                            self.answer(&request);
                            brought(Brought::Request(request));
                        }
                    }
                }
                Err(_) => {
                    self.unwritten.extend_from_slice(REFUSAL);
                    self.is_last = true;
                    brought(Brought::Unreadable);
                }
            }
        }
    }

    fn answer(&mut self, request: &Incoming) {
        self.is_last = !request.keeps_connection();
        self.unwritten.extend_from_slice(match (self.is_last, request.is_http_1_0()) {
            (true, _) => LAST_ANSWER,
            (false, true) => ANSWER_1_0,
            (false, false) => ANSWER,
        });
    }

    /// Writes as far as the socket takes it. False if the connection is to be closed now.
    fn write_on(&mut self) -> bool {
        while !self.unwritten.is_empty() {
            match rustix::net::send(&self.fd, &self.unwritten, SendFlags::NOSIGNAL) {
                Ok(n) => drop(self.unwritten.drain(..n)),
                Err(Errno::AGAIN) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        !self.is_last
    }
}
