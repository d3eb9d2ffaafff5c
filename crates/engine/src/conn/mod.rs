//! One connection: connecting, TLS, writing a request, reading its answer.

mod buffers;
mod socket;

pub(crate) use buffers::Buffers;

use crate::clock::Watch;
use crate::job::{Job, kind_of_violation};
use crate::target::{Target, begin_connect};
use buffers::{last_head, upto};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, sockopt};
use rustls::ClientConnection;
use socket::{flush, kind_of_connect_error, kind_of_socket_error, send_both};
use std::io::{self, Read, Write};
use unblink_core::dispatch::{CloseKind, Closing, ConnectTimes, FlightId};
use unblink_core::failure::FailureKind;
use unblink_core::record::Answer;
use unblink_core::time::Instant;
use unblink_wire::{LastHead, Parser, Progress, Response};

/// Reads of one connection in a row, so that an endless body can't starve the others.
const READS_PER_TURN: u32 = 8;

/// A body of which more is to come than this is not copied to be counted.
const SKIP_FROM: u64 = 64 * 1024;
/// Of such a body the end is read like any other: with it comes what a server sends unasked.
const SKIP_UP_TO: u64 = 16 * 1024;

/// What reading led to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    /// Nothing more to read for now.
    Quiet,
    /// There is more; others first.
    More,
    /// The connection is usable.
    Usable(ConnectTimes),
    /// It never became usable.
    Unusable(FailureKind),
    /// The answer is whole.
    Answered(FlightId, Answer),
    /// It has ended.
    Ended(Closing),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Connecting,
    Handshaking,
    Open,
}

/// One try at a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// Which address of the target.
    pub(crate) address: u32,
    /// Which of this machine's loopback addresses it comes from; 0 leaves the choice to the system.
    pub(crate) source: u32,
    /// Other addresses that were tried before this one.
    pub(crate) tried: u32,
    /// When the first of them was tried: a user's client waits that long too.
    pub(crate) began: Instant,
}

/// A connection as the worker holds it.
pub(crate) struct Conn {
    fd: OwnedFd,
    pub(crate) generation: u32,
    pub(crate) attempt: Attempt,
    stage: Stage,
    connected: Instant,
    tls: Option<Box<ClientConnection>>,
    parser: Parser,
    operation: u32,
    written: usize,
    in_flight: Option<FlightId>,
    first_byte: Option<Instant>,
    matched: usize,
    /// Bytes of answers that nobody has counted yet.
    bytes_read: u64,
    peer_closed: bool,
    /// It is in the worker's list of connections to read on.
    pub(crate) is_unread: bool,
}

