//! Memory that a protocol takes for its socket: bytes in, bytes out, and it never blocks or wakes anybody.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// See the module. Copies share the same bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipe(Arc<Mutex<Ends>>);

#[derive(Debug, Default)]
struct Ends {
    received: VecDeque<u8>,
    to_send: Vec<u8>,
}

impl Pipe {
    /// The protocol may read these.
    pub(crate) fn give(&self, bytes: &[u8]) {
        self.with(|ends| ends.received.extend(bytes));
    }

    /// What the protocol has written since; empty if nothing.
    pub(crate) fn written(&self) -> Vec<u8> {
        self.with(|ends| std::mem::take(&mut ends.to_send))
    }

    /// Copies what there is, and takes it out.
    fn read_into(&self, into: &mut [u8]) -> usize {
        self.with(|ends| {
            let (first, _) = ends.received.as_slices();
            let count = first.len().min(into.len());
            into[..count].copy_from_slice(&first[..count]);
            ends.received.drain(..count);
            count
        })
    }

    fn append(&self, bytes: &[u8]) {
        self.with(|ends| ends.to_send.extend_from_slice(bytes));
    }

    /// One thread uses it: the lock is free and only makes the server sendable.
    fn with<T>(&self, f: impl FnOnce(&mut Ends) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.read_into(buf.initialize_unfilled()) {
            0 => Poll::Pending,
            count => {
                buf.advance(count);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.append(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Read for Pipe {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.read_into(buf) {
            0 => Err(ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
