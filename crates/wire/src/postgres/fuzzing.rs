//! Invariants of a connection, checked for anything that a server may send. Shared by the fuzz target, the replay of its corpus
//! and the tests; not part of the API.

use super::codes::NAMES;
use super::connection::{Postgres, Settings};
use super::session::{Session, User};
use super::sql::Transaction;
use crate::Limits;
use crate::blank::NothingToFill;
use crate::cuts;
use crate::protocol::{Carrier, Protocol, Reply, Sink, Tag, Violation};
use std::collections::VecDeque;
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
    /// Its statement was not there: it is prepared and sent again.
    Again(u64),
    /// It is whole: the name of its code, and whether the connection goes on.
    Done(u64, &'static str, bool),
    /// A notification.
    Unsolicited,
    /// The connection takes nothing more.
    Retired,
}

/// What came of all bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Driven {
    /// What was said.
    pub events: Vec<Event>,
    /// What the client wrote after its first message.
    pub written: Vec<u8>,
    /// What is wrong with the connection.
    pub result: Result<(), Violation>,
}

struct Heard {
    events: Vec<Event>,
    /// Transactions in the order of their answers.
    under_way: VecDeque<u64>,
}

impl Heard {
    fn push(&mut self, tag: Tag, event: Event) {
        assert_eq!(self.under_way.front(), Some(&tag.0), "{event:?} of what is not next");
        self.events.push(event);
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
        self.events.push(Event::Retired);
    }

    fn first(&mut self, tag: Tag) {
        assert!(!self.events.contains(&Event::First(tag.0)), "begun twice");
        self.push(tag, Event::First(tag.0));
    }

    fn head(&mut self, _: Tag, _: &[u8]) {
        panic!("an answer has no head");
    }

    fn body(&mut self, tag: Tag, piece: &[u8]) {
        assert!(!piece.is_empty(), "a piece of nothing");
        match self.events.last_mut() {
            Some(Event::Body(of, body)) if *of == tag.0 => body.extend_from_slice(piece),
            _ => self.push(tag, Event::Body(tag.0, piece.to_vec())),
        }
    }

    fn done(&mut self, tag: Tag, Reply { code, body_bytes, reusable }: Reply) {
        assert!(self.events.contains(&Event::First(tag.0)));
        let length = |event: &Event| match event {
            Event::Body(of, body) if *of == tag.0 => body.len(),
            _ => 0,
        };
        let text: usize = self.events.iter().map(length).sum();
        assert_eq!(text as u64, body_bytes, "another length than that of its rows");
        self.push(tag, Event::Done(tag.0, NAMES[usize::from(code)], reusable));
        self.under_way.pop_front();
    }

    fn prepared_again(&mut self, tag: Tag) {
        assert!(!self.events.contains(&Event::Again(tag.0)), "sent a third time");
        self.push(tag, Event::Again(tag.0));
        self.under_way.rotate_left(1);
    }

    fn lost(&mut self, _: Tag, _: Violation, _: bool) {
        panic!("an answer is never lost alone");
    }

    fn unsolicited(&mut self, in_order: bool) {
        assert!(!in_order, "a notification is told from an answer");
        self.events.push(Event::Unsolicited);
    }
}

/// Transactions that are under way.
pub const TRANSACTIONS: u64 = 3;

/// A limit that short inputs reach.
pub const SMALL_BYTES_MAX: u64 = 20;

/// A server that trusts everybody and has prepared one statement.
pub const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I1\0\0\0\x04Z\0\0\0\x05I";

/// Feeds `bytes` to a connection in pieces of the lengths that `next_len` yields. If it `is_ready`, its transactions are under
/// way, and otherwise it logs in with the password `pencil`.
///
/// # Panics
/// If the connection breaks an invariant that holds for every call.
pub fn drive(is_ready: bool, bytes_max: u64, bytes: &[u8], mut next_len: impl FnMut() -> usize) -> Driven {
    let transactions = [Transaction::new("SELECT 1", false).expect("a statement")];
    let user = User { name: "user".into(), password: Some("pencil".into()) };
    let settings = Settings {
        session: Arc::new(Session::new(user, "shop", &[], &transactions, [7; 32])),
        limits: Limits { body_bytes_max: bytes_max, ..Limits::default() },
        depth: TRANSACTIONS as u32,
    };
    let mut heard = Heard { events: Vec::new(), under_way: (0..TRANSACTIONS).collect() };
    let (mut connection, mut shared) = (Postgres::new(&settings), Postgres::shared(1));
    assert_eq!(connection.begin(Carrier::Plain), Ok(false));
    assert_eq!(written(&mut connection, &[]), &*settings.session.startup);
    if is_ready {
        assert_eq!(connection.feed(&mut shared, LOGGED_IN, &mut heard), Ok(()));
        assert_eq!(heard.events, [Event::Ready]);
        assert_eq!(written(&mut connection, &[]), &*settings.session.prepare);
        for number in 0..TRANSACTIONS {
            connection.submit(&mut shared, Tag(number), 0, &transactions[0], &mut NothingToFill);
        }
        let ready = transactions[0].ready().expect("always the same");
        assert_eq!(written(&mut connection, &transactions), ready.repeat(TRANSACTIONS as usize));
    }
    let mut unnamed = Vec::new();
    transactions[0].write(false, &mut NothingToFill, &mut unnamed);
    let (mut at, mut result, mut out) = (0, Ok(()), Vec::new());
    while at < bytes.len() && result.is_ok() {
        let len = next_len().clamp(1, bytes.len() - at);
        result = connection.feed(&mut shared, &bytes[at..at + len], &mut heard);
        at += len;
        out.extend(written(&mut connection, &transactions));
        let again = heard.events.iter().filter(|event| matches!(event, Event::Again(_))).count();
        assert!(!is_ready || out == unnamed.repeat(again), "nothing else is ever answered");
    }
    Driven { events: heard.events, written: out, result }
}

/// All that is to be written, taken a few bytes at a time.
fn written(connection: &mut Postgres, transactions: &[Transaction]) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let output = connection.output(transactions).concat();
        if output.is_empty() {
            return all;
        }
        let n = output.len().min(7);
        all.extend_from_slice(&output[..n]);
        connection.wrote(n);
    }
}

/// Checks one input of the fuzzer. Its first byte chooses the limit (`1` the small one), its second whether the connection is
/// ready (`r`) and its third how the rest is cut; the rest is what the server sends.
///
/// # Panics
/// If the outcome depends on the cuts, or an invariant breaks.
pub fn check(data: &[u8]) {
    let [choice, phase, seed, bytes @ ..] = data else { return };
    let bytes_max = if *choice == b'1' { SMALL_BYTES_MAX } else { u64::MAX >> 1 };
    cuts::assert_same(*seed, bytes.len(), |next_len| {
        let mut outcome = drive(*phase == b'r', bytes_max, bytes, next_len);
        // Of an answer that breaks off, as much was told as had been read; what was to be written is written no more.
        if outcome.result.is_err() {
            outcome.written.clear();
            if matches!(outcome.events.last(), Some(Event::Body(..))) {
                outcome.events.pop();
            }
        }
        outcome
    });
}
