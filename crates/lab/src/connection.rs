//! One client's connection: its bytes in and out, plain or TLS, and one request at a time, or many at once (HTTP/2, gRPC, WebSocket).

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use rustls::ServerConnection;

use crate::Protocol;
use crate::answer::Answer;
use crate::events::Part;
use crate::framer::{Framer, Reject, Request, Step};
use crate::messages::Messages;
use crate::model::RequestId;
use crate::multiplexed::Multiplexed;
use crate::streams::Streams;

/// Read at most so much from a socket at once, in bytes.
const READ_BYTES: usize = 64 * 1024;
/// After the last answer, so much more is read and thrown away before the connection is closed hard, in bytes.
const MOST_DISCARDED_BYTES: usize = 1 << 20;
/// Reads and requests of one connection in one go, some 0.1 ms of work; then it is the others' turn.
const MOST_STEPS: u32 = 8;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Buffers that all connections share, so that an idle one holds none.
#[derive(Debug)]
pub(crate) struct Scratch {
    wire: Box<[u8]>,
    plain: Vec<u8>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { wire: vec![0; READ_BYTES].into(), plain: Vec::new() }
    }
}

/// What a connection came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// A complete request: [`keep`](Connection::keep) or [`answer`](Connection::answer) it. Of HTTP/1.x, nothing more is read
    /// before its answer.
    Arrived(Request),
    /// Nonsense. Answer it and close.
    Rejected(Reject),
    /// Nothing to do until the socket, or the model, says so.
    Wait,
    /// There is more to do, but it is the others' turn.
    Again,
    /// The last answer has left: [`shut_and_linger`](Connection::shut_and_linger) when there is time.
    Answered,
    /// The connection is over.
    Closed,
    /// As [`Advance::Closed`], for a failure of TLS.
    TlsFailed,
}

/// See the module. The socket is edge-triggered: `readable` remembers what has not been read yet.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    tls: Option<Box<ServerConnection>>,
    framer: Framer,
    /// In place of the framer, where a connection has many requests at once.
    many: Option<Box<dyn Multiplexed>>,
    /// Bytes read beyond the current request, from `backlog_at` on: at most one read's worth.
    backlog: Vec<u8>,
    backlog_at: usize,
    out: Option<Out>,
    /// The only request in the model.
    in_flight: Option<(RequestId, Request)>,
    pub(crate) readable: bool,
    /// The client has shut its sending side, or closed.
    pub(crate) peer_closed: bool,
    /// Nothing more can be sent to it or come from it.
    pub(crate) is_gone: bool,
    /// It waits for that.
    pub(crate) is_queued: bool,
    ending: Ending,
}

#[derive(Debug)]
struct Out {
    bytes: Arc<[u8]>,
    written: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    No,
    /// Close after the bytes in `out`.
    AfterAnswer,
    /// Shut for sending; what still comes is thrown away, lest a reset destroy the answer on its way.
    Lingering {
        discarded_bytes: usize,
    },
}

