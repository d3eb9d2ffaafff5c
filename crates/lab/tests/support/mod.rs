//! A plain client and small scenarios.
#![allow(dead_code)] // each test binary uses its part

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use unblink_lab::{Baseline, Gate, Running, Scenario, ServerConfig, spawn};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const GET: &str = "GET / HTTP/1.1\r\nHost: lab\r\n\r\n";

/// A constant delay and nothing else.
pub(crate) fn constant(delay_ms: u64) -> Scenario {
    Scenario {
        name: "test".to_owned(),
        baseline: Baseline::Constant { delay_ns: delay_ms * MS },
        gates: Vec::new(),
        max_concurrency: None,
        slow: None,
        faults: Vec::new(),
        database: None,
    }
}

/// The delay, and a gate that is shut for so long from the run's start.
pub(crate) fn gated(delay_ms: u64, shut_ms: u64) -> Scenario {
    Scenario { gates: vec![Gate::once(0, shut_ms * MS)], ..constant(delay_ms) }
}

/// Any free port.
pub(crate) fn config(scenario: Scenario) -> ServerConfig {
    let mut config = ServerConfig::new(scenario);
    config.listen.set_port(0);
    config
}

pub(crate) fn serve(scenario: Scenario) -> Running {
    spawn(config(scenario)).expect("a server")
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    // Far above what any test waits for: only a hang meets it.
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream.set_nodelay(true).expect("no delay");
    stream
}

pub(crate) fn send(stream: &mut impl Write, text: impl AsRef<[u8]>) {
    stream.write_all(text.as_ref()).expect("sent");
    stream.flush().expect("flushed");
}

/// Reads one answer to a GET or POST, and not a byte more.
pub(crate) fn receive(stream: &mut impl Read) -> Answer {
    let mut answer = receive_head(stream);
    let length = answer
        .head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    answer.body.resize(length, 0);
    stream.read_exact(&mut answer.body).expect("the body");
    answer
}

/// Reads an answer that has no body: to HEAD, or an interim one.
pub(crate) fn receive_head(stream: &mut impl Read) -> Answer {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("the head");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("ASCII");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    Answer { status, head, body: Vec::new() }
}

pub(crate) fn exchange(stream: &mut (impl Read + Write), request: impl AsRef<[u8]>) -> Answer {
    send(stream, request);
    receive(stream)
}

/// The connection ends here, without a further byte and without a reset.
#[track_caller]
pub(crate) fn expect_end(stream: &mut impl Read) {
    assert_eq!(stream.read(&mut [0; 64]).expect("an orderly end"), 0);
}

/// Waits until the server counts this many of `field`.
pub(crate) fn wait_for(address: SocketAddr, field: &str, count: u64) {
    wait_on(&mut connect(address), field, count);
}

/// The same over a connection that is there already.
pub(crate) fn wait_on(stream: &mut (impl Read + Write), field: &str, count: u64) {
    let expected = format!("\"{field}\":{count},");
    for _ in 0..2_000 {
        let answer = exchange(stream, "GET /_lab/truth HTTP/1.1\r\nHost: lab\r\n\r\n");
        assert_eq!(answer.status, 200);
        if String::from_utf8_lossy(&answer.body).contains(&expected) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the server never counted {expected}");
}
