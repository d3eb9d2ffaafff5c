//! The client side of the same crate at the other end, in memory.

use super::*;
use h2::client::{self, ResponseFuture, SendRequest};
use http::Request as HttpRequest;

type Driver = Pin<Box<dyn Future<Output = Result<(), h2::Error>>>>;

/// A client, and the bytes between both.
struct Ends {
    streams: Streams,
    pipe: Pipe,
    driver: Driver,
    send: SendRequest<Bytes>,
}

impl Ends {
    fn new() -> Ends {
        let (pipe, mut streams) = (Pipe::default(), Streams::new(false));
        let mut handshake = Box::pin(client::handshake(pipe.clone()));
        let cx = &mut Context::from_waker(Waker::noop());
        let (send, connection) = loop {
            match handshake.as_mut().poll(cx) {
                Poll::Ready(done) => break done.expect("a handshake"),
                Poll::Pending => carry(&pipe, &mut streams),
            }
        };
        let mut ends = Ends { streams, pipe, driver: Box::pin(connection), send };
        ends.turn();
        ends
    }

    /// Takes all bytes to the other side, there and back.
    fn turn(&mut self) {
        let cx = &mut Context::from_waker(Waker::noop());
        for _ in 0..10 {
            assert!(self.driver.as_mut().poll(cx).is_pending(), "the connection goes on");
            carry(&self.pipe, &mut self.streams);
        }
    }

    fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> ResponseFuture {
        let request = HttpRequest::builder().method(method).uri(format!("http://lab{path}"));
        let request = request.body(()).expect("a request");
        let (answer, mut stream) = self.send.send_request(request, body.is_empty()).expect("it is sent");
        if !body.is_empty() {
            stream.send_data(Bytes::copy_from_slice(body), true).expect("it is sent");
        }
        self.turn();
        answer
    }
}

fn carry(client: &Pipe, streams: &mut Streams) {
    streams.feed(&client.written());
    client.give(&streams.output());
}

/// Status and body, if they have come.
fn read(answer: &mut ResponseFuture, ends: &mut Ends) -> Option<(u16, Vec<u8>)> {
    ends.turn();
    let cx = &mut Context::from_waker(Waker::noop());
    let Poll::Ready(answer) = Pin::new(answer).poll(cx) else { return None };
    let (head, mut stream) = answer.expect("an answer").into_parts();
    let mut body = Vec::new();
    while let Poll::Ready(Some(piece)) = stream.poll_data(cx) {
        let piece = piece.expect("a piece");
        stream.flow_control().release_capacity(piece.len()).expect("a window");
        body.extend_from_slice(&piece);
        ends.turn();
    }
    Some((head.status.as_u16(), body))
}

#[test]
fn requests_are_answered_in_any_order() {
    let mut ends = Ends::new();
    let mut first = ends.ask("GET", "/a?b", b"");
    let mut second = ends.ask("POST", "/healthy", &vec![b'x'; 300_000]);
    let request = ends.streams.next().expect("it has come");
    assert_eq!((request.route, request.head_only), (crate::framer::Route::Scenario, false));
    ends.streams.keep(7, 3, request);
    assert_eq!(ends.streams.in_flight(), [3]);
    let request = ends.streams.next().expect("its body is whole");
    assert!(ends.streams.next().is_none());
    ends.streams.answer(&Answer::text("200 OK", "healthy\n"), request);
    assert_eq!(read(&mut second, &mut ends), Some((200, b"healthy\n".to_vec())));
    assert_eq!(read(&mut first, &mut ends), None);

    let request = ends.streams.take(7).expect("it is there");
    ends.streams
        .answer(&Answer::new("500 Internal Server Error", "text/plain", vec![b'y'; 200_000]), request);
    assert_eq!(read(&mut first, &mut ends), Some((500, vec![b'y'; 200_000])));
    assert!(ends.streams.take(7).is_none() && ends.streams.in_flight().is_empty());
    assert!(!ends.streams.is_over());
}

#[test]
fn head_has_no_body() {
    let mut ends = Ends::new();
    let mut answer = ends.ask("HEAD", "/", b"");
    let request = ends.streams.next().expect("it has come");
    ends.streams.answer(&Answer::text("200 OK", "text"), request);
    assert_eq!(read(&mut answer, &mut ends), Some((200, Vec::new())));
}

#[test]
fn a_stream_that_was_reset_is_given_up() {
    let mut ends = Ends::new();
    let (kept, dropped) = (ends.ask("GET", "/", b""), ends.ask("GET", "/", b""));
    for number in 0..2 {
        let request = ends.streams.next().expect("it has come");
        ends.streams.keep(number, 0, request);
    }
    drop(dropped);
    ends.turn();
    assert_eq!([0, 1].map(|number| ends.streams.is_given_up(number)), [false, true]);
    for number in 0..2 {
        let request = ends.streams.take(number).expect("it is there");
        ends.streams.answer(&Answer::text("200 OK", "text"), request);
    }
    let mut kept = kept;
    assert_eq!(read(&mut kept, &mut ends), Some((200, b"text".to_vec())));
}

#[test]
fn a_reset_ends_one_stream() {
    let mut ends = Ends::new();
    let (mut first, mut second) = (ends.ask("GET", "/", b""), ends.ask("GET", "/", b""));
    assert!(ends.streams.next().is_some());
    ends.streams.reset();
    let request = ends.streams.next().expect("it has come");
    ends.streams.answer(&Answer::text("200 OK", "text"), request);
    assert_eq!(read(&mut second, &mut ends), Some((200, b"text".to_vec())));
    let cx = &mut Context::from_waker(Waker::noop());
    let Poll::Ready(Err(error)) = Pin::new(&mut first).poll(cx) else { panic!("it was reset") };
    assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR));
}

#[test]
fn nonsense_ends_the_connection() {
    let mut streams = Streams::new(false);
    streams.feed(b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n");
    assert!(streams.is_over() && streams.next().is_none());
}
