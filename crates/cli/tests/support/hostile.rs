//! A server that does to each request what a script says: one thread for each connection, std only.

use rustix::net::{AddressFamily, SocketAddrV4, SocketType, sockopt};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What to do to one request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Answer with these bytes and keep the connection.
    Answer(Vec<u8>),
    /// The same, so long after the request.
    AnswerAfter(Duration, Vec<u8>),
    /// Answer and close at once.
    AnswerThenClose(Vec<u8>),
    /// Answer and close so long after, while the connection is idle.
    AnswerThenCloseIdle(Vec<u8>, Duration),
    /// Answer, say something unasked so long after, while the connection is idle, and close.
    AnswerThenSay(Vec<u8>, Duration, Vec<u8>),
    /// Answer before the body of the request is read, and close.
    AnswerBeforeBody(Vec<u8>),
    /// Close without a byte.
    Close,
    /// Reset without a byte.
    Reset,
    /// Send these bytes, then reset.
    SendThenReset(Vec<u8>),
    /// Send these bytes and fall silent until the client goes away.
    SendThenStall(Vec<u8>),
    /// Send the first bytes, then the second ones again and again, so long apart, until the client goes.
    Endless(Vec<u8>, Vec<u8>, Duration),
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The connection, counted from 0.
    pub(crate) connection: usize,
    /// The request on it, counted from 0.
    pub(crate) number: usize,
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// A whole answer with `Content-Length`.
pub(crate) fn answer(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A plain 200.
pub(crate) fn ok() -> Vec<u8> {
    answer("200 OK", "hello")
}

/// The server; it serves until the test's process ends.
pub(crate) struct Hostile {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
}

/// One that has nothing hostile.
pub(crate) fn healthy() -> Hostile {
    Hostile::start(|_| Act::Answer(ok()))
}

impl Hostile {
    /// Serves on a free loopback port; `script` says what to do to each request.
    pub(crate) fn start(script: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Hostile {
        Hostile::on("127.0.0.1:0", script)
    }

    pub(crate) fn on(address: &str, script: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Hostile {
        let listener = TcpListener::bind(address).expect("a free port");
        let hostile = Hostile {
            address: listener.local_addr().expect("an address"),
            seen: Arc::default(),
            connections: Arc::default(),
        };
        hostile.accept(move || listener.accept().map(|(stream, _)| stream), script);
        hostile
    }

    /// Serves on a Unix-domain socket; the address means nothing.
    pub(crate) fn on_unix(path: &Path, script: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Hostile {
        let listener = UnixListener::bind(path).expect("a socket");
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        let hostile = Hostile { address, seen: Arc::default(), connections: Arc::default() };
        hostile.accept(move || listener.accept().map(|(stream, _)| stream), script);
        hostile
    }

    fn accept<S: Stream>(
        &self,
        accept: impl Fn() -> std::io::Result<S> + Send + 'static,
        script: impl Fn(&Seen) -> Act + Send + Sync + 'static,
    ) {
        let (seen, connections, script) = (self.seen.clone(), self.connections.clone(), Arc::new(script));
        std::thread::spawn(move || {
            while let Ok(stream) = accept() {
                let connection = connections.fetch_add(1, Ordering::SeqCst);
                let (seen, script) = (seen.clone(), script.clone());
                std::thread::spawn(move || serve(stream, connection, &seen, &*script));
            }
        });
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Every request so far, in the order of arrival.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }

    /// Waits until it has been asked so often.
    pub(crate) fn wait_for(&self, count: usize) {
        for _ in 0..2_400 {
            if self.seen().len() >= count {
                return;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        panic!("only {} requests came", self.seen().len());
    }

    /// What it was asked, and how often.
    pub(crate) fn asked(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for seen in self.seen() {
            *all.entry(format!("{} {}", seen.target, String::from_utf8_lossy(&seen.body))).or_default() += 1;
        }
        all
    }

    /// Connections accepted so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A port that refuses connections for as long as this lives: it is taken, and nobody listens.
pub(crate) struct Refusing {
    _socket: OwnedFd,
    pub(crate) address: SocketAddr,
}

impl Refusing {
    pub(crate) fn new() -> Refusing {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = rustix::net::getsockname(&socket).expect("an address");
        let address = SocketAddr::try_from(address).expect("an internet address");
        Refusing { _socket: socket, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

trait Stream: Read + Write + AsFd + Send + Sized + 'static {
    fn share(&self) -> Self;
}

impl Stream for TcpStream {
    fn share(&self) -> Self {
        self.try_clone().expect("a descriptor")
    }
}

impl Stream for UnixStream {
    fn share(&self) -> Self {
        self.try_clone().expect("a descriptor")
    }
}

fn serve<S: Stream>(stream: S, connection: usize, seen: &Mutex<Vec<Seen>>, script: &dyn Fn(&Seen) -> Act) {
    let mut writer = stream.share();
    let mut reader = BufReader::new(stream);
    for number in 0.. {
        let Some(mut request) = read_head(&mut reader) else { return };
        (request.connection, request.number) = (connection, number);
        let act = script(&request);
        if !matches!(act, Act::AnswerBeforeBody(_)) {
            let length = request.header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
            request.body.resize(length, 0);
            if reader.read_exact(&mut request.body).is_err() {
                return;
            }
        }
        seen.lock().expect("no panic").push(request);
        if perform(act, &mut writer, &mut reader).is_none() {
            return;
        }
    }
}

/// Does it; nothing when the connection has ended.
fn perform<S: Stream>(act: Act, writer: &mut S, reader: &mut BufReader<S>) -> Option<()> {
    match act {
        Act::Answer(bytes) => writer.write_all(&bytes).ok(),
        Act::AnswerAfter(wait, bytes) => {
            std::thread::sleep(wait);
            writer.write_all(&bytes).ok()
        }
        Act::AnswerThenClose(bytes) | Act::AnswerBeforeBody(bytes) => {
            writer.write_all(&bytes).ok()?;
            None
        }
        Act::AnswerThenCloseIdle(bytes, wait) => {
            writer.write_all(&bytes).ok()?;
            std::thread::sleep(wait);
            None
        }
        Act::AnswerThenSay(answer, wait, bytes) => {
            writer.write_all(&answer).ok()?;
            std::thread::sleep(wait);
            writer.write_all(&bytes).ok()?;
            None
        }
        Act::Close => None,
        Act::Reset => {
            reset(writer);
            None
        }
        Act::SendThenReset(bytes) => {
            writer.write_all(&bytes).ok()?;
            // The client reads them first: a reset may overtake what waits to be sent.
            std::thread::sleep(Duration::from_millis(20));
            reset(writer);
            None
        }
        Act::SendThenStall(bytes) => {
            writer.write_all(&bytes).ok()?;
            let _ = reader.read(&mut [0; 1]);
            None
        }
        Act::Endless(begin, piece, wait) => {
            writer.write_all(&begin).ok()?;
            loop {
                writer.write_all(&piece).ok()?;
                std::thread::sleep(wait);
            }
        }
    }
}

fn reset<S: Stream>(stream: &S) {
    sockopt::set_socket_linger(stream, Some(Duration::ZERO)).expect("an option");
}

fn read_head<S: Stream>(reader: &mut BufReader<S>) -> Option<Seen> {
    let line = read_line(reader)?;
    let mut words = line.split(' ').map(String::from);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let line = read_line(reader)?;
        if line.is_empty() {
            return Some(Seen { connection: 0, number: 0, method, target, headers, body: Vec::new() });
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_string()));
    }
}

fn read_line<S: Stream>(reader: &mut BufReader<S>) -> Option<String> {
    let mut line = String::new();
    match reader.read_line(&mut line) {
        Ok(n) if n > 0 => Some(line.trim_end_matches(['\r', '\n']).to_string()),
        _ => None,
    }
}
