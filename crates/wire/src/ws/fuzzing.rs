//! Invariants of a connection, checked for anything that a server may send once it has switched. Shared by the fuzz target, the
//! replay of its corpus and the tests; not part of the API.

use super::connection::{Settings, Ws};
use super::handshake::{Handshake, accept};
use super::matching::{Finder, Matching};
use super::message::Message;
use crate::Limits;
use crate::blank::NothingToFill;
use crate::cuts;
use crate::protocol::{Carrier, Protocol, Reply, Sink, Tag, Violation};
use std::sync::Arc;

/// What a connection said, in order; pieces of one message that follow each other are one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// An answer has begun.
    First(u64),
    /// A part of it.
    Body(u64, Vec<u8>),
    /// It is whole.
    Done(u64, u64),
    /// There will be none.
    Lost(u64, Violation),
    /// A message that answers nothing.
    Unsolicited,
    /// A ping was answered.
    Pinged,
    /// No more messages.
    Retired,
}

/// What came of all bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Driven {
    /// What was said.
    pub events: Vec<Event>,
    /// What is wrong with the connection.
    pub result: Result<(), Violation>,
    /// What was written behind the messages, masked.
    pub written: Vec<u8>,
}

#[derive(Default)]
struct Heard {
    is_ready: bool,
    events: Vec<Event>,
}

impl Heard {
    fn push(&mut self, Tag(tag): Tag, event: Event) {
        let is_end = |event: &Event| match event {
            Event::Done(of, _) | Event::Lost(of, _) => *of == tag,
            _ => false,
        };
        assert!(tag < MESSAGES && !self.events.iter().any(is_end), "{event:?} of what is not under way");
        self.events.push(event);
    }
}

impl Sink for Heard {
    fn ready(&mut self) {
        assert!(!std::mem::replace(&mut self.is_ready, true), "ready twice");
    }

    fn room(&mut self, _: u32) {
        panic!("the room never changes");
    }

    fn retired(&mut self) {
        assert!(!self.events.contains(&Event::Retired), "retired twice");
        self.events.push(Event::Retired);
    }

    fn first(&mut self, tag: Tag) {
        assert!(!self.events.contains(&Event::First(tag.0)), "begun twice");
        self.push(tag, Event::First(tag.0));
    }

    fn head(&mut self, _: Tag, _: &[u8]) {
        panic!("a message has no head");
    }

    fn body(&mut self, tag: Tag, piece: &[u8]) {
        assert!(!piece.is_empty(), "a piece of nothing");
        match self.events.last_mut() {
            Some(Event::Body(of, body)) if *of == tag.0 => body.extend_from_slice(piece),
            _ => self.push(tag, Event::Body(tag.0, piece.to_vec())),
        }
    }

    fn done(&mut self, tag: Tag, reply: Reply) {
        assert_eq!(reply.code, super::CODE);
        self.push(tag, Event::Done(tag.0, reply.body_bytes));
    }

    fn lost(&mut self, tag: Tag, violation: Violation, unprocessed: bool) {
        assert!(!unprocessed, "nobody knows that");
        self.push(tag, Event::Lost(tag.0, violation));
    }

    fn unsolicited(&mut self, _: bool) {
        self.events.push(Event::Unsolicited);
    }

    fn pinged(&mut self) {
        self.events.push(Event::Pinged);
    }
}

/// Messages that are under way: they are called "0", "1" and so on.
pub const MESSAGES: u64 = 3;

/// A limit that short inputs reach.
pub const SMALL_BYTES_MAX: u64 = 20;

/// Feeds `bytes` to a connection that has its messages under way, in pieces of the lengths that `next_len` yields. With
/// `by_name`, a message is called by its first byte.
///
/// # Panics
/// If the connection breaks an invariant that holds for every call.
pub fn drive(by_name: bool, bytes_max: u64, bytes: &[u8], mut next_len: impl FnMut() -> usize) -> Driven {
    let first_byte = Finder::new(|message, name| {
        name.extend(message.first());
        !message.is_empty()
    });
    let settings = Settings {
        handshake: Arc::new(Handshake::new("/", "a.test", &[]).expect("a handshake")),
        limits: Limits { body_bytes_max: bytes_max, ..Limits::default() },
        depth: MESSAGES as u32,
        matching: if by_name { Matching::Name(first_byte) } else { Matching::Order },
        is_binary: false,
    };
    let (mut ws, mut shared, mut heard) = (Ws::new(&settings), Ws::shared(1), Heard::default());
    assert_eq!(ws.begin(Carrier::Plain), Ok(false));
    let asked = String::from_utf8(written(&mut ws)).expect("text");
    let key = asked.trim_end().rsplit(' ').next().expect("a key");
    let switched = format!(
        "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        accept(key)
    );
    assert_eq!(ws.feed(&mut shared, switched.as_bytes(), &mut heard), Ok(()));
    assert!(heard.is_ready);
    for number in 0..MESSAGES {
        let message = Message::new(number.to_string().into_bytes().into(), false);
        ws.submit(&mut shared, Tag(number), number as u32, &message, &mut NothingToFill);
    }
    written(&mut ws);
    let (mut all, mut at, mut result) = (Vec::new(), 0, Ok(()));
    while at < bytes.len() && result.is_ok() {
        let len = next_len().clamp(1, bytes.len() - at);
        result = ws.feed(&mut shared, &bytes[at..at + len], &mut heard);
        at += len;
        all.extend(written(&mut ws));
    }
    Driven { events: heard.events, result, written: all }
}

fn written(ws: &mut Ws) -> Vec<u8> {
    let [output, rest] = ws.output(&[]);
    assert!(rest.is_empty());
    let output = output.to_vec();
    ws.wrote(output.len());
    output
}

/// Checks one input of the fuzzer. Its first byte chooses the limit (`1` the small one), its second the matching (`n` by
/// name) and its third how the rest is cut; the rest is what the server sends.
///
/// # Panics
/// If the outcome depends on the cuts, or an invariant breaks.
pub fn check(data: &[u8]) {
    let [choice, matching, seed, bytes @ ..] = data else { return };
    let bytes_max = if *choice == b'1' { SMALL_BYTES_MAX } else { u64::MAX >> 1 };
    cuts::assert_same(*seed, bytes.len(), |next_len| {
        let mut outcome = drive(*matching == b'n', bytes_max, bytes, next_len);
        // Of a message that breaks off, as much was told as had been read.
        if outcome.result.is_err() && matches!(outcome.events.last(), Some(Event::Body(..))) {
            outcome.events.pop();
        }
        (outcome.events, outcome.result, outcome.written.len())
    });
}
