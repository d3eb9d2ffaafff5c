//! What `unblink mirror` does when a candidate stands still, when more comes than may be held, and when a guard ends it.

use crate::mirrors::{Mirror, Nginx, ask, origin, silent};
use crate::support::Place;
use crate::support::hostile::{Act, Hostile, answer, ok};
use crate::support::lab::Lab;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// A candidate that never answers has the copies that find room, and no more; whoever mirrors is answered all the same.
#[test]
fn a_candidate_that_never_answers_keeps_nobody_waiting_and_its_share_is_right() {
    let place = Place::new();
    let labs: Vec<Lab> = (0..2).map(|_| Lab::serve(&place, &[])).collect();
    let (candidate, _held) = silent();
    let more = ["--queue", "50", "--timeout", "60s"];
    let mirror = Mirror::start(&place, origin(&labs[0]), &candidate, &more);
    let nginx = Nginx::start(labs[1].url.trim_start_matches("http://").trim_end_matches('/'), mirror.port);
    let url = format!("http://127.0.0.1:{}/", nginx.port);
    let run = ["run", &url, "-n", "500", "-R", "1000", "--no-store", "-q", "--no-preflight", "--json"];
    let said = place.call(&run);
    let run: Value = serde_json::from_str(&said.stdout).expect("JSON");
    // Production has lost none.
    assert_eq!(run["arrivals"]["ok"].as_u64(), Some(500), "{}", run["arrivals"]);
    mirror.started.signal(Signal::INT);
    // The second does not wait for a minute.
    std::thread::sleep(Duration::from_millis(300));
    let (code, document) = mirror.end();
    let account = &document["account"];
    assert_eq!(account["offered"].as_u64(), Some(500));
    // Closed form: as many as have room are under way to the end, and all others found none.
    assert_eq!(account["censored"]["unfinished"].as_u64(), Some(50), "{account}");
    assert_eq!(account["censored"]["queue_full"].as_u64(), Some(450), "{account}");
    assert_eq!(document["open_max"].as_u64(), Some(50));
    assert!(
        document["quantiles"].as_array().is_some_and(|all| all.iter().all(|of| of["candidate_ns"].is_null()))
    );
    assert_eq!((code, &document["verdict"]), (Some(3), &Value::from("unknown")));
}

/// The users of production behind nginx: all of them are answered.
fn users(place: &Place, nginx: &Nginx, requests: u64) {
    let (url, requests) = (format!("http://127.0.0.1:{}/", nginx.port), requests.to_string());
    let run = ["run", &url, "-n", &requests, "-R", "200", "--no-store", "-q", "--no-preflight", "--json"];
    let run: Value = serde_json::from_str(&place.call(&run).stdout).expect("JSON");
    assert_eq!(run["arrivals"]["ok"].as_u64(), requests.parse().ok(), "{}", run["arrivals"]);
}

#[test]
fn a_candidate_that_is_stopped_for_seconds_and_goes_on_has_the_share_left_out_that_found_no_room() {
    let place = Place::new();
    let labs: Vec<Lab> = (0..3).map(|_| Lab::serve(&place, &["--baseline", "1ms"])).collect();
    let more = ["--queue", "200", "--timeout", "5m"];
    let mirror = Mirror::start(&place, origin(&labs[0]), origin(&labs[1]), &more);
    let nginx = Nginx::start(labs[2].url.trim_start_matches("http://").trim_end_matches('/'), mirror.port);
    users(&place, &nginx, 600);
    // The last pairs have ended by then.
    std::thread::sleep(Duration::from_secs(1));
    labs[1].signal(Signal::STOP);
    users(&place, &nginx, 600);
    labs[1].signal(Signal::CONT);
    let peak = mirror.started.memory_so_far();
    let (_, document) = mirror.end();
    let account = &document["account"];
    // Closed form: of the 600 that came while it stood still, 200 found room and were answered late.
    assert_eq!(account["offered"].as_u64(), Some(1_200), "{account}");
    assert_eq!(account["censored"]["queue_full"].as_u64(), Some(400), "{account}");
    assert_eq!(account["compared"].as_u64(), Some(800), "{account}");
    // A third is left out: the median is known, and p75 is not.
    for of in document["quantiles"].as_array().expect("percentiles") {
        let is_known = of["q"].as_f64() < Some(0.6);
        assert_eq!(of["candidate_ns"].is_u64(), is_known, "{of}");
        assert_eq!(of["baseline_ns"].is_u64(), is_known, "{of}");
    }
    assert_ne!(document["verdict"], "not_slower");
    assert!(peak < 100 * MIB, "{peak}");
}

