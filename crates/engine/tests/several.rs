//! Several requests on one connection, by a protocol that is there for this test alone.

mod lines;

use lines::Settings;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use unblink_core::dispatch::Pool;
use unblink_core::failure::FailureKind;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::Counters;
use unblink_core::time::Nanos;
use unblink_engine::run::start;

const USERS: u32 = 40;

/// What the server saw.
#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    /// Most requests that came in one piece.
    together: AtomicU64,
    cancelled: AtomicU64,
}

/// Serves each connection by `serve`, after the greeting.
fn serving(serve: fn(TcpStream, &Seen)) -> (SocketAddr, Arc<Seen>) {
    greeting(b"hello\n", serve)
}

fn greeting(first: &'static [u8], serve: fn(TcpStream, &Seen)) -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let seen = Arc::new(Seen::default());
    let shared = seen.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            shared.connections.fetch_add(1, Ordering::Relaxed);
            let seen = shared.clone();
            std::thread::spawn(move || {
                if stream.write_all(first).is_ok() {
                    serve(stream, &seen);
                }
            });
        }
    });
    (address, seen)
}

/// The numbers and words of the requests that come next, in one piece.
fn next_requests(stream: &mut TcpStream) -> Vec<(u64, String)> {
    let mut buffer = [0; 64 * 1024];
    let n = stream.read(&mut buffer).unwrap_or(0);
    // A test's requests are short, and come whole.
    let text = String::from_utf8_lossy(&buffer[..n]).into_owned();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.filter_map(|(number, word)| Some((number.parse().ok()?, word.to_string()))).collect()
}

