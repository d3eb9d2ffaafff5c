//! Invariants of a connection, checked for anything that a server may send. Shared by the fuzz target, the replay of its corpus
//! and the tests; not part of the API.

use super::codes::NAMES;
use super::connection::{Cql, Settings};
use super::session::{Session, User};
use super::statement::{Options, Statement};
use crate::Limits;
use crate::blank::{Filler, place};
use crate::cuts;
use crate::protocol::{Carrier, Protocol, Reply, Sink, Tag, Violation};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a connection said, in order; pieces of one answer that follow each other are one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Requests may be sent.
    Ready,
    /// An answer has begun.
    First(u64),
    /// Rows as text.
    Body(u64, Vec<u8>),
    /// It is whole, by the name of its code.
    Done(u64, &'static str),
    /// What answers nothing.
    Unsolicited,
}

/// What came of all bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Driven {
    /// What was said.
    pub events: Vec<Event>,
    /// What the client wrote after its first frame, or after its requests.
    pub written: Vec<u8>,
    /// What is wrong with the connection.
    pub result: Result<(), Violation>,
}

/// What is under way, with the bytes that were told of it; nothing of what has ended.
#[derive(Default)]
struct Heard {
    events: Vec<Event>,
    under_way: BTreeMap<u64, Option<u64>>,
}

impl Heard {
    fn bytes_of(&mut self, tag: Tag) -> &mut u64 {
        let known = self.under_way.get_mut(&tag.0).and_then(Option::as_mut);
        known.unwrap_or_else(|| panic!("{tag:?} has not begun, or has ended"))
    }
}

impl Sink for Heard {
    fn ready(&mut self) {
        assert!(!self.events.contains(&Event::Ready), "ready twice");
        self.events.push(Event::Ready);
    }

    fn room(&mut self, _: u32) {
        panic!("the room never changes");
    }

    fn retired(&mut self) {
        panic!("nobody says so");
    }

    fn first(&mut self, tag: Tag) {
        let known = self.under_way.get_mut(&tag.0).expect("it is under way");
        assert!(known.replace(0).is_none(), "begun twice");
        self.events.push(Event::First(tag.0));
    }

    fn head(&mut self, _: Tag, _: &[u8]) {
        panic!("an answer has no head");
    }

    fn body(&mut self, tag: Tag, piece: &[u8]) {
        assert!(!piece.is_empty(), "a piece of nothing");
        *self.bytes_of(tag) += piece.len() as u64;
        match self.events.last_mut() {
            Some(Event::Body(of, body)) if *of == tag.0 => body.extend_from_slice(piece),
            _ => self.events.push(Event::Body(tag.0, piece.to_vec())),
        }
    }

    fn done(&mut self, tag: Tag, Reply { code, body_bytes, reusable }: Reply) {
        assert_eq!(*self.bytes_of(tag), body_bytes, "another length than that of its rows");
        assert!(reusable);
        self.under_way.remove(&tag.0);
        self.events.push(Event::Done(tag.0, NAMES[usize::from(code)]));
    }

    fn lost(&mut self, _: Tag, _: Violation, _: bool) {
        panic!("an answer is never lost alone");
    }

    fn unsolicited(&mut self, in_order: bool) {
        assert!(!in_order, "an event is told from an answer");
        self.events.push(Event::Unsolicited);
    }
}

/// The value of every place.
struct Seven;

impl Filler for Seven {
    fn fill(&mut self, _: u32, out: &mut Vec<u8>) {
        out.push(b'7');
    }
}

/// Requests that are under way, on the streams from 0 on, each by its number.
pub const REQUESTS: u64 = 3;

/// A limit that short inputs reach.
pub const SMALL_BYTES_MAX: u64 = 40;

/// A server that trusts everybody, has the keyspace, and has prepared the statement: by `id`, with a value of int, and a column of text.
pub const LOGGED_IN: &[u8] = b"\x84\0\0\0\x02\0\0\0\0\x84\0\0\0\x08\0\0\0\x0a\0\0\0\x03\0\x04shop\x84\0\0\0\x08\0\0\0\x32\
\0\0\0\x04\0\x02id\0\0\0\x01\0\0\0\x01\0\0\0\0\0\x01k\0\x01t\0\x01a\0\x09\0\0\0\x01\0\0\0\x01\0\x01k\0\x01t\0\x01b\0\x0d";

