//! A connection of whoever mirrors: requests come in, and each is answered without a word.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use unblink_core::time::Instant;
use unblink_wire::Limits;
use unblink_wire::incoming::{Event, Incoming, Requests};

/// While more than this waits to be written, nothing more is read: a client that asks and never reads.
const UNWRITTEN_MAX: usize = 16 * 1024;
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
}

/// What a turn of a connection brought.
pub(super) enum Brought {
    Request(Box<Incoming>),
    Unreadable,
}

impl Client {
    pub(super) fn new(fd: OwnedFd, body_max: usize, now: Instant) -> Client {
        let requests = Requests::new(Limits::default(), body_max);
        Client { fd, requests, unwritten: Vec::new(), is_last: false, heard: now }
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
            self.take(&buffer[..n], &mut brought);
        }
        self.write_on()
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
