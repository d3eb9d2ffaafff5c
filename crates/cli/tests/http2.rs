//! HTTP/2 from the command line: what is measured, how faults are counted, and what is said before the load. The server
//! writes its frames by hand and understands no more of the client's than where they end.

use crate::frames::{Server, converse, frame, ok, serve};
use crate::support::hostile::{Act, Hostile, ok as ok_in_one};
use crate::support::{Place, Run};
use serde_json::json;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant};

const FORTY: [&str; 6] = ["-R", "200", "-n", "40", "--http", "2"];

fn run(server: &Server, more: &[&str]) -> Run {
    let url = format!("http://{}/", server.address);
    Place::new().measure(&[&[url.as_str()], &FORTY[..], more].concat())
}

/// Answers each request after `service`, except that nothing leaves from `stall` after the first request on, for a second.
fn serve_with_a_stall(service: Duration, stall: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let zero = Arc::new(OnceLock::new());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let zero = zero.clone();
            stream.set_nodelay(true).expect("an option");
            let (due, waiting) = mpsc::channel::<(Instant, u32)>();
            let mut out = stream.try_clone().expect("a descriptor");
            std::thread::spawn(move || {
                // All take equally long, so that they leave in the order in which they came.
                for (at, id) in waiting {
                    std::thread::sleep(at.saturating_duration_since(Instant::now()));
                    if out.write_all(&ok(id)).is_err() {
                        return;
                    }
                }
            });
            std::thread::spawn(move || {
                let (cancelled, heads) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
                let script = move |_: usize, id: u32| {
                    let now = Instant::now();
                    let begin = *zero.get_or_init(|| now) + stall;
                    let at = now + service;
                    let end = begin + Duration::from_secs(1);
                    let at = if (begin..end).contains(&at) { end } else { at };
                    (Vec::new(), due.send((at, id)).is_ok())
                };
                let open = |stream: &mut TcpStream| stream.write_all(&frame(4, 0, 0, b""));
                converse(stream, open, &script, &AtomicUsize::new(0), (&cancelled, &heads))
            });
        }
    });
    address
}

#[test]
fn a_simulation_with_as_many_streams_agrees_with_a_run() {
    // The stall fills all 40 places in 0.1 s; what comes then waits for room.
    let load = "-R 400 -d 5s -c 2 --http 2 --streams 20 --timeout 10s --no-store --json -o";
    let load: Vec<&str> = load.split(' ').collect();
    let place = Place::new();
    let url = format!("http://{}/", serve_with_a_stall(Duration::from_millis(20), Duration::from_secs(2)));
    let live = place.call(&[&["run", url.as_str(), "--no-preflight"], &load[..], &["live"]].concat()).run();
    let simulate = |load: &[&str]| {
        let server = ["sim", "--server", "service=20ms pause=1s@2s"];
        place.call(&[&server[..], load].concat()).run()
    };
    let simulated = simulate(&[&load[..], &["simulated"]].concat());
    assert_eq!(simulated.at("/origins/0/connections/streams"), 20);
    assert!(simulated.count("/lag_causes/no_room") > 100, "{}", simulated.at("/lag_causes"));
    let p99 = |run: &Run| run.quantile("response_time", 0.99).0 as f64;
    let (of_run, of_sim) = (p99(&live), p99(&simulated));
    assert!((of_run / of_sim - 1.0).abs() < 0.05, "{of_run} ns in the run, {of_sim} ns simulated");
    // One request at a time on each of two connections serves 100/s, and never catches up.
    let load: Vec<&str> = load
        .iter()
        .filter(|word| !["--http", "2", "--streams", "20", "-c"].contains(word))
        .copied()
        .collect();
    let serial = simulate(&[&load[..], &["serial", "-c", "2"]].concat());
    assert!(p99(&serial) > 2.0 * of_sim);
}

#[test]
fn a_target_is_measured_over_one_connection() {
    let server = serve(&[], |_, stream| (ok(stream), true));
    let run = run(&server, &["-c", "1", "--expect", "contains=hello"]);
    run.assert_all("ok");
    assert_eq!(run.arrivals("scheduled"), 40);
    assert_eq!(run.at("/operations/0/protocol"), "http/2");
    assert_eq!(run.at("/origins/0/connections/streams"), 100);
    assert_eq!(run.at("/origins/0/connections/allowed"), &json!({"least": 100, "most": 100}));
    // One for the check before the run.
    assert_eq!(server.connections.load(Ordering::Relaxed), 2);
}

#[test]
fn streams_are_as_many_as_the_target_allows() {
    // MAX_CONCURRENT_STREAMS is 1, and each answer takes 20 ms.
    let server = serve(&[0, 3, 0, 0, 0, 1], |_, stream| {
        std::thread::sleep(Duration::from_millis(20));
        (ok(stream), true)
    });
    let run = run(&server, &["-c", "auto:3", "--streams", "7"]);
    run.assert_all("ok");
    assert!(
        run.stderr.contains("7 streams a connection were asked for; the target allows 1"),
        "{}",
        run.stderr
    );
    // One has no room, so that others are opened.
    assert!(run.connections("peak") > 1);
    assert_eq!(run.at("/origins/0/connections/allowed"), &json!({"least": 1, "most": 1}));
}