/// A population that asks for `requests` in turn, over so many connections.
fn run(
    address: SocketAddr,
    requests: &[&'static str],
    settings: Settings,
    connections: u32,
    timeout_ms: u64,
) -> Counters {
    let plan = Plan::new(PlanSpec {
        limit: Some(400),
        idempotent: vec![true; requests.len()],
        ..PlanSpec::plain(
            LoadSpec::Closed {
                users: USERS,
                think: Nanos::ZERO,
                ramp_up: Nanos::ZERO,
                duration: Nanos::from_secs(20),
            },
            Pool::Fixed { n: connections },
            Nanos::from_millis(timeout_ms),
        )
    });
    let job = lines::job(plan.expect("a plan"), address, requests.to_vec(), settings);
    let mut running = start(job).expect("it starts");
    let mut counters = Counters::default();
    while let Some(interval) = running.next_interval() {
        counters.add(&interval.bank.counters);
    }
    running.finish().expect("it ends");
    assert_eq!(counters.measured.ended(), counters.measured.due);
    counters
}

/// Answers what came in one piece from its end.
fn answer_backwards(mut stream: TcpStream, seen: &Seen) {
    loop {
        let requests = next_requests(&mut stream);
        seen.together.fetch_max(requests.len() as u64, Ordering::Relaxed);
        let answers: String = requests.iter().rev().map(|(number, _)| format!("{number} ok\n")).collect();
        if requests.is_empty() || stream.write_all(answers.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn answers_come_in_any_order_and_requests_leave_together() {
    let (address, seen) = serving(answer_backwards);
    let counters = run(address, &["a", "b"], Settings { places: 100, cancels: false }, 1, 10_000);
    assert_eq!((counters.measured.ok, counters.connections().opened), (400, 1));
    // All users begin at once, on the only connection.
    assert_eq!(seen.together.load(Ordering::Relaxed), u64::from(USERS));
}

#[test]
fn connections_are_loaded_alike() {
    let (address, seen) = serving(answer_backwards);
    let counters = run(address, &["a"], Settings { places: 100, cancels: false }, 4, 10_000);
    assert_eq!((counters.measured.ok, seen.connections.load(Ordering::Relaxed)), (400, 4));
    assert_eq!(seen.together.load(Ordering::Relaxed), u64::from(USERS) / 4);
}

/// Answers nothing that is called `never`.
fn answer_some(stream: TcpStream, seen: &Seen) {
    let mut answers = stream.try_clone().expect("a socket");
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let Some((number, word)) = line.split_once(' ') else { continue };
        seen.cancelled.fetch_add(u64::from(word == "cancel"), Ordering::Relaxed);
        if word == "ask" && answers.write_all(format!("{number} ok\n").as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn a_request_that_takes_too_long_is_cancelled_and_its_connection_goes_on() {
    let (address, seen) = serving(answer_some);
    let counters = run(address, &["ask", "never"], Settings { places: 8, cancels: true }, 1, 50);
    let (measured, connections) = (counters.measured, counters.connections());
    assert!(measured.ok > 0 && measured.timed_out > 0, "{measured:?}");
    assert_eq!((measured.failed_total(), connections.opened, connections.closed_on_timeout), (0, 1, 0));
    // What timed out while it waited was never sent.
    let sent_in_vain = measured.timed_out - measured.timed_out_never_sent;
    // The server may still be reading when the run is over.
    let until = Instant::now() + Duration::from_secs(10);
    while seen.cancelled.load(Ordering::Relaxed) < sent_in_vain && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(seen.cancelled.load(Ordering::Relaxed), sent_in_vain);
}

#[test]
fn without_cancelling_a_connection_is_closed_when_all_its_places_are_stuck() {
    let (address, _) = serving(answer_some);
    let counters = run(address, &["ask", "never"], Settings { places: 8, cancels: false }, 1, 50);
    let (measured, connections) = (counters.measured, counters.connections());
    assert!(measured.ok > 0 && measured.timed_out > 0, "{measured:?}");
    assert!(connections.closed_on_timeout > 0 && connections.opened > 1, "{connections:?}");
}

/// Refuses every third request without a look at it, and loses every tenth.
fn refuse_some(mut stream: TcpStream, _: &Seen) {
    loop {
        let requests = next_requests(&mut stream);
        let word = |number: u64| match number {
            n if n % 3 == 0 => "refused",
            n if n % 10 == 1 => "gone",
            _ => "ok",
        };
        let answers: String = requests.iter().map(|&(n, _)| format!("{n} {}\n", word(n))).collect();
        if requests.is_empty() || stream.write_all(answers.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn what_was_not_looked_at_is_sent_again_once() {
    let (address, _) = serving(refuse_some);
    let counters = run(address, &["a"], Settings { places: 100, cancels: false }, 1, 10_000);
    let measured = counters.measured;
    assert_eq!(measured.ok + measured.failed[FailureKind::CLOSED_EARLY.index()], 400, "{measured:?}");
    assert!(counters.connections().resent > 100, "{:?}", counters.connections());
    assert_eq!(counters.connections().opened, 1);
}

/// Takes two at once, as its greeting says, and hangs up after a while.
fn take_two(mut stream: TcpStream, seen: &Seen) {
    for _ in 0..20 {
        let requests = next_requests(&mut stream);
        seen.together.fetch_max(requests.len() as u64, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(1));
        let answers: String = requests.iter().map(|&(n, _)| format!("{n} ok\n")).collect();
        if requests.is_empty() || stream.write_all(answers.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn a_connection_takes_no_more_than_it_says_and_loses_all_when_it_ends() {
    let (address, seen) = greeting(b"hello\nroom 2\n", take_two);
    let counters = run(address, &["a"], Settings { places: 100, cancels: false }, 3, 10_000);
    assert_eq!(counters.measured.due, 400);
    assert!(seen.together.load(Ordering::Relaxed) <= 2);
    assert!(counters.connections().closed_by_target >= 3, "{:?}", counters.connections());
}

/// Answers what it was asked only after the client has said that it is still there.
fn ask_back(stream: TcpStream, _: &Seen) {
    let mut answers = stream.try_clone().expect("a socket");
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let Some((number, word)) = line.split_once(' ') else { continue };
        let says = if word == "pong" { format!("{number} ok\n") } else { format!("ping {number}\n") };
        if answers.write_all(says.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn what_a_protocol_has_to_say_by_itself_is_written() {
    let (address, _) = serving(ask_back);
    let counters = run(address, &["a"], Settings { places: 100, cancels: false }, 1, 10_000);
    assert_eq!((counters.measured.ok, counters.connections().opened), (400, 1));
}
