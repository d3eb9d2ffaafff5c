//! CQL's protocol against another implementation of it, and what servers must not do.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use scylla_cql::frame::frame_errors::ResultMetadataAndRowsCountParseError;
use scylla_cql::frame::protocol_features::ProtocolFeatures;
use scylla_cql::frame::request::execute::ExecuteV2;
use scylla_cql::frame::request::query::QueryParameters;
use scylla_cql::frame::request::{AuthResponse, Prepare, SerializableRequest};
use scylla_cql::frame::response::result::{self, ColumnType, NativeType, Result as Answer};
use scylla_cql::frame::{Compression, SerializedRequest, types};
use scylla_cql::serialize::CellWriter;
use scylla_cql::serialize::row::SerializedValues;
use scylla_cql::serialize::value::SerializeValue;
use scylla_cql::value::{CqlValue, Row};
use std::net::IpAddr;
use std::path::Path;
use unblink_wire::cql::Fault;
use unblink_wire::cql::fuzzing::{
    Driven, EXECUTED, Event, LOGGED_IN, PREPARE, REQUESTS, SMALL_BYTES_MAX, check, drive,
};
use unblink_wire::protocol::Violation;

fn frame(stream: i16, opcode: u8, body: &[u8]) -> Vec<u8> {
    flagged(0, stream, opcode, body)
}

fn flagged(flags: u8, stream: i16, opcode: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![0x84, flags];
    out.extend(stream.to_be_bytes());
    out.push(opcode);
    out.extend((body.len() as u32).to_be_bytes());
    out.extend(body);
    out
}

fn error(stream: i16, code: i32) -> Vec<u8> {
    frame(stream, 0, &[&code.to_be_bytes()[..], b"\0\x09not today"].concat())
}

fn result(stream: i16, kind: i32, rest: &[u8]) -> Vec<u8> {
    frame(stream, 8, &[&kind.to_be_bytes()[..], rest].concat())
}

/// The last of what a server that lets everybody in says: the statement is prepared.
fn prepared(stream: i16) -> Vec<u8> {
    let mut frame = LOGGED_IN[LOGGED_IN.len() - 59..].to_vec();
    frame[2..4].copy_from_slice(&stream.to_be_bytes());
    frame
}

/// A type and a value of it.
fn value() -> impl Strategy<Value = (u16, CqlValue)> {
    prop_oneof![
        any::<i64>().prop_map(|n| (0x02, CqlValue::BigInt(n))),
        any::<i32>().prop_map(|n| (0x09, CqlValue::Int(n))),
        any::<i16>().prop_map(|n| (0x13, CqlValue::SmallInt(n))),
        any::<i8>().prop_map(|n| (0x14, CqlValue::TinyInt(n))),
        any::<bool>().prop_map(|b| (0x04, CqlValue::Boolean(b))),
        any::<f64>().prop_map(|n| (0x07, CqlValue::Double(n))),
        any::<f32>().prop_map(|n| (0x08, CqlValue::Float(n))),
        "[ -~ä]{0,40}".prop_map(|text| (0x0d, CqlValue::Text(text))),
        vec(any::<u8>(), 0..80).prop_map(|bytes| (0x03, CqlValue::Blob(bytes))),
        any::<IpAddr>().prop_map(|address| (0x10, CqlValue::Inet(address))),
        any::<u128>().prop_map(|n| (0x0c, CqlValue::Uuid(format!("{n:032x}").parse().expect("a uuid")))),
    ]
}

fn native(code: u16) -> ColumnType<'static> {
    ColumnType::Native(match code {
        0x02 => NativeType::BigInt,
        0x09 => NativeType::Int,
        0x13 => NativeType::SmallInt,
        0x14 => NativeType::TinyInt,
        0x04 => NativeType::Boolean,
        0x07 => NativeType::Double,
        0x08 => NativeType::Float,
        0x0d => NativeType::Text,
        0x03 => NativeType::Blob,
        0x10 => NativeType::Inet,
        _ => NativeType::Uuid,
    })
}

