//! A connection of HTTP/2 and a server that keeps to the rules: answers, bodies, windows, and how requests end.

mod server;

use server::*;
use unblink_wire::Limits;
use unblink_wire::blank::NothingToFill;
use unblink_wire::http2::fuzzing::{BODY_BYTES, Event, check, drive, requests};
use unblink_wire::http2::{Fault, Http2, Settings};
use unblink_wire::protocol::{Carrier, Protocol, Reply, Sink, Tag, Violation};

/// What came of a server's bytes, which is the same however they are cut.
fn heard(frames: &[Vec<u8>]) -> Vec<Event> {
    let bytes = frames.concat();
    check(&[b"0\x05", &bytes[..]].concat());
    let outcome = drive(Limits::default(), &bytes, || bytes.len());
    assert_eq!(outcome.result, Ok(()));
    outcome.events
}

fn written(frames: &[Vec<u8>]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let bytes = frames.concat();
    let outcome = drive(Limits::default(), &bytes, || bytes.len());
    assert_eq!(outcome.result, Ok(()));
    let mut rest = outcome.written.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("the preface");
    let mut all = Vec::new();
    while let [_, a, b, kind, flags, s @ ..] = rest {
        let (stream, payload) = s.split_first_chunk::<4>().expect("a whole frame");
        let (payload, after) = payload.split_at(usize::from(u16::from_be_bytes([*a, *b])));
        all.push((*kind, *flags, u32::from_be_bytes(*stream), payload.to_vec()));
        rest = after;
    }
    all
}

fn body_bytes(frames: &[(u8, u8, u32, Vec<u8>)]) -> usize {
    frames.iter().filter(|(kind, ..)| *kind == DATA).map(|(.., payload)| payload.len()).sum()
}

#[test]
fn answers_come_in_any_order_and_interleaved() {
    let ok = |stream, flags| status(stream, flags, "200");
    let events = heard(&[
        settings(&[]),
        ok(9, 0),
        ok(1, 0),
        frame(DATA, 0, 9, b"ni"),
        frame(DATA, PADDED | END_STREAM, 1, b"\x03one\0\0\0"),
        frame(DATA, 0, 9, b"ne"),
        frame(DATA, END_STREAM, 9, b""),
        head(3, END_STREAM, &[(":status", "200"), ("content-length", "77")]),
    ]);
    let head = |tag| Event::Head(tag, "HTTP/2 200\r\n\r\n".into());
    assert_eq!(
        events,
        [
            Event::Ready,
            Event::First(4),
            head(4),
            Event::First(0),
            head(0),
            Event::Body(4, b"ni".to_vec()),
            Event::Body(0, b"one".to_vec()),
            Event::Done(0, 200, 3),
            Event::Body(4, b"ne".to_vec()),
            Event::Done(4, 200, 4),
            Event::First(1),
            // Of a HEAD, the length is what a GET would have had.
            Event::Head(1, "HTTP/2 200\r\ncontent-length: 77\r\n\r\n".into()),
            Event::Done(1, 200, 0),
        ]
    );
}

#[test]
fn interim_answers_and_trailers_are_passed_over() {
    let events = heard(&[
        settings(&[]),
        status(1, 0, "103"),
        frame(HEADERS, 0, 1, &block(&[(":status", "200")])),
        frame(CONTINUATION, END_HEADERS, 1, &block(&[("a", "b")])),
        frame(DATA, 0, 1, b"x"),
        head(1, END_STREAM, &[("grpc-status", "0")]),
    ]);
    let head = Event::Head(0, "HTTP/2 200\r\na: b\r\n\r\n".into());
    let end = [head, Event::Body(0, b"x".to_vec()), Event::Done(0, 200, 1)];
    assert_eq!(events, [&[Event::Ready, Event::First(0)], &end[..]].concat());
}

#[test]
fn what_was_not_looked_at_is_told_apart() {
    let refused = Fault::RefusedStream.into();
    let events = heard(&[settings(&[]), number(RST_STREAM, 1, 7), goaway(5, 0), goaway(3, 0)]);
    let goaway_of = |tag| Event::Lost(tag, Fault::Goaway.into(), true);
    assert_eq!(events[..3], [Event::Ready, Event::Lost(0, refused, true), Event::Retired]);
    let mut lost = events[3..].to_vec();
    lost.sort_by_key(|event| format!("{event:?}"));
    assert_eq!(lost, [goaway_of(2), goaway_of(3), goaway_of(4)]);
}

