//! The way to the target: a socket, and TLS if it is asked for.

use super::buffers::Buffers;
use super::socket::{flush, kind_of_connect_error, kind_of_socket_error, send_both};
use crate::target::{Address, Target, begin_connect};
use crate::tls::TlsRequest;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, sockopt};
use rustls::ClientConnection;
use std::io::{self, Read, Write};
use unblink_core::dispatch::{CloseKind, ConnectTimes};
use unblink_core::failure::FailureKind;
use unblink_core::record::Breach;
use unblink_core::time::Instant;
use unblink_wire::protocol::Carrier;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Connecting,
    /// The server has been asked for TLS.
    Asking,
    Handshaking,
    Open,
}

/// One try at a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// The number of the address, as the worker counts them.
    pub(crate) address: u32,
    /// Which of this machine's loopback addresses it comes from; 0 leaves the choice to the system.
    pub(crate) source: u32,
    /// Other addresses that were tried before this one.
    pub(crate) tried: u32,
    /// When the first of them was tried: a user's client waits that long too.
    pub(crate) began: Instant,
}

/// What came of reading from the socket.
pub(super) enum Received {
    /// So many bytes, of as many as there was room for.
    Bytes { n: usize, asked: usize },
    /// Nothing for now.
    Nothing,
    /// The peer has closed its side.
    End,
}

pub(super) struct Transport {
    fd: OwnedFd,
    pub(super) attempt: Attempt,
    pub(super) stage: Stage,
    connected: Instant,
    tls: Option<Box<ClientConnection>>,
    request: Option<TlsRequest>,
    pub(super) peer_closed: bool,
    /// What went wrong first, in the words of the system or of TLS. The run counts kinds; the pre-flight quotes this.
    pub(super) error: Option<io::Error>,
    /// What came is nothing that TLS lets come.
    pub(super) breach: Option<Breach>,
}

impl Transport {
    /// Begins to connect.
    pub(super) fn begin(target: &Target, address: &Address, attempt: Attempt) -> io::Result<Transport> {
        let (fd, _) = begin_connect(address, attempt.source)?;
        let tls = match &target.tls {
            None => None,
            Some(tls) => {
                let session = ClientConnection::new(tls.config.clone(), tls.name.clone());
                let mut session = session.map_err(io::Error::other)?;
                session.set_buffer_limit(None);
                Some(Box::new(session))
            }
        };
        let connected = attempt.began;
        let stage = Stage::Connecting;
        let request = target.tls.as_ref().and_then(|tls| tls.request);
        Ok(Transport {
            fd,
            attempt,
            stage,
            connected,
            tls,
            request,
            peer_closed: false,
            error: None,
            breach: None,
        })
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    pub(super) fn is_plain(&self) -> bool {
        self.tls.is_none()
    }

    /// What the protocol's bytes go through.
    pub(super) fn carrier(&self) -> Carrier<'_> {
        self.tls.as_ref().map_or(Carrier::Plain, |tls| Carrier::Tls(tls.alpn_protocol()))
    }

    /// Closes at once. With a request under way, or while the peer's side is open after the last answer,
    /// by reset: TIME_WAIT would eat the local ports.
    pub(super) fn close(self, kind: CloseKind) {
        if kind == CloseKind::Abort || !self.peer_closed {
            let _ = sockopt::set_socket_linger(&self.fd, Some(std::time::Duration::ZERO));
        }
    }

    /// The socket reported something while connecting: is it connected? It is open then, or has a handshake to make.
    pub(super) fn finish_connecting(&mut self, now: Instant) -> Result<Option<ConnectTimes>, FailureKind> {
        match sockopt::socket_error(&self.fd) {
            Ok(Ok(())) => {}
            Ok(Err(error)) | Err(error) => return Err(self.failed(error, kind_of_connect_error)),
        }
        self.connected = now;
        if self.is_plain() {
            self.stage = Stage::Open;
            return Ok(Some(ConnectTimes { connect: now.since(self.attempt.began), tls: None }));
        }
        if let Some(TlsRequest { bytes, .. }) = self.request {
            self.stage = Stage::Asking;
            // A socket that was just connected takes a few bytes.
            return match send_both(self.fd.as_fd(), (bytes, &[])) {
                Ok(n) if n == bytes.len() => Ok(None),
                Ok(_) => Err(self.failed(io::Error::from(io::ErrorKind::WriteZero), kind_of_socket_error)),
                Err(error) => Err(self.failed(error, kind_of_socket_error)),
            };
        }
        self.stage = Stage::Handshaking;
        self.flush();
        Ok(None)
    }

    /// Takes the answer to the request for TLS, and begins the handshake.
    fn take_grant(&mut self, bytes: &mut &[u8]) -> Result<(), FailureKind> {
        let Some(TlsRequest { granted, remedy, .. }) = self.request else { return Ok(()) };
        // What came with it came in plain text, from whomever.
        if **bytes != [granted] {
            let what = match bytes {
                [one] if *one == b'N' => "the target does not take TLS",
                [one, ..] if *one == granted => "the target sent more than its word before the TLS handshake",
                // Its text came in plain text as well, so that it is not shown.
                [b'E', ..] => "the target answers to the request for TLS with an error, which its log tells",
                _ => "the target does not answer to the request for TLS",
            };
            let error = io::Error::new(io::ErrorKind::InvalidData, format!("{what}: {remedy}"));
            return Err(self.failed(error, |_| FailureKind::TLS));
        }
        *bytes = &[];
        self.stage = Stage::Handshaking;
        self.flush();
        Ok(())
    }

