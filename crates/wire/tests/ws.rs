//! WebSocket against another implementation of it, in both directions.

use proptest::collection::vec;
use proptest::prelude::*;
use std::io::{self, Cursor, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use tungstenite::protocol::Role;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::{Message as Theirs, WebSocket};
use unblink_wire::Limits;
use unblink_wire::blank::NothingToFill;
use unblink_wire::protocol::{Carrier, Protocol, Reply, Sink, Tag, Violation};
use unblink_wire::ws::fuzzing::{Event, MESSAGES, check, drive};
use unblink_wire::ws::{Finder, Handshake, Matching, Message, Settings, Ws};

/// A stream that ends where `input` does.
struct Wire {
    input: Cursor<Vec<u8>>,
    output: Vec<u8>,
}

impl Wire {
    fn reading(bytes: &[u8]) -> Wire {
        Wire { input: Cursor::new(bytes.to_vec()), output: Vec::new() }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.input.read(buffer)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A message of the server in fragments, each with what comes before it.
#[derive(Clone, Debug)]
struct Sent {
    is_text: bool,
    payload: Vec<u8>,
    cuts: Vec<usize>,
    pings: Vec<Option<Vec<u8>>>,
}

fn sent() -> impl Strategy<Value = Sent> {
    let payload = prop_oneof![
        "\\PC{0,40}".prop_map(|text| (true, text.into_bytes())),
        vec(any::<u8>(), 0..300).prop_map(|bytes| (false, bytes)),
        (65_000..66_000usize).prop_map(|length| (false, vec![7; length])),
    ];
    let pings = vec(proptest::option::weighted(0.2, vec(any::<u8>(), 0..126)), 1..5);
    (payload, vec(0..400usize, 0..4), pings).prop_map(|((is_text, payload), mut cuts, pings)| {
        cuts.iter_mut().for_each(|cut| *cut = (*cut).min(payload.len()));
        cuts.sort_unstable();
        Sent { is_text, payload, cuts, pings }
    })
}

/// What a server of the other implementation sends.
fn written(messages: &[Sent]) -> Vec<u8> {
    let mut server = WebSocket::from_raw_socket(Wire::reading(b""), Role::Server, None);
    for Sent { is_text, payload, cuts, pings } in messages {
        let ends: Vec<usize> = cuts.iter().copied().chain([payload.len()]).collect();
        let mut from = 0;
        for (i, &end) in ends.iter().enumerate() {
            if let Some(Some(ping)) = pings.get(i) {
                server.send(Theirs::Frame(Frame::ping(ping.clone()))).unwrap();
            }
            let first = if *is_text { Data::Text } else { Data::Binary };
            let data = if i == 0 { first } else { Data::Continue };
            let piece = payload[from..end].to_vec();
            let frame = Frame::message(piece, OpCode::Data(data), i + 1 == ends.len());
            server.send(Theirs::Frame(frame)).unwrap();
            from = end;
        }
    }
    server.get_ref().output.clone()
}

/// Of any length, and often of one at which the length of a frame's head changes.
fn text() -> impl Strategy<Value = String> {
    let near = prop_oneof![Just(125usize), Just(65_535)];
    let at_border = (near, 0..3usize).prop_map(|(border, more)| "x".repeat(border - 1 + more));
    prop_oneof!["\\PC{0,60}", at_border]
}

fn echo(mut server: WebSocket<TcpStream>) {
    while let Ok(message) = server.read() {
        if message.is_text() && server.send(message).is_err() {
            return;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_another_server_sends_is_read_however_it_is_cut(messages in vec(sent(), 0..6), cut in 1..3000usize) {
        let outcome = drive(false, u64::MAX >> 1, &written(&messages), || cut);
        prop_assert_eq!(outcome.result, Ok(()));
        let answers: Vec<Vec<u8>> = (0..MESSAGES)
            .filter(|tag| outcome.events.iter().any(|event| matches!(event, Event::Done(of, _) if of == tag)))
            .map(|tag| {
                let pieces = outcome.events.iter().filter_map(|event| match event {
                    Event::Body(of, piece) if *of == tag => Some(piece.clone()),
                    _ => None,
                });
                pieces.collect::<Vec<_>>().concat()
            })
            .collect();
        let expected: Vec<_> = messages.iter().map(|sent| sent.payload.clone()).take(MESSAGES as usize).collect();
        prop_assert_eq!(answers, expected);
        let count = |event: &Event| outcome.events.iter().filter(|other| *other == event).count();
        prop_assert_eq!(count(&Event::Unsolicited), messages.len().saturating_sub(MESSAGES as usize));
        let pings: Vec<Vec<u8>> =
            messages.iter().flat_map(|sent| sent.pings.iter().take(sent.cuts.len() + 1)).flatten().cloned().collect();
        prop_assert_eq!(count(&Event::Pinged), pings.len());
        // A server of the other implementation reads the pongs.
        let mut server = WebSocket::from_raw_socket(Wire::reading(&outcome.written), Role::Server, None);
        for ping in pings {
            prop_assert_eq!(server.read().unwrap(), Theirs::Pong(ping.into()));
        }
    }

    #[test]
    fn what_is_sent_is_read_by_another_server(texts in vec(text(), 1..8)) {
        let mut client = Client::connect(Matching::Order, echo);
        for pair in texts.chunks(2) {
            let tagged: Vec<(u64, String)> = (1..).zip(pair.iter().cloned()).collect();
            tagged.iter().for_each(|(tag, text)| client.send(*tag, text));
            prop_assert_eq!(client.read_answers(pair.len()), tagged);
        }
    }

    #[test]
    fn a_broken_byte_breaks_no_invariant(
        messages in vec(sent(), 1..4),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        by_name in any::<bool>(),
    ) {
        let mut bytes = written(&messages);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(3_000);
        check(&[&[b'0', if by_name { b'n' } else { b'o' }, 7][..], &bytes].concat());
    }

    #[test]
    fn any_bytes_break_no_invariant(bytes in vec(any::<u8>(), 0..400)) {
        check(&bytes);
    }
}

#[derive(Default)]
struct Heard {
    is_ready: bool,
    answers: Vec<(u64, Vec<u8>)>,
    lost: Vec<(u64, Violation)>,
    unsolicited: u64,
    body: Vec<u8>,
}

impl Sink for Heard {
    fn ready(&mut self) {
        self.is_ready = true;
    }
    fn room(&mut self, _: u32) {}
    fn retired(&mut self) {}
    fn first(&mut self, _: Tag) {}
    fn head(&mut self, _: Tag, _: &[u8]) {}
    fn body(&mut self, _: Tag, piece: &[u8]) {
        self.body.extend_from_slice(piece);
    }
    fn done(&mut self, tag: Tag, _: Reply) {
        self.answers.push((tag.0, std::mem::take(&mut self.body)));
    }
    fn lost(&mut self, tag: Tag, violation: Violation, _: bool) {
        self.lost.push((tag.0, violation));
    }
    fn unsolicited(&mut self, _: bool) {
        self.unsolicited += 1;
    }
}

/// Speaks to a server of the other implementation.
struct Client {
    stream: TcpStream,
    ws: Ws,
    shared: <Ws as Protocol>::Shared,
    heard: Heard,
}

impl Client {
    fn connect(matching: Matching, serve: fn(WebSocket<TcpStream>)) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a client");
            serve(tungstenite::accept(stream).expect("a handshake"));
        });
        let settings = Settings {
            handshake: Arc::new(Handshake::new("/chat", "127.0.0.1", &[]).expect("a handshake")),
            limits: Limits::default(),
            depth: 8,
            matching,
            is_binary: false,
        };
        let (mut ws, shared) = (Ws::new(&settings), Ws::shared(1));
        assert_eq!(ws.begin(Carrier::Plain), Ok(false));
        let mut client = Client { stream, ws, shared, heard: Heard::default() };
        client.write();
        while !client.heard.is_ready {
            client.read().expect("it switches");
        }
        client
    }

    fn send(&mut self, tag: u64, text: &str) {
        let message = Message::new(text.as_bytes().into(), false);
        self.ws.submit(&mut self.shared, Tag(tag), 0, &message, &mut NothingToFill);
        self.write();
    }

    fn write(&mut self) {
        let [output, _] = self.ws.output(&[]);
        self.stream.write_all(output).expect("it is written");
        let n = output.len();
        self.ws.wrote(n);
    }

    /// False at the end.
    fn read(&mut self) -> Result<bool, Violation> {
        let mut buffer = [0; 700];
        let n = self.stream.read(&mut buffer).unwrap_or(0);
        self.ws.feed(&mut self.shared, &buffer[..n], &mut self.heard)?;
        self.write();
        Ok(n > 0)
    }

    fn read_answers(&mut self, n: usize) -> Vec<(u64, String)> {
        while self.heard.answers.len() < n && self.read().expect("no violation") {}
        let answers = self.heard.answers.drain(..);
        answers.map(|(tag, body)| (tag, String::from_utf8(body).expect("text"))).collect()
    }
}

fn name_before_colon() -> Matching {
    Matching::Name(Finder::new(|message, name| {
        let end = message.iter().position(|byte| *byte == b':');
        name.extend_from_slice(&message[..end.unwrap_or(0)]);
        end.is_some()
    }))
}

#[test]
fn an_echo_answers_in_order() {
    let mut client = Client::connect(Matching::Order, echo);
    let long = "ü".repeat(40_000);
    for (tag, text) in [(1, "a"), (2, ""), (3, &long)] {
        client.send(tag, text);
    }
    assert_eq!(client.read_answers(3), [(1, "a".into()), (2, String::new()), (3, long)]);
    client.send(4, "again");
    assert_eq!(client.read_answers(1), [(4, "again".into())]);
}

#[test]
fn answers_are_found_by_name_and_pushes_are_none() {
    let mut client = Client::connect(name_before_colon(), |mut server| {
        let messages: Vec<_> = (0..3).map(|_| server.read().expect("a message")).collect();
        for message in messages.into_iter().rev() {
            server.send(Theirs::text("news")).expect("sent");
            server.send(Theirs::text("z:unknown")).expect("sent");
            server.send(message).expect("sent");
        }
        let _ = server.read();
    });
    for (tag, text) in [(1, "a:1"), (2, "b:2"), (3, "a:3")] {
        client.send(tag, text);
    }
    // Two are called "a": the one that was sent first is answered first.
    let answers = client.read_answers(3);
    assert_eq!(answers, [(1, "a:3".into()), (2, "b:2".into()), (3, "a:1".into())]);
    assert_eq!(client.heard.unsolicited, 6);
}

#[test]
fn a_close_loses_what_is_under_way_and_is_answered() {
    let mut client = Client::connect(Matching::Order, |mut server| {
        let _ = server.read();
        let frame = tungstenite::protocol::CloseFrame {
            code: tungstenite::protocol::frame::coding::CloseCode::Away,
            reason: "bye".into(),
        };
        server.close(Some(frame)).expect("closed");
        // The other implementation tells when the close was answered in turn.
        let ended = loop {
            match server.read() {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(ended, tungstenite::Error::ConnectionClosed), "{ended}");
    });
    client.send(1, "a");
    client.send(2, "b");
    while client.heard.lost.len() < 2 && client.read().expect("no violation") {}
    let going_away = Ws::VIOLATIONS.iter().position(|code| *code == "closed_going_away").expect("a code");
    let violation = Violation::Malformed(going_away as u16);
    assert_eq!(client.heard.lost, [(1, violation), (2, violation)]);
    assert_eq!(client.ws.eof(true, &mut client.heard), Err(Violation::ClosedEarly));
}

#[test]
fn the_corpus_breaks_no_invariant() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/ws");
    let entries: Vec<_> = std::fs::read_dir(&folder).expect("fuzz/corpus/ws exists").collect();
    assert!(entries.len() >= 30, "only {} seeds", entries.len());
    for entry in entries {
        let path = entry.expect("a readable entry").path();
        let bytes = std::fs::read(&path).expect("a readable seed");
        let checked = std::panic::catch_unwind(|| check(&bytes));
        assert!(checked.is_ok(), "{} breaks an invariant", path.display());
    }
}