/// A server that needs no more of the request may say so after its answer (RFC 9113 §8.1).
#[test]
fn a_reset_without_error_after_a_whole_answer_does_no_harm() {
    let events = heard(&[
        settings(&[]),
        status(1, END_STREAM, "200"),
        number(RST_STREAM, 1, 0),
        status(3, END_STREAM, "200"),
    ]);
    let ended = |event: &&Event| matches!(event, Event::Done(..) | Event::Lost(..) | Event::Retired);
    let ends: Vec<_> = events.iter().filter(ended).collect();
    assert_eq!(ends, [&Event::Done(0, 200, 0), &Event::Done(1, 200, 0)]);
}

#[test]
fn a_body_waits_for_the_windows_and_holds_nobody_up() {
    let large = 5;
    let begin = written(&[settings(&[])]);
    assert_eq!(body_bytes(&begin), 65_535);
    assert_eq!(begin.iter().filter(|(kind, ..)| *kind == HEADERS).count(), 5);
    // One window alone does not open the way.
    assert_eq!(body_bytes(&written(&[settings(&[]), number(WINDOW_UPDATE, 0, 100_000)])), 65_535);
    let both = |more| [settings(&[]), number(WINDOW_UPDATE, 0, 100_000), more];
    let all = written(&both(number(WINDOW_UPDATE, large, 100_000)));
    assert_eq!(body_bytes(&all), BODY_BYTES);
    let last = all.iter().rev().find(|(kind, ..)| *kind == DATA).expect("a body");
    assert_eq!((last.1, last.2), (END_STREAM, large));
    // A setting opens it, too; or takes back what was granted, so that 65,535 more are owed first.
    assert_eq!(body_bytes(&written(&both(settings(&[(4, 100_000)])))), BODY_BYTES);
    let taken_back =
        [settings(&[(4, 0)]), number(WINDOW_UPDATE, 0, 100_000), number(WINDOW_UPDATE, large, 65_545)];
    assert_eq!(body_bytes(&written(&taken_back)), 65_545);
    // An answer before its end: nobody needs the rest.
    let early = written(&[settings(&[]), status(large, END_STREAM, "413")]);
    assert!(early.contains(&(RST_STREAM, 0, large, vec![0, 0, 0, 8])));
}

#[test]
fn settings_and_pings_are_answered() {
    let all = written(&[settings(&[]), frame(PING, 0, 0, b"12345678"), frame(PING, ACK, 0, b"12345678")]);
    assert!(all.contains(&(SETTINGS, ACK, 0, Vec::new())));
    assert_eq!(
        all.iter().filter(|(kind, ..)| *kind == PING).collect::<Vec<_>>(),
        [&(PING, ACK, 0, b"12345678".to_vec())]
    );
}

#[test]
fn room_follows_the_server() {
    let streams = |n| settings(&[(3, n)]);
    let events = heard(&[streams(100), streams(2), streams(2), streams(0), streams(5), streams(7)]);
    assert_eq!(events, [Event::Ready, Event::Room(2), Event::Room(0), Event::Room(5)]);
    assert_eq!(heard(&[streams(1)]), [Event::Room(1), Event::Ready]);
}

#[derive(Default)]
struct Kept(Vec<(u64, Option<Reply>)>);

impl Sink for Kept {
    fn ready(&mut self) {}
    fn room(&mut self, _: u32) {}
    fn retired(&mut self) {}
    fn first(&mut self, _: Tag) {}
    fn head(&mut self, _: Tag, _: &[u8]) {}
    fn body(&mut self, _: Tag, _: &[u8]) {}

    fn done(&mut self, tag: Tag, reply: Reply) {
        self.0.push((tag.0, Some(reply)));
    }

    fn lost(&mut self, tag: Tag, _: Violation, _: bool) {
        self.0.push((tag.0, None));
    }
}

