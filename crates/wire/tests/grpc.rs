//! gRPC over HTTP/2: calls as a server reads them, answers of all kinds, and each way in which one can be broken, at whatever
//! point its bytes are cut.

mod server;

use proptest::prelude::*;
use server::*;
use std::collections::HashSet;
use unblink_wire::Limits;
use unblink_wire::blank::{Blank, Filler, NothingToFill};
use unblink_wire::grpc::{CODES, CallBuilder, Fault, Grpc, Uncallable};
use unblink_wire::http2::{self, Request, Scheme, Settings};
use unblink_wire::message::{Kind, Message, MessagePart};
use unblink_wire::protocol::{Carrier, Protocol, Reply, Sink, Tag, Violation};

/// What is said of the only call.
#[derive(Default, PartialEq, Eq, Debug)]
struct Heard {
    body: Vec<u8>,
    messages: u32,
    reply: Option<Reply>,
    lost: Option<Violation>,
}

impl Sink for Heard {
    fn ready(&mut self) {}
    fn room(&mut self, _: u32) {}
    fn retired(&mut self) {}
    fn first(&mut self, _: Tag) {}
    fn head(&mut self, _: Tag, _: &[u8]) {}
    fn body(&mut self, _: Tag, piece: &[u8]) {
        self.body.extend_from_slice(piece);
    }
    fn message(&mut self, _: Tag) {
        self.messages += 1;
    }
    fn done(&mut self, _: Tag, reply: Reply) {
        assert!(self.reply.replace(reply).is_none() && self.lost.is_none(), "ended twice");
    }
    fn lost(&mut self, _: Tag, violation: Violation, _: bool) {
        assert!(self.lost.replace(violation).is_none() && self.reply.is_none(), "ended twice");
    }
}

struct Item;

impl Filler for Item {
    fn fill(&mut self, _: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b"42");
    }

    fn left_ns(&self) -> Option<u64> {
        Some(1_500_000_000)
    }
}

fn call(message: Message, metadata: &[(&str, &str)], is_stream: bool) -> Result<Request, Uncallable> {
    let metadata: Vec<_> =
        metadata.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let (path, host, scheme) = ("/shop.Items/Get", "a.test:50051", Scheme::Http);
    CallBuilder { path, host, scheme, metadata: &metadata, message, is_stream }.render()
}

/// A connection with one call under way, and what it has written.
fn begun(message: Message, metadata: &[(&str, &str)], is_stream: bool) -> (Grpc, http2::Shared, Vec<u8>) {
    let settings = Settings { limits: Limits::default(), streams: 1 };
    let (mut grpc, mut shared) = (Grpc::new(&settings), Grpc::shared(1));
    assert_eq!(grpc.begin(Carrier::Plain), Ok(false));
    let n = grpc.output(&[])[0].len();
    grpc.wrote(n);
    let request = call(message, metadata, is_stream).unwrap();
    grpc.submit(&mut shared, Tag(7), 0, &request, &mut Item);
    let written = grpc.output(&[])[0].to_vec();
    (grpc, shared, written)
}

/// What comes of `frames`, of which each read brings as many bytes as `next_len` says.
fn heard(frames: &[Vec<u8>], next_len: impl FnMut() -> usize) -> Heard {
    heard_as(false, frames, next_len)
}

fn heard_as(is_stream: bool, frames: &[Vec<u8>], mut next_len: impl FnMut() -> usize) -> Heard {
    let (mut grpc, mut shared, _) = begun(Message::default(), &[], is_stream);
    let bytes = [settings(&[]), frames.concat()].concat();
    let (mut heard, mut at) = (Heard::default(), 0);
    while at < bytes.len() {
        let end = (at + next_len().max(1)).min(bytes.len());
        if grpc.feed(&mut shared, &bytes[at..end], &mut heard).is_err() {
            break;
        }
        at = end;
    }
    heard
}

/// The same, wherever the bytes are cut.
fn outcome(frames: &[Vec<u8>]) -> Heard {
    let whole = heard(frames, || usize::MAX / 2);
    for n in [1, 2, 3, 7] {
        assert_eq!(heard(frames, || n), whole, "cut after {n} bytes each");
    }
    whole
}

const OK_HEAD: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/grpc+proto")];

