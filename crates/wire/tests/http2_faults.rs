//! Each way in which an HTTP/2 server can break the protocol has its own name, at whatever point its bytes are cut.

mod server;

use Fault as F;
use server::*;
use std::collections::HashSet;
use unblink_wire::Limits;
use unblink_wire::http2::Fault;
use unblink_wire::http2::fuzzing::{Driven, Event, SMALL_LIMITS, check, drive};
use unblink_wire::protocol::Violation;

/// Settings, then `frames`.
fn sent(frames: &[Vec<u8>]) -> Vec<u8> {
    [settings(&[]), frames.concat()].concat()
}

fn outcome(bytes: &[u8]) -> Driven {
    let seed = [b"1\x07", bytes].concat();
    check(&seed);
    drive(SMALL_LIMITS, bytes, || bytes.len())
}

/// What is wrong with the whole connection.
fn of_connection() -> Vec<(Vec<u8>, Fault)> {
    let many = |n: usize, frame: Vec<u8>| vec![frame; n];
    let ok = |stream, flags| status(stream, flags, "200");
    let literal = |bytes: &[u8]| sent(&[frame(HEADERS, END_HEADERS, 1, bytes)]);
    vec![
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), F::AnsweredInHttp1),
        (b"SSH-2.0-OpenSSH_9.6\r\n".to_vec(), F::NotHttp2),
        (frame(PING, 0, 0, &[0; 8]), F::NotHttp2),
        (frame(SETTINGS, ACK, 0, b""), F::NotHttp2),
        (sent(&[frame(DATA, 0, 1, &[0; 16_385])]), F::FrameTooLarge),
        (sent(&[vec![0xff; 9]]), F::FrameTooLarge),
        (sent(&[frame(PING, 0, 0, &[0; 7])]), F::FrameSize),
        (sent(&[frame(SETTINGS, 0, 0, &[0; 5])]), F::FrameSize),
        (sent(&[frame(SETTINGS, ACK, 0, &[0; 6])]), F::FrameSize),
        (sent(&[frame(RST_STREAM, 0, 1, &[0; 3])]), F::FrameSize),
        (sent(&[frame(WINDOW_UPDATE, 0, 1, &[0; 5])]), F::FrameSize),
        (sent(&[frame(PRIORITY, 0, 1, &[0; 4])]), F::FrameSize),
        (sent(&[frame(GOAWAY, 0, 0, &[0; 7])]), F::FrameSize),
        (sent(&[frame(DATA, PADDED, 1, b"")]), F::FrameSize),
        (sent(&[frame(HEADERS, PRIORITISED | END_HEADERS, 1, &[0; 4])]), F::FrameSize),
        (sent(&[frame(DATA, PADDED, 1, &[3, 0, 0])]), F::Padding),
        (sent(&[frame(HEADERS, PADDED | END_HEADERS, 1, &[9, 0x88])]), F::Padding),
        (sent(&[frame(DATA, 0, 0, b"x")]), F::StreamZero),
        (sent(&[ok(0, 0)]), F::StreamZero),
        (sent(&[number(RST_STREAM, 0, 8)]), F::StreamZero),
        (sent(&[frame(PRIORITY, 0, 0, &[0; 5])]), F::StreamZero),
        (sent(&[frame(PING, 0, 1, &[0; 8])]), F::NotStreamZero),
        (sent(&[frame(SETTINGS, 0, 1, b"")]), F::NotStreamZero),
        (sent(&[frame(GOAWAY, 0, 1, &[0; 8])]), F::NotStreamZero),
        (sent(&[ok(99, END_STREAM)]), F::IdleStream),
        (sent(&[ok(2, END_STREAM)]), F::IdleStream),
        (sent(&[frame(DATA, 0, 99, b"x")]), F::IdleStream),
        (sent(&[number(RST_STREAM, 99, 8)]), F::IdleStream),
        (sent(&[number(WINDOW_UPDATE, 99, 8)]), F::IdleStream),
        (sent(&[ok(1, END_STREAM), frame(DATA, 0, 1, b"x")]), F::ClosedStream),
        (sent(&[ok(1, END_STREAM), ok(1, END_STREAM)]), F::ClosedStream),
        (sent(&[number(RST_STREAM, 1, 8), ok(1, END_STREAM)]), F::ClosedStream),
        (sent(&[frame(HEADERS, 0, 1, &[0x88]), frame(PING, 0, 0, &[0; 8])]), F::ContinuationExpected),
        (sent(&[frame(HEADERS, 0, 1, &[0x88]), frame(CONTINUATION, 4, 3, b"")]), F::ContinuationExpected),
        (sent(&[frame(HEADERS, 0, 1, &[0x88]), ok(1, 0)]), F::ContinuationExpected),
        (sent(&[frame(CONTINUATION, 4, 1, &[0x88])]), F::ContinuationUnexpected),
        (sent(&[frame(PUSH_PROMISE, 4, 1, &[0, 0, 0, 2, 0x88])]), F::PushPromise),
        (sent(&[settings(&[(2, 1)])]), F::InvalidSetting),
        (sent(&[settings(&[(4, 1 << 31)])]), F::InvalidSetting),
        (sent(&[settings(&[(5, 16_383)])]), F::InvalidSetting),
        (sent(&[settings(&[(5, 1 << 24)])]), F::InvalidSetting),
        (sent(&many(2, number(WINDOW_UPDATE, 0, 0x7fff_ffff))), F::WindowOverflow),
        (sent(&[number(WINDOW_UPDATE, 1, 0x7000_0000), settings(&[(4, 0x7fff_ffff)])]), F::WindowOverflow),
        (sent(&[number(WINDOW_UPDATE, 0, 0)]), F::ZeroIncrement),
        (sent(&many(10_001, frame(PING, 0, 0, &[0; 8]))), F::Flood),
        (sent(&many(10_001, settings(&[]))), F::Flood),
        (sent(&[vec![ok(1, 0)], many(10_001, frame(DATA, 0, 1, b""))].concat()), F::Flood),
        (
            sent(&[vec![frame(HEADERS, 0, 1, b"")], many(10_001, frame(CONTINUATION, 0, 1, b""))].concat()),
            F::Flood,
        ),
        (sent(&many(10_001, frame(77, 0, 0, b"x"))), F::Flood),
        (sent(&[vec![number(RST_STREAM, 1, 8)], many(10_001, number(RST_STREAM, 1, 8))].concat()), F::Flood),
        (literal(&[0x80]), F::HpackIndex),
        (literal(&[0xbe]), F::HpackIndex),
        (literal(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), F::HpackInteger),
        (literal(&[0x00, 0x05, b'a']), F::HpackTruncated),
        (literal(&[0x88, 0x00, 0x81, 0x00, 0x00]), F::HpackHuffman),
        (literal(&[0x88, 0x20]), F::HpackTableSize),
        (literal(&[0x3f, 0xe2, 0x1f]), F::HpackTableSize),
        (sent(&[frame(HEADERS, 0, 1, &[0; 200]), frame(CONTINUATION, 0, 1, &[0; 200])]), F::HeadTooLarge),
        (
            sent(&[head(
                1,
                0,
                &[
                    (":status", "200"),
                    ("a", &"x".repeat(100)),
                    ("b", &"x".repeat(100)),
                    ("c", &"x".repeat(100)),
                ],
            )]),
            F::HeadTooLarge,
        ),
        (
            sent(&[head(1, 0, &[(":status", "200"), ("a", ""), ("b", ""), ("c", ""), ("d", "")])]),
            F::TooManyHeaders,
        ),
    ]
}