/// As we tell it.
fn text(value: &Option<CqlValue>) -> String {
    match value {
        None => "\\N".into(),
        Some(CqlValue::BigInt(n)) => n.to_string(),
        Some(CqlValue::Int(n)) => n.to_string(),
        Some(CqlValue::SmallInt(n)) => n.to_string(),
        Some(CqlValue::TinyInt(n)) => n.to_string(),
        Some(CqlValue::Boolean(b)) => b.to_string(),
        Some(CqlValue::Double(n)) => format!("{n:?}"),
        Some(CqlValue::Float(n)) => format!("{n:?}"),
        Some(CqlValue::Text(text)) => text.clone(),
        Some(CqlValue::Blob(bytes)) if bytes.is_empty() => String::new(),
        Some(CqlValue::Blob(bytes)) => {
            format!("0x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        Some(CqlValue::Inet(address)) => address.to_string(),
        Some(CqlValue::Uuid(uuid)) => uuid.to_string(),
        other => panic!("{other:?}"),
    }
}

/// What another implementation makes of the rows of a frame's body.
fn rows_of_the_other(body: &[u8]) -> Result<String, ResultMetadataAndRowsCountParseError> {
    let answer =
        result::deserialize_with_features(Bytes::copy_from_slice(body), None, &ProtocolFeatures::default());
    let Ok(Answer::Rows((rows, _))) = answer else { panic!("rows") };
    let rows = rows.deserialize_metadata()?;
    let each = rows.rows_iter::<Row>().expect("any row will do");
    let lines = each.map(|row| {
        let columns = row.expect("well-formed").columns;
        columns.iter().map(text).collect::<Vec<_>>().join("\t") + "\n"
    });
    Ok(lines.collect())
}

proptest! {
    #[test]
    fn rows_are_those_of_another_implementation(
        columns in vec(value(), 1..6),
        nulls in vec(any::<bool>(), 0..8),
        cut in 1..60usize,
    ) {
        let mut body = b"\0\0\0\x02\0\0\0\x01".to_vec();
        body.extend((columns.len() as u32).to_be_bytes());
        body.extend(b"\0\x01k\0\x01t");
        columns.iter().for_each(|(code, _)| {
            body.extend(b"\0\x01c");
            body.extend(code.to_be_bytes());
        });
        body.extend((nulls.len() as u32).to_be_bytes());
        for is_null in &nulls {
            for (at, (code, value)) in columns.iter().enumerate() {
                match *is_null && at % 2 == 0 {
                    true => body.extend((-1i32).to_be_bytes()),
                    false => {
                        value.serialize(&native(*code), CellWriter::new(&mut body)).expect("it fits");
                    }
                }
            }
        }
        let outcome = drive(true, u64::MAX >> 1, &frame(1, 8, &body), || cut);
        let text = rows_of_the_other(&body).expect("well-formed").into_bytes();
        let mut expected = vec![Event::Ready, Event::First(1)];
        if !text.is_empty() {
            expected.push(Event::Body(1, text));
        }
        expected.push(Event::Done(1, if nulls.is_empty() { "no_rows" } else { "rows" }));
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
            (0..3i16).prop_map(|stream| result(stream, 1, b"")),
            (0..3i16).prop_map(|stream| error(stream, 0x2500)),
            (0..3i16).prop_map(prepared),
            (0..3i16).prop_map(|stream| error(stream, 0x1100)),
            (0..3i16).prop_map(|stream| result(stream, 2, b"\0\0\0\x04\0\0\0\x01\0\0\0\x02\0\0\0\x02ab\xff\xff\xff\xff")),
            Just(frame(-1, 12, b"\0\x0dSTATUS_CHANGE")), Just(frame(0, 2, b"")), Just(flagged(8, 1, 8, b"\0\x01\0\x02hm\0\0\0\x01")),
            vec(any::<u8>(), 1..9),
        ], 0..12),
        seed in any::<u8>(),
    ) {
        check(&[&[b'0', b'r', seed][..], &parts.concat()].concat());
    }
}

fn said(parts: &[Vec<u8>]) -> (Vec<Event>, Vec<u8>) {
    let mut outcome = drive(true, u64::MAX >> 1, &parts.concat(), || usize::MAX);
    assert_eq!(outcome.result, Ok(()));
    outcome.events.remove(0);
    (outcome.events, outcome.written)
}

fn request(request: &impl SerializableRequest) -> Vec<u8> {
    SerializedRequest::make(request, None::<Compression>, false).expect("it fits").get_data().to_vec()
}

