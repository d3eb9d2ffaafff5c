//! A target that misbehaves: each way is counted under its own kind, and the run goes on to its end.

use crate::support::hostile::{Act, Hostile, Refusing, Seen, answer, ok};
use crate::support::{Place, Run};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// 40 arrivals in 200 ms, with a timeout long enough for a busy machine.
const FORTY: [&str; 7] = ["-R", "200", "-n", "40", "--timeout", "5s", "--no-preflight"];
/// The same for a target that never answers.
const FORTY_PATIENTLY: [&str; 7] = ["-R", "200", "-n", "40", "--timeout", "300ms", "--no-preflight"];

fn run(server: &Hostile, load: &[&str], more: &[&str]) -> Run {
    Place::new().measure(&[&[server.url().as_str()], load, more].concat())
}

/// The run against a server that does this to every request.
fn always(act: Act) -> Run {
    let server = Hostile::start(move |_| act.clone());
    let run = run(&server, &FORTY, &[]);
    assert_eq!(run.arrivals("scheduled"), 40);
    run
}

/// The same for a server that never comes to an end.
fn never_ending(act: Act, more: &[&str]) -> Run {
    let server = Hostile::start(move |_| act.clone());
    let run = run(&server, &FORTY_PATIENTLY, more);
    assert_eq!(run.arrivals("scheduled"), 40);
    run
}

#[test]
fn refused_connections() {
    let target = Refusing::new();
    let run = Place::new().measure(&[&[target.url().as_str()], &FORTY[..]].concat());
    run.assert_all_failed("connect_refused");
    assert_eq!(run.arrivals("scheduled"), 40);
    assert_eq!((run.connections("opened"), run.connections("peak")), (0, 0));
    assert!(run.connections("refused") >= 40);
    assert_eq!(run.at("/response_time/quantiles"), &serde_json::json!([]));
}

#[test]
fn resets_before_within_and_after_the_head() {
    always(Act::Reset).assert_all_failed("reset");
    always(Act::SendThenReset(b"HTTP/1.1 200 OK\r\nContent-Le".to_vec())).assert_all_failed("reset");
    always(Act::SendThenReset(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf".to_vec()))
        .assert_all_failed("reset");
}

#[test]
fn connections_closed_early() {
    always(Act::Close).assert_all_failed("closed_early");
    for half in [
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ] {
        always(Act::AnswerThenClose(half.into())).assert_all_failed("closed_early");
    }
}

#[test]
fn garbage_by_kind() {
    for (bytes, kind) in [
        (&b"\x16\x03\x01\x02\x00 nonsense\r\n\r\n"[..], "protocol_not_http"),
        (b"HTTP/2.0 200 OK\r\n\r\n", "protocol_unsupported_version"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "protocol_invalid_status_line"),
        (b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n", "protocol_invalid_header_name"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "protocol_invalid_content_length"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            "protocol_conflicting_content_length",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "protocol_invalid_chunk_size"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "protocol_unexpected_upgrade"),
    ] {
        always(Act::SendThenStall(bytes.to_vec())).assert_all_failed(kind);
    }
}

#[test]
fn a_stall_in_the_middle_of_the_head_times_out() {
    let run = never_ending(Act::SendThenStall(b"HTTP/1.1 200 OK\r\nContent-Le".to_vec()), &[]);
    run.assert_all("timed_out");
    assert_eq!(run.arrivals("timed_out_never_sent"), 0);
    assert_eq!(run.connections("closed_on_timeout"), 40);
    assert_eq!(run.quantile("response_time", 0.5), (300_000_000, true), "read: > 300 ms");
    assert_eq!(run.at("/response_time/mean"), &serde_json::Value::Null);
}

#[test]
fn an_endless_head() {
    let line = b"X-Filler: 0123456789012345678901234567890123456789\r\n".repeat(50);
    let flood = Act::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), line.clone(), Duration::ZERO);
    let run = always(flood);
    // Whichever limit is met first: bytes or lines.
    let kinds = ["protocol_head_too_large", "protocol_too_many_headers"];
    assert_eq!(kinds.iter().map(|kind| run.failures(kind)).sum::<u64>(), 40);
    run.assert_all("failed");
    let long = Act::Endless(b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 4096], Duration::ZERO);
    always(long).assert_all_failed("protocol_head_too_large");
    let trickle = Act::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"A: b\r\n".to_vec(), 50 * MS);
    never_ending(trickle, &[]).assert_all("timed_out");
}