/// What is wrong with one request; the connection goes on.
fn of_request() -> Vec<(Vec<Vec<u8>>, Fault)> {
    let with = |fields: &[(&str, &str)]| vec![head(1, END_STREAM, &[&[(":status", "200")], fields].concat())];
    let ok = |flags| status(1, flags, "200");
    vec![
        (vec![frame(DATA, 0, 1, b"x")], F::DataBeforeHead),
        (vec![frame(HEADERS, END_HEADERS | END_STREAM, 1, b"")], F::InvalidStatus),
        (vec![status(1, END_STREAM, "20")], F::InvalidStatus),
        (with(&[(":status", "200")]), F::InvalidStatus),
        (with(&[(":path", "/")]), F::InvalidPseudoHeader),
        (with(&[("Server", "x")]), F::InvalidHeaderName),
        (with(&[("a", "b\r\nc: d")]), F::InvalidHeaderValue),
        (with(&[("connection", "close")]), F::ConnectionHeader),
        (with(&[("content-length", "-1")]), F::InvalidContentLength),
        (with(&[("content-length", "1")]), F::WrongBodyLength),
        (vec![ok(0), ok(0)], F::InvalidPseudoHeader),
        (vec![ok(0), head(1, 0, &[("a", "b")])], F::InvalidTrailers),
        (vec![status(1, 0, "101")], F::UnexpectedUpgrade),
        (vec![status(1, 0, "103"); 17], F::TooManyInterimAnswers),
        (vec![number(WINDOW_UPDATE, 1, 0)], F::ZeroIncrement),
        (vec![number(WINDOW_UPDATE, 1, 0x7fff_ffff)], F::WindowOverflow),
        (vec![number(RST_STREAM, 1, 8)], F::StreamReset),
        (vec![ok(0), number(RST_STREAM, 1, 2)], F::StreamReset),
        (vec![status(3, 0, "200"), frame(DATA, END_STREAM, 3, b"x")], F::WrongBodyLength),
    ]
}

