//! Differential test: the server side of the `h2` crate at the other end, in memory. Requests reach it as they were meant, and
//! its answers are read as they were given, whatever its settings are and however the bytes are cut.

use h2::server;
use hyper::body::Bytes;
use hyper::{Request, Response};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use unblink_wire::blank::NothingToFill;
use unblink_wire::http2::{self, Http2, Scheme, Settings};
use unblink_wire::protocol::{Carrier, Protocol, Reply, Sink, Tag, Violation};
use unblink_wire::{Limits, RequestBuilder};

/// More turns than any exchange goes without a byte on its way.
const IDLE_TURNS_MAX: usize = 1_000;

#[derive(Clone, PartialEq, Eq, Debug)]
struct Message {
    method: &'static str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Given {
    requests: Vec<Message>,
    /// To each request, with a status; the method says nothing.
    answers: Vec<(u16, Message)>,
    /// Pieces of an answer's body.
    piece: usize,
    window: u32,
    frame_bytes_max: u32,
    streams_max: u32,
    /// Of header fields, in bytes.
    table: u32,
    /// How the bytes are cut.
    cuts: Vec<usize>,
}

/// Bytes on their way.
#[derive(Default)]
struct Wire {
    to_server: VecDeque<u8>,
    to_client: VecDeque<u8>,
}

struct End {
    wire: Rc<RefCell<Wire>>,
    cuts: Vec<usize>,
    turn: usize,
}

