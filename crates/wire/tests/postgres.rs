//! PostgreSQL's protocol against another implementation of it, and what servers must not do.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::Message;
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;
use unblink_wire::postgres::Fault;
use unblink_wire::postgres::fuzzing::{
    Driven, Event, LOGGED_IN, SMALL_BYTES_MAX, TRANSACTIONS, check, drive,
};
use unblink_wire::protocol::Violation;

fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32 + 4).to_be_bytes();
    [&[kind][..], &length, payload].concat()
}

fn row(values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut payload = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        match value {
            None => payload.extend((-1i32).to_be_bytes()),
            Some(value) => {
                payload.extend((value.len() as i32).to_be_bytes());
                payload.extend(value);
            }
        }
    }
    message(b'D', &payload)
}

fn complete(tag: &str) -> Vec<u8> {
    message(b'C', &[tag.as_bytes(), b"\0"].concat())
}

fn ready(status: u8) -> Vec<u8> {
    message(b'Z', &[status])
}

fn error(severity: &str, state: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{state}\0Mnot today\0\0");
    message(b'E', fields.as_bytes())
}

fn bound() -> Vec<u8> {
    message(b'2', b"")
}

/// What another implementation makes of the rows.
fn rows_of_the_other(bytes: &[u8]) -> Vec<u8> {
    let (mut buffer, mut text) = (BytesMut::from(bytes), Vec::new());
    while let Some(message) = Message::parse(&mut buffer).expect("well-formed") {
        let Message::DataRow(body) = message else { continue };
        let values: Vec<Vec<u8>> = body
            .ranges()
            .map(|range| Ok(range.map_or(b"\\N".to_vec(), |range| body.buffer()[range].to_vec())))
            .collect()
            .expect("well-formed");
        text.extend(values.join(&b'\t'));
        text.push(b'\n');
    }
    text
}

proptest! {
    #[test]
    fn rows_are_those_of_another_implementation(
        rows in vec(vec(proptest::option::weighted(0.8, vec(any::<u8>(), 0..40)), 0..6), 0..8),
        cut in 1..60usize,
    ) {
        let mut bytes = bound();
        rows.iter().for_each(|values| bytes.extend(row(values)));
        bytes.extend(complete(&format!("SELECT {}", rows.len())));
        bytes.extend(ready(b'I'));
        let outcome = drive(true, u64::MAX >> 1, &bytes, || cut);
        let text = rows_of_the_other(&bytes);
        let mut expected = vec![Event::Ready, Event::First(0)];
        if !text.is_empty() {
            expected.push(Event::Body(0, text));
        }
        expected.push(Event::Done(0, if rows.is_empty() { "empty" } else { "done" }, true));
        prop_assert_eq!(outcome, Driven { events: expected, written: Vec::new(), result: Ok(()) });
    }

    #[test]
    fn any_bytes_are_the_same_however_they_are_cut(bytes in vec(any::<u8>(), 0..120), ready in any::<bool>(), seed in any::<u8>()) {
        check(&[&[b'1', if ready { b'r' } else { b'l' }, seed][..], &bytes].concat());
    }

    /// What looks like a server for a while, and then does not.
    #[test]
    fn broken_sequences_are_the_same_however_they_are_cut(
        parts in vec(prop_oneof![
            Just(bound()), Just(row(&[Some(b"a".to_vec()), None])), Just(complete("SELECT 1")), Just(ready(b'I')), Just(ready(b'T')),
            Just(error("ERROR", "40001")), Just(error("ERROR", "26000")), Just(error("FATAL", "57P01")), Just(message(b'N', b"SNOTICE\0\0")),
            Just(message(b'A', b"\0\0\0\x01a\0b\0")), Just(message(b'S', b"a\0b\0")), Just(message(b'G', b"\0\0\0")),
            Just(message(b'1', b"")), Just(message(b'R', b"\0\0\0\0")), vec(any::<u8>(), 1..9),
        ], 0..12),
        seed in any::<u8>(),
    ) {
        check(&[&[b'0', b'r', seed][..], &parts.concat()].concat());
    }
}

fn events(parts: &[Vec<u8>]) -> (Vec<Event>, Result<(), Violation>) {
    let mut outcome = drive(true, u64::MAX >> 1, &parts.concat(), || usize::MAX);
    outcome.events.remove(0);
    (outcome.events, outcome.result)
}