enum Received {
    Blocked,
    End,
    Bytes,
    Failed,
    TlsFailed,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, tls: Option<ServerConnection>, protocol: Protocol) -> Self {
        let many: Option<Box<dyn Multiplexed>> = match protocol {
            Protocol::Http1 => None,
            Protocol::Http2 => Some(Box::new(Streams::new(false))),
            Protocol::Grpc => Some(Box::new(Streams::new(true))),
            Protocol::WebSocket => Some(Box::new(Messages::new())),
        };
        Self {
            stream,
            tls: tls.map(Box::new),
            framer: Framer::default(),
            many,
            backlog: Vec::new(),
            backlog_at: 0,
            out: None,
            in_flight: None,
            readable: false,
            peer_closed: false,
            is_gone: false,
            is_queued: false,
            ending: Ending::No,
        }
    }

    /// What events are watched of.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.stream
    }

    /// The request that has arrived is in the model, by this number.
    pub(crate) fn keep(&mut self, number: u64, id: RequestId, request: Request) {
        match &mut self.many {
            Some(many) => many.keep(number, id, request),
            None => self.in_flight = Some((id, request)),
        }
    }

    /// Takes a request out of the model, to be answered now.
    pub(crate) fn take(&mut self, number: u64) -> Option<Request> {
        match &mut self.many {
            Some(many) => many.take(number),
            None => self.in_flight.take().map(|(_, request)| request),
        }
    }

    /// The client no longer waits for a request in the model, though its connection is there.
    pub(crate) fn is_given_up(&mut self, number: u64) -> bool {
        self.many.as_mut().is_some_and(|many| many.is_given_up(number))
    }

    /// Its requests in the model.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = RequestId> + '_ {
        let only = self.in_flight.iter().map(|(id, _)| *id);
        only.chain(self.many.iter().flat_map(|many| many.in_flight()))
    }

    /// Queues the answer to a request that has arrived or was taken; [`advance`](Self::advance) sends it.
    pub(crate) fn answer(&mut self, answer: &Answer, request: Request) {
        if let Some(many) = &mut self.many {
            return many.answer(answer, request);
        }
        debug_assert!(self.out.is_none(), "one answer at a time");
        self.out = Some(Out { bytes: answer.bytes(request), written: 0 });
        if !request.keep_alive {
            self.ending = Ending::AfterAnswer;
        }
    }

    /// Queues one event of the answer to a request in the model, which leaves it with the last one.
    pub(crate) fn part(&mut self, part: Part) {
        if let Some(many) = &mut self.many {
            return many.part(part);
        }
        let Some((_, request)) = self.in_flight else { return };
        let bytes = part.bytes(request);
        // Where the socket is full, events wait behind those before.
        let waiting = self.out.take().map(|out| out.bytes[out.written..].to_vec()).unwrap_or_default();
        self.out = Some(Out { bytes: [waiting, bytes].concat().into(), written: 0 });
        if part.is_last {
            self.in_flight = None;
            if !request.keep_alive {
                self.ending = Ending::AfterAnswer;
            }
        }
    }

    /// Resets a request that was taken. True: the close of the connection, which must follow, does it.
    pub(crate) fn reset(&mut self) -> bool {
        if let Some(many) = &mut self.many
            && !many.reset()
        {
            return false;
        }
        // Fails only on a socket that is dead already.
        let _ = rustix::net::sockopt::set_socket_linger(&self.stream, Some(std::time::Duration::ZERO));
        true
    }

    /// Sends what can be sent, reads what may be read, up to the next request.
    pub(crate) fn advance(&mut self, scratch: &mut Scratch) -> Advance {
        if self.many.is_some() {
            return self.advance_many(scratch);
        }
        for _ in 0..MOST_STEPS {
            match self.flush() {
                Ok(true) => {}
                Ok(false) => return Advance::Wait,
                Err(()) => return Advance::Closed,
            }
            if self.in_flight.is_some() {
                return Advance::Wait;
            }
            match self.ending {
                Ending::No => {}
                Ending::AfterAnswer => return Advance::Answered,
                Ending::Lingering { .. } => return self.discard(scratch),
            }
            let step = if self.backlog.is_empty() {
                if !self.readable {
                    return Advance::Wait;
                }
                match self.receive(scratch) {
                    Received::Blocked => continue,
                    Received::End | Received::Failed => return Advance::Closed,
                    Received::TlsFailed => return Advance::TlsFailed,
                    Received::Bytes => {}
                }
                let (taken, step) = self.framer.feed(&scratch.plain);
                self.backlog.extend_from_slice(&scratch.plain[taken..]);
                step
            } else {
                let (taken, step) = self.framer.feed(&self.backlog[self.backlog_at..]);
                self.backlog_at += taken;
                if self.backlog_at == self.backlog.len() {
                    self.backlog = Vec::new();
                    self.backlog_at = 0;
                }
                step
            };
            match step {
                Step::More => {}
                // Also sent when the body is already here; RFC 9110, section 10.1.1, allows it.
                Step::Continue => self.out = Some(Out { bytes: CONTINUE.into(), written: 0 }),
                Step::Complete(request) => return Advance::Arrived(request),
                Step::Reject(reject) => return Advance::Rejected(reject),
            }
        }
        Advance::Again
    }

    /// The same where a connection has many, which reads on while requests are in the model.
    fn advance_many(&mut self, scratch: &mut Scratch) -> Advance {
        for _ in 0..MOST_STEPS {
            let Some(many) = &mut self.many else { return Advance::Wait };
            if self.out.is_none() {
                let bytes = many.output();
                self.out = (!bytes.is_empty()).then(|| Out { bytes: bytes.into(), written: 0 });
            }
            let (next, is_over) = (many.next(), many.is_over());
            match (self.flush(), next) {
                (Err(()), _) => return Advance::Closed,
                (_, Some(request)) => return Advance::Arrived(request),
                (Ok(false), None) => return Advance::Wait,
                (Ok(true), None) if is_over => return Advance::Closed,
                (Ok(true), None) if !self.readable => return Advance::Wait,
                (Ok(true), None) => {}
            }
            match self.receive(scratch) {
                Received::Blocked => {}
                Received::End | Received::Failed => return Advance::Closed,
                Received::TlsFailed => return Advance::TlsFailed,
                Received::Bytes => {
                    if let Some(many) = &mut self.many {
                        many.feed(&scratch.plain);
                    }
                }
            }
        }
        Advance::Again
    }

    /// Reads once, into `scratch.plain`. TLS may make nothing of what came, which counts as empty bytes.
    fn receive(&mut self, scratch: &mut Scratch) -> Received {
        scratch.plain.clear();
        let count = match self.stream.read(&mut scratch.wire) {
            Ok(0) => return Received::End,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.readable = false;
                return Received::Blocked;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => return Received::Blocked,
            Err(_) => return Received::Failed,
        };
        // A short read emptied the socket: the next bytes bring a new event. So does the client's end, except that
        // its event may be behind us.
        self.readable = count == scratch.wire.len() || self.peer_closed;
        let mut wire = &scratch.wire[..count];
        let Some(tls) = &mut self.tls else {
            scratch.plain.extend_from_slice(wire);
            return Received::Bytes;
        };
        while !wire.is_empty() {
            // Takes about 4 KiB at a time.
            let result =
                tls.read_tls(&mut wire).map_err(drop).and_then(|_| tls.process_new_packets().map_err(drop));
            let Ok(state) = result else {
                // The alert says why; whether it arrives does not matter.
                let _ = tls.write_tls(&mut self.stream);
                return Received::TlsFailed;
            };
            let before = scratch.plain.len();
            scratch.plain.resize(before + state.plaintext_bytes_to_read(), 0);
            if tls.reader().read_exact(&mut scratch.plain[before..]).is_err() {
                return Received::TlsFailed;
            }
            if state.peer_has_closed() && scratch.plain.is_empty() {
                return Received::End;
            }
        }
        Received::Bytes
    }

    /// True when nothing is left to send, false when the socket is full.
    fn flush(&mut self) -> Result<bool, ()> {
        loop {
            while let Some(tls) = self.tls.as_mut().filter(|tls| tls.wants_write()) {
                match tls.write_tls(&mut self.stream) {
                    Ok(0) => return Err(()),
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return Err(()),
                }
            }
            let Some(out) = &mut self.out else { return Ok(true) };
            let rest = &out.bytes[out.written..];
            let written = match &mut self.tls {
                Some(tls) => tls.writer().write(rest),
                None => self.stream.write(rest),
            };
            match written {
                Ok(count) => out.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(()),
            }
            if out.written == out.bytes.len() {
                self.out = None;
            }
        }
    }

    /// It has been given its last answer, and this has gone out as far as TLS or the socket takes it.
    pub(crate) fn is_answered(&self) -> bool {
        self.ending != Ending::No && self.out.is_none()
    }

    /// Shuts the sending side of what is answered: close within a second, or when the client does. False: it is over.
    pub(crate) fn shut_and_linger(&mut self) -> bool {
        self.is_queued = false;
        let lingers = !self.is_gone && self.shut_sending();
        if lingers {
            self.ending = Ending::Lingering { discarded_bytes: 0 };
        }
        lingers
    }

    fn shut_sending(&mut self) -> bool {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // If the socket is full just now, the client sees the end without the notice.
            let _ = tls.write_tls(&mut self.stream);
        }
        self.stream.shutdown(Shutdown::Write).is_ok()
    }

    fn discard(&mut self, scratch: &mut Scratch) -> Advance {
        let Ending::Lingering { mut discarded_bytes } = self.ending else { return Advance::Wait };
        let advance = loop {
            match self.stream.read(&mut scratch.wire) {
                Ok(0) => break Advance::Closed,
                Ok(count) => discarded_bytes += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Advance::Wait,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break Advance::Closed,
            }
            if discarded_bytes > MOST_DISCARDED_BYTES {
                break Advance::Closed;
            }
        };
        self.ending = Ending::Lingering { discarded_bytes };
        advance
    }
}
