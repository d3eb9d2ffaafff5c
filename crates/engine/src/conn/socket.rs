//! What goes into a socket, and what its errors are called.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags};
use rustls::ClientConnection;
use std::io::{self, IoSlice, Write};
use unblink_core::failure::FailureKind;

/// Writes what the session has ready, as far as the socket takes it.
pub(super) fn flush(tls: &mut ClientConnection, fd: &OwnedFd) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(&mut Socket(fd)) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// One call, so that head and body leave together.
pub(super) fn send_both(fd: BorrowedFd<'_>, (head, body): (&[u8], &[u8])) -> Result<usize, Errno> {
    if body.is_empty() {
        return rustix::net::send(fd, head, SendFlags::NOSIGNAL);
    }
    let parts = [IoSlice::new(head), IoSlice::new(body)];
    rustix::net::sendmsg(fd, &parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
}

struct Socket<'a>(&'a OwnedFd);

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.0.as_fd(), bytes, SendFlags::NOSIGNAL)?)
    }

    /// Records leave together: those of a head and of its body, too.
    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let (fd, mut nothing) = (self.0.as_fd(), SendAncillaryBuffer::default());
        Ok(rustix::net::sendmsg(fd, parts, &mut nothing, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How an attempt to connect is counted that failed with this error. One that is not the system's is of TLS.
pub(crate) fn kind_of_connect_error(error: &io::Error) -> FailureKind {
    match Errno::from_io_error(error) {
        None => FailureKind::TLS,
        Some(Errno::CONNREFUSED) => FailureKind::CONNECT_REFUSED,
        Some(Errno::TIMEDOUT) => FailureKind::CONNECT_TIMEOUT,
        Some(Errno::MFILE | Errno::NFILE) => FailureKind::NO_FILE_DESCRIPTOR,
        Some(Errno::ADDRNOTAVAIL) => FailureKind::NO_LOCAL_PORT,
        Some(_) => FailureKind::CONNECT_FAILED,
    }
}

pub(super) fn kind_of_socket_error(error: &io::Error) -> FailureKind {
    match Errno::from_io_error(error) {
        Some(Errno::CONNRESET | Errno::PIPE) => FailureKind::RESET,
        _ => FailureKind::SOCKET,
    }
}
