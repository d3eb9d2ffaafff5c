//! Each violation has its own error, at whatever point the input is cut.

use std::collections::HashSet;

use ProtocolError as E;
use unblink_wire::fuzzing::{SMALL_LIMITS, drive};
use unblink_wire::{Limits, Parser, ProtocolError, RequestKind, grpc, http2, ws};

const OK: &str = "HTTP/1.1 200 OK\r\n";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Checks the error of an input fed whole, byte by byte and in two pieces.
#[track_caller]
fn check(limits: Limits, bytes: &str, expected: ProtocolError) {
    let bytes = bytes.as_bytes();
    let run = |parser: &mut Parser, first: usize, then: usize| {
        let mut lens = [first].into_iter();
        drive(parser, RequestKind::Normal, bytes, || lens.next().unwrap_or(then)).result
    };
    let mut parser = Parser::new(limits);
    let text = bytes.escape_ascii();
    assert_eq!(run(&mut parser, bytes.len(), 1), Err(expected), "whole: {text}");
    assert_eq!(run(&mut parser, 1, 1), Err(expected), "byte by byte: {text}");
    for cut in 1..bytes.len().min(400) {
        assert_eq!(run(&mut parser, cut, usize::MAX), Err(expected), "cut at {cut}: {text}");
    }
}