#[test]
fn faults_of_a_connection_end_it() {
    for (bytes, fault) in of_connection() {
        let begin = &bytes[..bytes.len().min(60)];
        assert_eq!(outcome(&bytes).result, Err(fault.into()), "{fault:?}: {}", begin.escape_ascii());
    }
}

#[test]
fn faults_of_a_request_leave_the_others_alone() {
    for (frames, fault) in of_request() {
        let number = if frames[0][8] == 3 { 1 } else { 0 };
        let bytes = [sent(&frames), status(9, END_STREAM, "204")].concat();
        let Driven { events, result, .. } = outcome(&bytes);
        assert_eq!(result, Ok(()), "{fault:?}");
        let lost: Vec<_> = events.iter().filter(|event| matches!(event, Event::Lost(..))).collect();
        assert_eq!(lost, [&Event::Lost(number, fault.into(), false)]);
        assert_eq!(events.last(), Some(&Event::Done(4, 204, 0)), "{fault:?}");
    }
}

#[test]
fn every_fault_is_reached() {
    let in_tables: HashSet<Fault> =
        of_connection().into_iter().map(|(_, f)| f).chain(of_request().into_iter().map(|(_, f)| f)).collect();
    // Tested in `http2_connection.rs`.
    let elsewhere = [F::NotNegotiated, F::RefusedStream, F::Goaway, F::GoawayError];
    for fault in Fault::ALL {
        assert!(in_tables.contains(fault) != elsewhere.contains(fault), "{fault:?}");
    }
}

/// What the client has told of a window.
fn told(written: &[u8], stream: u32) -> usize {
    let update = frame(WINDOW_UPDATE, 0, stream, b"    ");
    let places = written.windows(13).filter(|bytes| bytes[..9] == [&[0, 0, 4], &update[3..9]].concat());
    places.map(|bytes| u32::from_be_bytes([bytes[9], bytes[10], bytes[11], bytes[12]]) as usize).sum()
}

#[test]
fn windows_are_told_again_as_a_body_comes() {
    let (piece, pieces) = (frame(DATA, 0, 1, &[b'x'; 16_384]), 1500);
    let bytes = sent(&[status(1, 0, "200"), piece.repeat(pieces)]);
    let Driven { result, written, .. } = drive(Limits::default(), &bytes, || 65_536);
    assert_eq!(result, Ok(()));
    let (received, before) = (pieces * 16_384, (15 << 20) - 65_535);
    for (told, window) in [(told(&written, 0) - before, 15 << 20), (told(&written, 1), 6 << 20)] {
        assert!((received - window / 2..=received).contains(&told), "{told} of {received}");
    }
}

#[test]
fn a_body_above_its_limit_is_too_large() {
    let piece = frame(DATA, 0, 1, &[b'x'; 16_384]);
    let bytes = sent(&[status(1, 0, "200"), piece.repeat(3), status(9, END_STREAM, "204")]);
    let Driven { events, result, .. } = outcome(&bytes);
    assert_eq!(result, Ok(()));
    assert!(events.contains(&Event::Lost(0, Violation::TooLarge, false)), "{events:?}");
    assert!(events.contains(&Event::Done(4, 204, 0)));
}