/// What the client writes for its requests.
pub const EXECUTED: &[u8] = b"\x04\0\0\0\x0a\0\0\0\x11\0\x02id\0\x0a\x03\0\x01\0\0\0\x04\0\0\0\x07";

/// The frame that prepares the statement.
pub const PREPARE: &[u8] = b"\x04\0\0\0\x09\0\0\0\x1d\0\0\0\x19SELECT b FROM t WHERE a=?";

/// Feeds `bytes` to a connection in pieces of the lengths that `next_len` yields. If it `is_ready`, its requests are under way, and
/// otherwise it logs in with the password `pencil`.
///
/// # Panics
/// If the connection breaks an invariant that holds for every call.
pub fn drive(is_ready: bool, bytes_max: u64, bytes: &[u8], next_len: impl FnMut() -> usize) -> Driven {
    driven((is_ready, false), bytes_max, bytes, next_len)
}

/// The same. If each `is_followed`, its statement must find a row, and is executed again once it has.
fn driven(
    (is_ready, is_followed): (bool, bool),
    bytes_max: u64,
    bytes: &[u8],
    mut next_len: impl FnMut() -> usize,
) -> Driven {
    let text = format!("SELECT b FROM t WHERE a={}", place(0));
    let statement = Statement::new(&text, true, Options::default()).expect("a statement");
    let twice = || statement.clone().finding().then(statement.clone());
    let mut statements = [if is_followed { twice() } else { statement.clone() }];
    let user = User { name: "user".into(), password: "pencil".into() };
    let session = Session::new(Some(user), Some("shop".into()), &mut statements);
    let settings = Settings {
        session: Arc::new(session),
        limits: Limits { body_bytes_max: bytes_max, ..Limits::default() },
        streams: REQUESTS as u32,
    };
    let (mut connection, mut shared, mut heard) = (Cql::new(&settings), Cql::shared(1), Heard::default());
    assert_eq!(connection.begin(Carrier::Plain), Ok(false));
    assert!(written(&mut connection, &[]).starts_with(b"\x04\0\0\0\x01"));
    if is_ready {
        assert_eq!(connection.feed(&mut shared, LOGGED_IN, &mut heard), Ok(()));
        assert_eq!(heard.events, [Event::Ready]);
        assert!(written(&mut connection, &[]).ends_with(PREPARE));
        for number in 0..REQUESTS {
            heard.under_way.insert(number, None);
            connection.submit(&mut shared, Tag(number), 0, &statements[0], &mut Seven);
        }
        let mut expected = EXECUTED.repeat(REQUESTS as usize);
        for (stream, frame) in expected.chunks_mut(EXECUTED.len()).enumerate() {
            frame[3] = stream as u8;
        }
        assert_eq!(written(&mut connection, &statements), expected);
    }
    let (mut at, mut result, mut out) = (0, Ok(()), Vec::new());
    while at < bytes.len() && result.is_ok() {
        let len = next_len().clamp(1, bytes.len() - at);
        result = connection.feed(&mut shared, &bytes[at..at + len], &mut heard);
        at += len;
        out.extend(written(&mut connection, &statements));
    }
    Driven { events: heard.events, written: out, result }
}

/// All that is to be written, taken a few bytes at a time.
fn written(connection: &mut Cql, statements: &[Statement]) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let output = connection.output(statements).concat();
        if output.is_empty() {
            return all;
        }
        let n = output.len().min(7);
        all.extend_from_slice(&output[..n]);
        connection.wrote(n);
    }
}

/// Checks one input of the fuzzer. Its first byte chooses the limit (`1` the small one), its second whether the connection is
/// ready (`r`), also with requests of two statements (`f`), and its third how the rest is cut; the rest is what the server sends.
///
/// # Panics
/// If the outcome depends on the cuts, or an invariant breaks.
pub fn check(data: &[u8]) {
    let [choice, phase, seed, bytes @ ..] = data else { return };
    let bytes_max = if *choice == b'1' { SMALL_BYTES_MAX } else { u64::MAX >> 1 };
    cuts::assert_same(*seed, bytes.len(), |next_len| {
        let begun = (matches!(phase, b'r' | b'f'), *phase == b'f');
        let mut outcome = driven(begun, bytes_max, bytes, next_len);
        // An answer that breaks off tells what was read of it. What was still to be written is dropped.
        if outcome.result.is_err() {
            outcome.written.clear();
            if matches!(outcome.events.last(), Some(Event::Body(..))) {
                outcome.events.pop();
            }
        }
        outcome
    });
}
