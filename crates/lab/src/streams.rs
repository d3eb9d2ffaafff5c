//! The server's side of an HTTP/2 connection, without a socket: bytes in, bytes out, and its requests, many at once.
//!
//! The protocol is the `h2` crate's. It runs on memory here and is polled whenever something has changed, so it needs no runtime
//! and never wakes anybody: feed it what the socket gave, take the requests, answer them in any order, and send the output.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::server::{Connection, Handshake, SendResponse};
use h2::{Reason, RecvStream, SendStream};

use crate::answer::Answer;
use crate::events::{self, Part};
use crate::framer::{Request, Route};
use crate::grpc::{self, Call, Talk};
use crate::model::RequestId;
use crate::multiplexed::Multiplexed;
use crate::pipe::Pipe;

/// Requests that a client may have under way on one connection.
const MOST_STREAMS: u32 = 1_000;

/// See the module.
pub(crate) struct Streams {
    pipe: Pipe,
    state: State,
    /// Calls of gRPC are answered as such; else all is HTTP.
    is_grpc: bool,
    /// Requests whose bodies are not whole.
    coming: Vec<Coming>,
    /// Calls of reflection.
    talks: Vec<Talk>,
    /// Whole requests that nobody has taken.
    arrived: VecDeque<Exchange>,
    /// The request that was taken last.
    current: Option<(u64, Exchange)>,
    /// Requests in the model, by their numbers there.
    under_way: HashMap<u64, (RequestId, Exchange)>,
}

/// A request, and what it is answered through.
struct Exchange {
    request: Request,
    respond: SendResponse<Bytes>,
    /// An answer that comes bit by bit, once it has begun.
    stream: Option<SendStream<Bytes>>,
    /// Of gRPC.
    call: Option<Call>,
}

struct Coming {
    body: RecvStream,
    exchange: Exchange,
}

enum State {
    Handshake(Box<Handshake<Pipe, Bytes>>),
    Open(Box<Connection<Pipe, Bytes>>),
    Over,
}

impl Exchange {
    /// A client that has reset its stream gets nothing.
    fn answer(&mut self, answer: &Answer, request: Request, number: u64) {
        if let Some(call) = &self.call {
            return call.answer(&mut self.respond, request, answer.is_ok(), number);
        }
        let body = if request.head_only { Bytes::new() } else { answer.body() };
        // Both fail only where the client is gone.
        if let Ok(mut stream) = self.respond.send_response(answer.head(), body.is_empty())
            && !body.is_empty()
        {
            let _ = stream.send_data(body, true);
        }
    }

    fn part(&mut self, part: Part) {
        if let Some(call) = &self.call {
            return call.part(&mut self.respond, &mut self.stream, part);
        }
        if part.nth == 0 {
            self.stream = self.respond.send_response(events::head(), false).ok();
        }
        if let Some(stream) = &mut self.stream {
            // Fails only where the client is gone.
            let _ = stream.send_data(part.event(), part.is_last);
        }
    }

    fn is_given_up(&mut self) -> bool {
        let cx = &mut Context::from_waker(Waker::noop());
        match &mut self.stream {
            Some(stream) => stream.poll_reset(cx).is_ready(),
            None => self.respond.poll_reset(cx).is_ready(),
        }
    }
}

impl Multiplexed for Streams {
    fn feed(&mut self, bytes: &[u8]) {
        self.pipe.give(bytes);
        self.poll();
    }

    fn next(&mut self) -> Option<Request> {
        let exchange = self.arrived.pop_front()?;
        let request = exchange.request;
        self.current = Some((0, exchange));
        Some(request)
    }

    fn keep(&mut self, number: u64, id: RequestId, request: Request) {
        if let Some((_, exchange)) = self.current.take() {
            self.under_way.insert(number, (id, Exchange { request, ..exchange }));
        }
    }

    fn take(&mut self, number: u64) -> Option<Request> {
        let (_, exchange) = self.under_way.remove(&number)?;
        let request = exchange.request;
        self.current = Some((number, exchange));
        Some(request)
    }

    fn is_given_up(&mut self, number: u64) -> bool {
        self.under_way.get_mut(&number).is_some_and(|(_, exchange)| exchange.is_given_up())
    }

    fn answer(&mut self, answer: &Answer, request: Request) {
        let Some((number, mut exchange)) = self.current.take() else { return };
        exchange.answer(answer, request, number);
        self.poll();
    }

    fn part(&mut self, part: Part) {
        if let Some((_, exchange)) = self.under_way.get_mut(&part.request) {
            exchange.part(part);
        }
        if part.is_last {
            self.under_way.remove(&part.request);
        }
        self.poll();
    }

    fn reset(&mut self) -> bool {
        if let Some((_, mut exchange)) = self.current.take() {
            exchange.respond.send_reset(Reason::INTERNAL_ERROR);
        }
        self.poll();
        false
    }

    fn output(&mut self) -> Vec<u8> {
        self.pipe.written()
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    fn in_flight(&self) -> Vec<RequestId> {
        self.under_way.values().map(|(id, _)| *id).collect()
    }
}

impl Streams {
    pub(crate) fn new(is_grpc: bool) -> Self {
        let pipe = Pipe::default();
        let mut builder = h2::server::Builder::new();
        builder.max_concurrent_streams(MOST_STREAMS);
        let handshake = builder.handshake(pipe.clone());
        Self {
            pipe,
            state: State::Handshake(Box::new(handshake)),
            is_grpc,
            coming: Vec::new(),
            talks: Vec::new(),
            arrived: VecDeque::new(),
            current: None,
            under_way: HashMap::new(),
        }
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
                        let path = head.uri.path();
                        let is_call = self.is_grpc && grpc::is_call(&head);
                        if is_call && Talk::is_at(path) {
                            self.talks.extend(Talk::begin(body, respond));
                            continue;
                        }
                        let mut request = Request::of_stream(head.method.as_str(), path);
                        if self.is_grpc && request.route == Route::Scenario {
                            // The scenario is for calls.
                            request.route = Route::Unknown;
                        }
                        let call = is_call.then(|| Call::new(path));
                        let exchange = Exchange { request, respond, stream: None, call };
                        self.coming.push(Coming { body, exchange });
                    }
                    Poll::Ready(Some(Err(_)) | None) => self.state = State::Over,
                },
            }
        }
    }

    /// Reads what has come of bodies, and throws it away unless it is a call's. True if there was something.
    fn read_bodies(&mut self, cx: &mut Context<'_>) -> bool {
        let (mut any, mut i) = (false, 0);
        while i < self.coming.len() {
            let Coming { body, exchange } = &mut self.coming[i];
            match body.poll_data(cx) {
                Poll::Pending => i += 1,
                Poll::Ready(Some(Ok(piece))) => {
                    // Fails only where the stream is gone, which the next poll tells.
                    let _ = body.flow_control().release_capacity(piece.len());
                    if let Some(call) = &mut exchange.call {
                        call.take(&piece);
                    }
                    any = true;
                }
                // Reset amid its body: no request.
                Poll::Ready(Some(Err(_))) => drop(self.coming.remove(i)),
                Poll::Ready(None) => {
                    let Coming { mut exchange, .. } = self.coming.remove(i);
                    if let Some(call) = &mut exchange.call {
                        exchange.request = call.finish();
                    }
                    self.arrived.push_back(exchange);
                }
            }
        }
        self.talks.retain_mut(|talk| {
            let (has_come, is_over) = talk.go_on(cx);
            any |= has_come;
            !is_over
        });
        any
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streams").field("under_way", &self.under_way.len()).finish_non_exhaustive()
    }
}