#[test]
fn an_endless_body() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let trickle = Act::Endless(head.clone(), b"x".to_vec(), 50 * MS);
    never_ending(trickle, &[]).assert_all("timed_out");
    let flood = Act::Endless(head, vec![b'x'; 64 * 1024], Duration::ZERO);
    let server = Hostile::start(move |_| flood.clone());
    let flooded = run(&server, &FORTY, &["--max-body-size", "1m"]);
    flooded.assert_all_failed("too_large");
    assert!(flooded.count("/bytes_received") > 40 << 20, "what was read of them counts: {flooded:?}");
    let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let chunk = [b"8000\r\n", &[b'x'; 0x8000][..], b"\r\n"].concat();
    let flood = Act::Endless(chunks, chunk, Duration::ZERO);
    let server = Hostile::start(move |_| flood.clone());
    run(&server, &FORTY, &["--max-body-size", "1m"]).assert_all_failed("too_large");
}

/// An endless body must not keep the others from being served.
#[test]
fn a_flood_on_one_connection_starves_no_other() {
    let flood = Act::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 64 * 1024], Duration::ZERO);
    let script = move |seen: &Seen| if seen.target == "/flood" { flood.clone() } else { Act::Answer(ok()) };
    let server = Hostile::start(script);
    let (quiet, loud) = (server.url(), server.url() + "flood");
    let urls = [quiet.as_str(), &quiet, &quiet, &loud];
    let load = ["-R", "40", "-n", "20", "--timeout", "1s", "--no-preflight", "--max-body-size", "900g"];
    let run = Place::new().measure(&[&urls[..], &load].concat());
    run.assert_accounts();
    assert_eq!((run.arrivals("ok"), run.arrivals("timed_out")), (15, 5), "{run:?}");
}