impl AsyncRead for End {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let cut = self.cuts[self.turn % self.cuts.len()];
        self.turn += 1;
        let bytes = &mut self.wire.borrow_mut().to_server;
        let n = bytes.len().min(cut).min(buf.remaining());
        if n == 0 {
            return Poll::Pending;
        }
        buf.put_slice(&bytes.drain(..n).collect::<Vec<u8>>());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for End {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.wire.borrow_mut().to_client.extend(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// What the server has understood, by the number in each request's path.
type Seen = Rc<RefCell<Vec<Option<(String, Message)>>>>;

/// Takes connections' requests and puts a task for each into `tasks`.
async fn serve(given: Rc<Given>, end: End, tasks: Rc<RefCell<Vec<Task>>>, seen: Seen) {
    let mut builder = server::Builder::new();
    builder.initial_window_size(given.window).max_frame_size(given.frame_bytes_max);
    builder.header_table_size(given.table);
    builder.max_concurrent_streams(given.streams_max).max_send_buffer_size(1 << 22);
    let mut connection = builder.handshake::<_, Bytes>(end).await.expect("a handshake");
    while let Some(accepted) = connection.accept().await {
        let (request, respond) = accepted.expect("a request");
        tasks.borrow_mut().push(Box::pin(answer(given.clone(), request, respond, seen.clone())));
    }
}

async fn answer(
    given: Rc<Given>,
    request: Request<h2::RecvStream>,
    mut respond: server::SendResponse<Bytes>,
    seen: Seen,
) {
    let (head, mut stream) = request.into_parts();
    let mut body = Vec::new();
    while let Some(piece) = stream.data().await {
        let piece = piece.expect("a piece of the body");
        stream.flow_control().release_capacity(piece.len()).expect("a window");
        body.extend_from_slice(&piece);
    }
    let number: usize = head.uri.path().trim_start_matches('/').parse().expect("a number");
    let text = |value: &hyper::header::HeaderValue| value.to_str().expect("text").to_string();
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let method =
        ["GET", "POST", "PUT"].into_iter().find(|method| head.method == *method).expect("one of them");
    seen.borrow_mut()[number] = Some((head.uri.to_string(), Message { method, headers, body }));

    let (status, message) = &given.answers[number];
    let mut response = Response::builder().status(*status);
    for (name, value) in &message.headers {
        response = response.header(name, value);
    }
    let response = response.body(()).expect("a response");
    let mut out = respond.send_response(response, message.body.is_empty()).expect("a stream");
    let pieces = message.body.chunks(given.piece);
    let last = pieces.len().saturating_sub(1);
    for (i, piece) in pieces.enumerate() {
        out.send_data(Bytes::copy_from_slice(piece), i == last).expect("a stream");
    }
}

/// What the client has read.
#[derive(Default)]
struct Heard {
    is_ready: bool,
    room: Option<u32>,
    heads: Vec<String>,
    bodies: Vec<Vec<u8>>,
    done: Vec<Option<Reply>>,
}

impl Sink for Heard {
    fn ready(&mut self) {
        self.is_ready = true;
    }

    fn room(&mut self, places: u32) {
        self.room = Some(places);
    }

    fn retired(&mut self) {
        panic!("the server takes no more");
    }

    fn first(&mut self, _: Tag) {}

    fn head(&mut self, tag: Tag, head: &[u8]) {
        self.heads[tag.0 as usize] = String::from_utf8(head.to_vec()).expect("text");
    }

    fn body(&mut self, tag: Tag, piece: &[u8]) {
        self.bodies[tag.0 as usize].extend_from_slice(piece);
    }

    fn done(&mut self, tag: Tag, reply: Reply) {
        assert!(self.done[tag.0 as usize].replace(reply).is_none(), "answered twice");
    }

    fn lost(&mut self, tag: Tag, violation: Violation, _: bool) {
        panic!("{tag:?} is lost: {violation:?}");
    }
}

fn rendered(number: usize, message: &Message) -> http2::Request {
    let target = format!("/{number}");
    let builder = RequestBuilder {
        method: message.method,
        target: &target,
        host: "a.test:81",
        headers: &message.headers,
        body: &message.body,
    };
    http2::Request::new(&builder, message.body.as_slice().into(), Scheme::Http).expect("a request")
}

/// Exchanges everything. Gives what each side has understood.
fn exchange(given: &Given) -> (Heard, Vec<Option<(String, Message)>>) {
    let count = given.requests.len();
    let wire = Rc::new(RefCell::new(Wire::default()));
    let (tasks, seen) = (Rc::new(RefCell::new(Vec::<Task>::new())), Rc::new(RefCell::new(vec![None; count])));
    let end = End { wire: wire.clone(), cuts: given.cuts.clone(), turn: 0 };
    let mut server = pin!(serve(Rc::new(given.clone()), end, tasks.clone(), seen.clone()));
    let cx = &mut Context::from_waker(Waker::noop());

    let requests: Vec<_> =
        given.requests.iter().enumerate().map(|(i, message)| rendered(i, message)).collect();
    let settings = Settings { limits: Limits::default(), streams: 100 };
    let (mut client, mut shared) = (Http2::new(&settings), Http2::shared(count));
    let mut heard = Heard {
        heads: vec![String::new(); count],
        bodies: vec![Vec::new(); count],
        done: vec![None; count],
        ..Heard::default()
    };
    assert_eq!(client.begin(Carrier::Plain), Ok(false));
    let (mut sent, mut turn, mut idle_turns) = (0, 0, 0);
    while idle_turns < IDLE_TURNS_MAX {
        let answered = heard.done.iter().flatten().count();
        if answered == count {
            let seen = seen.take();
            return (heard, seen);
        }
        let room = heard.room.unwrap_or(settings.streams) as usize;
        while heard.is_ready && sent < count && sent - answered < room {
            client.submit(&mut shared, Tag(sent as u64), sent as u32, &requests[sent], &mut NothingToFill);
            sent += 1;
        }
        let cut = given.cuts[turn % given.cuts.len()];
        let [output, rest] = client.output(&requests);
        assert!(rest.is_empty());
        let n = output.len().min(cut);
        if n > 0 {
            wire.borrow_mut().to_server.extend(&output[..n]);
            client.wrote(n);
        }
        assert!(server.as_mut().poll(cx).is_pending(), "the server has closed the connection");
        tasks.borrow_mut().retain_mut(|task| task.as_mut().poll(cx).is_pending());
        let piece: Vec<u8> = {
            let bytes = &mut wire.borrow_mut().to_client;
            let n = bytes.len().min(cut);
            bytes.drain(..n).collect()
        };
        if !piece.is_empty() {
            client.feed(&mut shared, &piece, &mut heard).expect("what HTTP/2 allows");
        }
        idle_turns = if n == 0 && piece.is_empty() { idle_turns + 1 } else { 0 };
        turn += 1;
    }
    panic!("nothing moves: {} of {count} were answered", heard.done.iter().flatten().count());
}

#[track_caller]
fn check(given: &Given) {
    let (heard, seen) = exchange(given);
    for (number, asked) in given.requests.iter().enumerate() {
        let Some((uri, message)) = &seen[number] else { panic!("{number} was not seen") };
        assert_eq!(uri, &format!("http://a.test:81/{number}"));
        assert_eq!((message.method, &message.body), (asked.method, &asked.body));
        let mut expected = asked.headers.clone();
        if !asked.body.is_empty() || asked.method != "GET" {
            expected.push(("content-length".into(), asked.body.len().to_string()));
        }
        let (mut expected, mut headers) = (sorted(&expected), sorted(&message.headers));
        // What is sent unasked has tests of its own.
        for all in [&mut expected, &mut headers] {
            all.retain(|(name, _)| name != "user-agent" && name != "accept");
        }
        assert_eq!(headers, expected);

        let (status, answer) = &given.answers[number];
        let body_bytes = answer.body.len() as u64;
        assert_eq!(heard.done[number], Some(Reply { code: *status, body_bytes, reusable: true }));
        assert!(heard.bodies[number] == answer.body, "another body of {number}");
        let (first, lines) = heard.heads[number].split_once("\r\n").expect("a line");
        assert_eq!(first, format!("HTTP/2 {status}"));
        let lines = lines.lines().filter_map(|line| line.split_once(": "));
        let lines: Vec<_> = lines.map(|(name, value)| (name.to_string(), value.to_string())).collect();
        assert_eq!(sorted(&lines), sorted(&answer.headers));
    }
}

fn sorted(headers: &[(String, String)]) -> Vec<(String, String)> {
    let mut all = headers.to_vec();
    all.sort();
    all
}

/// Few names, so that tables are hit; values of all lengths, so that they are evicted.
fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop::sample::select(vec!["x-a", "x-b", "etag", "cookie", "authorization", "cache-control"]);
    let value = prop_oneof!["[a-c]{1,2}", "[!-~]{1,80}", "[!-~]{900,1200}"];
    prop::collection::vec((name.prop_map(str::to_string), value), 0..4)
}

fn message() -> impl Strategy<Value = Message> {
    let method = prop::sample::select(vec!["GET", "POST", "PUT"]);
    let length = prop_oneof![3 => Just(0), 3 => 1..200_usize, 1 => 10_000..150_000_usize];
    (method, headers(), length, any::<u8>()).prop_map(|(method, headers, length, seed)| {
        let body = (0..length).map(|i| seed.wrapping_add((i % 251) as u8)).collect();
        Message { method, headers, body }
    })
}

prop_compose! {
    fn given()(
        pairs in prop::collection::vec((message(), prop::sample::select(vec![200, 204, 302, 404, 503]), message()), 1..9),
        piece in prop_oneof![1..100_usize, 1_000..70_000_usize],
        window in prop::sample::select(vec![1_u32, 100, 65_535, 1 << 20]),
        frame_bytes_max in prop::sample::select(vec![16_384_u32, 1 << 20]),
        streams_max in 1..9_u32,
        table in prop::sample::select(vec![0_u32, 50, 300, 4_096, 65_536]),
        cuts in prop::collection::vec(prop_oneof![1..40_usize, 500..100_000_usize], 1..6),
    ) -> Given {
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        for (mut request, status, mut answer) in pairs {
            if window == 1 {
                // A byte for each turn.
                request.body.truncate(300);
            }
            if status == 204 {
                answer.body.clear();
            }
            answer.body.truncate(2_000 * piece);
            requests.push(request);
            answers.push((status, answer));
        }
        Given { requests, answers, piece, window, frame_bytes_max, streams_max, table, cuts }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn both_sides_understand_each_other(given in given()) {
        check(&given);
    }
}
