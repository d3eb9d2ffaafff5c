//! `--stream`: events of answers, over both versions of HTTP and in virtual time; what is refused; what a killed run keeps.

use crate::support;
use crate::support::{Place, Run};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

const EVENTS: u64 = 5;
/// Before each event; the third one takes longer.
const GAP: Duration = Duration::from_millis(20);
const STALL: Duration = Duration::from_millis(150);

/// The pieces of an answer: a comment and the first event, a piece in the middle of an event, two events in one.
const PIECES: [&str; 4] =
    [": hello\n\ndata: 1\n\n", "event: x\ndata: 2", "\n\ndata: 3\n\n", "data: 4\r\n\r\ndata: 5\n\n"];

fn pause(piece: usize) {
    std::thread::sleep(if piece == 2 { STALL } else { GAP });
}

fn listen(converse: impl Fn(TcpStream) -> std::io::Result<()> + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let converse = converse.clone();
            std::thread::spawn(move || converse(stream));
        }
    });
    address
}

fn in_one(stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut lines, mut out) = (BufReader::new(stream.try_clone()?), stream);
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        if line == "\r\n" {
            out.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n")?;
            out.write_all(b"Transfer-Encoding: chunked\r\n\r\n")?;
            for (i, piece) in PIECES.iter().enumerate() {
                pause(i);
                write!(out, "{:x}\r\n{piece}\r\n", piece.len())?;
            }
            out.write_all(b"0\r\n\r\n")?;
        }
        line.clear();
    }
    Ok(())
}

fn frame(kind: u8, flags: u8, stream: &[u8], payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_be_bytes()[1..], &[kind, flags], stream, payload].concat()
}

/// One request after the other.
fn in_two(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.read_exact(&mut [0; 24])?;
    stream.write_all(&frame(4, 0, &[0; 4], &[]))?;
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let [a, b, c, kind, flags, id @ ..] = header;
        stream.read_exact(&mut vec![0; u32::from_be_bytes([0, a, b, c]) as usize])?;
        match (kind, flags) {
            (4, 0) => stream.write_all(&frame(4, 1, &[0; 4], &[]))?,
            (1, _) => {
                // `:status: 200`, and `content-type` from the static table.
                let head = [&[0x88, 0x0f, 0x10, 17], &b"text/event-stream"[..]].concat();
                stream.write_all(&frame(1, 4, &id, &head))?;
                for (i, piece) in PIECES.iter().enumerate() {
                    pause(i);
                    stream.write_all(&frame(0, u8::from(i + 1 == PIECES.len()), &id, piece.as_bytes()))?;
                }
            }
            _ => {}
        }
    }
}

#[track_caller]
fn assert_events(run: &Run, answers: u64) {
    run.assert_all("ok");
    assert_eq!(run.count("/events/begun"), answers);
    assert_eq!(run.count("/events/events"), EVENTS * answers);
    assert_eq!(run.count("/events/keep_alives"), answers);
    assert!((run.number("/events/per_answer") - EVENTS as f64).abs() < 1e-9);
    assert_eq!(run.count("/events/first/count"), answers);
    assert_eq!(run.count("/events/gap/count"), (EVENTS - 1) * answers);
    // Two events come in one read: there is no time between them. Two others are apart by the stall.
    let ns = |pointer: &str| Duration::from_nanos(run.count(pointer));
    assert!(ns("/events/gap/max") >= STALL, "{:?}", ns("/events/gap/max"));
    assert!(ns("/events/first/max") >= GAP && ns("/events/first_service/max") >= GAP);
    assert!(ns("/response_time/max") >= STALL + 3 * GAP);
}

#[test]
fn events_over_both_versions_of_http() {
    let one = format!("http://{}/", listen(in_one));
    let common = ["-R", "10", "-n", "10", "--stream", "sse"];
    assert_events(&Place::new().measure(&[&[one.as_str()], &common[..]].concat()), 10);
    let two = format!("http://{}/", listen(in_two));
    let over_two = ["--http", "2", "--streams", "1"];
    assert_events(&Place::new().measure(&[&[two.as_str()], &common[..], &over_two].concat()), 10);
}

