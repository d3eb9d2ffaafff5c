//! The request before the run, by a protocol that is there for tests alone: it knows nothing of HTTP.

mod lines;

use lines::Settings;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::time::Nanos;
use unblink_engine::preflight::{PreflightError, preflight};

/// Serves one connection by `serve`.
fn serving(serve: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || serve(listener.accept().expect("a connection").0));
    address
}

/// Says `first` and then, to whatever is asked, `then`; closes when the client does.
fn saying(first: &'static str, then: &'static str) -> SocketAddr {
    serving(move |mut stream| {
        let mut buffer = [0; 1024];
        let _ = stream.write_all(first.as_bytes());
        while stream.read(&mut buffer).is_ok_and(|n| n > 0) {
            let _ = stream.write_all(then.as_bytes());
        }
    })
}

fn ask(address: SocketAddr, timeout: Duration) -> Result<Option<u32>, PreflightError> {
    let plan = Plan::new(PlanSpec {
        idempotent: vec![true; 2],
        ..PlanSpec::plain(
            LoadSpec::Closed {
                users: 1,
                think: Nanos::ZERO,
                ramp_up: Nanos::ZERO,
                duration: Nanos::from_secs(1),
            },
            Pool::Fixed { n: 1 },
            Nanos::from_secs(1),
        )
    });
    let job = lines::job(
        plan.expect("a plan"),
        address,
        vec!["first", "second"],
        Settings { places: 4, cancels: false },
    );
    preflight(&job, 1, timeout)
}

const LONG: Duration = Duration::from_secs(20);

#[track_caller]
fn fails(address: SocketAddr, timeout: Duration, parts: &[&str]) {
    let said = ask(address, timeout).expect_err("no answer as it should be").to_string();
    assert!(parts.iter().all(|part| said.contains(part)), "{parts:?} in {said:?}");
}

#[test]
fn asks_the_operation_after_the_greeting() {
    let address = serving(|mut stream| {
        let mut buffer = [0; 1024];
        stream.write_all(b"hel").expect("a client");
        stream.write_all(b"lo\nroom 7\nping 3\n").expect("a client");
        let mut asked = String::new();
        while !asked.contains("0 second\n") || !asked.contains("3 pong\n") {
            let n = stream.read(&mut buffer).expect("a client");
            asked.push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
        stream.write_all(b"0 ok\n").expect("a client");
    });
    ask(address, LONG).expect("an answer");
}

#[test]
fn tells_in_the_words_of_the_protocol() {
    fails(saying("220 smtp\n", ""), LONG, &["in well-formed lines: no hello (\"220 smtp\")"]);
    fails(saying("hello\n", "what?\n"), LONG, &["in well-formed lines: no answer"]);
    fails(saying("hello\n", "0 gone\n"), LONG, &["gave no whole answer"]);
    fails(saying("hello\n", "0 no\n"), LONG, &["the target answers \"200\"", "does not contain"]);
    // The alert of a TLS server that was not greeted in TLS.
    fails(saying("\u{15}\u{3}\u{3}\n", ""), LONG, &["write lines+tls"]);
    fails(serving(drop), LONG, &["closed before any byte", "write lines+tls"]);
}

#[test]
fn waits_no_longer_than_it_is_told() {
    let short = Duration::from_millis(100);
    fails(saying("", ""), short, &["gave no answer: the timeout passed"]);
    fails(saying("hello\n", ""), short, &["gave no answer: the timeout passed (\"hello\")"]);
    let drips = serving(|mut stream| {
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    fails(drips, short, &["the timeout passed (\"xxx"]);
}