impl Conn {
    /// Begins to connect.
    pub(crate) fn begin(job: &Job, generation: u32, attempt: Attempt) -> Result<Conn, FailureKind> {
        let Target { addresses, tls, .. } = &job.target;
        let address = &addresses[attempt.address as usize];
        let (fd, _) = begin_connect(address, attempt.source).map_err(kind_of_connect_error)?;
        let tls = match tls {
            None => None,
            Some(tls) => {
                let session = ClientConnection::new(tls.config.clone(), tls.name.clone());
                let mut session = session.map_err(|_| FailureKind::TLS)?;
                session.set_buffer_limit(None);
                Some(Box::new(session))
            }
        };
        Ok(Conn {
            fd,
            generation,
            attempt,
            stage: Stage::Connecting,
            connected: attempt.began,
            tls,
            parser: Parser::new(job.limits),
            operation: 0,
            written: 0,
            in_flight: None,
            first_byte: None,
            matched: 0,
            bytes_read: 0,
            peer_closed: false,
            is_unread: false,
        })
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// TCP is not there yet, so that another address of the target may be tried instead.
    pub(crate) fn is_connecting(&self) -> bool {
        self.stage == Stage::Connecting
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.stage == Stage::Handshaking
    }

    /// Closes at once. With a request under way, or while the peer's side is open after the last answer,
    /// by reset: TIME_WAIT would eat the local ports.
    pub(crate) fn close(self, kind: CloseKind) {
        if kind == CloseKind::Abort || !self.peer_closed {
            let _ = sockopt::set_socket_linger(&self.fd, Some(std::time::Duration::ZERO));
        }
    }

    /// Bytes of answers that were read since the last call, after TLS.
    pub(crate) fn take_bytes_read(&mut self) -> u64 {
        std::mem::take(&mut self.bytes_read)
    }

    /// The peer's side was reported closed.
    pub(crate) fn note_peer_closed(&mut self) {
        self.peer_closed = true;
    }

    /// Starts to write the operation; the rest follows when the socket takes it.
    pub(crate) fn send(&mut self, job: &Job, flight: FlightId, operation: u32) -> Result<(), Closing> {
        let request = &job.operations[operation as usize];
        self.operation = operation;
        self.written = 0;
        self.in_flight = Some(flight);
        self.first_byte = None;
        self.matched = 0;
        self.parser.begin(request.kind);
        if let Some(tls) = &mut self.tls {
            // The session's own buffer has no limit, so this takes all of it.
            let mut plain = tls.writer();
            if plain.write_all(&request.head).and_then(|()| plain.write_all(&request.body)).is_err() {
                return Err(self.closing(FailureKind::TLS));
            }
            self.written = request.length();
        }
        self.write_on(job)
    }

    /// The socket can take more, or has failed.
    pub(crate) fn write_on(&mut self, job: &Job) -> Result<(), Closing> {
        if let Some(tls) = &mut self.tls {
            return flush(tls, &self.fd).map_err(|kind| self.closing(kind));
        }
        let request = &job.operations[self.operation as usize];
        while self.in_flight.is_some() && self.written < request.length() {
            match send_both(self.fd.as_fd(), request.left(self.written)) {
                Ok(n) => self.written += n,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                // An answer may be waiting already (a server that refuses a body says so and closes):
                // reading tells, and reports the end in any case.
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// The socket reported something while connecting: is it connected?
    fn finish_connecting(&mut self, now: Instant) -> Reading {
        match sockopt::socket_error(&self.fd) {
            Ok(Ok(())) => {}
            Ok(Err(error)) | Err(error) => return Reading::Unusable(kind_of_connect_error(error)),
        }
        self.connected = now;
        let Some(tls) = &mut self.tls else {
            self.stage = Stage::Open;
            return Reading::Usable(ConnectTimes { connect: now.since(self.attempt.began), tls: None });
        };
        self.stage = Stage::Handshaking;
        match flush(tls, &self.fd) {
            Ok(()) => Reading::Quiet,
            Err(kind) => Reading::Unusable(kind),
        }
    }

    /// Carries on after the socket reported something. The second value is the time just after the
    /// last byte was read; it says nothing with [`Reading::Quiet`] and [`Reading::More`].
    pub(crate) fn ready(
        &mut self,
        job: &Job,
        buffers: &mut Buffers,
        watch: &mut Watch,
    ) -> (Reading, Instant) {
        if self.stage == Stage::Connecting {
            let now = watch.now();
            let reading = self.finish_connecting(now);
            if !matches!(reading, Reading::Quiet) {
                return (reading, now);
            }
        }
        if let Err(closing) = self.write_on(job) {
            return (self.ended(closing), watch.now());
        }
        for _ in 0..READS_PER_TURN {
            let skips = self.left_to_skip(job);
            let (room, flags) = match skips {
                0 => (&mut buffers.socket[..], RecvFlags::empty()),
                // TCP takes these bytes from the socket without copying them, see tcp(7).
                left => (upto(&mut buffers.dropped, left), RecvFlags::TRUNC),
            };
            let asked = room.len();
            let n = match rustix::net::recv(&self.fd, room, flags) {
                Ok((n, _)) => n,
                Err(Errno::AGAIN) => return (Reading::Quiet, watch.last()),
                Err(Errno::INTR) => continue,
                Err(error) => return (self.ended(self.closing(kind_of_socket_error(error))), watch.now()),
            };
            let now = watch.now();
            if n == 0 {
                self.peer_closed = true;
                return (self.end_of_stream(job, self.tls.is_none()), now);
            }
            let reading = match self.tls {
                None if skips > 0 => {
                    self.bytes_read += n as u64;
                    self.parser.skip(n as u64);
                    Reading::Quiet
                }
                None => {
                    let last = last_head(&mut buffers.last_heads, self.operation);
                    self.take(job, &buffers.socket[..n], last, now)
                }
                Some(_) => {
                    let was_handshaking = self.stage == Stage::Handshaking;
                    match self.take_records(job, buffers, n, now) {
                        // The last of the handshake and the end came together: it was never usable.
                        Reading::Ended(closing) if was_handshaking => Reading::Unusable(closing.kind),
                        reading => reading,
                    }
                }
            };
            match reading {
                // A short read has emptied the socket; what comes later is reported anew.
                Reading::Quiet if n < asked && !self.peer_closed => {
                    return (Reading::Quiet, now);
                }
                Reading::Quiet => {}
                done => return (done, now),
            }
        }
        (Reading::More, watch.last())
    }

    /// So many bytes of the body need not be looked at: it is a long one, of known length, in plain text.
    fn left_to_skip(&self, job: &Job) -> u64 {
        let left = self.parser.body_left();
        if left < SKIP_FROM || self.tls.is_some() || job.expect.contains.is_some() {
            return 0;
        }
        left - SKIP_UP_TO
    }

    /// Takes decrypted or plain bytes.
    fn take(&mut self, job: &Job, bytes: &[u8], last: &mut LastHead, now: Instant) -> Reading {
        let Some(flight) = self.in_flight else {
            let kind = kind_of_violation(unblink_wire::ProtocolError::UnsolicitedData);
            return Reading::Ended(Closing { kind, answered: true });
        };
        self.first_byte.get_or_insert(now);
        self.bytes_read += bytes.len() as u64;
        let matched = &mut self.matched;
        let fed = match &job.expect.contains {
            None => self.parser.feed_after(last, bytes, &mut |_: &[u8]| {}),
            Some(needle) => self.parser.feed_after(last, bytes, &mut |piece: &[u8]| {
                *matched = needle.advance(*matched, piece);
            }),
        };
        match fed {
            Ok(Progress::NeedMore) => Reading::Quiet,
            Ok(Progress::Done { response, consumed }) => {
                self.answered(job, flight, response, consumed == bytes.len(), now)
            }
            Err(violation) => Reading::Ended(Closing { kind: kind_of_violation(violation), answered: true }),
        }
    }

    /// Takes the first `n` bytes of the socket's buffer, which are TLS records.
    fn take_records(&mut self, job: &Job, buffers: &mut Buffers, n: usize, now: Instant) -> Reading {
        let Buffers { socket, plain, last_heads, .. } = buffers;
        let mut bytes = &socket[..n];
        let mut result = Reading::Quiet;
        while !bytes.is_empty() {
            let Some(tls) = &mut self.tls else { return result };
            let taken = tls.read_tls(&mut bytes).map_err(|_| ()).and_then(|taken| {
                if taken == 0 {
                    // After close_notify nothing more is taken, whatever the peer still sends.
                    bytes = &[];
                }
                let processed = tls.process_new_packets().map_err(|_| ());
                // An alert, a handshake message or a key update may be waiting to go out.
                flush(tls, &self.fd).map_err(|_| ())?;
                processed
            });
            let Ok(state) = taken else { return self.ended(self.closing(FailureKind::TLS)) };
            if self.stage == Stage::Handshaking && !tls.is_handshaking() {
                self.stage = Stage::Open;
                let connect = self.connected.since(self.attempt.began);
                let tls = Some(now.since(self.connected));
                result = Reading::Usable(ConnectTimes { connect, tls });
            }
            loop {
                let Some(tls) = &mut self.tls else { return result };
                match tls.reader().read(plain) {
                    Ok(0) => break,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => return self.ended(self.closing(FailureKind::TLS)),
                    Ok(_) if matches!(result, Reading::Answered(..)) => self.forbid_reuse(&mut result),
                    Ok(n) => {
                        let last = last_head(last_heads, self.operation);
                        let reading = self.take(job, &plain[..n], last, now);
                        if !matches!(reading, Reading::Quiet) {
                            result = reading;
                        }
                    }
                }
                if matches!(result, Reading::Ended(_)) {
                    return result;
                }
            }
            if state.peer_has_closed() {
                self.peer_closed = true;
                if let Reading::Answered(_, answer) = &mut result {
                    answer.reusable = false;
                    return result;
                }
                return self.end_of_stream(job, true);
            }
        }
        result
    }

    fn forbid_reuse(&self, result: &mut Reading) {
        if let Reading::Answered(_, answer) = result {
            answer.reusable = false;
        }
    }

    /// The peer closed its side; `clean` unless TLS says that something was cut off.
    fn end_of_stream(&mut self, job: &Job, clean: bool) -> Reading {
        let Some(flight) = self.in_flight.filter(|_| self.stage == Stage::Open) else {
            return self.ended(self.closing(FailureKind::CLOSED_EARLY));
        };
        if !clean && self.parser.is_close_delimited_body() {
            return Reading::Ended(Closing { kind: FailureKind::CLOSED_EARLY, answered: true });
        }
        let answered = self.parser.has_started();
        match self.parser.eof() {
            Ok(response) => {
                let last = self.first_byte.unwrap_or(self.connected);
                self.answered(job, flight, Response { reusable: false, ..response }, true, last)
            }
            Err(violation) => Reading::Ended(Closing { kind: kind_of_violation(violation), answered }),
        }
    }

    fn answered(
        &mut self,
        job: &Job,
        flight: FlightId,
        response: Response,
        all_taken: bool,
        now: Instant,
    ) -> Reading {
        self.in_flight = None;
        let operation = &job.operations[self.operation as usize];
        let whole_request = self.written == operation.length();
        let answer = Answer {
            failure: self.judge(job, &response),
            status: response.status,
            first_byte: self.first_byte.unwrap_or(now),
            reusable: response.reusable
                && all_taken
                && whole_request
                && !self.peer_closed
                && !operation.closes,
        };
        Reading::Answered(flight, answer)
    }

    fn judge(&self, job: &Job, response: &Response) -> Option<FailureKind> {
        let by_status = FailureKind::of_status(response.status);
        match job.expect.allows_status(response.status) {
            Some(true) => {}
            Some(false) => return Some(by_status.unwrap_or(FailureKind::EXPECTATION)),
            None if by_status.is_some() => return by_status,
            None => {}
        }
        let found = job.expect.contains.as_ref().is_none_or(|needle| self.matched == needle.len());
        let as_expected = found && job.expect.allows_size(response.body_bytes);
        (!as_expected).then_some(FailureKind::EXPECTATION)
    }

    fn closing(&self, kind: FailureKind) -> Closing {
        Closing { kind, answered: self.parser.has_started() }
    }

    fn ended(&self, closing: Closing) -> Reading {
        match self.stage {
            Stage::Open => Reading::Ended(closing),
            Stage::Connecting => Reading::Unusable(closing.kind),
            // Whatever went wrong between TCP and the first request is a matter of TLS.
            Stage::Handshaking => Reading::Unusable(FailureKind::TLS),
        }
    }
}
