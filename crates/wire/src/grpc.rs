//! gRPC as a protocol: calls of one message, which are answered with one or with a stream of them, over [HTTP/2](crate::http2).
//!
//! An HTTP status of 200 is no success here: what counts is `grpc-status`, in the trailers or, where there is no message, in
//! the head.

mod call;
mod fault;
#[doc(hidden)]
pub mod fuzzing;
mod request;
mod status;
mod words;

pub use fault::Fault;
pub use request::{CallBuilder, Uncallable};
pub use status::CODES;

use crate::blank::Filler;
use crate::http2::{self, Http2, STREAMS_EXPECTED};
use crate::keyed::Keyed;
use crate::protocol::{Carrier, Codes, Places, Protocol, Reply, Sink, Tag, Violation};
use call::Call;
use request::Timed;
use status::DEADLINE_EXCEEDED;

/// A connection.
#[derive(Debug)]
pub struct Grpc {
    http2: Http2,
    calls: Calls,
    /// The HTTP status of the last answer that came from no gRPC server.
    refused: Option<u16>,
}

/// By tag.
type Calls = Keyed<Call>;

impl Protocol for Grpc {
    type Request = http2::Request;
    type Settings = http2::Settings;
    type Shared = http2::Shared;

    const VIOLATIONS: &'static [&'static str] = fault::VIOLATIONS;

    const CODES: Codes = Codes::Named { protocol: "grpc", names: CODES };

    const DEADLINE: Option<u16> = Some(DEADLINE_EXCEEDED);

    const BROKEN_OFF: Option<u16> = Some(http2::Fault::StreamReset.number());

    const TAKES_TURNS: bool = false;

    fn places(settings: &http2::Settings) -> Places {
        Http2::places(settings)
    }

    fn shared(requests: usize) -> http2::Shared {
        Http2::shared(requests)
    }

    fn new(settings: &http2::Settings) -> Grpc {
        Grpc {
            http2: Http2::new(settings),
            calls: Calls::with_room(settings.streams.min(STREAMS_EXPECTED) as usize),
            refused: None,
        }
    }

    fn begin(&mut self, carrier: Carrier<'_>) -> Result<bool, Violation> {
        self.http2.begin(carrier)
    }

    fn submit(
        &mut self,
        shared: &mut http2::Shared,
        tag: Tag,
        number: u32,
        request: &http2::Request,
        filler: &mut impl Filler,
    ) {
        self.calls.insert(tag.0, Call::new(request.answers_in_messages()));
        let left_ns = filler.left_ns().unwrap_or(u64::MAX);
        self.http2.submit(shared, tag, number, request, &mut Timed { filler, left_ns });
    }

    fn cancel(&mut self, tag: Tag, now_ns: u64) -> bool {
        let is_free = self.http2.cancel(tag, now_ns);
        if is_free {
            self.calls.remove(tag.0);
        }
        is_free
    }

    fn output<'a>(&'a self, requests: &'a [http2::Request]) -> [&'a [u8]; 2] {
        self.http2.output(requests)
    }

    fn wrote(&mut self, n: usize) {
        self.http2.wrote(n);
    }

    fn feed(
        &mut self,
        shared: &mut http2::Shared,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        let Grpc { http2, calls, refused } = self;
        http2.feed(shared, bytes, &mut Listening { calls, refused, sink })
    }

    fn eof(&mut self, clean: bool, sink: &mut impl Sink) -> Result<(), Violation> {
        self.http2.eof(clean, sink)
    }

    fn body_left(&self) -> u64 {
        0
    }

    fn skip(&mut self, _: u64) {}

    fn is_answering(&self) -> bool {
        self.http2.is_answering()
    }
}

/// Takes what HTTP/2 says, and hands on what it means.
struct Listening<'a, S> {
    calls: &'a mut Calls,
    refused: &'a mut Option<u16>,
    sink: &'a mut S,
}

impl<S: Sink> Sink for Listening<'_, S> {
    fn ready(&mut self) {
        self.sink.ready();
    }

    fn room(&mut self, places: u32) {
        self.sink.room(places);
    }

    fn retired(&mut self) {
        self.sink.retired();
    }

    fn first(&mut self, tag: Tag) {
        self.sink.first(tag);
    }

    fn head(&mut self, tag: Tag, head: &[u8]) {
        if let Some(call) = self.calls.get_mut(tag.0) {
            call.head(head);
        }
        self.sink.head(tag, head);
    }

    fn body(&mut self, tag: Tag, piece: &[u8]) {
        let Listening { calls, sink, .. } = self;
        if let Some(call) = calls.get_mut(tag.0) {
            call.body(piece, |part| match part {
                Some(part) => sink.body(tag, part),
                None => sink.message(tag),
            });
        }
    }

    fn trailers(&mut self, tag: Tag, lines: &[u8]) {
        if let Some(call) = self.calls.get_mut(tag.0) {
            call.trailers(lines);
        }
        self.sink.trailers(tag, lines);
    }

    fn done(&mut self, tag: Tag, reply: Reply) {
        let Some(call) = self.calls.remove(tag.0) else { return };
        match call.end() {
            Ok(code) => self.sink.done(tag, Reply { code, body_bytes: call.bytes, ..reply }),
            Err(fault) => {
                if matches!(fault, Fault::HttpStatus) {
                    *self.refused = Some(reply.code);
                }
                self.sink.lost(tag, fault.into(), false);
            }
        }
    }

    fn lost(&mut self, tag: Tag, violation: Violation, unprocessed: bool) {
        self.calls.remove(tag.0);
        self.sink.lost(tag, violation, unprocessed);
    }

    fn pinged(&mut self) {
        self.sink.pinged();
    }
}