/// What we write is what another implementation writes.
#[test]
fn requests_are_those_of_another_implementation() {
    assert_eq!(PREPARE, request(&Prepare { query: "SELECT b FROM t WHERE a=?" }));
    let mut values = SerializedValues::new();
    values.add_value(&7i32, &ColumnType::Native(NativeType::Int)).expect("it fits");
    let parameters = QueryParameters {
        consistency: types::Consistency::LocalOne,
        skip_metadata: true,
        values: std::borrow::Cow::Owned(values),
        ..QueryParameters::default()
    };
    let executed = ExecuteV2 {
        id: (&b"id"[..]).into(),
        result_metadata_id: None,
        parameters,
        tablet_version_block: None,
    };
    assert_eq!(EXECUTED, request(&executed));
    let asks = frame(0, 3, b"\0\x01x");
    let outcome = drive(false, 100, &asks, || 1);
    assert_eq!(outcome.written, request(&AuthResponse { response: Some(b"\0user\0pencil".to_vec()) }));
}

#[test]
fn answers_come_in_any_order_and_an_error_of_one_leaves_the_others_alone() {
    let (events, _) = said(&[error(2, 0x1001), result(0, 1, b""), result(1, 5, b"\0\x07CREATED")]);
    let ends = [
        Event::First(2),
        Event::Done(2, "overloaded"),
        Event::First(0),
        Event::Done(0, "void"),
        Event::First(1),
        Event::Done(1, "void"),
    ];
    assert_eq!(events, ends);
}

#[test]
fn a_condition_that_did_not_hold_is_told_apart() {
    for (applied, code) in [(b"\0", "not_applied"), (b"\x01", "rows")] {
        let body =
            [&b"\0\0\0\x01\0\0\0\x01\0\x01k\0\x01t\0\x09[applied]\0\x04\0\0\0\x01\0\0\0\x01"[..], applied];
        let (events, _) = said(&[result(0, 2, &body.concat())]);
        assert_eq!(events.last(), Some(&Event::Done(0, code)));
    }
}

/// The statement is prepared again on this server, and the very same request is sent again.
#[test]
fn what_is_no_longer_prepared_is_prepared_and_sent_again() {
    let again = |stream: u8, frame: &[u8]| {
        let mut frame = frame.to_vec();
        frame[3] = stream;
        frame
    };
    let (events, written) = said(&[error(1, 0x2500)]);
    assert_eq!((events, written), (vec![Event::First(1)], again(1, PREPARE)));
    let (events, written) = said(&[error(1, 0x2500), prepared(1), result(1, 1, b"")]);
    assert_eq!(events, [Event::First(1), Event::Done(1, "void")]);
    assert_eq!(written, [again(1, PREPARE), again(1, EXECUTED)].concat());
    let (events, _) = said(&[error(1, 0x2500), prepared(1), error(1, 0x2500)]);
    assert_eq!(events.last(), Some(&Event::Done(1, "unprepared")));
    let (events, _) = said(&[error(1, 0x2500), error(1, 0x2200)]);
    assert_eq!(events.last(), Some(&Event::Done(1, "invalid")));
    // With another type of its value, what was written means something else.
    let mut other = prepared(1);
    let place = other.windows(4).position(|four| four == b"a\0\x09\0").expect("its type");
    other[place + 2] = 0x02;
    let (events, written) = said(&[error(1, 0x2500), other]);
    assert_eq!(events.last(), Some(&Event::Done(1, "unprepared")));
    assert_eq!(written, again(1, PREPARE));
}

#[test]
fn what_comes_at_any_time_answers_nothing() {
    let flags = b"0123456789abcdef\0\x01\0\x02hm\0\x01\0\x01k\0\0\0\x01v\0\0\0\x01";
    let (events, _) = said(&[frame(-1, 12, b"\0\x0dSCHEMA_CHANGE"), flagged(0x0e, 0, 8, flags)]);
    assert_eq!(events, [Event::Unsolicited, Event::First(0), Event::Done(0, "void")]);
}

