//! Well-formed answers of every framing, the RFCs' own examples among them, fed whole, at every split
//! point and byte by byte.

use unblink_wire::fuzzing::{Driven, drive};
use unblink_wire::{Limits, Parser, Progress, ProtocolError, RequestKind, Response};

const REUSABLE: bool = true;
const LAST: bool = false;

/// Checks that `bytes` read as one answer with this body, and that this much is left over.
#[track_caller]
fn check_kind(kind: RequestKind, bytes: &[u8], status: u16, body: &[u8], reusable: bool, leftover: usize) {
    let head = last_head(bytes);
    let head_bytes = head.end as u64;
    let http10 = bytes.windows(8).any(|window| window == b"HTTP/1.0");
    let response = Response { status, http10, head_bytes, body_bytes: body.len() as u64, reusable };
    let expected = Driven {
        result: Ok(response),
        head: bytes[head].to_vec(),
        body: body.to_vec(),
        consumed: Some(bytes.len() - leftover),
    };
    let mut parser = Parser::new(Limits::default());
    assert_eq!(drive(&mut parser, kind, bytes, || bytes.len()), expected, "whole");
    assert_eq!(drive(&mut parser, kind, bytes, || 1), expected, "byte by byte");
    for cut in 1..bytes.len() {
        let mut lens = [cut].into_iter();
        let outcome = drive(&mut parser, kind, bytes, || lens.next().unwrap_or(usize::MAX));
        assert_eq!(outcome, expected, "cut at {cut}");
    }
}

/// Where the last head stands, found line by line, with the empty lines before it.
fn last_head(bytes: &[u8]) -> std::ops::Range<usize> {
    let (mut from, mut at) = (0, 0);
    let mut is_interim = true;
    let mut in_head = false;
    while is_interim || in_head {
        let len = bytes[at..].iter().position(|&byte| byte == b'\n').expect("a head ends") + 1;
        let line = bytes[at..at + len].trim_ascii();
        at += len;
        if !in_head && !line.is_empty() {
            in_head = true;
            is_interim = line.get(9) == Some(&b'1');
        } else if in_head && line.is_empty() {
            in_head = false;
            from = if is_interim { at } else { from };
        }
    }
    from..at
}

#[track_caller]
fn check(bytes: &str, status: u16, body: &str, reusable: bool) {
    check_kind(RequestKind::Normal, bytes.as_bytes(), status, body.as_bytes(), reusable, 0);
}

#[test]
fn examples_of_the_rfcs() {
    // RFC 9110 §3.9.
    check(
        "HTTP/1.1 200 OK\r\n\
         Date: Mon, 27 Jul 2009 12:28:53 GMT\r\n\
         Server: Apache\r\n\
         Last-Modified: Wed, 22 Jul 2009 19:15:56 GMT\r\n\
         ETag: \"34aa387-d-1568eb00\"\r\n\
         Accept-Ranges: bytes\r\n\
         Content-Length: 51\r\n\
         Vary: Accept-Encoding\r\n\
         Content-Type: text/plain\r\n\
         \r\n\
         Hello World! My content includes a trailing CRLF.\r\n",
        200,
        "Hello World! My content includes a trailing CRLF.\r\n",
        REUSABLE,
    );
    // RFC 9110 §8.6: to HEAD or with 304, Content-Length tells of a body that does not come.
    let not_modified = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 3495\r\nETag: \"a\"\r\n\r\n";
    check_kind(RequestKind::Normal, not_modified, 304, b"", REUSABLE, 0);
    let to_head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_kind(RequestKind::Head, to_head, 200, b"", REUSABLE, 0);
    // RFC 8297 §2: early hints before the answer.
    check(
        "HTTP/1.1 103 Early Hints\r\n\
         Link: </style.css>; rel=preload; as=style\r\n\
         Link: </script.js>; rel=preload; as=script\r\n\
         \r\n\
         HTTP/1.1 200 OK\r\n\
         Content-Length: 2\r\n\
         \r\n\
         ok",
        200,
        "ok",
        REUSABLE,
    );
    // RFC 9110 §15.5.21 (426) and RFC 9112 §9.6 (close).
    check(
        "HTTP/1.1 426 Upgrade Required\r\nUpgrade: HTTP/3.0\r\nConnection: Upgrade\r\nContent-Length: 53\r\n\
         Content-Type: text/plain\r\n\r\nThis service requires use of the HTTP/3.0 protocol.\r\n",
        426,
        "This service requires use of the HTTP/3.0 protocol.\r\n",
        REUSABLE,
    );
    // RFC 9112 §7.1.1 and §7.1.2: extensions and trailers.
    check(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Expires\r\n\r\n\
         4;name=value\r\nWiki\r\n5 ; quoted=\"a;b\"\r\npedia\r\nE\r\n in\r\n\r\nchunks.\r\n0\r\n\
         Expires: never\r\nX: \r\n\r\n",
        200,
        "Wikipedia in\r\n\r\nchunks.",
        REUSABLE,
    );
}