    /// Writes what it can of both pieces, which leave together. A TLS session takes all of it; what its socket does not
    /// take at once follows with [`Transport::flush`].
    #[inline]
    pub(super) fn write(&mut self, [first, second]: [&[u8]; 2]) -> Result<usize, FailureKind> {
        if self.tls.is_some() {
            return self.write_encrypted([first, second]);
        }
        loop {
            match send_both(self.fd.as_fd(), (first, second)) {
                Ok(n) => return Ok(n),
                Err(Errno::INTR) => {}
                // It takes no more for now.
                Err(Errno::AGAIN) => return Ok(0),
                // It has failed. An answer may be waiting already (a server that refuses a body says so and closes), so
                // that reading tells, and reports the end in any case.
                Err(error) => {
                    self.failed(error, kind_of_socket_error);
                    return Ok(0);
                }
            }
        }
    }

    fn write_encrypted(&mut self, [first, second]: [&[u8]; 2]) -> Result<usize, FailureKind> {
        let Some(tls) = &mut self.tls else { return Ok(0) };
        // The session's own buffer has no limit.
        let mut plain = tls.writer();
        let taken = plain.write_all(first).and_then(|()| plain.write_all(second));
        if let Err(error) = taken {
            return Err(self.failed(error, |_| FailureKind::TLS));
        }
        self.flush();
        Ok(first.len() + second.len())
    }

    /// Goes on writing what a TLS session has ready. Should the socket have failed, reading tells here as well.
    #[inline]
    pub(super) fn flush(&mut self) {
        if let Some(tls) = &mut self.tls
            && self.stage != Stage::Asking
            && let Err(error) = flush(tls, &self.fd)
        {
            self.failed(error, kind_of_socket_error);
        }
    }

    /// The target has reset the connection, and a write was told so.
    pub(super) fn is_reset(&self) -> bool {
        let kind = self.error.as_ref().map(io::Error::kind);
        kind == Some(io::ErrorKind::ConnectionReset)
    }

    /// Keeps what went wrong, for what follows from it says less. Returns how it is counted.
    #[cold]
    fn failed(
        &mut self,
        error: impl Into<io::Error>,
        kind: impl Fn(&io::Error) -> FailureKind,
    ) -> FailureKind {
        let error = error.into();
        let kind = kind(&error);
        self.error.get_or_insert(error);
        kind
    }

    /// Reads what fits into the buffer; or, with `skips`, drops so many bytes at the most.
    #[inline]
    pub(super) fn receive(&mut self, buffers: &mut Buffers, skips: u64) -> Result<Received, FailureKind> {
        let (room, flags) = match skips {
            0 => (&mut buffers.socket[..], RecvFlags::empty()),
            // TCP takes these bytes from the socket without copying them, see tcp(7).
            left => (buffers.dropped(left), RecvFlags::TRUNC),
        };
        let asked = room.len();
        loop {
            match rustix::net::recv(&self.fd, &mut *room, flags) {
                Ok((0, _)) => {
                    self.peer_closed = true;
                    return Ok(Received::End);
                }
                Ok((n, _)) => return Ok(Received::Bytes { n, asked }),
                Err(Errno::AGAIN) => return Ok(Received::Nothing),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.failed(error, kind_of_socket_error)),
            }
        }
    }

    /// Gives some of the TLS records in `bytes` to the session. Says how long connecting took if this was the last of the
    /// handshake, and whether the peer has closed the session.
    pub(super) fn take_records(
        &mut self,
        bytes: &mut &[u8],
        now: Instant,
    ) -> Result<(Option<ConnectTimes>, bool), FailureKind> {
        if self.stage == Stage::Asking {
            self.take_grant(bytes)?;
            return Ok((None, false));
        }
        let Some(tls) = &mut self.tls else { return Ok((None, false)) };
        let taken = match tls.read_tls(bytes) {
            Ok(n) => n,
            Err(error) => return Err(self.failed(error, |_| FailureKind::TLS)),
        };
        if taken == 0 {
            // After close_notify nothing more is taken, whatever the peer still sends.
            *bytes = &[];
        }
        let processed = tls.process_new_packets();
        let is_handshaking = tls.is_handshaking();
        // An alert, a handshake message or a key update may be waiting to go out.
        self.flush();
        let state = match processed {
            Ok(state) => state,
            Err(error) => {
                // By an alert the peer ends it.
                let is_end = matches!(error, rustls::Error::AlertReceived(_));
                let breach = Breach { kind: FailureKind::TLS, is_unasked: false };
                self.breach = (!is_end).then_some(breach);
                return Err(self.failed(io::Error::other(error), |_| FailureKind::TLS));
            }
        };
        let mut times = None;
        if self.stage == Stage::Handshaking && !is_handshaking {
            self.stage = Stage::Open;
            let connect = self.connected.since(self.attempt.began);
            times = Some(ConnectTimes { connect, tls: Some(now.since(self.connected)) });
        }
        Ok((times, state.peer_has_closed()))
    }

    /// The next decrypted bytes; 0 when there are none.
    pub(super) fn decrypted(&mut self, plain: &mut [u8]) -> Result<usize, FailureKind> {
        let Some(tls) = &mut self.tls else { return Ok(0) };
        match tls.reader().read(plain) {
            Ok(n) => Ok(n),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(self.failed(error, |_| FailureKind::TLS)),
        }
    }
}