fn table() -> Vec<(String, ProtocolError)> {
    let in_status_line = [
        ("SSH-2.0-OpenSSH_9.6\r\n", E::NotHttp),
        ("<html>", E::NotHttp),
        ("\x15\x03\x01\0\x02\x02\x16", E::NotHttp),
        ("ICY 200 OK\r\n\r\n", E::NotHttp),
        ("http/1.1 200 OK\r\n\r\n", E::NotHttp),
        (" HTTP/1.1 200 OK\r\n\r\n", E::NotHttp),
        ("\rHTTP/1.1 200 OK\r\n\r\n", E::NotHttp),
        ("HTTP/2 200 OK\r\n\r\n", E::UnsupportedVersion),
        ("HTTP/2.0 200 OK\r\n\r\n", E::UnsupportedVersion),
        ("HTTP/0.9 200 OK\r\n\r\n", E::UnsupportedVersion),
        ("HTTP/1.2 200 OK\r\n\r\n", E::UnsupportedVersion),
        ("HTTP/11 200 OK\r\n\r\n", E::UnsupportedVersion),
        ("\r\n\r\n\n\r\n\r\n", E::TooManyEmptyLines),
        ("HTTP/1.1\r\n\r\n", E::InvalidStatusLine),
        ("HTTP/1.1 20\r\n\r\n", E::InvalidStatusLine),
        ("HTTP/1.1 2000 OK\r\n\r\n", E::InvalidStatusLine),
        ("HTTP/1.1 +20 OK\r\n\r\n", E::InvalidStatusLine),
        ("HTTP/1.1  200 OK\r\n\r\n", E::InvalidStatusLine),
        ("HTTP/1.1 200OK\r\n\r\n", E::InvalidStatusLine),
        ("HTTP/1.1 200 O\0K\r\n\r\n", E::InvalidStatusLine),
        ("HTTP/1.1 200 O\rK\r\n\r\n", E::InvalidStatusLine),
        ("HTTP/1.1 099 OK\r\n\r\n", E::InvalidStatusCode),
        ("HTTP/1.1 000 OK\r\n\r\n", E::InvalidStatusCode),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", E::UnexpectedUpgrade),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", E::TransferEncodingInHttp10),
    ]
    .map(|(bytes, error)| (bytes.to_owned(), error));
    let in_header = [
        ("A\r\n", E::InvalidHeaderName),
        (": b\r\n", E::InvalidHeaderName),
        ("A : b\r\n", E::InvalidHeaderName),
        ("A B: c\r\n", E::InvalidHeaderName),
        (" A: b\r\n", E::InvalidHeaderName),
        ("A(: b\r\n", E::InvalidHeaderName),
        ("\u{fc}: b\r\n", E::InvalidHeaderName),
        ("A: b\0c\r\n", E::InvalidHeaderValue),
        ("A: b\x7f\r\n", E::InvalidHeaderValue),
        ("A: b\x0bc\r\n", E::InvalidHeaderValue),
        ("A: b\rc\r\n", E::InvalidHeaderValue),
        ("A: b\r\n\rc\r\n", E::InvalidLineEnd),
        ("Content-Length: \r\n", E::InvalidContentLength),
        ("Content-Length: +5\r\n", E::InvalidContentLength),
        ("Content-Length: 5 5\r\n", E::InvalidContentLength),
        ("Content-Length: 5,\r\n", E::InvalidContentLength),
        ("Content-Length: 99999999999999999999\r\n", E::ContentLengthOverflow),
        ("Content-Length: 5, 6\r\n", E::ConflictingContentLength),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", E::ConflictingContentLength),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", E::ContentLengthWithTransferEncoding),
        ("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n", E::ContentLengthWithTransferEncoding),
        ("Transfer-Encoding: \r\n", E::InvalidTransferEncoding),
        ("Transfer-Encoding: chunked;a=b\r\n", E::InvalidTransferEncoding),
        ("Transfer-Encoding: chun ked\r\n", E::InvalidTransferEncoding),
        ("Transfer-Encoding: chunked, chunked\r\n", E::ChunkedTwice),
    ]
    .map(|(lines, error)| (format!("{OK}{lines}\r\n"), error));
    let in_chunks = [
        ("\r\n", E::InvalidChunkSize),
        (";x\r\n", E::InvalidChunkSize),
        (" 5\r\n", E::InvalidChunkSize),
        ("x\r\n", E::InvalidChunkSize),
        ("-1\r\n", E::InvalidChunkSize),
        ("0x5\r\n", E::InvalidChunkSize),
        ("5 5\r\n", E::InvalidChunkSize),
        ("5,\r\n", E::InvalidChunkSize),
        ("10000000000000000\r\n", E::ChunkSizeOverflow),
        ("00000000000000000\r\n", E::ChunkSizeOverflow),
        ("5;a\0", E::InvalidChunkExtension),
        ("5\n", E::InvalidChunkLineEnd),
        ("5 \n", E::InvalidChunkLineEnd),
        ("5;a\n", E::InvalidChunkLineEnd),
        ("5\rx", E::InvalidChunkLineEnd),
        ("5;a\rx", E::InvalidChunkLineEnd),
        ("5\r\nhello\n", E::InvalidChunkEnd),
        ("5\r\nhello\rx", E::InvalidChunkEnd),
        ("5\r\nhello!\r\n", E::InvalidChunkEnd),
        ("5\r\nhello0\r\n\r\n", E::InvalidChunkEnd),
        ("0\r\n\n", E::InvalidTrailer),
        ("0\r\n\rx", E::InvalidTrailer),
        ("0\r\nA\r\n", E::InvalidTrailer),
        ("0\r\n: b\r\n", E::InvalidTrailer),
        ("0\r\nA : b\r\n", E::InvalidTrailer),
        ("0\r\nA: b\n", E::InvalidTrailer),
        ("0\r\nA: b\0\r\n", E::InvalidTrailer),
        ("0\r\nA: b\rc", E::InvalidTrailer),
        ("0\r\nA: b\r\n folded\r\n", E::InvalidTrailer),
    ]
    .map(|(chunks, error)| (format!("{CHUNKED}{chunks}"), error));
    let closed = [
        ("", E::ClosedBeforeAnswer),
        ("\r\n", E::ClosedInHead),
        ("HTTP/1.1 200 OK\r\nA: b\r\n", E::ClosedInHead),
        ("HTTP/1.1 200 OK\r\nA: b\r\n\r", E::ClosedInHead),
        ("HTTP/1.1 100 Continue\r\n\r\n", E::ClosedInHead),
        // What an unfinished head contains is not judged.
        ("HTTP/1.1 200 OK\r\nA b\r\n", E::ClosedInHead),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", E::ClosedInBody),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", E::ClosedInBody),
    ]
    .map(|(bytes, error)| (bytes.to_owned(), error));
    let closed_in_chunks = ["", "5", "5\r\nhell", "5\r\nhello", "5\r\nhello\r\n", "0\r\n", "0\r\nA: b\r\n\r"]
        .map(|chunks| (format!("{CHUNKED}{chunks}"), E::ClosedInBody));
    [&in_status_line[..], &in_header, &in_chunks, &closed, &closed_in_chunks].concat()
}