/// The limit in force changes with the 20th answer.
#[test]
fn what_the_target_allowed_stands_in_the_document() {
    let fewer = frame(4, 0, 0, &[0, 3, 0, 0, 0, 5]);
    let server = serve(&[], move |number, stream| match number {
        20 => ([fewer.clone(), ok(stream)].concat(), true),
        _ => (ok(stream), true),
    });
    let url = format!("http://{}/", server.address);
    let place = Place::new();
    let run = place.measure(&[&[url.as_str()], &FORTY[..], &["-c", "1"]].concat());
    run.assert_all("ok");
    let allowed = json!({"least": 5, "most": 100});
    assert_eq!(run.at("/origins/0/connections/allowed"), &allowed, "{run:?}");
    let report = place.call(&["report", "out"]);
    assert!(report.stdout.contains("5 to 100 requests at once (100 asked for)"), "{}", report.stdout);
    let again = place.call(&["report", "out", "--json"]).run();
    assert_eq!(again.at("/origins/0/connections/allowed"), &allowed, "the folder says the same");
}

#[test]
fn what_was_not_looked_at_is_sent_again() {
    let refused = |stream| (frame(3, 0, stream, &[0, 0, 0, 7]), true);
    let server =
        serve(&[], move |number, stream| if number % 2 == 1 { refused(stream) } else { (ok(stream), true) });
    let run = run(&server, &["-c", "1", "-X", "POST"]);
    // Whoever is refused a second time has failed.
    assert_eq!(run.arrivals("ok") + run.failures("protocol_refused_stream"), 40);
    assert!(run.connections("resent") >= 10 && run.connections("opened") == 1);

    // It leaves with the first request of each connection unanswered, which is a GOAWAY's "not looked at".
    let server = serve(&[], |number, stream| match number % 5 {
        4 => (frame(7, 0, 0, &[0; 8]), false),
        _ => (ok(stream), true),
    });
    let run = self::run(&server, &["-c", "1", "-X", "POST"]);
    assert_eq!(run.arrivals("ok") + run.arrivals("failed"), 40);
    assert!(run.connections("resent") >= 5 && run.connections("opened") >= 5);
}

#[test]
fn faults_by_kind() {
    type Fault = fn(u32) -> Vec<u8>;
    let faults: [(Fault, &str); 7] = [
        (|stream| frame(3, 0, stream, &[0, 0, 0, 2]), "protocol_stream_reset"),
        (|stream| frame(3, 0, stream, &[0, 0, 0, 7]), "protocol_refused_stream"),
        (|stream| frame(0, 1, stream, b"x"), "protocol_data_before_head"),
        (|stream| frame(1, 5, stream, &[0x80]), "protocol_hpack_index"),
        (|stream| frame(5, 4, stream, &[0, 0, 0, 2, 0x88]), "protocol_push_promise"),
        (|stream| frame(9, 4, stream, &[0x88]), "protocol_continuation_unexpected"),
        (|_| frame(6, 0, 0, &[0; 8]).repeat(10_001), "protocol_flood"),
    ];
    for (fault, kind) in faults {
        let server = serve(&[], move |_, stream| (fault(stream), true));
        run(&server, &["--no-preflight"]).assert_all_failed(kind);
    }
}

#[test]
fn a_request_that_takes_too_long_is_cancelled_and_its_connection_goes_on() {
    let server = serve(&[], |number, stream| (if number % 8 == 7 { Vec::new() } else { ok(stream) }, true));
    let run = run(&server, &["-c", "1", "--timeout", "150ms"]);
    assert_eq!(run.arrivals("ok") + run.arrivals("timed_out"), 40);
    assert!(run.arrivals("timed_out") >= 4);
    assert_eq!((run.connections("opened"), run.connections("closed_on_timeout")), (1, 0));
    assert!(server.cancelled.load(Ordering::Relaxed) >= 3);
}

#[test]
fn a_connection_whose_requests_can_not_all_be_cancelled_is_closed() {
    let server = serve(&[], |_, _| (Vec::new(), true));
    let run = run(&server, &["-c", "1", "--streams", "12", "--timeout", "150ms", "--no-preflight"]);
    run.assert_all("timed_out");
    assert!(run.connections("closed_on_timeout") >= 1 && run.connections("opened") >= 2);
    // No more than ten a second on each.
    let opened = usize::try_from(run.connections("opened")).expect("a few");
    assert!((1..=10 * opened).contains(&server.cancelled.load(Ordering::Relaxed)));
}

