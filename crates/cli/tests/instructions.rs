//! What a request costs, in instructions, which other programs on the machine hardly change: the whole loop of a
//! worker over plain HTTP, counted by valgrind.
//!
//! The ceilings are what was measured, and a twentieth more: where other programs interrupt the worker, each of its
//! turns finds fewer answers, so that more turns are taken. Whoever makes a request dearer either finds out why here,
//! or raises them and says so. The optimised code is counted with `cargo test --profile profiling`: the release binary has
//! no names by which valgrind would find the worker.
#![allow(clippy::print_stdout)] // the count itself, for who runs it with --nocapture

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use support::Place;

/// Instructions of ours for each request; the kernel's own are not among them.
const CEILING: u64 = if cfg!(debug_assertions) { 3_900 } else { 2_550 };

/// Answers every request of every connection with what a small page looks like.
fn responder() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let answer = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 31 Jan 2026 12:00:00 GMT\r\n\
        Content-Type: application/octet-stream\r\nContent-Length: 6\r\nConnection: keep-alive\r\n\r\nhello\n";
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            stream.set_nodelay(true).expect("an option");
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                // The requests are small: each comes in one piece.
                while stream.read(&mut buffer).is_ok_and(|n| n > 0) && stream.write_all(answer).is_ok() {}
            });
        }
    });
    address
}

/// Instructions of the worker thread in a closed run of `requests`.
fn instructions(place: &Place, address: SocketAddr, requests: u64) -> u64 {
    let counts = place.path().join(format!("callgrind-{requests}"));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes", "--toggle-collect=*Worker*run*"])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(env!("CARGO_BIN_EXE_unblink"))
        .args([
            "run",
            &format!("http://{address}/"),
            "--closed",
            "8",
            "--ramp-up",
            "0s",
            "-n",
            &requests.to_string(),
        ])
        .args(["-q", "--no-preflight", "--no-store", "-o"])
        .arg(place.path().join(format!("run-{requests}")))
        .stdin(Stdio::null())
        .output()
        .expect("there is no valgrind; install it: apt-get install valgrind (or: tools/setup test)");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code == 0 || code == 3), "{stderr}");
    let line = stderr.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = line.unwrap_or_else(|| panic!("valgrind counted nothing: {stderr}"));
    count.trim().parse().unwrap_or_else(|_| panic!("valgrind's count: {count:?}"))
}

#[test]
fn a_request_costs_no_more_instructions_than_stated() {
    let (place, address) = (Place::new(), responder());
    let (few, many) = (2_000, 10_000);
    // What a run costs once is in both.
    let more = instructions(&place, address, many) - instructions(&place, address, few);
    let each = more / (many - few);
    println!("{each} instructions for each request");
    assert!(each <= CEILING, "{each} instructions for each request, more than the {CEILING} that are stated");
}