/// `bytes` bytes of body, with a word in the middle.
fn long(bytes: usize) -> Vec<u8> {
    let mut body = vec![b'x'; bytes];
    body[bytes / 2..][..4].copy_from_slice(b"word");
    [format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n").into_bytes(), body].concat()
}

/// A long body is counted without being copied; what stands in it, its end and what follows are noticed all the same.
#[test]
fn long_bodies() {
    for bytes in [64 * 1024, 64 * 1024 + 1, 3 << 20] {
        let server = Hostile::start(move |_| Act::Answer(long(bytes)));
        let size = format!("size={bytes}");
        for expected in [size.as_str(), "contains=word"] {
            let two = ["--closed", "2", "--ramp-up", "0s", "-n", "40", "--timeout", "5s", "--no-preflight"];
            let run = run(&server, &two, &["--expect", expected]);
            run.assert_all("ok");
            assert_eq!(run.connections("opened"), 2, "connections are used again");
            assert_eq!(run.count("/bytes_received"), 40 * long(bytes).len() as u64, "{bytes} {expected}");
        }
    }
    let followed = always(Act::Answer([long(1 << 20), b"more".to_vec()].concat()));
    followed.assert_all("ok");
    assert_eq!(followed.connections("opened"), 40);
    let cut = long(1 << 20)[..900 << 10].to_vec();
    always(Act::AnswerThenClose(cut.clone())).assert_all_failed("closed_early");
    always(Act::SendThenReset(cut.clone())).assert_all_failed("reset");
    never_ending(Act::SendThenStall(cut), &[]).assert_all("timed_out");
}

#[test]
fn a_content_length_that_is_too_short() {
    // What follows the answer answers no request: the connection is not used again.
    let run = always(Act::Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello".to_vec()));
    run.assert_all("ok");
    assert_eq!(run.connections("opened"), 40);
}

#[test]
fn two_answers_to_one_request() {
    let run = always(Act::Answer([ok(), answer("404 Not Found", "no")].concat()));
    run.assert_all("ok");
    assert_eq!(run.document["codes"], serde_json::json!({ "200": 40 }));
    assert_eq!(run.connections("opened"), 40);
}

#[test]
fn a_close_after_each_answer_is_no_failure() {
    let announced = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    let run = always(Act::AnswerThenClose(announced.to_vec()));
    run.assert_all("ok");
    assert_eq!((run.connections("opened"), run.connections("resent")), (40, 0));
    let unannounced = always(Act::AnswerThenClose(ok()));
    unannounced.assert_all("ok");
    // The last close may come after the run has ended.
    assert!(unannounced.connections("closed_by_target") + 1 >= unannounced.connections("opened"));
    let old = always(Act::AnswerThenClose(b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\nall of it".to_vec()));
    old.assert_all("ok");
    assert_eq!(old.connections("opened"), 40);
    let delimited = always(Act::AnswerThenClose(b"HTTP/1.1 200 OK\r\n\r\nall of it".to_vec()));
    delimited.assert_all("ok");
}

#[test]
fn idle_connections_that_the_server_closes() {
    let script = |_: &Seen| Act::AnswerThenCloseIdle(ok(), 30 * MS);
    let server = Hostile::start(script);
    let load = ["-R", "10", "-n", "8", "--timeout", "5s", "--no-preflight"];
    let run = run(&server, &load, &[]);
    run.assert_all("ok");
    assert_eq!((run.connections("opened"), run.connections("resent")), (8, 0));
    assert!(run.connections("closed_by_target") >= 7);
}

#[test]
fn answers_in_every_form() {
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n0\r\nX: y\r\n\r\n";
    let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".to_vec();
    for bytes in [
        chunked.to_vec(),
        [interim, ok()].concat(),
        b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 999\r\n\r\n".to_vec(),
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok".to_vec(),
    ] {
        let run = always(Act::Answer(bytes));
        run.assert_all("ok");
        assert!(run.connections("opened") < 40, "connections are used again");
    }
}

#[test]
fn statuses_by_class() {
    for (status, kind) in [
        ("500 Internal Server Error", "status_5xx"),
        ("502 Bad Gateway", "status_5xx"),
        ("503 Service Unavailable", "shed"),
        ("429 Too Many Requests", "shed"),
        ("404 Not Found", "status_4xx"),
        ("799 Whatever", "status_other"),
    ] {
        let run = always(Act::Answer(answer(status, "sorry")));
        run.assert_all_failed(kind);
        assert_eq!(run.count("/failed_response_time/count"), 40);
    }
    always(Act::Answer(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n".to_vec()))
        .assert_all("ok");
}

#[test]
fn everything_at_once() {
    let script = |seen: &Seen| match seen.target.as_str() {
        "/reset" => Act::Reset,
        "/close" => Act::Close,
        "/garbage" => Act::SendThenStall(b"garbage\r\n\r\n".to_vec()),
        "/stall" => Act::SendThenStall(b"HTTP/1.1 200 ".to_vec()),
        "/500" => Act::Answer(answer("500 No", "")),
        "/503" => Act::Answer(answer("503 No", "")),
        "/404" => Act::Answer(answer("404 No", "")),
        "/leave" => Act::AnswerThenClose(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbye".to_vec()),
        _ => Act::Answer(ok()),
    };
    let server = Hostile::start(script);
    let paths = ["", "reset", "close", "garbage", "stall", "500", "503", "404", "leave", "ok"];
    let urls: Vec<String> = paths.iter().map(|path| server.url() + path).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let load = ["-X", "POST", "-R", "200", "-n", "200", "--timeout", "1s", "--no-preflight"];
    let run = Place::new().measure(&[&urls[..], &load].concat());
    run.assert_accounts();
    assert_eq!(run.arrivals("scheduled"), 200);
    assert_eq!(run.arrivals("ok"), 60, "{run:?}");
    assert_eq!(run.arrivals("timed_out"), 20);
    for kind in ["reset", "closed_early", "protocol_not_http", "status_5xx", "shed", "status_4xx"] {
        assert_eq!(run.failures(kind), 20, "{kind}: {:#}", run.document["failures"]);
    }
    let operations = run.at("/operations").as_array().expect("a list");
    let failed: Vec<u64> =
        operations.iter().map(|o| o["arrivals"]["failed"].as_u64().expect("a count")).collect();
    assert_eq!(failed, [0, 20, 20, 20, 0, 20, 20, 20, 0, 0]);
}

/// Ten arrivals on one connection at a time: with a second, one might find that one dead too.
const ONE_BY_ONE: [&str; 9] = ["-R", "50", "-n", "10", "-c", "1", "--timeout", "5s", "--no-preflight"];

/// The second request on each connection dies with it.
fn dies_on_reuse(seen: &Seen) -> Act {
    match (seen.number, seen.target.as_str()) {
        (0, _) => Act::Answer(ok()),
        (_, "/reset") => Act::Reset,
        _ => Act::Close,
    }
}

#[test]
fn an_idempotent_request_on_a_dead_connection_is_sent_again() {
    for path in ["close", "reset"] {
        let server = Hostile::start(dies_on_reuse);
        let url = server.url() + path;
        let run = Place::new().measure(&[&[url.as_str()], &ONE_BY_ONE[..]].concat());
        run.assert_all("ok");
        assert_eq!(run.connections("resent"), 9, "all but the first");
        assert_eq!(server.seen().len(), 19);
    }
}

#[test]
fn a_post_on_a_dead_connection_is_never_sent_again() {
    for (path, kind) in [("close", "closed_early"), ("reset", "reset")] {
        let server = Hostile::start(dies_on_reuse);
        let url = server.url() + path;
        let run = Place::new().measure(&[&[&url, "--body", "x"], &ONE_BY_ONE[..]].concat());
        run.assert_accounts();
        assert_eq!((run.arrivals("ok"), run.failures(kind)), (5, 5), "{run:?}");
        assert_eq!(run.connections("resent"), 0);
        assert_eq!(server.seen().len(), 10, "each arrived once");
    }
}

/// Once a byte of the answer is there the server has worked on it.
#[test]
fn a_request_whose_answer_has_begun_is_not_sent_again() {
    let script = |seen: &Seen| match seen.number {
        0 => Act::Answer(ok()),
        _ => Act::AnswerThenClose(b"HTTP/1.1 2".to_vec()),
    };
    let server = Hostile::start(script);
    let run = run(&server, &ONE_BY_ONE, &[]);
    run.assert_accounts();
    assert_eq!((run.arrivals("ok"), run.failures("closed_early")), (5, 5), "{run:?}");
    assert_eq!(run.connections("resent"), 0);
}

#[test]
fn an_answer_before_the_body_was_read_counts() {
    // More than the socket's buffers hold, so that the body can't have been written by then.
    let place = Place::new();
    let body = place.file("body", vec![b'x'; 16 << 20]);
    let early =
        b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig".to_vec();
    let server = Hostile::start(move |_| Act::AnswerBeforeBody(early.clone()));
    let url = server.url();
    let body = body.to_str().expect("UTF-8");
    let load = [&url, "--body-file", body, "-R", "50", "-n", "10", "--timeout", "5s", "--no-preflight"];
    let run = place.measure(&load);
    run.assert_accounts();
    // The server's close with unread bytes is a reset that may overtake its answer.
    assert_eq!(run.failures("status_4xx") + run.failures("reset"), 10, "{run:?}");
    assert!(run.failures("status_4xx") > 0, "{run:?}");
    assert_eq!(run.arrivals("failed"), 10);
}

#[test]
fn a_target_that_comes_back_is_found_again() {
    // The first twenty requests are reset, then all is well.
    let requests = AtomicUsize::new(0);
    let server = Hostile::start(move |_| match requests.fetch_add(1, Ordering::SeqCst) {
        ..20 => Act::Reset,
        _ => Act::Answer(ok()),
    });
    let run = run(&server, &FORTY, &[]);
    run.assert_accounts();
    assert_eq!((run.failures("reset"), run.arrivals("ok")), (20, 20), "{run:?}");
}

/// A mixture by seed, with every kind of pool and load: whatever happens, the accounts hold.
#[test]
fn seeded_mixtures() {
    for seed in 1..=8u64 {
        let requests = AtomicUsize::new(0);
        let server = Hostile::start(move |_| {
            // splitmix64: the same behaviours in the same order for a seed.
            let n = requests.fetch_add(1, Ordering::SeqCst) as u64;
            let mut x = seed.wrapping_mul(1 << 32).wrapping_add(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^= x >> 31;
            match x % 16 {
                0 => Act::Reset,
                1 => Act::Close,
                2 => Act::AnswerThenClose(ok()),
                3 => Act::AnswerThenCloseIdle(ok(), (x >> 8) as u32 % 20 * MS),
                4 => Act::SendThenReset(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec()),
                5 => Act::SendThenStall(b"HTTP/1.1 ".to_vec()),
                6 => Act::Answer([ok(), ok()].concat()),
                7 => Act::Answer(answer("503 No", "")),
                8 => Act::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), b"x".to_vec(), 30 * MS),
                _ => Act::AnswerAfter((x >> 8) as u32 % 15 * MS, ok()),
            }
        });
        let pool = ["auto", "auto:5", "7", "2"][seed as usize % 4];
        let threads = ["1", "2"][seed as usize / 2 % 2];
        let load: &[&str] = match seed {
            1..=5 => &["-R", "400", "-d", "600ms"],
            6 => &["-R", "400", "-d", "300ms", "--warmup", "300ms", "--arrivals", "poisson"],
            _ => &["--closed", "6", "--think", "2ms", "-d", "600ms"],
        };
        let more = ["-c", pool, "-t", threads, "--timeout", "250ms", "--no-preflight"];
        let run = run(&server, &[load, &more].concat(), &[]);
        run.assert_accounts();
        assert_eq!(run.at("/status"), "complete", "seed {seed}");
        let seen = server.seen().len() as u64;
        let warm_up = run.document["warmup"]["scheduled"].as_u64().unwrap_or(0);
        let most = run.arrivals("scheduled") + warm_up + run.connections("resent");
        assert!(seen <= most, "seed {seed}: {seen} requests arrived, at most {most} were sent");
    }
}
