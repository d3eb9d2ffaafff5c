//! HTTP/1.1 of which the status of the answer is kept, and a digest of its body.

use aws_lc_rs::digest::{Context, SHA256};
use unblink_wire::Limits;
use unblink_wire::blank::Filler;
use unblink_wire::http1::{Http1, Request, Shared};
use unblink_wire::protocol::{Carrier, Places, Protocol, Reply, Sink, Tag, Violation};

/// What the connections of a mirror have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limits: Limits,
    pub(crate) digests: bool,
}

/// The protocol of one connection, and what its last answer said.
pub(crate) struct Digested {
    protocol: Http1,
    said: Said,
}

struct Said {
    /// Of the body so far; nothing where bodies are not compared.
    context: Option<Context>,
    digests: bool,
    status: u16,
}

impl Digested {
    /// Status and digest of the answer that has just come to its end.
    pub(super) fn take(&mut self) -> (u16, Option<[u8; 32]>) {
        let digest = self.said.context.take().map(Context::finish);
        (self.said.status, digest.and_then(|digest| digest.as_ref().try_into().ok()))
    }
}

impl Protocol for Digested {
    type Request = Request;
    type Settings = Settings;
    type Shared = Shared;

    const VIOLATIONS: &'static [&'static str] = Http1::VIOLATIONS;

    const TAKES_TURNS: bool = Http1::TAKES_TURNS;

    fn places(settings: &Settings) -> Places {
        Http1::places(&settings.limits)
    }

    fn shared(requests: usize) -> Shared {
        Http1::shared(requests)
    }

    fn new(settings: &Settings) -> Digested {
        let said = Said { context: None, digests: settings.digests, status: 0 };
        Digested { protocol: Http1::new(&settings.limits), said }
    }

    fn begin(&mut self, carrier: Carrier<'_>) -> Result<bool, Violation> {
        self.protocol.begin(carrier)
    }

    fn submit(
        &mut self,
        shared: &mut Shared,
        tag: Tag,
        number: u32,
        request: &Request,
        filler: &mut impl Filler,
    ) {
        self.said.context = self.said.digests.then(|| Context::new(&SHA256));
        self.protocol.submit(shared, tag, number, request, filler);
    }

    fn cancel(&mut self, tag: Tag, now_ns: u64) -> bool {
        self.protocol.cancel(tag, now_ns)
    }

    fn output<'a>(&'a self, requests: &'a [Request]) -> [&'a [u8]; 2] {
        self.protocol.output(requests)
    }

    fn wrote(&mut self, n: usize) {
        self.protocol.wrote(n);
    }

    fn feed(&mut self, shared: &mut Shared, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        self.protocol.feed(shared, bytes, &mut Tap { said: &mut self.said, sink })
    }

    fn eof(&mut self, clean: bool, sink: &mut impl Sink) -> Result<(), Violation> {
        self.protocol.eof(clean, &mut Tap { said: &mut self.said, sink })
    }

    /// All of a body is read where it is compared.
    fn body_left(&self) -> u64 {
        if self.said.digests { 0 } else { self.protocol.body_left() }
    }

    fn skip(&mut self, n: u64) {
        self.protocol.skip(n);
    }

    fn is_answering(&self) -> bool {
        self.protocol.is_answering()
    }
}

/// Hands everything on, and keeps what is compared.
struct Tap<'a, S> {
    said: &'a mut Said,
    sink: &'a mut S,
}

impl<S: Sink> Sink for Tap<'_, S> {
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

    fn code(&mut self, tag: Tag, code: u16) {
        self.sink.code(tag, code);
    }

    fn head(&mut self, tag: Tag, head: &[u8]) {
        self.sink.head(tag, head);
    }

    fn body(&mut self, tag: Tag, piece: &[u8]) {
        if let Some(context) = &mut self.said.context {
            context.update(piece);
        }
        self.sink.body(tag, piece);
    }

    fn done(&mut self, tag: Tag, reply: Reply) {
        self.said.status = reply.code;
        self.sink.done(tag, reply);
    }

    fn lost(&mut self, tag: Tag, violation: Violation, unprocessed: bool) {
        self.sink.lost(tag, violation, unprocessed);
    }
}