/// A connection with `n` requests under way.
fn connection(n: u64) -> (Http2, <Http2 as Protocol>::Shared, Kept) {
    let settings_of = Settings { limits: Limits::default(), streams: 100 };
    let (mut http, mut shared, mut kept) = (Http2::new(&settings_of), Http2::shared(1), Kept::default());
    assert_eq!(http.begin(Carrier::Tls(Some(b"h2"))), Ok(false));
    http.feed(&mut shared, &settings(&[]), &mut kept).expect("settings");
    for tag in 0..n {
        http.submit(&mut shared, Tag(tag), 0, &requests()[0], &mut NothingToFill);
    }
    (http, shared, kept)
}

#[test]
fn requests_are_given_up_sparingly_and_late_answers_do_no_harm() {
    let (mut http, mut shared, mut kept) = connection(20);
    let second = 1_000_000_000;
    let is_free: Vec<bool> = (0..20).map(|tag| http.cancel(Tag(tag), second + tag)).collect();
    assert_eq!(is_free, [vec![true; 10], vec![false; 10]].concat());
    assert!(http.cancel(Tag(10), 2 * second), "a second after the first");
    // Streams 1 to 21 are given up; of the others, the answers are waited for.
    let late =
        [status(1, 0, "200"), frame(DATA, END_STREAM, 1, b"x"), status(23, END_STREAM, "200")].concat();
    http.feed(&mut shared, &late, &mut kept).expect("nothing wrong");
    let reply = Reply { code: 200, body_bytes: 0, reusable: true };
    assert_eq!(kept.0, [(11, Some(reply))]);
}

#[test]
fn what_tls_agrees_on_and_how_a_connection_ends() {
    for agreed in [None, Some(&b"http/1.1"[..])] {
        let mut http = Http2::new(&Settings { limits: Limits::default(), streams: 1 });
        assert_eq!(http.begin(Carrier::Tls(agreed)), Err(Fault::NotNegotiated.into()));
    }
    let (mut http, mut shared, mut kept) = connection(1);
    assert_eq!(http.eof(true, &mut kept), Err(Violation::ClosedEarly));
    // Enhance your calm.
    http.feed(&mut shared, &goaway(1, 11), &mut kept).expect("nothing wrong");
    assert_eq!(http.eof(true, &mut kept), Err(Fault::GoawayError.into()));
    assert!(kept.0.is_empty());
}

#[test]
fn blocks_are_references_until_the_server_keeps_less() {
    let (mut http, mut shared, mut kept) = connection(0);
    let request = &requests()[0];
    let mut id = 0;
    let mut sent = |http: &mut Http2, settings: &[u8]| {
        http.feed(&mut shared, settings, &mut kept).expect("settings");
        let n = http.output(&[])[0].len();
        http.wrote(n);
        http.submit(&mut shared, Tag(id), 0, request, &mut NothingToFill);
        id += 1;
        let frame = http.output(&[])[0];
        assert_eq!((frame[3], usize::from(frame[2])), (HEADERS, frame.len() - 9));
        frame[9..].to_vec()
    };
    let first = sent(&mut http, b"");
    // Method, scheme, authority, path, user agent, accept.
    assert_eq!(sent(&mut http, b""), [0x82, 0x86, 0xc0, 0x84, 0xbf, 0xbe]);
    assert_eq!(sent(&mut http, b""), [0x82, 0x86, 0xc0, 0x84, 0xbf, 0xbe]);
    // Emptied and as large as before: everything is said again.
    let both = settings(&[(1, 0), (1, 4096)]);
    assert_eq!(sent(&mut http, &both), [&[0x20, 0x3f, 0xe1, 0x1f], &first[..]].concat());
    assert_eq!(sent(&mut http, b""), [0x82, 0x86, 0xc0, 0x84, 0xbf, 0xbe]);
    // None at all: said once, and then written out each time. Of two names, the index takes a byte more than before.
    let none = sent(&mut http, &settings(&[(1, 0)]));
    assert_eq!((none[0], none.len()), (0x20, first.len() + 3));
    assert_eq!(sent(&mut http, b""), none[1..]);
}
