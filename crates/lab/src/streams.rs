//! The server's side of an HTTP/2 connection, without a socket: bytes in, bytes out, and its requests, many at once.
//!
//! The protocol is the `h2` crate's. It runs on memory here and is polled whenever something has changed, so it needs no runtime
//! and never wakes anybody: feed it what the socket gave, take the requests, answer them in any order, and send the output.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::server::{Connection, Handshake, SendResponse};
use h2::{Reason, RecvStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::answer::Answer;
use crate::framer::Request;
use crate::model::RequestId;

/// Requests that a client may have under way on one connection.
const MOST_STREAMS: u32 = 1_000;

/// See the module.
pub(crate) struct Streams {
    pipe: Pipe,
    state: State,
    /// Requests whose bodies are not whole.
    coming: Vec<Coming>,
    /// Whole requests that nobody has taken.
    arrived: VecDeque<(Request, SendResponse<Bytes>)>,
    /// What the request that was taken last is answered through.
    current: Option<SendResponse<Bytes>>,
    /// Requests in the model, by their numbers there.
    under_way: HashMap<u64, UnderWay>,
}

struct UnderWay {
    id: RequestId,
    request: Request,
    respond: SendResponse<Bytes>,
}

struct Coming {
    request: Request,
    body: RecvStream,
    respond: SendResponse<Bytes>,
}

enum State {
    Handshake(Box<Handshake<Pipe, Bytes>>),
    Open(Box<Connection<Pipe, Bytes>>),
    Over,
}

impl Streams {
    pub(crate) fn new() -> Self {
        let pipe = Pipe::default();
        let mut builder = h2::server::Builder::new();
        builder.max_concurrent_streams(MOST_STREAMS);
        let handshake = builder.handshake(pipe.clone());
        Self {
            pipe,
            state: State::Handshake(Box::new(handshake)),
            coming: Vec::new(),
            arrived: VecDeque::new(),
            current: None,
            under_way: HashMap::new(),
        }
    }

    /// Bytes that the client has sent.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.pipe.with(|ends| ends.received.extend(bytes));
        self.poll();
    }

    /// The next whole request: [`keep`](Self::keep) or [`answer`](Self::answer) it before the next.
    pub(crate) fn next(&mut self) -> Option<Request> {
        let (request, respond) = self.arrived.pop_front()?;
        self.current = Some(respond);
        Some(request)
    }

    /// The current request is in the model, by this number.
    pub(crate) fn keep(&mut self, number: u64, id: RequestId, request: Request) {
        if let Some(respond) = self.current.take() {
            self.under_way.insert(number, UnderWay { id, request, respond });
        }
    }

    /// Whether the client has reset the stream of a request in the model.
    pub(crate) fn is_given_up(&mut self, number: u64) -> bool {
        let cx = &mut Context::from_waker(Waker::noop());
        let of = self.under_way.get_mut(&number);
        of.is_some_and(|of| of.respond.poll_reset(cx).is_ready())
    }

    /// Takes a request out of the model: it is the current one.
    pub(crate) fn take(&mut self, number: u64) -> Option<Request> {
        let UnderWay { request, respond, .. } = self.under_way.remove(&number)?;
        self.current = Some(respond);
        Some(request)
    }

    /// Answers the current request. A client that has reset its stream gets nothing.
    pub(crate) fn answer(&mut self, answer: &Answer, request: Request) {
        let Some(mut respond) = self.current.take() else { return };
        let body = if request.head_only { Bytes::new() } else { answer.body() };
        // Both fail only where the client is gone.
        if let Ok(mut stream) = respond.send_response(answer.head(), body.is_empty())
            && !body.is_empty()
        {
            let _ = stream.send_data(body, true);
        }
        self.poll();
    }

    /// Resets the stream of the current request.
    pub(crate) fn reset(&mut self) {
        if let Some(mut respond) = self.current.take() {
            respond.send_reset(Reason::INTERNAL_ERROR);
        }
        self.poll();
    }

    /// What is to be sent; empty if there is nothing.
    pub(crate) fn output(&mut self) -> Vec<u8> {
        self.pipe.with(|ends| std::mem::take(&mut ends.to_send))
    }

    /// The connection has failed, or the client has ended it. There may be output left.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// The requests in the model.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = RequestId> + '_ {
        self.under_way.values().map(|of| of.id)
    }

    fn poll(&mut self) {
        let cx = &mut Context::from_waker(Waker::noop());
        loop {
            self.poll_connection(cx);
            // Bytes of bodies that were taken open the client's window: only the connection can say so.
            if !self.read_bodies(cx) {
                return;
            }
        }
    }

    fn poll_connection(&mut self, cx: &mut Context<'_>) {
        loop {
            match &mut self.state {
                State::Over => return,
                State::Handshake(handshake) => match Pin::new(handshake).poll(cx) {
                    Poll::Pending => return,
                    Poll::Ready(Ok(connection)) => self.state = State::Open(Box::new(connection)),
                    Poll::Ready(Err(_)) => self.state = State::Over,
                },
                State::Open(connection) => match connection.poll_accept(cx) {
                    Poll::Pending => return,
                    Poll::Ready(Some(Ok((head, respond)))) => {
                        let (head, body) = head.into_parts();
                        let request = Request::of_stream(head.method.as_str(), head.uri.path());
                        self.coming.push(Coming { request, body, respond });
                    }
                    Poll::Ready(Some(Err(_)) | None) => self.state = State::Over,
                },
            }
        }
    }

    /// Reads what has come of bodies and throws it away. True if there was something.
    fn read_bodies(&mut self, cx: &mut Context<'_>) -> bool {
        let (mut any, mut i) = (false, 0);
        while i < self.coming.len() {
            let body = &mut self.coming[i].body;
            match body.poll_data(cx) {
                Poll::Pending => i += 1,
                Poll::Ready(Some(Ok(piece))) => {
                    // Fails only where the stream is gone, which the next poll tells.
                    let _ = body.flow_control().release_capacity(piece.len());
                    any = true;
                }
                // Reset amid its body: no request.
                Poll::Ready(Some(Err(_))) => drop(self.coming.remove(i)),
                Poll::Ready(None) => {
                    let Coming { request, respond, .. } = self.coming.remove(i);
                    self.arrived.push_back((request, respond));
                }
            }
        }
        any
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streams").field("under_way", &self.under_way.len()).finish_non_exhaustive()
    }
}

/// The memory that the protocol takes for its socket.
#[derive(Clone, Debug, Default)]
struct Pipe(Arc<Mutex<Ends>>);

#[derive(Debug, Default)]
struct Ends {
    received: VecDeque<u8>,
    to_send: Vec<u8>,
}

impl Pipe {
    /// One thread uses it: the lock is free and only makes the server sendable.
    fn with<T>(&self, f: impl FnOnce(&mut Ends) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.with(|ends| {
            let (first, _) = ends.received.as_slices();
            let count = first.len().min(buf.remaining());
            if count == 0 {
                return Poll::Pending;
            }
            buf.put_slice(&first[..count]);
            ends.received.drain(..count);
            Poll::Ready(Ok(()))
        })
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.with(|ends| ends.to_send.extend_from_slice(bytes));
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