/// Inputs that break a limit, with the limits they break.
fn limits_table() -> Vec<(Limits, String, ProtocolError)> {
    let default = Limits::default();
    let body_max = |body_bytes_max| Limits { body_bytes_max, ..default };
    vec![
        (default, "HTTP/1.1 103 Hint\r\n\r\n".repeat(17), E::TooManyInterimAnswers),
        // Without a newline, as a header that never ends, and as headers that never end.
        (SMALL_LIMITS, format!("HTTP/1.1 200 {}", "x".repeat(200)), E::HeadTooLarge),
        (SMALL_LIMITS, format!("{OK}A: {}", "x".repeat(200)), E::HeadTooLarge),
        (SMALL_LIMITS, format!("{OK}{}", "A: b\r\n".repeat(40)), E::HeadTooLarge),
        (SMALL_LIMITS, format!("{OK}A: {}\r\n\r\n", "x".repeat(73)), E::HeadTooLarge),
        (default, format!("{OK}{}", "A: b\r\n".repeat(11_000)), E::HeadTooLarge),
        (SMALL_LIMITS, format!("{OK}{}\r\n", "A: b\r\n".repeat(4)), E::TooManyHeaders),
        (default, format!("{OK}{}\r\n", "A: b\r\n".repeat(129)), E::TooManyHeaders),
        (default, format!("{CHUNKED}5;{}", "x".repeat(16_384)), E::ChunkExtensionTooLarge),
        (default, format!("{CHUNKED}5{}", " ".repeat(16_385)), E::ChunkExtensionTooLarge),
        (SMALL_LIMITS, format!("{CHUNKED}0\r\nA: {}", "x".repeat(200)), E::TrailersTooLarge),
        (SMALL_LIMITS, format!("{CHUNKED}0\r\n{}\r\n", "A: b\r\n".repeat(4)), E::TooManyTrailers),
        (body_max(4), format!("{OK}Content-Length: 5\r\n\r\n"), E::BodyTooLarge),
        (body_max(4), format!("{CHUNKED}5\r\n"), E::BodyTooLarge),
        (body_max(4), format!("{CHUNKED}4\r\nhell\r\n1\r\n"), E::BodyTooLarge),
        (body_max(4), format!("{OK}\r\nhello"), E::BodyTooLarge),
        (default, format!("{CHUNKED}1\r\nx\r\nffffffffffffffff\r\n"), E::BodyTooLarge),
    ]
}

#[test]
fn each_violation_has_its_error() {
    for (bytes, error) in table() {
        check(Limits::default(), &bytes, error);
    }
}

#[test]
fn each_limit_has_its_error() {
    for (limits, bytes, error) in limits_table() {
        check(limits, &bytes, error);
    }
}

#[test]
fn limits_are_inclusive() {
    let run = |limits, bytes: &str| {
        drive(&mut Parser::new(limits), RequestKind::Normal, bytes.as_bytes(), || usize::MAX).result
    };
    // 96 bytes of head, 3 header lines, 24 bytes of body.
    let head = format!("{OK}A: {}\r\nB: c\r\nContent-Length: 24\r\n\r\n", "x".repeat(46));
    assert_eq!(head.len(), 96);
    let bytes = format!("{head}{}", "x".repeat(24));
    assert_eq!(run(SMALL_LIMITS, &bytes).map(|response| response.body_bytes), Ok(24));
    let bytes = format!("{CHUNKED}5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(16_383));
    assert_eq!(run(Limits::default(), &bytes).map(|response| response.body_bytes), Ok(5));
    // The limit on extensions is each chunk's own.
    let chunk = format!("1;{}\r\nx\r\n", "x".repeat(10_000));
    let bytes = format!("{CHUNKED}{}0\r\n\r\n", chunk.repeat(3));
    assert_eq!(run(Limits::default(), &bytes).map(|response| response.body_bytes), Ok(3));
    let nothing = Limits { head_bytes_max: 0, headers_max: 0, body_bytes_max: 0 };
    assert_eq!(run(nothing, OK), Err(E::HeadTooLarge));
    let no_headers = Limits { headers_max: 0, ..Limits::default() };
    assert!(run(no_headers, "HTTP/1.1 204 \r\n\r\n").is_ok());
    assert_eq!(run(no_headers, "HTTP/1.1 204 \r\nA: b\r\n\r\n"), Err(E::TooManyHeaders));
}

#[test]
fn every_error_is_in_the_tables() {
    let mut seen: HashSet<_> = table().into_iter().map(|(_, error)| error).collect();
    seen.extend(limits_table().into_iter().map(|(_, _, error)| error));
    // Raised by feeding without a request, which `drive` checks after each answer.
    seen.insert(E::UnsolicitedData);
    for error in ProtocolError::ALL {
        assert!(seen.contains(error), "{} has no example", error.code());
    }
}

#[test]
fn documents_name_every_failure_of_these_protocols() {
    for (name, document, codes) in [
        ("http2.md", include_str!("../../../docs/http2.md"), http2::Fault::CODES),
        ("websocket.md", include_str!("../../../docs/websocket.md"), ws::Fault::CODES),
    ] {
        for code in codes {
            assert!(document.contains(&format!("`{code}`")), "docs/{name} lacks {code}");
        }
    }
    let document = include_str!("../../../docs/grpc.md");
    for code in grpc::Fault::CODES {
        assert!(document.contains(&format!("`protocol_{code}`")), "docs/grpc.md lacks {code}");
    }
}