#[test]
fn bodies_by_length() {
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", REUSABLE);
    check("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", REUSABLE);
    check("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nContent-length:5\r\n\r\nhello", 200, "hello", REUSABLE);
    check("HTTP/1.1 200 OK\r\nContent-Length:\r\n 5\r\n\r\nhello", 200, "hello", REUSABLE);
    check("HTTP/1.1 500 \r\ncontent-length:\t5 \t\r\n\r\nhello", 500, "hello", REUSABLE);
}

#[test]
fn bodies_in_chunks() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (framed, body) in [
        ("0\r\n\r\n", ""),
        ("000\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("1\r\nh\r\n004\r\nello\r\n0\r\n\r\n", "hello"),
        ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("A  \r\n0123456789\r\n0 \t;x\r\n\r\n", "0123456789"),
        ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
        ("0000000000000005;\r\nhello\r\n0;\r\n\r\n", "hello"),
        ("1\r\nx\r\n0\r\nContent-Length: 7\r\nTransfer-Encoding: gzip\r\n\r\n", "x"),
    ] {
        check(&format!("{head}{framed}"), 200, body, REUSABLE);
    }
    let gzip = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: Chunked\r\n\r\n";
    check(&format!("{gzip}1\r\nx\r\n0\r\n\r\n"), 200, "x", REUSABLE);
}

#[test]
fn bodies_until_close() {
    check("HTTP/1.1 200 OK\r\n\r\nhello", 200, "hello", LAST);
    check("HTTP/1.1 200 OK\r\n\r\n", 200, "", LAST);
    check("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhello", 200, "hello", LAST);
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\nhello", 200, "hello", LAST);
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nhello", 200, "hello", LAST);
}

#[test]
fn answers_without_body_whatever_their_head_says() {
    for fields in ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: x\r\n"] {
        for status in [204, 304] {
            let bytes = format!("HTTP/1.1 {status} \r\n{fields}\r\n");
            check(&bytes, status, "", REUSABLE);
        }
        for status in [200, 404, 503] {
            let bytes = format!("HTTP/1.1 {status} \r\n{fields}\r\n");
            check_kind(RequestKind::Head, bytes.as_bytes(), status, b"", REUSABLE, 0);
        }
        let bytes = format!("HTTP/1.1 200 Established\r\n{fields}\r\ntunnel");
        check_kind(RequestKind::Connect, bytes.as_bytes(), 200, b"", LAST, 6);
    }
    let refused = b"HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno";
    check_kind(RequestKind::Connect, refused, 407, b"no", REUSABLE, 0);
    // 205 has no special framing (RFC 9112 §6.3 does not list it).
    check("HTTP/1.1 205 Reset\r\nContent-Length: 1\r\n\r\nx", 205, "x", REUSABLE);
}