#[test]
fn a_target_without_it_is_found_out_before_the_load() {
    let place = Place::new();
    let one = Hostile::start(|_| Act::Answer(ok_in_one()));
    let said = place.call(&[&["run", &one.url()], &FORTY[..], &["-o", "out"]].concat());
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stderr.contains("--http 1.1"), "{said:?}");
}

#[test]
fn what_is_tried_is_sent_in_it_and_shown_as_text() {
    let body = br#"{"id":7,"token":"s3cret-token"}"#;
    let server = serve(&[], move |_, stream| {
        ([frame(1, 4, stream, &[0x88]), frame(0, 1, stream, body)].concat(), true)
    });
    let place = Place::new();
    place.file(
        "plan.toml",
        "[load]\nrate = 50\nduration = \"100ms\"\n[[setup]]\nurl = \"/login\"\ncapture = { token = \"json $.token\" }\n\
         [[journeys]]\nname = \"j\"\n[[journeys.steps]]\nname = \"a\"\nurl = \"/a\"\nmethod = \"POST\"\nbody = \"{{uuid}}\"\n\
         header = [\"Authorization: Bearer {{token}}\"]\ncapture = { id = \"json $.id\" }\n\
         [[journeys.steps]]\nname = \"b\"\nurl = \"/b/{{id}}\"\n",
    );
    let url = format!("http://{}/", server.address);
    let said = place.call(&["try", "plan.toml", &url, "--http", "2", "--streams", "7", "--json"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(document["protocol"], "http/2");
    let steps = document["journeys"][0]["steps"].as_array().expect("a list");
    let lines = steps.iter().map(|step| (step["sent"]["line"].as_str(), step["answer"]["line"].as_str()));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [(Some("POST /a HTTP/1.1"), Some("HTTP/2 200")), (Some("GET /b/7 HTTP/1.1"), Some("HTTP/2 200"))]
    );
    assert_eq!(steps[0]["sent"]["body"]["bytes"], 36);
    assert_eq!(document["setup"][0]["captures"][0]["bytes"], 12);
    let heads = server.heads.lock().expect("no panic").clone();
    assert_eq!((heads.len(), server.connections.load(Ordering::Relaxed)), (3, 3));
    let has = |head: &[u8], text: &[u8]| head.windows(text.len()).any(|window| window == text);
    assert!(has(&heads[1], b"Bearer s3cret-token") && has(&heads[2], b"/b/7"));
    let text = place.call(&["try", "plan.toml", &url, "--http", "2"]);
    assert!(text.stdout.starts_with("HTTP/2 (requests are shown as HTTP/1.1 writes them)"), "{text:?}");
    assert!(!said.stdout.contains("s3cret") && !text.stdout.contains("s3cret"), "{said:?} {text:?}");

    place.measure(&["plan.toml", &url, "--http", "2", "--seed", "3"]).assert_accounts();
    let shown = place.call(&["show", "latest", "--arrival", "1", "--curl"]);
    assert!(shown.stdout.starts_with("curl -X 'POST' --http2-prior-knowledge"), "{shown:?}");
    let shown = place.call(&["show", "latest", "--arrival", "1", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(document["protocol"], "http/2");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |more: &[&str], part: &str| {
        let said =
            Place::new().call(&[&["run", "http://127.0.0.1:9/", "-R", "10", "-n", "1"], more].concat());
        assert_eq!(said.code(), Some(2), "{said:?}");
        assert!(said.stderr.contains(part), "{said:?}");
    };
    refused(&["--streams", "5"], "--streams is for HTTP/2");
    refused(&["--http", "3"], "--http");
    refused(&["--http", "2", "--streams", "0"], "--streams");
    refused(&["--http", "2", "-H", "Connection: close"], "HTTP/2 forbids it");
    refused(&["--http", "2", "-H", "Transfer-Encoding: chunked"], "HTTP/2 forbids it");
}

#[test]
fn journeys_follow_redirects() {
    // Every other answer is a 302 with a location (static fields 8 and 46 of RFC 7541, and values as they are).
    let redirect = |stream| {
        let block = [&[0x08, 3][..], b"302", &[0x0f, 0x1f, 2], b"/x"].concat();
        frame(1, 5, stream, &block)
    };
    let server =
        serve(&[], move |number, stream| (if number % 2 == 0 { redirect(stream) } else { ok(stream) }, true));
    let place = Place::new();
    place.file(
        "plan.toml",
        "[load]\nrate = 20\nduration = \"500ms\"\n[[journeys]]\nname = \"go\"\nredirects = 1\n[[journeys.steps]]\nurl = \"/\"\n",
    );
    let url = format!("http://{}/", server.address);
    // The check before the run would have the first of them.
    let run = place.measure(&["plan.toml", &url, "--http", "2", "--no-preflight", "-t", "1"]);
    run.assert_accounts();
    assert_eq!(run.at("/journeys/0/account/completed"), 10, "{}", run.at("/journeys/0"));
    assert_eq!(run.at("/journeys/0/steps/0/requests"), 20);
    assert_eq!(run.at("/operations/1/name"), "go: step 1 redirected");
}