fn message(bytes: &[u8]) -> Vec<u8> {
    [&[0][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

fn trailers(fields: &[(&str, &str)]) -> Vec<u8> {
    head(1, END_STREAM, fields)
}

fn done(code: u16, body_bytes: u64) -> Option<Reply> {
    Some(Reply { code, body_bytes, reusable: true })
}

#[test]
fn a_call_is_read_by_a_server_as_it_was_meant() {
    let parts = [
        MessagePart::Text { tag: [0x0a].into(), text: Blank::new(b"item-{{0}}"), is_optional: true },
        MessagePart::Number { tag: [0x10].into(), place: 0, kind: Kind::Varint, is_optional: true },
    ];
    let (_, _, written) =
        begun(Message { parts: parts.into() }, &[("X-Tenant", "a"), ("x-id", "{{0}}")], false);
    let length = u32::from_be_bytes([0, written[0], written[1], written[2]]) as usize;
    let (block, data) = (&written[9..9 + length], &written[9 + length..]);
    let mut fields = Vec::new();
    fluke_hpack::Decoder::new()
        .decode_with_cb(block, |name, value| {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            fields.push(format!("{}: {}", text(&name), text(&value)));
        })
        .unwrap();
    fields.retain(|field| !field.starts_with("user-agent: "));
    let expected = [
        ":method: POST",
        ":scheme: http",
        ":authority: a.test:50051",
        ":path: /shop.Items/Get",
        "te: trailers",
        "content-type: application/grpc",
        "grpc-timeout: 1500000u",
        "x-tenant: a",
        "x-id: 42",
    ];
    assert_eq!(fields, expected);
    let body = message(b"\x0a\x07item-42\x10\x2a");
    assert_eq!(data, frame(DATA, END_STREAM, 1, &body));
    for name in ["grpc-timeout", "Content-Type", "te", "grpc-encoding"] {
        let refused = call(Message::default(), &[(name, "trailers")], false);
        assert_eq!(refused, Err(Uncallable::Reserved { name: name.to_ascii_lowercase() }));
    }
    assert!(matches!(
        call(Message::default(), &[("connection", "x")], false),
        Err(Uncallable::Unrenderable(_))
    ));
}

#[test]
fn the_status_counts_and_not_that_of_http() {
    for code in (0..CODES.len() as u16).filter(|&code| code != 0) {
        let number = code.to_string();
        let only = [(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", &number)];
        let frames = [head(1, END_STREAM, &only)];
        assert_eq!(outcome(&frames).reply, done(code, 0), "Trailers-Only");
        let frames =
            [head(1, 0, OK_HEAD), trailers(&[("grpc-status", &number), ("grpc-message", "no%20way")])];
        assert_eq!(outcome(&frames).reply, done(code, 0));
    }
    let frames = [head(1, 0, OK_HEAD), trailers(&[("grpc-status", "4711")])];
    assert_eq!(outcome(&frames).reply, done(2, 0), "a status that nobody knows is UNKNOWN");
}

#[test]
fn a_message_may_be_split_over_frames() {
    let bytes = message(b"hello");
    for at in 0..=bytes.len() {
        let frames = [
            head(1, 0, OK_HEAD),
            frame(DATA, 0, 1, &bytes[..at]),
            frame(DATA, 0, 1, &bytes[at..]),
            trailers(&[("grpc-status", "0")]),
        ];
        let heard = outcome(&frames);
        assert_eq!((heard.reply, heard.body.as_slice()), (done(0, 5), &b"hello"[..]), "{at}");
    }
    let empty = [head(1, 0, OK_HEAD), frame(DATA, 0, 1, &message(b"")), trailers(&[("grpc-status", "0")])];
    assert_eq!(outcome(&empty).reply, done(0, 0));
}

#[test]
fn a_stream_has_any_number_of_messages() {
    for texts in [&[][..], &["a"], &["", "b", ""], &["one", "two", "three"]] {
        let mut frames = vec![head(1, 0, OK_HEAD)];
        let bytes = texts.iter().flat_map(|text| message(text.as_bytes())).collect::<Vec<u8>>();
        frames.extend([frame(DATA, 0, 1, &bytes), trailers(&[("grpc-status", "0")])]);
        for cut in [1, 2, 5, 1_000] {
            let heard = heard_as(true, &frames, || cut);
            let length = texts.concat().len() as u64;
            assert_eq!((heard.messages as usize, heard.reply), (texts.len(), done(0, length)), "{texts:?}");
            assert_eq!(heard.body, texts.concat().into_bytes());
        }
    }
    let cut_off =
        [head(1, 0, OK_HEAD), frame(DATA, 0, 1, &[0, 0, 0, 0, 9, 1]), trailers(&[("grpc-status", "0")])];
    let heard = heard_as(true, &cut_off, || 3);
    assert_eq!((heard.messages, heard.lost), (0, Some(Fault::Truncated.into())));
}

#[test]
fn each_fault_has_its_name() {
    let html = [(":status", "502"), ("content-type", "text/html")];
    let page = [(":status", "200"), ("content-type", "text/html")];
    let almost = [(":status", "200"), ("content-type", "application/grpc-web")];
    let data = |bytes: &[u8]| frame(DATA, 0, 1, bytes);
    let ok = || head(1, 0, OK_HEAD);
    let end = |status| trailers(&[("grpc-status", status)]);
    let two = [message(b"a"), message(b"b")].concat();
    let cases: Vec<(Vec<Vec<u8>>, Fault)> = vec![
        (vec![head(1, 0, &html), frame(DATA, END_STREAM, 1, b"<html>Bad Gateway")], Fault::HttpStatus),
        (vec![head(1, END_STREAM, &[(":status", "404")])], Fault::HttpStatus),
        (vec![head(1, 0, &page), frame(DATA, END_STREAM, 1, b"<html>Log in")], Fault::NotGrpc),
        (vec![head(1, 0, &almost), data(&message(b"a")), end("0")], Fault::NotGrpc),
        (vec![ok(), frame(DATA, END_STREAM, 1, &message(b"a"))], Fault::NoStatus),
        (vec![head(1, END_STREAM, OK_HEAD)], Fault::NoStatus),
        (vec![ok(), data(&message(b"a")), trailers(&[("x", "y")])], Fault::NoStatus),
        (vec![ok(), data(&message(b"a")), end("OK")], Fault::BadStatus),
        (vec![ok(), end("-1")], Fault::BadStatus),
        (vec![ok(), trailers(&[("grpc-status", "5"), ("grpc-message", "50%")])], Fault::BadMessage),
        (vec![ok(), trailers(&[("grpc-status", "5"), ("grpc-message", "%zz")])], Fault::BadMessage),
        (vec![ok(), data(&[1, 0, 0, 0, 1, b'a']), end("0")], Fault::Compressed),
        (vec![ok(), data(&[2, 0, 0, 0, 1, b'a']), end("0")], Fault::BadFlag),
        (vec![ok(), data(&[0, 0, 0, 0, 2, b'a']), end("0")], Fault::Truncated),
        (vec![ok(), data(&[0, 0xff, 0xff, 0xff, 0xff, b'a']), end("0")], Fault::Truncated),
        (vec![ok(), data(&[0, 0, 0]), end("0")], Fault::Truncated),
        (vec![ok(), end("0")], Fault::NoMessage),
        (vec![ok(), data(&two), end("0")], Fault::SeveralMessages),
    ];
    for (frames, fault) in &cases {
        let heard = outcome(frames);
        assert_eq!((heard.lost, heard.reply), (Some((*fault).into()), None), "{fault:?}");
    }
    let seen: HashSet<Fault> = cases.iter().map(|(_, fault)| *fault).collect();
    assert_eq!(seen.len(), Fault::ALL.len(), "each fault is tried");
    let names: HashSet<_> = Grpc::VIOLATIONS.iter().collect();
    assert_eq!(names.len(), http2::Fault::ALL.len() + Fault::ALL.len(), "each violation has its own name");
}

proptest! {
    /// Whatever stands in the frames of an answer, it ends once at the most, and the same way wherever it is cut.
    #[test]
    fn any_answer_ends_once(pieces in prop::collection::vec(prop::collection::vec(0..4u8, 0..12), 0..5),
                            status in "[0-9]{0,3}", cut in 1..40_usize) {
        let mut frames = vec![head(1, 0, OK_HEAD)];
        frames.extend(pieces.iter().map(|piece| frame(DATA, 0, 1, piece)));
        frames.push(trailers(&[("grpc-status", &status)]));
        let whole = heard(&frames, || usize::MAX / 2);
        prop_assert_eq!(&heard(&frames, || cut), &whole);
        prop_assert!(whole.reply.is_some() != whole.lost.is_some());
    }

    /// What is filled in stands behind its length, however deep it is nested.
    #[test]
    fn nested_lengths_are_those_of_what_follows(texts in prop::collection::vec("[a-z]{0,200}", 1..6)) {
        let (mut parts, mut expected) = (Vec::new(), Vec::new());
        for text in &texts {
            let text = MessagePart::Text { tag: [0x0a].into(), text: Blank::new(text.as_bytes()), is_optional: false };
            parts = vec![text, MessagePart::Nested { tag: [0x12].into(), parts: parts.into() }];
        }
        for (i, text) in texts.iter().enumerate() {
            let inner = if i == 0 { Vec::new() } else { expected };
            let mut out = field(0x0a, text.as_bytes());
            out.extend(field(0x12, &inner));
            expected = out;
        }
        let mut out = Vec::new();
        Message { parts: parts.into() }.write(&mut NothingToFill, &mut out);
        prop_assert_eq!(out, expected);
    }
}

/// A field with a length, encoded the slow way.
fn field(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut length) = (vec![tag], bytes.len());
    loop {
        let more = length >= 128;
        out.push((length % 128) as u8 | u8::from(more) << 7);
        length /= 128;
        if !more {
            break;
        }
    }
    out.extend_from_slice(bytes);
    out
}