#[test]
fn an_error_of_one_transaction_leaves_those_behind_it_alone() {
    let answers = [
        bound(),
        error("ERROR", "40P01"),
        ready(b'I'),
        bound(),
        complete("UPDATE 0"),
        ready(b'I'),
        bound(),
        complete("INSERT 0 1"),
        ready(b'I'),
    ];
    let (events, result) = events(&answers);
    assert_eq!(result, Ok(()));
    let ends = [
        Event::Done(0, "deadlock_detected", true),
        Event::Done(1, "empty", true),
        Event::Done(2, "done", true),
    ];
    assert_eq!(events.into_iter().filter(|event| matches!(event, Event::Done(..))).collect::<Vec<_>>(), ends);
}

/// A statement that counts no rows hides none that found nothing.
#[test]
fn a_transaction_is_empty_if_none_that_counts_found_something() {
    let ends = |tags: &[&str]| {
        let answers = tags.iter().flat_map(|tag| [bound(), complete(tag)]).chain([ready(b'I')]);
        let (events, result) = events(&answers.collect::<Vec<_>>());
        assert_eq!(result, Ok(()));
        events.last().cloned()
    };
    for (tags, code) in [
        (&["UPDATE 0", "SET"][..], "empty"),
        (&["SET", "UPDATE 0"], "empty"),
        (&["SET", "UPDATE 0", "INSERT 0 1"], "done"),
        (&["SET"], "done"),
        (&["CREATE TABLE"], "done"),
    ] {
        assert_eq!(ends(tags), Some(Event::Done(0, code, true)), "{tags:?}");
    }
    // What was returned counts, whatever its tag.
    let shown =
        [bound(), complete("UPDATE 0"), bound(), row(&[Some(b"on".to_vec())]), complete("SHOW"), ready(b'I')];
    assert_eq!(events(&shown).0.last(), Some(&Event::Done(0, "done", true)));
}

/// What was sent behind it is answered first.
#[test]
fn a_transaction_whose_statement_is_lost_is_sent_once_more() {
    let lost = [error("ERROR", "26000"), ready(b'I')].concat();
    let done = [message(b'1', b""), bound(), complete("SELECT 1"), ready(b'I')].concat();
    let ends = |parts: &[Vec<u8>]| {
        let (events, result) = events(parts);
        assert_eq!(result, Ok(()));
        events.into_iter().filter(|event| !matches!(event, Event::First(_))).collect::<Vec<_>>()
    };
    let whole = |number, code| Event::Done(number, code, true);
    let both = [lost.clone(), done.clone(), lost.clone(), done.clone(), lost.clone()];
    let expected = [
        Event::Again(0),
        whole(1, "done"),
        Event::Again(2),
        whole(0, "done"),
        whole(2, "invalid_statement_name"),
    ];
    assert_eq!(ends(&both), expected);
    // In a transaction that is open nothing can be done but to roll back.
    for status in [b'T', b'E'] {
        let failed = [error("ERROR", "26000"), ready(status)].concat();
        assert_eq!(ends(&[failed]), [Event::Done(0, "invalid_statement_name", false)]);
    }
    // Where it had begun, something may have been done.
    let begun = [bound(), error("ERROR", "26000"), ready(b'I')].concat();
    assert_eq!(ends(&[begun]), [whole(0, "invalid_statement_name")]);
    let fatal = error("FATAL", "26000");
    assert_eq!(ends(&[fatal]), [Event::Retired, Event::Done(0, "invalid_statement_name", false)]);
}

#[test]
fn what_comes_at_any_time_answers_nothing() {
    let (notice, notified) = (message(b'N', b"SNOTICE\0\0"), message(b'A', b"\0\0\0\x01a\0b\0"));
    let parameter = message(b'S', b"TimeZone\0UTC\0");
    let parts = [
        notice.clone(),
        bound(),
        notice,
        row(&[None]),
        notified,
        parameter,
        complete("SELECT 1"),
        ready(b'I'),
    ];
    let expected = [
        Event::First(0),
        Event::Body(0, b"\\N\n".to_vec()),
        Event::Unsolicited,
        Event::Done(0, "done", true),
    ];
    assert_eq!(events(&parts), (expected.to_vec(), Ok(())));
}

#[test]
fn a_server_that_ends_says_why_and_takes_nothing_more() {
    let parts = [bound(), error("FATAL", "57P01")];
    let expected = [Event::First(0), Event::Retired, Event::Done(0, "admin_shutdown", false)];
    assert_eq!(events(&parts), (expected.to_vec(), Ok(())));
}

#[test]
fn a_server_that_ends_while_nothing_is_under_way_breaks_nothing() {
    let whole = [bound(), complete("SELECT 1"), ready(b'I')].concat();
    let parts = [whole.repeat(TRANSACTIONS as usize), error("FATAL", "57P01")];
    let (events, result) = events(&parts);
    assert_eq!((events.last(), result), (Some(&Event::Retired), Ok(())));
}