/// Requests that may not go out yet are bounded by their bytes, and those that are not whole are among them.
#[test]
fn bodies_are_held_within_their_bound_and_no_further() {
    const BODY: usize = 60_000;
    let place = Place::new();
    let lab = Lab::serve(&place, &[]);
    let (candidate, _held) = silent();
    let more = ["--mutating", "--queue-bytes", "4m", "--timeout", "5m"];
    let mirror = Mirror::start(&place, origin(&lab), &candidate, &more);
    let before = mirror.started.memory_so_far();
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {BODY}\r\n\r\n");
    // All but the last byte of 400 bodies, 24 MB.
    let mut halves = Vec::new();
    for _ in 0..400 {
        let mut stream = TcpStream::connect(("127.0.0.1", mirror.port)).expect("it listens");
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&[b'x'; BODY - 1]))
            .expect("it reads");
        halves.push(stream);
    }
    let whole = format!("{head}{}", "x".repeat(BODY));
    for _ in 0..10 {
        assert_eq!(ask(mirror.port, &whole.repeat(100), 100).len(), 100);
    }
    for mut half in halves {
        half.write_all(b"x").expect("it reads");
        let mut first = [0; 12];
        half.read_exact(&mut first).expect("an answer");
        assert_eq!(&first, b"HTTP/1.1 204");
    }
    let grown = mirror.started.memory_so_far() - before;
    mirror.started.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    let (_, document) = mirror.end();
    let account = &document["account"];
    let censored = |cause: &str| account["censored"][cause].as_u64().unwrap_or(0);
    assert_eq!(account["offered"].as_u64(), Some(1_400), "{account}");
    assert_eq!(censored("queue_bytes") + censored("unfinished"), 1_400, "{account}");
    // No more than 4 MiB of them.
    assert!((1..=4 * MIB / BODY as u64).contains(&censored("unfinished")), "{account}");
    // 84 MB have come.
    assert!(grown < 24 * MIB, "{grown}");
}

/// One that a guard has ended says so, clears nobody, and has sent no more than it may.
fn stopped(document: &Value, guard: &str) {
    assert_eq!(document["aborted"]["guard"], guard, "{}", document["aborted"]);
    assert_ne!(document["verdict"], "not_slower");
}

const ASK: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn a_budget_of_requests_is_not_exceeded_at_all_targets_together() {
    let place = Place::new();
    let servers = [Hostile::start(|_| Act::Answer(ok())), Hostile::start(|_| Act::Answer(ok()))];
    let (baseline, candidate) = (servers[0].url(), servers[1].url());
    let (baseline, candidate) = (baseline.trim_end_matches('/'), candidate.trim_end_matches('/'));
    let mirror = Mirror::start(&place, baseline, candidate, &["--budget-requests", "11"]);
    assert_eq!(ask(mirror.port, &ASK.repeat(10), 10).len(), 10);
    let (code, document) = mirror.ended();
    stopped(&document, "budget_requests");
    assert_eq!((code, servers[0].seen().len(), servers[1].seen().len()), (Some(3), 5, 5));
    let account = &document["account"];
    assert_eq!(account["skipped"]["over_budget"].as_u64(), Some(5), "{account}");
}

#[test]
fn failures_beyond_their_budget_end_it() {
    let place = Place::new();
    let good = Hostile::start(|_| Act::Answer(ok()));
    let bad = Hostile::start(|_| Act::Answer(answer("500 Internal Server Error", "no")));
    let (baseline, candidate) = (good.url(), bad.url());
    let (baseline, candidate) = (baseline.trim_end_matches('/'), candidate.trim_end_matches('/'));
    let mirror = Mirror::start(&place, baseline, candidate, &["--budget-errors", "10"]);
    assert_eq!(ask(mirror.port, &ASK.repeat(9), 9).len(), 9);
    std::thread::sleep(Duration::from_millis(500));
    // Nine are within it.
    assert_eq!(ask(mirror.port, ASK, 1).len(), 1);
    let (code, document) = mirror.ended();
    stopped(&document, "budget_errors");
    assert_eq!((code, &document["verdict"]), (Some(1), &Value::from("fails_more")));
}

/// What waits for a candidate that stands still is not waited for.
#[test]
fn a_kill_file_ends_it_with_pairs_under_way() {
    let place = Place::new();
    let lab = Lab::serve(&place, &[]);
    let (candidate, _held) = silent();
    let more = ["--kill-file", "stop", "--timeout", "10m"];
    let mirror = Mirror::start(&place, origin(&lab), &candidate, &more);
    assert_eq!(ask(mirror.port, &ASK.repeat(10), 10).len(), 10);
    place.file("stop", "");
    let (code, document) = mirror.ended();
    stopped(&document, "kill_file");
    assert_eq!((code, document["account"]["censored"]["unfinished"].as_u64()), (Some(3), Some(10)));
}

#[test]
fn a_kill_url_and_a_budget_of_time_end_it_and_a_length_is_no_guard() {
    let lab_place = Place::new();
    let lab = Lab::serve(&lab_place, &[]);
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let switch =
        Hostile::start(move |_| match asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2 {
            true => Act::Answer(ok()),
            false => Act::Answer(answer("503 Service Unavailable", "stop")),
        });
    let url = switch.url();
    for (flags, guard) in [
        (["--kill-url", url.as_str()], Some("kill_url")),
        (["--budget-time", "700ms"], Some("budget_time")),
        (["--for", "700ms"], None),
    ] {
        let place = Place::new();
        let (_, document) = Mirror::start(&place, origin(&lab), origin(&lab), &flags).ended();
        match guard {
            Some(guard) => stopped(&document, guard),
            None => assert!(document["aborted"].is_null(), "{}", document["aborted"]),
        }
        if guard != Some("kill_url") {
            assert_eq!(document["length_ns"].as_u64(), Some(700_000_000), "{flags:?}");
        }
    }
}
