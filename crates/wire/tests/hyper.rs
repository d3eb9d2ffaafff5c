//! Differential test: hyper's client reads the same bytes. Both use httparse for the head, so that
//! this proves framing, not the head's syntax.
//!
//! Known differences, all deliberate:
//! - [`STRICTER`] lists the errors that hyper lets pass, each with its reason.
//! - [`codings_end_in_nothing`]: hyper takes an empty last list element of Transfer-Encoding for a coding
//!   of no name and reads until close; RFC 9110 §5.6.1.2 has empty elements ignored.

mod support;

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use proptest::prelude::*;
use support::{Answer, answers, mutations, whole};
use unblink_wire::{ProtocolError, RequestKind};

/// Errors that hyper does not raise.
const STRICTER: &[ProtocolError] = &[
    // RFC 9112 §6.3 rule 3 "ought to be handled as an error"; hyper lets Transfer-Encoding win.
    ProtocolError::ContentLengthWithTransferEncoding,
    // RFC 9112 §6.1 forbids it to the sender; hyper undoes chunked once.
    ProtocolError::ChunkedTwice,
    // RFC 9112 §7.1 on parameters of chunked; hyper reads `chunked;q=1` and malformed lists until close.
    ProtocolError::InvalidTransferEncoding,
    // The upgrade was not asked for; hyper hands the connection over.
    ProtocolError::UnexpectedUpgrade,
    // hyper takes any number of leading empty lines and of 1xx answers.
    ProtocolError::TooManyEmptyLines,
    ProtocolError::TooManyInterimAnswers,
    // hyper takes any byte but CR and LF in a chunk extension.
    ProtocolError::InvalidChunkExtension,
    // hyper takes any number of leading zeros.
    ProtocolError::ChunkSizeOverflow,
    // hyper takes a bare LF inside the trailers.
    ProtocolError::InvalidTrailer,
];

/// What the client made of the answer: status and body length, or a failure.
type Seen = Option<(u16, usize)>;

/// A Transfer-Encoding line is empty or ends in a comma.
fn codings_end_in_nothing(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase().replace('\r', "");
    let unfolded = text.replace("\n ", " ").replace("\n\t", " ");
    unfolded
        .lines()
        .filter_map(|line| line.strip_prefix("transfer-encoding:"))
        .any(|value| value.trim().is_empty() || value.trim().ends_with(','))
}

#[test]
fn agrees_on_fixed_answers() {
    for (bytes, expected) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"[..], Some((200, 5))),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", Some((200, 5))),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\r\n", None),
        (b"HTTP/1.1 404 Not Found\r\n\r\nuntil close", Some((404, 11))),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", Some((204, 0))),
        (b"", None),
    ] {
        let text = bytes.escape_ascii();
        assert_eq!(ours(RequestKind::Normal, bytes).ok(), expected, "{text}");
        assert_eq!(hypers(RequestKind::Normal, bytes), expected, "{text}");
    }
}

/// The fuzzer's seeds that come with usual limits; see `fuzzing::check` for their first two bytes.
#[test]
fn agrees_on_the_corpus() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/response");
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).expect("fuzz/corpus/response exists") {
        let data = std::fs::read(entry.expect("a readable entry").path()).expect("a readable seed");
        let (kind, bytes) = match &data[..] {
            [b'0', _, bytes @ ..] => (RequestKind::Normal, bytes),
            [b'1', _, bytes @ ..] => (RequestKind::Head, bytes),
            _ => continue,
        };
        compared += 1;
        if let Err(difference) = compare(kind, bytes) {
            panic!("{difference}");
        }
    }
    assert!(compared >= 30, "only {compared} seeds");
}

/// Answers to anything but CONNECT, which hyper's client turns into an upgrade.
fn asked_plainly() -> impl Strategy<Value = Answer> {
    answers().prop_filter("not CONNECT", |answer| answer.kind != RequestKind::Connect)
}

/// More cases on demand: `PROPTEST_CASES=1000000`.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(3_000),
        failure_persistence: None,
        max_local_rejects: u32::MAX,
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn agrees_on_well_formed_answers(answer in asked_plainly()) {
        let expected = answer.expected.result.unwrap();
        let expected = Some((expected.status, expected.body_bytes as usize));
        prop_assert_eq!(hypers(answer.kind, &answer.bytes), expected);
    }

    #[test]
    fn agrees_on_mutated_answers(answer in asked_plainly(), mutations in mutations()) {
        let mut bytes = answer.bytes;
        for mutation in &mutations {
            mutation.apply(&mut bytes);
        }
        prop_assert_eq!(compare(answer.kind, &bytes), Ok(()));
    }
}

/// Both clients must see the same, but for the known differences.
fn compare(kind: RequestKind, bytes: &[u8]) -> Result<(), String> {
    let ours = ours(kind, bytes);
    let hypers = hypers(kind, bytes);
    let is_known = ours.is_err_and(|error| STRICTER.contains(&error)) || codings_end_in_nothing(bytes);
    if is_known || ours.ok() == hypers {
        return Ok(());
    }
    Err(format!("{ours:?} here, {hypers:?} by hyper, for {kind:?} {}", bytes.escape_ascii()))
}

fn ours(kind: RequestKind, bytes: &[u8]) -> Result<(u16, usize), ProtocolError> {
    let outcome = whole(kind, bytes);
    outcome.result.map(|response| (response.status, outcome.body.len()))
}

fn hypers(kind: RequestKind, bytes: &[u8]) -> Seen {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime without drivers");
    runtime.block_on(async {
        let server = Server { answer: bytes.to_vec(), at: 0, asked: false, reader: None };
        let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
            .allow_obsolete_multiline_headers_in_responses(true)
            .max_headers(128)
            .handshake(server)
            .await
            .ok()?;
        let connection = tokio::spawn(connection);
        let method = if kind == RequestKind::Head { "HEAD" } else { "GET" };
        let request = hyper::Request::builder().method(method).uri("/").header("host", "a");
        let request = request.body(Empty::<Bytes>::new()).expect("a valid request");
        let answer = sender.send_request(request).await.ok()?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.ok()?.to_bytes();
        connection.abort();
        Some((status, body.len()))
    })
}

/// Waits for the first bytes of the request, then sends the answer and closes.
struct Server {
    answer: Vec<u8>,
    at: usize,
    asked: bool,
    reader: Option<Waker>,
}

impl Read for Server {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        if !self.asked {
            self.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        let rest = &self.answer[self.at..];
        let len = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..len]);
        self.at += len;
        Poll::Ready(Ok(()))
    }
}

impl Write for Server {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.asked = true;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