#[test]
fn what_a_server_must_not_send_is_a_fault() {
    let malformed = |fault: Fault| {
        let number = Fault::ALL.iter().position(|one| *one == fault).expect("listed");
        Err(Violation::Malformed(number as u16))
    };
    let void = |stream| result(stream, 1, b"");
    for (bytes, fault) in [
        (void(REQUESTS as i16), Fault::UnknownStream),
        (void(-1), Fault::UnknownStream),
        (void(-2), Fault::UnknownStream),
        (void(i16::MAX), Fault::UnknownStream),
        ([void(0), void(0)].concat(), Fault::UnknownStream),
        (frame(0, 12, b"\0\x01x"), Fault::UnknownMessage),
        (frame(0, 2, b""), Fault::UnknownMessage),
        (prepared(0), Fault::UnknownMessage),
        ([error(0, 0x2500), void(0)].concat(), Fault::UnknownMessage),
        (flagged(1, 0, 8, b"x"), Fault::CompressedUnasked),
        (b"\x84\0\0\0\x08\x80\0\0\0".to_vec(), Fault::BadLength),
        (b"\x85\0\0\0\x08".to_vec(), Fault::VersionUnsupported),
        (frame(0, 8, b"\0\0\0"), Fault::BadMessage),
        (result(0, 9, b""), Fault::BadMessage),
        (result(0, 2, b"\0\0\0\x04\0\0\0\x01\0\0\0\x01\0\0\0\x02a"), Fault::BadRow),
    ] {
        assert_eq!(drive(true, u64::MAX >> 1, &bytes, || 3).result, malformed(fault), "{fault}: {bytes:?}");
    }
    let long = result(
        0,
        2,
        &[&b"\0\0\0\x04\0\0\0\x01\0\0\0\x01\0\0\0\x28"[..], &[b'x'; SMALL_BYTES_MAX as usize]].concat(),
    );
    assert_eq!(drive(true, SMALL_BYTES_MAX, &long, || 5).result, Err(Violation::TooLarge));
    let (ready, asks) = (frame(0, 2, b""), frame(0, 3, b"\0\x01x"));
    let keyspace = result(0, 3, b"\0\x04shop");
    let begun = [ready.clone(), keyspace.clone()].concat();
    let with_type = |code: u8| {
        let mut prepared = prepared(0);
        let place = prepared.windows(4).position(|four| four == b"a\0\x09\0").expect("its type");
        prepared[place + 2] = code;
        [begun.clone(), prepared].concat()
    };
    let other_values = result(0, 4, b"\0\x02id\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0");
    for (bytes, fault) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Fault::HttpAnswer),
        (b"SSH-2.0-x\r\n".to_vec(), Fault::NotCql),
        (frame(1, 2, b""), Fault::UnknownStream),
        (keyspace, Fault::UnknownMessage),
        (error(0, 0x000a), Fault::VersionUnsupported),
        (error(0, 0x1002), Fault::NotReady),
        (error(0, 0x0000), Fault::LoginRefused),
        ([asks.clone(), error(0, 0x0100)].concat(), Fault::PasswordWrong),
        ([asks.clone(), frame(0, 14, b"\0\0\0\0")].concat(), Fault::MethodUnsupported),
        ([asks.clone(), ready.clone()].concat(), Fault::UnknownMessage),
        ([ready.clone(), error(0, 0x2200)].concat(), Fault::KeyspaceRefused),
        ([begun.clone(), error(0, 0x2200)].concat(), Fault::StatementRefused),
        ([begun.clone(), error(0, 0x1001)].concat(), Fault::NotReady),
        ([begun.clone(), prepared(1)].concat(), Fault::UnknownStream),
        ([begun.clone(), other_values].concat(), Fault::ValuesOther),
        (with_type(0x06), Fault::TypeUnsupported),
    ] {
        assert_eq!(drive(false, u64::MAX >> 1, &bytes, || 3).result, malformed(fault), "{fault}: {bytes:?}");
    }
}

#[test]
fn the_corpus_breaks_no_invariant() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/cql");
    let seeds: Vec<_> =
        std::fs::read_dir(folder).expect("a corpus").map(|entry| entry.expect("a file").path()).collect();
    assert!(seeds.len() >= 16, "only {} seeds", seeds.len());
    seeds.iter().for_each(|path| check(&std::fs::read(path).expect("a file")));
}
