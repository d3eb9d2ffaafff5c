//! One connection: connecting, TLS, writing requests, reading their answers.

mod buffers;
mod collecting;
mod echoes;
mod heard;
mod hearing;
mod kinds;
mod socket;
mod transport;
mod whole;

pub(crate) use buffers::Buffers;
pub use echoes::Echo;
pub(crate) use hearing::{Hearing, News};
pub(crate) use socket::kind_of_connect_error;
pub(crate) use transport::Attempt;

use crate::clock::Watch;
use crate::job::Job;
use crate::target::Address;
use heard::tag_of;
use hearing::Ear;
use kinds::{breach_of, kind_of_violation};
use rustix::fd::OwnedFd;
use std::io;
use transport::{Received, Stage, Transport};
use unblink_core::dispatch::{CloseKind, Closing, ConnectTimes, FlightId};
use unblink_core::failure::FailureKind;
use unblink_core::record::Breach;
use unblink_core::time::Instant;
use unblink_wire::blank::Filler;
use unblink_wire::protocol::{Protocol, Violation};

/// Reads of one connection in a row, so that an endless body can't starve the others.
const READS_PER_TURN: u32 = 8;

/// A body of which more is to come than this is not copied to be counted.
const SKIP_FROM: u64 = 64 * 1024;
/// Of such a body the end is read like any other: with it comes what a server sends unasked.
const SKIP_UP_TO: u64 = 16 * 1024;

/// What reading led to. Before it come the news of [`Hearing`].
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
    /// It has ended.
    Ended(Closing),
}

/// What the connections of a worker share.
pub(crate) struct Common<P: Protocol> {
    pub(crate) buffers: Buffers,
    pub(crate) hearing: Hearing,
    pub(crate) of_protocol: P::Shared,
}

/// A connection as the worker holds it.
pub(crate) struct Conn<P> {
    pub(crate) generation: u32,
    transport: Transport,
    protocol: P,
    /// How long connecting took, while the protocol has yet to say that it is ready.
    waits_with: Option<ConnectTimes>,
    /// What came on it can't be, so that it has ended.
    breach: Option<Breach>,
    /// Bytes of answers that nobody has counted yet.
    bytes_read: u64,
    /// It is in the worker's list of connections to read on.
    pub(crate) is_unread: bool,
    /// Requests that it has taken on, of which its worker has yet to say that they are sent.
    pub(crate) unwritten: Vec<FlightId>,
}

impl<P: Protocol> Conn<P> {
    /// Begins to connect to an address of `origin`.
    ///
    /// # Errors
    /// What the system says; [`kind_of_connect_error`] has what it counts as.
    pub(crate) fn begin(
        job: &Job<P>,
        origin: usize,
        address: &Address,
        generation: u32,
        attempt: Attempt,
    ) -> io::Result<Conn<P>> {
        Ok(Conn {
            generation,
            transport: Transport::begin(&job.targets[origin], address, attempt)?,
            protocol: P::new(&job.settings),
            waits_with: None,
            breach: None,
            bytes_read: 0,
            is_unread: false,
            unwritten: Vec::new(),
        })
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        self.transport.fd()
    }

    pub(crate) fn attempt(&self) -> Attempt {
        self.transport.attempt
    }

    /// TCP is not there yet, so that another address of the target may be tried instead.
    pub(crate) fn is_connecting(&self) -> bool {
        self.transport.stage == Stage::Connecting
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.transport.stage == Stage::Handshaking
    }

    pub(crate) fn protocol(&self) -> &P {
        &self.protocol
    }

    pub(crate) fn protocol_mut(&mut self) -> &mut P {
        &mut self.protocol
    }

    /// What went wrong below the protocol, if anything did.
    pub(crate) fn take_error(&mut self) -> Option<io::Error> {
        self.transport.error.take()
    }

    /// Closes at once.
    pub(crate) fn close(self, kind: CloseKind) {
        self.transport.close(kind);
    }

    /// Bytes of answers that were read since the last call, after TLS.
    pub(crate) fn take_bytes_read(&mut self) -> u64 {
        std::mem::take(&mut self.bytes_read)
    }

    /// The peer's side was reported closed.
    pub(crate) fn note_peer_closed(&mut self) {
        self.transport.peer_closed = true;
    }

    /// Takes a request on; [`Conn::write_on`] sends it.
    #[inline(always)]
    pub(crate) fn submit(
        &mut self,
        job: &Job<P>,
        common: &mut Common<P>,
        flight: FlightId,
        operation: u32,
        filler: &mut impl Filler,
    ) {
        common.hearing.begin(flight, operation);
        let request = &job.operations[operation as usize];
        self.protocol.submit(&mut common.of_protocol, tag_of(flight), operation, request, filler);
    }