/// The same answers, of which only their lines are looked at: the second one comes in two pieces, and a piece has several.
#[test]
fn lines_of_long_answers_over_both_versions_of_http() {
    const LINES: u64 = 7;
    let (one, two) = (format!("http://{}/", listen(in_one)), format!("http://{}/", listen(in_two)));
    let common = ["-R", "10", "-n", "10", "--stream", "lines"];
    for (url, more) in [(one, &[][..]), (two, &["--http", "2", "--streams", "1"])] {
        let run = Place::new().measure(&[&[url.as_str()], &common[..], more].concat());
        run.assert_all("ok");
        assert_eq!((run.count("/events/begun"), run.count("/events/events")), (10, 10 * LINES), "{run:?}");
        assert_eq!(
            (run.count("/events/first/count"), run.count("/events/gap/count")),
            (10, 10 * (LINES - 1))
        );
        let ns = |pointer: &str| Duration::from_nanos(run.count(pointer));
        assert!(ns("/events/gap/max") >= STALL && ns("/events/first/max") >= GAP, "{run:?}");
        assert!(ns("/response_time/max") >= STALL + 3 * GAP, "{run:?}");
    }
}

#[test]
fn a_target_without_events_is_found_out_before_the_load() {
    let plain = support::hostile::Hostile::start(|_| {
        support::hostile::Act::Answer(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi".into(),
        )
    });
    let said = Place::new().call(&["run", &plain.url(), "-R", "10", "-n", "5", "--stream", "sse"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stderr.contains("--stream") && said.stderr.contains("text/html"), "{}", said.stderr);
    let run =
        Place::new().measure(&[&plain.url(), "-R", "10", "-n", "5", "--stream", "sse", "--no-preflight"]);
    run.assert_all_failed("unexpected_body");
    let lines = Place::new().measure(&[&plain.url(), "-R", "10", "-n", "5", "--stream", "lines"]);
    assert_eq!(lines.count("/events/events"), 5);
}

/// 30 MB of a line each: nothing is kept of it.
#[test]
fn a_line_without_an_end_takes_no_memory() {
    let endless = support::hostile::Hostile::start(|_| {
        support::hostile::Act::Endless(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ".into(),
            vec![b'x'; 1 << 16],
            Duration::from_millis(1),
        )
    });
    let place = Place::new();
    let load = ["-R", "20", "-n", "10", "--timeout", "500ms", "--stream", "sse", "--no-preflight"];
    let mut started = place.start(&[&[endless.url().as_str()], &load[..]].concat());
    let peak = started.memory_peak();
    let run = started.wait().run();
    run.assert_all("timed_out");
    assert!(run.document["events"]["events"].as_u64().unwrap_or(0) == 0, "{run:?}");
    assert!(peak < 192 << 20, "{peak} bytes");
}

#[test]
fn objectives_on_events_are_judged() {
    let world = ["sim", "-R", "20", "-d", "60s", "--server", "service=50ms events=20 gap=exp(20ms)"];
    let code = |slo: &str| Place::new().call(&[&world[..], &["--slo", slo]].concat()).code();
    assert_eq!(code("first p99 < 100ms"), Some(0));
    assert_eq!(code("first p99 < 40ms"), Some(1));
    // The 99th percentile of the gaps is 92 ms.
    assert_eq!(code("gap p99 < 150ms"), Some(0));
    assert_eq!(code("gap p99 < 50ms"), Some(1));
    assert_eq!(code("gap p99 < 150ms in 95% of 10s"), Some(0));
    assert_eq!(code("gap p99 < 50ms in 95% of 10s"), Some(1));
    assert_eq!(code("first p90 < 100ms in 95% of 10s"), Some(0));
    assert_eq!(code("first p90 < 40ms in 95% of 10s"), Some(1));
}

/// Windows see a silence as long as it lasts, and before any gap that it makes has ended.
#[test]
fn windows_see_a_silence_of_the_server() {
    let judged = |slo: &str| {
        let server = "service=10ms events=200 gap=50ms pause=8s@20s";
        let place = Place::new();
        place.call(&["sim", "-R", "20", "-d", "60s", "--server", server, "--slo", slo, "-o", "out"]);
        let said = place.call(&["report", "out", "--json"]);
        let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("a document");
        let windows = &document["verdict"]["slos"][0]["windows"];
        ["good", "bad", "unknown"].map(|name| windows[name].as_u64().expect("a number"))
    };
    // From 20 s to 28 s no event comes. The last before came at 19.96 s, so each window that ends from 21 s on has gaps of more
    // than 1 s that are open, and the one from 28 s on has them with their ends.
    assert_eq!(judged("gap max < 1s in 80% of 1s"), [51, 9, 0]);
    // In that last one, 19 short gaps follow each long one.
    assert_eq!(judged("gap p50 < 1s in 80% of 1s"), [52, 8, 0]);
    // Nobody who asks from 20 s on has an event by 21 s, but nobody has waited for longer than 1 s then: nothing is known.
    assert_eq!(judged("first max < 1s in 80% of 1s"), [51, 8, 1]);
}

/// A stall is a gap of those that were under way, and is seen by an objective on the longest.
#[test]
fn a_stall_in_mid_stream_misses_an_objective() {
    let server = "service=10ms events=20 gap=50ms pause=1s@20s";
    let place = Place::new();
    let said = place.call(&[
        "sim",
        "-R",
        "20",
        "-d",
        "60s",
        "--server",
        server,
        "--slo",
        "gap max < 900ms",
        "-o",
        "out",
    ]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stdout.contains("gap between events"), "{}", said.stdout);
    assert!(place.call(&["report", "out", "--slo", "gap p50 < 60ms"]).code() == Some(0));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |args: &[&str], parts: &[&str]| Place::new().call(args).refused(parts);
    let url = "http://127.0.0.1:9/";
    refused(&["run", url, "-R", "5", "--slo", "gap p99 < 1s"], &["gap", "--stream"]);
    refused(&["run", url, "-R", "5", "--stream", "sse", "--attempts", "3"], &["--attempts", "--stream"]);
    refused(
        &["run", url, "-R", "5", "--abort-on", "first p99 > 1s for 5s"],
        &["--abort-on", "first", "--stream"],
    );
    refused(
        &["run", url, "-R", "5", "--stream", "sse", "--abort-on", "gap errors > 1% for 5s"],
        &["gap", "percentile"],
    );
    refused(
        &["run", url, "-R", "5", "--stream", "sse", "--slo", "first errors < 1%"],
        &["first", "percentile"],
    );
    refused(
        &["sim", "-R", "5", "--server", "service=1ms events=5 gap=1ms", "--client", "wrk"],
        &["--client"],
    );
    refused(&["knee", url, "--slo", "gap p99 < 1s"], &["one percentile of response time"]);
}

/// Events are recorded when they come, and not when their answer ends.
#[test]
fn a_killed_run_keeps_the_events_of_answers_that_had_not_ended() {
    let endless = listen(|stream| {
        let (mut lines, mut out) = (BufReader::new(stream.try_clone()?), stream);
        let mut line = String::new();
        while lines.read_line(&mut line)? > 0 && line != "\r\n" {
            line.clear();
        }
        out.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
        loop {
            out.write_all(b"data: x\n\n")?;
            std::thread::sleep(GAP);
        }
    });
    let place = Place::new();
    let url = format!("http://{endless}/");
    let args = [&*url, "-R", "10", "-d", "60s", "--stream", "sse", "--no-preflight"];
    let started = place.start(&args);
    let lines = || std::fs::read_to_string(place.path().join("out/intervals.jsonl")).unwrap_or_default();
    while lines().lines().count() < 4 {
        std::thread::sleep(Duration::from_millis(50));
    }
    started.signal(Signal::KILL);
    started.wait();
    let said = place.call(&["report", "out", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("a document");
    let count = |pointer: &str| document.pointer(pointer).and_then(serde_json::Value::as_u64).expect(pointer);
    assert_eq!(count("/arrivals/ok"), 0);
    let (begun, events) = (count("/events/begun"), count("/events/events"));
    assert!(begun >= 10 && events > begun, "{begun} begun, {events} events");
    // Each answer that goes on has a gap of which nothing is known but that it was open.
    assert_eq!(count("/events/gap/count") - count("/events/gap/censored"), events - begun);
    assert_eq!(count("/events/gap/censored"), begun);
    // And each that had no event yet has none of which more is known, but no other has.
    let without_end = count("/arrivals/unfinished") + count("/arrivals/unsent");
    assert_eq!(count("/events/first/count"), without_end);
    assert_eq!(count("/events/first/censored"), without_end - begun);

    // Earlier builds did not count which answers had ended, nor which events came in the load.
    let older = lines().lines().map(without_ends).collect::<String>();
    std::fs::write(place.path().join("out/intervals.jsonl"), older).expect("written");
    let said = place.call(&["report", "out", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("a document");
    assert_eq!(document["events"]["per_s"], serde_json::Value::Null);
    assert_eq!(document["events"]["events"], events);
    assert_eq!(document["events"]["first"]["censored"], without_end);
}

/// A line of the record as earlier builds wrote it.
fn without_ends(line: &str) -> String {
    let mut line: serde_json::Value = serde_json::from_str(line).expect("a line");
    line.as_object_mut().expect("an object").remove("warmup_events");
    if let Some(events) = line.get_mut("events").and_then(serde_json::Value::as_object_mut) {
        events.retain(|name, _| name != "over" && name != "in_load");
    }
    format!("{line}\n")
}