#[test]
fn persistence() {
    for (version, fields, reusable) in [
        (1, "", REUSABLE),
        (1, "Connection: close\r\n", LAST),
        (1, "Connection: Close\r\n", LAST),
        (1, "connection:foo ,CLOSE\t, bar\r\n", LAST),
        (1, "Connection: keep-alive\r\nConnection: close\r\n", LAST),
        (1, "Connection: close\r\nConnection: keep-alive\r\n", LAST),
        (1, "Connection: closed\r\n", REUSABLE),
        (1, "Connection: not close\r\n", REUSABLE),
        (1, "Connection:\r\n close\r\n", LAST),
        (1, "X-Connection: close\r\n", REUSABLE),
        (1, "Proxy-Connection: close\r\n", REUSABLE),
        (0, "", LAST),
        (0, "Connection: keep-alive\r\n", REUSABLE),
        (0, "Connection: foo, Keep-Alive\r\n", REUSABLE),
        (0, "Connection: keep-alive, close\r\n", LAST),
        (0, "Keep-Alive: timeout=5\r\n", LAST),
    ] {
        check(&format!("HTTP/1.{version} 200 OK\r\n{fields}Content-Length: 1\r\n\r\nx"), 200, "x", reusable);
    }
}

#[test]
fn lenient_heads() {
    let tail = "\r\nContent-Length: 1\r\n\r\nx";
    for line in ["HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1 200  \t OK ", "HTTP/1.1 200 \u{fc}\u{2713}"] {
        check(&format!("{line}{tail}"), 200, "x", REUSABLE);
    }
    check("HTTP/1.1 200 OK\nContent-Length: 1\n\nx", 200, "x", REUSABLE);
    check("\r\n\n\r\n\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x", REUSABLE);
    check(
        "HTTP/1.1 999 Odd\r\nA: \u{fc}\r\nB:\r\n\tfolded\r\nContent-Length: 1\r\n\r\nx",
        999,
        "x",
        REUSABLE,
    );
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    check(&format!("{}HTTP/1.1 200 OK{tail}", interim.repeat(16)), 200, "x", REUSABLE);
    // A 1xx has no body, whatever its head says (RFC 9110 §15.2), and does not decide persistence.
    check(
        &format!("HTTP/1.1 199 X\r\nContent-Length: 9\r\nConnection: close\r\n\r\n\r\nHTTP/1.1 200 OK{tail}"),
        200,
        "x",
        REUSABLE,
    );
}

#[test]
fn what_follows_an_answer_is_left_to_the_caller() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n",
    ] {
        let bytes = format!("{answer}HTTP/1.1 408 Request Timeout\r\n\r\n");
        let leftover = bytes.len() - answer.len();
        check_kind(RequestKind::Normal, bytes.as_bytes(), 200, b"x", REUSABLE, leftover);
    }
}

#[test]
fn a_body_is_delivered_in_place_and_as_it_comes() {
    let mut parser = Parser::new(Limits::default());
    parser.begin(RequestKind::Normal);
    let piece = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\nde";
    let mut slices = Vec::new();
    let progress = parser.feed(piece, &mut |slice| slices.push((slice.as_ptr(), slice.to_vec())));
    assert_eq!(progress, Ok(Progress::NeedMore));
    assert_eq!(slices.iter().map(|(_, slice)| &slice[..]).collect::<Vec<_>>(), [&b"abc"[..], b"de"]);
    for (pointer, _) in slices {
        assert!(piece.as_ptr_range().contains(&pointer), "the slice was copied");
    }
}

#[test]
fn the_parser_says_where_it_stands() {
    let mut nothing = |_: &[u8]| {};
    let mut parser = Parser::new(Limits::default());
    assert_eq!(parser.feed(b"HTTP", &mut nothing), Err(ProtocolError::UnsolicitedData));
    parser.begin(RequestKind::Normal);
    assert!(!parser.has_started());
    assert_eq!(parser.feed(b"", &mut nothing), Ok(Progress::NeedMore));
    assert!(!parser.has_started());
    assert_eq!(parser.feed(b"HTTP/1.1 200 OK\r\n\r", &mut nothing), Ok(Progress::NeedMore));
    assert!(parser.has_started() && !parser.is_close_delimited_body());
    assert_eq!(parser.feed(b"\nx", &mut nothing), Ok(Progress::NeedMore));
    assert!(parser.is_close_delimited_body());
    let response = Response { status: 200, http10: false, head_bytes: 19, body_bytes: 1, reusable: false };
    assert_eq!(parser.eof(), Ok(response));
    assert!(!parser.is_close_delimited_body());
    assert_eq!(parser.eof(), Ok(response));
    parser.begin(RequestKind::Normal);
    assert_eq!(parser.eof(), Err(ProtocolError::ClosedBeforeAnswer));
}