#[test]
fn a_transaction_that_stays_open_ends_its_connection() {
    for status in [b'T', b'E'] {
        let (events, _) = events(&[bound(), complete("BEGIN"), ready(status)]);
        assert_eq!(events.last(), Some(&Event::Done(0, "done", false)));
    }
}

#[test]
fn what_a_server_must_not_send_is_a_fault() {
    let malformed = |fault: Fault| {
        let number = Fault::ALL.iter().position(|one| *one == fault).expect("listed");
        Err(Violation::Malformed(number as u16))
    };
    let whole = [bound(), complete("SELECT 0"), ready(b'I')].concat();
    for (bytes, fault) in [
        (message(b'G', b"\0\0\0"), Fault::CopyUnasked),
        (message(b'H', b"\0\0\0"), Fault::CopyUnasked),
        (message(b'?', b""), Fault::UnknownMessage),
        (message(b'R', b"\0\0\0\0"), Fault::UnknownMessage),
        (b"Z\0\0\0\x03".to_vec(), Fault::BadLength),
        (b"C\xff\xff\xff\xff".to_vec(), Fault::BadLength),
        (message(b'D', b"\0\x02\0\0\0\x01a"), Fault::BadRow),
        (ready(b'X'), Fault::BadMessage),
        (message(b'C', b"SELECT 1"), Fault::BadMessage),
        (message(b'E', b"SERROR\0\0"), Fault::BadMessage),
        ([whole.repeat(TRANSACTIONS as usize), bound()].concat(), Fault::Unasked),
        ([whole.repeat(TRANSACTIONS as usize), error("ERROR", "XX000")].concat(), Fault::Unasked),
    ] {
        assert_eq!(drive(true, u64::MAX >> 1, &bytes, || 3).result, malformed(fault), "{fault}");
    }
    let long = [bound(), row(&[Some(vec![b'x'; SMALL_BYTES_MAX as usize])])].concat();
    assert_eq!(drive(true, SMALL_BYTES_MAX, &long, || 5).result, Err(Violation::TooLarge));
    for (bytes, fault) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Fault::HttpAnswer),
        (b"SSH-2.0-x\r\n".to_vec(), Fault::BadLength),
        (message(b'R', b"\0\0\0\x07"), Fault::MethodUnsupported),
        (message(b'R', b"\0\0\0\x0aSCRAM-SHA-1\0\0"), Fault::MethodUnsupported),
        (message(b'R', b"\0\0\0\x0b"), Fault::UnknownMessage),
        (message(b'R', b"\0\0"), Fault::BadMessage),
        (message(b'R', b"\0\0\0\x05ab"), Fault::BadMessage),
        (error("FATAL", "28P01"), Fault::PasswordWrong),
        (error("FATAL", "3D000"), Fault::DatabaseRefused),
        (error("FATAL", "53300"), Fault::TooManyConnections),
        (error("FATAL", "57P03"), Fault::NotReady),
        (error("FATAL", "XX000"), Fault::LoginRefused),
        (ready(b'I'), Fault::UnknownMessage),
        (
            [message(b'R', b"\0\0\0\0"), ready(b'I'), error("ERROR", "42P01")].concat(),
            Fault::StatementRefused,
        ),
        ([message(b'R', b"\0\0\0\0"), ready(b'I'), ready(b'I')].concat(), Fault::UnknownMessage),
        (LOGGED_IN[..LOGGED_IN.len() - 6].repeat(2), Fault::UnknownMessage),
    ] {
        assert_eq!(drive(false, u64::MAX >> 1, &bytes, || 3).result, malformed(fault), "{fault}");
    }
}

/// The password goes out in the way that the server asks for.
#[test]
fn a_client_proves_who_asks() {
    let plain = drive(false, 100, &message(b'R', b"\0\0\0\x03"), || 1);
    assert_eq!(plain.written, message(b'p', b"pencil\0"));
    let hashed = drive(false, 100, &message(b'R', b"\0\0\0\x05abcd"), || 1);
    let expected = postgres_protocol::authentication::md5_hash(b"user", b"pencil", *b"abcd");
    assert_eq!(hashed.written, message(b'p', format!("{expected}\0").as_bytes()));
    let scram = drive(false, 100, &message(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"), || 1);
    assert!(scram.written.windows(14).any(|part| part == b"SCRAM-SHA-256\0"), "{scram:?}");
}

#[test]
fn the_corpus_breaks_no_invariant() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/postgres");
    let seeds: Vec<_> =
        std::fs::read_dir(folder).expect("a corpus").map(|entry| entry.expect("a file").path()).collect();
    assert!(seeds.len() >= 8, "only {} seeds", seeds.len());
    seeds.iter().for_each(|path| check(&std::fs::read(path).expect("a file")));
}
