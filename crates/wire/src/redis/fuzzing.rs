//! Invariants of a connection, checked for anything that a server may send. Shared by the fuzz target, the replay of its corpus
//! and the tests; not part of the API.

use super::codes::NAMES;
use super::command::Command;
use super::connection::{Redis, Settings};
use super::greeting::Greeting;
use crate::Limits;
use crate::blank::NothingToFill;
use crate::cuts;
use crate::protocol::{Carrier, Protocol, Reply, Sink, Tag, Violation};
use std::sync::Arc;

/// What a connection said, in order; pieces of one reply that follow each other are one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A reply has begun.
    First(u64),
    /// A part of its text.
    Body(u64, Vec<u8>),
    /// It is whole: with the name of its code.
    Done(u64, &'static str, u64),
    /// A push.
    Unsolicited,
}

/// What came of all bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Driven {
    /// What was said.
    pub events: Vec<Event>,
    /// What is wrong with the connection.
    pub result: Result<(), Violation>,
}

#[derive(Default)]
struct Heard {
    is_ready: bool,
    events: Vec<Event>,
    /// Replies that were whole: they come in order.
    done: u64,
}

impl Heard {
    fn push(&mut self, tag: Tag, event: Event) {
        assert!(tag.0 == self.done && tag.0 < COMMANDS, "{event:?} of what is not next");
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
        panic!("a server only closes");
    }

    fn first(&mut self, tag: Tag) {
        assert!(!self.events.contains(&Event::First(tag.0)), "begun twice");
        self.push(tag, Event::First(tag.0));
    }

    fn head(&mut self, _: Tag, _: &[u8]) {
        panic!("a reply has no head");
    }

    fn body(&mut self, tag: Tag, piece: &[u8]) {
        assert!(!piece.is_empty(), "a piece of nothing");
        match self.events.last_mut() {
            Some(Event::Body(of, body)) if *of == tag.0 => body.extend_from_slice(piece),
            _ => self.push(tag, Event::Body(tag.0, piece.to_vec())),
        }
    }

    fn done(&mut self, tag: Tag, Reply { code, body_bytes, reusable }: Reply) {
        assert!(reusable && self.events.contains(&Event::First(tag.0)));
        let text: usize = self
            .events
            .iter()
            .map(|event| match event {
                Event::Body(of, body) if *of == tag.0 => body.len(),
                _ => 0,
            })
            .sum();
        assert_eq!(text as u64, body_bytes, "another length than that of its text");
        self.push(tag, Event::Done(tag.0, NAMES[usize::from(code)], body_bytes));
        self.done += 1;
    }

    fn lost(&mut self, _: Tag, _: Violation, _: bool) {
        panic!("a reply is never lost alone");
    }

    fn unsolicited(&mut self, in_order: bool) {
        assert!(!in_order, "a push is told from a reply");
        self.events.push(Event::Unsolicited);
    }
}

/// Commands that are under way.
pub const COMMANDS: u64 = 3;

/// A limit that short inputs reach.
pub const SMALL_BYTES_MAX: u64 = 20;

/// Feeds `bytes` to a connection that has its commands under way, in pieces of the lengths that `next_len` yields.
///
/// # Panics
/// If the connection breaks an invariant that holds for every call.
pub fn drive(is_resp3: bool, bytes_max: u64, bytes: &[u8], mut next_len: impl FnMut() -> usize) -> Driven {
    let settings = Settings {
        greeting: Arc::new(Greeting::new(is_resp3, None, 0)),
        is_resp3,
        limits: Limits { body_bytes_max: bytes_max, ..Limits::default() },
        depth: COMMANDS as u32,
    };
    let (mut redis, mut shared, mut heard) = (Redis::new(&settings), Redis::shared(1), Heard::default());
    assert_eq!(redis.begin(Carrier::Plain), Ok(false));
    assert_eq!(written(&mut redis, &[]), &*settings.greeting.bytes);
    let greeted: &[u8] = if is_resp3 { b"%1\r\n+proto\r\n:3\r\n" } else { b"+PONG\r\n" };
    assert_eq!(redis.feed(&mut shared, greeted, &mut heard), Ok(()));
    assert!(heard.is_ready && heard.events.is_empty());
    let commands = [Command::new(&[b"GET".to_vec(), b"k".to_vec()], false)];
    for number in 0..COMMANDS {
        redis.submit(&mut shared, Tag(number), 0, &commands[0], &mut NothingToFill);
    }
    assert_eq!(written(&mut redis, &commands), b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".repeat(COMMANDS as usize));
    let (mut at, mut result) = (0, Ok(()));
    while at < bytes.len() && result.is_ok() {
        let len = next_len().clamp(1, bytes.len() - at);
        result = redis.feed(&mut shared, &bytes[at..at + len], &mut heard);
        at += len;
        assert!(written(&mut redis, &commands).is_empty(), "nothing is ever answered");
    }
    Driven { events: heard.events, result }
}

/// All that is to be written, taken a few bytes at a time.
fn written(redis: &mut Redis, commands: &[Command]) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let output = redis.output(commands).concat();
        if output.is_empty() {
            return all;
        }
        let n = output.len().min(7);
        all.extend_from_slice(&output[..n]);
        redis.wrote(n);
    }
}

/// Checks one input of the fuzzer. Its first byte chooses the limit (`1` the small one), its second the version (`3` is RESP3)
/// and its third how the rest is cut; the rest is what the server sends.
///
/// # Panics
/// If the outcome depends on the cuts, or an invariant breaks.
pub fn check(data: &[u8]) {
    let [choice, version, seed, bytes @ ..] = data else { return };
    let bytes_max = if *choice == b'1' { SMALL_BYTES_MAX } else { u64::MAX >> 1 };
    cuts::assert_same(*seed, bytes.len(), |next_len| {
        let mut outcome = drive(*version == b'3', bytes_max, bytes, next_len);
        // Of a reply that breaks off, as much was told as had been read.
        if outcome.result.is_err() && matches!(outcome.events.last(), Some(Event::Body(..))) {
            outcome.events.pop();
        }
        outcome
    });
}
