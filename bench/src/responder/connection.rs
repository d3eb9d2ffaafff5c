//! One accepted connection: bytes in, answers out.

use super::framer::Framer;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::collections::VecDeque;

/// A socket and what it is owed.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: OwnedFd,
    framer: Framer,
    /// Requests to be answered, by the index of their stamp.
    owed: VecDeque<usize>,
    /// How much of the first answer is sent.
    sent: usize,
}

/// The connection is over: closed by the client, broken, or answered for the last time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Over;

impl Connection {
    pub(crate) fn new(socket: OwnedFd) -> Connection {
        Connection { socket, framer: Framer::default(), owed: VecDeque::new(), sent: 0 }
    }

    /// Reads once. `Ok(None)`: nothing there. Else the number of requests that ended, and whether more may be there.
    #[inline]
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        last: &mut Vec<u8>,
    ) -> Result<Option<(usize, bool)>, Over> {
        let room = buffer.len();
        match rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((_, 0)) => Err(Over),
            Ok((_, n)) => Ok(Some((self.framer.count(&buffer[..n], last), n == room))),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(_) => Err(Over),
        }
    }

    /// One more answer is to be sent.
    #[inline]
    pub(crate) fn owe(&mut self, index: usize) {
        self.owed.push_back(index);
    }

    /// Sends what is owed as far as the kernel takes it; calls `answered` for each answer that is out whole.
    #[inline]
    pub(crate) fn flush(&mut self, answer: &[u8], mut answered: impl FnMut(usize)) -> Result<(), Over> {
        while let Some(&index) = self.owed.front() {
            match rustix::net::send(&self.socket, &answer[self.sent..], SendFlags::NOSIGNAL) {
                Ok(n) => self.sent += n,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(_) => return Err(Over),
            }
            if self.sent == answer.len() {
                self.sent = 0;
                self.owed.pop_front();
                answered(index);
            }
        }
        Ok(())
    }
}