    /// Nobody waits for the flight any more. True if its place is free.
    pub(crate) fn cancel(&mut self, flight: FlightId, now: Instant) -> bool {
        self.protocol.cancel(tag_of(flight), now.0)
    }

    /// Something can be said of a request that was sent although nothing more has been read.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.protocol.is_settled()
    }

    /// Writes what is to be written, as far as the socket takes it; the rest follows when it takes more.
    #[inline(always)]
    pub(crate) fn write_on(&mut self, job: &Job<P>) -> Result<(), Closing> {
        // As a rule when something is to be read.
        match self.protocol.is_written() && self.transport.is_plain() {
            true => Ok(()),
            false => self.write_rest(job),
        }
    }

    #[inline(never)]
    fn write_rest(&mut self, job: &Job<P>) -> Result<(), Closing> {
        self.write_out(job)
    }

    /// The same where there is something to write.
    #[inline(always)] // for each request
    pub(crate) fn write_out(&mut self, job: &Job<P>) -> Result<(), Closing> {
        if self.transport.stage == Stage::Open {
            loop {
                let output = self.protocol.output(&job.operations);
                let length = output[0].len() + output[1].len();
                if length == 0 {
                    break;
                }
                match self.transport.write(output) {
                    Ok(n) => {
                        self.protocol.wrote(n);
                        match n {
                            0 => return Ok(()),
                            n if n == length && P::TAKES_TURNS => break,
                            _ => {}
                        }
                    }
                    Err(kind) => return Err(self.closing(kind)),
                }
            }
        }
        self.transport.flush();
        Ok(())
    }

    /// Carries on after the socket reported something. The second value is the time just after the
    /// last byte was read; it says nothing with [`Reading::Quiet`] and [`Reading::More`] unless there are news.
    #[inline(always)] // for each answer
    pub(crate) fn ready(
        &mut self,
        job: &Job<P>,
        common: &mut Common<P>,
        watch: &mut Watch,
    ) -> (Reading, Instant) {
        if self.is_connecting() {
            let now = watch.now();
            match self.transport.finish_connecting(now) {
                Ok(None) => {}
                Ok(Some(times)) => match self.opened(job, times) {
                    Reading::Quiet => {}
                    done => return (done, now),
                },
                Err(kind) => return (Reading::Unusable(kind), now),
            }
        }
        if let Err(closing) = self.write_on(job) {
            return (self.ended(closing), watch.now());
        }
        if !P::TAKES_TURNS && self.is_settled() {
            let now = watch.now();
            let Common { hearing, of_protocol, .. } = common;
            let is_last = self.transport.peer_closed;
            let mut ear = Ear::new(hearing, now, is_last);
            self.protocol.settle(of_protocol, &mut ear);
            if !common.hearing.news.is_empty() {
                // Its worker acts upon the news first.
                return (Reading::More, now);
            }
        }
        for _ in 0..READS_PER_TURN {
            let skips = self.left_to_skip(&common.hearing);
            let (n, asked) = match self.transport.receive(&mut common.buffers, skips) {
                Ok(Received::Bytes { n, asked }) => (n, asked),
                Ok(Received::Nothing) => return (Reading::Quiet, watch.last()),
                Ok(Received::End) => {
                    let now = watch.now();
                    return (self.end_of_stream(common, self.transport.is_plain(), now), now);
                }
                Err(kind) => return (self.ended(self.closing(kind)), watch.now()),
            };
            let now = watch.now();
            let reading = if skips > 0 {
                self.bytes_read += n as u64;
                self.protocol.skip(n as u64);
                Reading::Quiet
            } else if self.transport.is_plain() {
                let Common { buffers, hearing, of_protocol } = common;
                self.take((hearing, of_protocol), &buffers.socket[..n], now)
            } else {
                self.take_records(job, common, n, now)
            };
            if !P::TAKES_TURNS
                && matches!(reading, Reading::Quiet | Reading::Usable(_))
                && let Err(closing) = self.write_on(job)
            {
                common.hearing.forbid_reuse(None);
                return (self.ended(closing), now);
            }
            match reading {
                // A short read has emptied the socket; what comes later is reported anew.
                Reading::Quiet if n < asked && !self.transport.peer_closed => return (Reading::Quiet, now),
                Reading::Quiet if common.hearing.news.is_empty() => {}
                // Its worker acts upon the news first.
                Reading::Quiet => return (Reading::More, now),
                Reading::Ended(_) => {
                    common.hearing.forbid_reuse(self.breach.or(self.transport.breach));
                    return (reading, now);
                }
                done => return (done, now),
            }
        }
        (Reading::More, watch.last())
    }

    /// The way to the target is there. What the protocol says first goes out.
    fn opened(&mut self, job: &Job<P>, times: ConnectTimes) -> Reading {
        let is_ready = match self.protocol.begin(self.transport.carrier()) {
            Ok(is_ready) => is_ready,
            Err(violation) => return Reading::Unusable(kind_of_violation(violation)),
        };
        if let Err(closing) = self.write_on(job) {
            return Reading::Unusable(closing.kind);
        }
        match is_ready {
            true => Reading::Usable(times),
            false => {
                self.waits_with = Some(times);
                Reading::Quiet
            }
        }
    }

    /// So many bytes of the body need not be looked at: it is a long one, of known length, in plain text.
    #[inline]
    fn left_to_skip(&self, hearing: &Hearing) -> u64 {
        let left = self.protocol.body_left();
        if left < SKIP_FROM || !self.transport.is_plain() || hearing.reads_bodies() {
            return 0;
        }
        left - SKIP_UP_TO
    }

    /// Takes decrypted or plain bytes.
    #[inline(always)] // for each read
    fn take(
        &mut self,
        (hearing, shared): (&mut Hearing, &mut P::Shared),
        bytes: &[u8],
        now: Instant,
    ) -> Reading {
        self.bytes_read += bytes.len() as u64;
        let is_last = self.transport.peer_closed;
        let mut ear = Ear::new(hearing, now, is_last);
        let fed = self.protocol.feed(shared, bytes, &mut ear);
        let is_ready = ear.is_ready;
        match fed {
            Ok(()) if is_ready => self.waits_with.take().map_or(Reading::Quiet, Reading::Usable),
            Ok(()) => Reading::Quiet,
            Err(violation) => {
                self.breach = breach_of::<P>(violation);
                self.ended(Closing { kind: kind_of_violation(violation), answered: true })
            }
        }
    }

    /// Takes the first `n` bytes of the socket's buffer, which are TLS records.
    fn take_records(&mut self, job: &Job<P>, common: &mut Common<P>, n: usize, now: Instant) -> Reading {
        let was_handshaking = self.is_handshaking();
        let Common { buffers: Buffers { socket, plain, .. }, hearing, of_protocol } = common;
        let mut bytes = &socket[..n];
        let mut result = Reading::Quiet;
        while !bytes.is_empty() {
            let (times, peer_has_closed) = match self.transport.take_records(&mut bytes, now) {
                Ok(taken) => taken,
                Err(kind) => return self.ended(self.closing(kind)),
            };
            if let Some(times) = times {
                result = self.opened(job, times);
                if matches!(result, Reading::Unusable(_)) {
                    return result;
                }
            }
            loop {
                let reading = match self.transport.decrypted(plain) {
                    Ok(0) => break,
                    Ok(n) => self.take((&mut *hearing, &mut *of_protocol), &plain[..n], now),
                    Err(kind) => self.ended(self.closing(kind)),
                };
                match reading {
                    Reading::Quiet => {}
                    // The last of the handshake and the end came together: it was never usable.
                    Reading::Ended(closing) if was_handshaking => return Reading::Unusable(closing.kind),
                    Reading::Ended(_) | Reading::Unusable(_) => return reading,
                    _ => result = reading,
                }
            }
            if peer_has_closed {
                self.transport.peer_closed = true;
                return match self.end_of_stream(common, true, now) {
                    Reading::Ended(closing) if was_handshaking => Reading::Unusable(closing.kind),
                    reading => reading,
                };
            }
        }
        result
    }

    /// The peer closed its side; `clean` unless TLS says that something was cut off.
    fn end_of_stream(&mut self, common: &mut Common<P>, clean: bool, now: Instant) -> Reading {
        if self.transport.stage != Stage::Open {
            return self.ended(self.closing(FailureKind::CLOSED_EARLY));
        }
        let answered = self.protocol.is_answering();
        let mut ear = Ear::new(&mut common.hearing, now, true);
        match self.protocol.eof(clean, &mut ear) {
            Ok(()) => Reading::Quiet,
            Err(violation) => {
                common.hearing.forbid_reuse(None);
                // The system tells of a reset once, and reports a mere end after that.
                let kind = match violation {
                    Violation::ClosedEarly if self.transport.is_reset() => FailureKind::RESET,
                    _ => kind_of_violation(violation),
                };
                self.ended(Closing { kind, answered })
            }
        }
    }

    fn closing(&self, kind: FailureKind) -> Closing {
        Closing { kind, answered: self.protocol.is_answering() }
    }

    fn ended(&self, closing: Closing) -> Reading {
        match self.transport.stage {
            // It has yet to say that it is ready.
            Stage::Open if self.waits_with.is_some() => Reading::Unusable(closing.kind),
            Stage::Open => Reading::Ended(closing),
            Stage::Connecting => Reading::Unusable(closing.kind),
            // Whatever went wrong between TCP and the first request is a matter of TLS.
            Stage::Asking | Stage::Handshaking => Reading::Unusable(FailureKind::TLS),
        }
    }
}
