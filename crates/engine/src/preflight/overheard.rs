//! A protocol that is listened to: what a message to the user needs, and the run does not keep.

use unblink_wire::blank::Filler;
use unblink_wire::protocol::{Carrier, Codes, Places, Protocol, Reply, Sink, Tag, Value, Violation};
use unblink_workload::answer::{BODY_MAX, Told};

/// Bytes kept of what the target sends first: enough to quote a line.
const KEPT_MAX: usize = 16 * 1024;

/// The protocol of one connection, and what was heard on it.
pub(super) struct Overheard<P> {
    pub(super) protocol: P,
    pub(super) heard: Heard,
}

/// What was heard on a connection.
#[derive(Default)]
pub(super) struct Heard {
    /// What is sent to the target.
    pub(super) sent: Vec<u8>,
    /// What the target sent first.
    pub(super) received: Vec<u8>,
    /// The answer's head, and its body as far as it may be looked at.
    pub(super) head: Vec<u8>,
    pub(super) body: Vec<u8>,
    /// What it tells of itself, value by value, where that is asked for.
    pub(super) told: Vec<Told>,
    pub(super) reply: Option<Reply>,
    /// The target takes fewer requests at once than were asked for.
    pub(super) room: Option<u32>,
    pub(super) violation: Option<Violation>,
}

impl Heard {
    fn keep(&mut self, bytes: &[u8]) {
        let room = KEPT_MAX - self.received.len();
        self.received.extend(&bytes[..bytes.len().min(room)]);
    }

    fn note(&mut self, result: Result<(), Violation>) -> Result<(), Violation> {
        self.violation = result.err().or(self.violation);
        result
    }
}

impl<P: Protocol> Protocol for Overheard<P> {
    type Request = P::Request;
    type Settings = P::Settings;
    type Shared = P::Shared;

    const VIOLATIONS: &'static [&'static str] = P::VIOLATIONS;

    const CODES: Codes = P::CODES;

    const DEADLINE: Option<u16> = P::DEADLINE;

    const BROKEN_OFF: Option<u16> = P::BROKEN_OFF;

    const SUCCESSES: u16 = P::SUCCESSES;

    const TAKES_TURNS: bool = P::TAKES_TURNS;

    fn places(settings: &P::Settings) -> Places {
        P::places(settings)
    }

    fn shared(requests: usize) -> P::Shared {
        P::shared(requests)
    }

    fn new(settings: &P::Settings) -> Overheard<P> {
        Overheard { protocol: P::new(settings), heard: Heard::default() }
    }

    fn begin(&mut self, carrier: Carrier<'_>) -> Result<bool, Violation> {
        let begun = self.protocol.begin(carrier);
        self.heard.violation = begun.err();
        begun
    }

    fn submit(
        &mut self,
        shared: &mut P::Shared,
        tag: Tag,
        number: u32,
        request: &P::Request,
        filler: &mut impl Filler,
    ) {
        self.protocol.submit(shared, tag, number, request, filler);
        self.heard.sent = self.protocol.output(std::slice::from_ref(request)).concat();
    }

    fn cancel(&mut self, tag: Tag, now_ns: u64) -> bool {
        self.protocol.cancel(tag, now_ns)
    }

    fn output<'a>(&'a self, requests: &'a [P::Request]) -> [&'a [u8]; 2] {
        self.protocol.output(requests)
    }

    fn wrote(&mut self, n: usize) {
        self.protocol.wrote(n);
    }

    fn feed(&mut self, shared: &mut P::Shared, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        self.heard.keep(bytes);
        let fed = self.protocol.feed(shared, bytes, &mut Tap { heard: &mut self.heard, sink });
        self.heard.note(fed)
    }

    fn eof(&mut self, clean: bool, sink: &mut impl Sink) -> Result<(), Violation> {
        let ended = self.protocol.eof(clean, &mut Tap { heard: &mut self.heard, sink });
        self.heard.note(ended)
    }

    fn is_settled(&self) -> bool {
        self.protocol.is_settled()
    }

    fn settle(&mut self, shared: &mut P::Shared, sink: &mut impl Sink) {
        self.protocol.settle(shared, &mut Tap { heard: &mut self.heard, sink });
    }

    /// All of it is heard.
    fn body_left(&self) -> u64 {
        0
    }

    fn skip(&mut self, n: u64) {
        self.protocol.skip(n);
    }

    fn is_answering(&self) -> bool {
        self.protocol.is_answering()
    }
}

/// Hands everything on, and keeps what is said.
struct Tap<'a, S> {
    heard: &'a mut Heard,
    sink: &'a mut S,
}

impl<S: Sink> Sink for Tap<'_, S> {
    fn ready(&mut self) {
        self.sink.ready();
    }

    fn room(&mut self, places: u32) {
        self.heard.room = Some(places);
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
        self.heard.head.extend_from_slice(head);
        self.sink.head(tag, head);
    }

    fn body(&mut self, tag: Tag, piece: &[u8]) {
        let room = BODY_MAX - self.heard.body.len();
        self.heard.body.extend_from_slice(&piece[..piece.len().min(room)]);
        self.sink.body(tag, piece);
    }

    fn message(&mut self, tag: Tag) {
        self.sink.message(tag);
    }

    fn trailers(&mut self, tag: Tag, lines: &[u8]) {
        let head = &mut self.heard.head;
        // They are told with the head, before the line that ends it.
        if head.ends_with(b"\r\n\r\n") {
            head.truncate(head.len() - 2);
        }
        head.extend_from_slice(lines);
        head.extend_from_slice(b"\r\n");
        self.sink.trailers(tag, lines);
    }

    fn value(&mut self, tag: Tag, value: Value<'_>) {
        let Value { place, name, text } = value;
        self.heard.told.push(Told { place, name: name.map(<[u8]>::to_vec), text: text.to_vec() });
        self.sink.value(tag, value);
    }

    fn left_open(&mut self, tag: Tag) {
        self.sink.left_open(tag);
    }

    fn done(&mut self, tag: Tag, reply: Reply) {
        self.heard.reply = Some(reply);
        self.sink.done(tag, reply);
    }

    fn unsolicited(&mut self, in_order: bool) {
        self.sink.unsolicited(in_order);
    }

    fn pinged(&mut self) {
        self.sink.pinged();
    }

    fn followed(&mut self, tag: Tag) {
        self.sink.followed(tag);
    }

    fn prepared_again(&mut self, tag: Tag) {
        self.sink.prepared_again(tag);
    }

    fn wants(&mut self, number: u32, message: &[u8]) -> bool {
        self.sink.wants(number, message)
    }

    fn lost(&mut self, tag: Tag, violation: Violation, unprocessed: bool) {
        self.heard.violation = Some(violation);
        self.sink.lost(tag, violation, unprocessed);
    }
}
