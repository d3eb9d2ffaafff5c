//! Invariants of a connection, checked for anything that a server may send. Shared by the fuzz target, the replay of its
//! corpus and the tests; not part of the API.

use super::{Http2, Request, Scheme, Settings, Shared};
use crate::blank::NothingToFill;
use crate::cuts;
use crate::protocol::{Carrier, Protocol, Reply, Sink, Tag, Violation};
use crate::{Limits, RequestBuilder};

/// What a connection said, in order; pieces of one body that follow each other are one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Requests may be submitted.
    Ready,
    /// So many at once.
    Room(u32),
    /// No more.
    Retired,
    /// An answer has begun.
    First(u64),
    /// The head of an answer.
    Head(u64, String),
    /// A part of its body.
    Body(u64, Vec<u8>),
    /// It is whole.
    Done(u64, u16, u64),
    /// There will be none.
    Lost(u64, Violation, bool),
}

/// What came of all bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Driven {
    /// What was said.
    pub events: Vec<Event>,
    /// What is wrong with the connection.
    pub result: Result<(), Violation>,
    /// What was written.
    pub written: Vec<u8>,
}

#[derive(Default)]
struct Heard(Vec<Event>);

impl Heard {
    fn is_under_way(&self, Tag(tag): Tag) -> bool {
        let is_end = |event: &Event| match event {
            Event::Done(of, ..) | Event::Lost(of, ..) => *of == tag,
            _ => false,
        };
        tag < REQUESTS && !self.0.iter().any(is_end)
    }

    fn push(&mut self, tag: Tag, event: Event) {
        assert!(self.is_under_way(tag), "{event:?} of a request that is not under way");
        self.0.push(event);
    }
}

impl Sink for Heard {
    fn ready(&mut self) {
        assert!(!self.0.contains(&Event::Ready), "ready twice");
        self.0.push(Event::Ready);
    }

    fn room(&mut self, places: u32) {
        self.0.push(Event::Room(places));
    }

    fn retired(&mut self) {
        assert!(!self.0.contains(&Event::Retired), "retired twice");
        self.0.push(Event::Retired);
    }

    fn first(&mut self, tag: Tag) {
        assert!(!self.0.contains(&Event::First(tag.0)), "begun twice");
        self.push(tag, Event::First(tag.0));
    }

    fn head(&mut self, tag: Tag, head: &[u8]) {
        self.push(tag, Event::Head(tag.0, String::from_utf8_lossy(head).into_owned()));
    }

    fn body(&mut self, tag: Tag, piece: &[u8]) {
        assert!(!piece.is_empty() && self.is_under_way(tag), "a piece of no body");
        match self.0.last_mut() {
            Some(Event::Body(of, body)) if *of == tag.0 => body.extend_from_slice(piece),
            _ => self.0.push(Event::Body(tag.0, piece.to_vec())),
        }
    }

    fn done(&mut self, tag: Tag, reply: Reply) {
        self.push(tag, Event::Done(tag.0, reply.code, reply.body_bytes));
    }

    fn lost(&mut self, tag: Tag, violation: Violation, unprocessed: bool) {
        self.push(tag, Event::Lost(tag.0, violation, unprocessed));
    }
}

/// Requests that are under way: their streams are 1, 3, 5 and so on. The second is a HEAD, the third has a body that no
/// window takes at once.
pub const REQUESTS: u64 = 5;

/// Bytes of the third one's body.
pub const BODY_BYTES: usize = 100_000;

/// Limits small enough for short inputs to reach each of them.
pub const SMALL_LIMITS: Limits = Limits { head_bytes_max: 300, headers_max: 4, body_bytes_max: 40_000 };

/// The requests, in order.
pub fn requests() -> Vec<Request> {
    let large = vec![b'x'; BODY_BYTES];
    let request = |method, body: &[u8]| {
        let builder = RequestBuilder { method, target: "/", host: "a.test", headers: &[], body };
        Request::new(&builder, body.into(), Scheme::Http).expect("a request")
    };
    let others = (3..REQUESTS).map(|_| request("GET", b""));
    [request("GET", b""), request("HEAD", b""), request("POST", &large)].into_iter().chain(others).collect()
}

/// Feeds `bytes` to a connection with its requests under way, in pieces of the lengths that `next_len` yields.
///
/// # Panics
/// If the connection breaks an invariant that holds for every call.
pub fn drive(limits: Limits, bytes: &[u8], next_len: impl FnMut() -> usize) -> Driven {
    drive_as::<Http2>(limits, bytes, next_len)
}

fn drive_as<P: Over>(limits: Limits, bytes: &[u8], mut next_len: impl FnMut() -> usize) -> Driven {
    let settings = Settings { limits, streams: REQUESTS as u32 };
    let (mut http, mut shared, mut heard) = (P::new(&settings), P::shared(1), Heard::default());
    let requests = requests();
    assert_eq!(http.begin(Carrier::Plain), Ok(false));
    for (number, request) in requests.iter().enumerate() {
        http.submit(&mut shared, Tag(number as u64), number as u32, request, &mut NothingToFill);
    }
    let mut written = Vec::new();
    let mut write = |http: &mut P| {
        loop {
            let [output, rest] = http.output(&requests);
            assert!(rest.is_empty());
            if output.is_empty() {
                break;
            }
            written.extend_from_slice(output);
            let n = output.len();
            http.wrote(n);
        }
    };
    write(&mut http);
    let mut at = 0;
    let mut result = Ok(());
    while at < bytes.len() && result.is_ok() {
        let len = next_len().clamp(1, bytes.len() - at);
        result = http.feed(&mut shared, &bytes[at..at + len], &mut heard);
        at += len;
        write(&mut http);
    }
    Driven { events: heard.0, result, written }
}

/// Checks one input of the fuzzer. Its first byte chooses the limits (`1` small ones), its second how the rest is cut; the
/// rest is what the server sends.
///
/// # Panics
/// If the outcome depends on the cuts, or an invariant breaks.
pub fn check(data: &[u8]) {
    check_as::<Http2>(data);
}

/// What HTTP/2 and what goes over it have in common.
pub(crate) trait Over: Protocol<Request = Request, Settings = Settings, Shared = Shared> {}

impl<P: Protocol<Request = Request, Settings = Settings, Shared = Shared>> Over for P {}

pub(crate) fn check_as<P: Over>(data: &[u8]) {
    let [choice, seed, bytes @ ..] = data else { return };
    let limits = if *choice == b'1' { SMALL_LIMITS } else { Limits::default() };
    cuts::assert_same(*seed, bytes.len(), |next_len| {
        let outcome = drive_as::<P>(limits, bytes, next_len);
        (outcome.events, outcome.result)
    });
}
