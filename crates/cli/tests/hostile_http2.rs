//! Servers of HTTP/2 that attack their client: each way is a kind of failure of its own, the run goes on over another connection,
//! and memory stays bounded.

use crate::frames::{Server, frame, ok, serve, serve_from};
use crate::support::{Place, Run};
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const FORTY: [&str; 7] = ["-R", "200", "-n", "40", "--http", "2", "--no-preflight"];
const MIB: u64 = 1 << 20;

/// A run against the server, and its memory's peak in bytes.
fn run(server: &Server, more: &[&str]) -> (Run, u64) {
    let (place, url) = (Place::new(), format!("http://{}/", server.address));
    let mut started = place.start(&[&[url.as_str()], &FORTY[..], more].concat());
    let peak = started.memory_peak();
    (started.wait().run(), peak)
}

/// A field of 3.8 KB in the table, and a block that refers to it 10,000 times: 38 MB from a few KB.
fn bomb(stream: u32) -> Vec<u8> {
    // Name and value as they are; 3,800 is 127 + 89 + 28 · 128.
    let field = [&[0x40, 1, b'a', 0x7f, 0x80 | 89, 28], &[b'x'; 3800][..]].concat();
    frame(1, 5, stream, &[&[0x88], &field[..], &[0xbe; 10_000]].concat())
}

#[test]
fn floods_and_bombs_end_their_connection_and_the_run_goes_on() {
    type Attack = fn(u32) -> Vec<u8>;
    // Of small frames 900 KB, of large ones 64 MB: far more than may be kept.
    let attacks: [(Attack, &str); 8] = [
        (
            |stream| [frame(1, 0, stream, b"\x88"), frame(9, 0, stream, b"").repeat(100_000)].concat(),
            "protocol_flood",
        ),
        (
            |stream| [frame(1, 0, stream, b"\x88"), frame(9, 0, stream, &[0; 16_384]).repeat(4096)].concat(),
            "protocol_head_too_large",
        ),
        (|_| frame(4, 0, 0, b"").repeat(100_000), "protocol_flood"),
        (|_| frame(6, 0, 0, &[0; 8]).repeat(100_000), "protocol_flood"),
        (
            |stream| [frame(1, 4, stream, b"\x88"), frame(0, 0, stream, b"").repeat(100_000)].concat(),
            "protocol_flood",
        ),
        (bomb, "protocol_head_too_large"),
        (|stream| frame(5, 4, stream, &[0, 0, 0, 2, 0x88]).repeat(1000), "protocol_push_promise"),
        (|_| frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff]).repeat(2), "protocol_window_overflow"),
    ];
    for (attack, kind) in attacks {
        let server = serve(&[], move |number, stream| {
            (if number % 10 == 3 { attack(stream) } else { ok(stream) }, true)
        });
        let (run, peak) = run(&server, &["-c", "1", "--streams", "4"]);
        run.assert_accounts();
        // The server answers one after the other, so that what came behind may be lost with the connection.
        let (ok, failed) = (run.arrivals("ok"), run.failures(kind));
        assert!(ok + failed == 40 && ok >= 20 && (1..=16).contains(&failed), "{kind}: {run:?}");
        assert!(run.connections("opened") >= 2, "{kind}: {run:?}");
        assert!(peak < 192 * MIB, "{kind}: {peak} bytes");
    }
}

#[test]
fn resets_of_what_has_ended_end_the_connection() {
    let reset = |stream| frame(3, 0, stream, &[0, 0, 0, 8]).repeat(100_000);
    let server =
        serve(&[], move |number, stream| (if number % 10 == 3 { reset(stream) } else { ok(stream) }, true));
    let (run, _) = run(&server, &["-c", "1", "--streams", "4"]);
    run.assert_accounts();
    let (resets, floods) = (run.failures("protocol_stream_reset"), run.failures("protocol_flood"));
    assert_eq!(run.arrivals("ok") + resets + floods, 40, "{run:?}");
    assert!((2..=4).contains(&resets) && run.connections("opened") >= 3, "{run:?}");
}

#[test]
fn a_body_after_its_end_costs_what_is_under_way() {
    // One is left unanswered, and the next has more behind its answer's end.
    let server = serve(&[], |number, stream| match number % 10 {
        3 => (Vec::new(), true),
        4 => ([ok(stream), frame(0, 1, stream, b"more")].concat(), true),
        _ => (ok(stream), true),
    });
    let (run, _) = run(&server, &["-c", "1", "--streams", "4"]);
    run.assert_accounts();
    let failed = run.failures("protocol_closed_stream");
    assert!(run.arrivals("ok") + failed == 40 && failed >= 2, "{run:?}");
}

/// It has looked at the first two of five, and answers them after it has said so.
#[test]
fn a_goaway_in_the_middle_loses_none() {
    let waiting = Mutex::new(Vec::new());
    let server = serve(&[], move |number, stream| {
        let mut waiting = waiting.lock().expect("no panic");
        waiting.push(stream);
        if number >= 5 {
            waiting.clear();
            return (ok(stream), true);
        }
        let [first, second, _, _, _] = waiting[..] else { return (Vec::new(), true) };
        waiting.clear();
        let last = [&second.to_be_bytes()[..], &[0; 4]].concat();
        ([frame(7, 0, 0, &last), ok(first), ok(second)].concat(), false)
    });
    let (run, _) = run(&server, &["-c", "1", "--streams", "5"]);
    run.assert_all("ok");
    assert_eq!((run.connections("resent"), run.connections("opened")), (3, 2), "{run:?}");
}

#[test]
fn windows_that_never_open_are_timeouts() {
    // INITIAL_WINDOW_SIZE is 0: heads come, and no byte of a body.
    let server = serve(&[0, 4, 0, 0, 0, 0], |_, _| (Vec::new(), true));
    let (run, peak) = run(&server, &["--timeout", "200ms", "--data", &"x".repeat(50_000)]);
    run.assert_all("timed_out");
    assert!(peak < 192 * MIB, "{peak} bytes");
}

/// SETTINGS with MAX_CONCURRENT_STREAMS.
fn streams(n: u8) -> Vec<u8> {
    frame(4, 0, 0, &[0, 3, 0, 0, 0, n])
}

#[test]
fn of_several_limits_in_one_read_the_last_one_holds() {
    let twice = [streams(0), streams(100)].concat();
    let server = serve_from(move |_, stream| stream.write_all(&twice), |_, stream| (ok(stream), true));
    run(&server, &["-c", "1"]).0.assert_all("ok");

    // The first 50 are answered together, a while after the last of them: nothing more comes meanwhile.
    let thrice = [streams(100), streams(1), streams(50)].concat();
    let waiting = Mutex::new(Vec::new());
    let server = serve_from(
        move |_, stream| stream.write_all(&thrice),
        move |number, stream| {
            let mut waiting = waiting.lock().expect("no panic");
            waiting.push(stream);
            if number < 49 {
                return (Vec::new(), true);
            }
            std::thread::sleep(Duration::from_millis(if number == 49 { 200 } else { 0 }));
            (waiting.drain(..).flat_map(ok).collect(), true)
        },
    );
    let url = format!("http://{}/", server.address);
    let load = ["-R", "2000", "-n", "60", "-c", "1", "--http", "2", "--no-preflight", "--timeout", "5s"];
    let run = Place::new().measure(&[&[url.as_str()], &load[..]].concat());
    run.assert_all("ok");
    assert_eq!(run.count("/origins/0/connections/spread/at_once_max"), 50);
}

#[test]
fn a_goaway_behind_the_first_settings_is_heeded() {
    static ASKED_FIRST: AtomicUsize = AtomicUsize::new(0);
    let open = |number: usize, stream: &mut std::net::TcpStream| {
        let goaway = if number == 0 { frame(7, 0, 0, &[0; 8]) } else { Vec::new() };
        stream.write_all(&[frame(4, 0, 0, b""), goaway].concat())?;
        if number > 0 {
            return Ok(());
        }
        // Anything but an acknowledgement and a window's opening is a request.
        let mut header = [0; 9];
        loop {
            std::io::Read::read_exact(stream, &mut header)?;
            let [a, b, c, kind, ..] = header;
            std::io::Read::read_exact(stream, &mut vec![0; u32::from_be_bytes([0, a, b, c]) as usize])?;
            ASKED_FIRST.fetch_add(usize::from(kind == 1), Ordering::Relaxed);
        }
    };
    let server = serve_from(open, |_, stream| (ok(stream), true));
    let (run, _) = run(&server, &["-c", "1", "-X", "POST", "--timeout", "2s"]);
    run.assert_all("ok");
    assert_eq!(ASKED_FIRST.load(Ordering::Relaxed), 0);
    assert_eq!((run.connections("opened"), run.connections("resent")), (2, 0), "{run:?}");
}

/// It says nothing of what it has looked at, so nobody may ask again (RFC 9113 §8.7).
#[test]
fn what_was_under_way_on_a_connection_that_just_ends_is_not_sent_again() {
    let server = serve(&[], |number, stream| match number % 10 {
        7 | 8 => (Vec::new(), true),
        9 => (Vec::new(), false),
        _ => (ok(stream), true),
    });
    let (run, _) = run(&server, &["-c", "1"]);
    run.assert_accounts();
    let failed = run.arrivals("failed");
    assert!(run.arrivals("ok") + failed == 40 && failed >= 12, "{run:?}");
    assert_eq!(run.failures("closed_early") + run.failures("reset"), failed, "{run:?}");
    assert_eq!(run.connections("resent"), 0, "{run:?}");
}

#[test]
fn a_target_that_allows_no_requests_is_named_as_the_cause() {
    let server = serve(&[0, 3, 0, 0, 0, 0], |_, stream| (ok(stream), true));
    let url = format!("http://{}/", server.address);
    let place = Place::new();
    let load = ["-R", "100", "-n", "20", "--http", "2", "--timeout", "300ms"];
    let said = place.call(&[&["run", url.as_str(), "-o", "none"], &load[..]].concat());
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stderr.contains("allows no requests at once (MAX_CONCURRENT_STREAMS 0)"), "{said:?}");
    assert!(server.heads.lock().expect("no panic").is_empty(), "nothing was asked");

    let run = place.measure(&[&[url.as_str()], &load[..], &["-c", "auto:300", "--no-preflight"]].concat());
    run.assert_all("timed_out");
    assert_eq!((run.connections("attempted"), run.connections("allowed_none")), (1, 1), "{run:?}");
    assert!(!run.has_finding("client_shed_load"), "{run:?}");
    let findings = run.at("/validity/findings").to_string();
    assert!(findings.contains("MAX_CONCURRENT_STREAMS 0"), "{findings}");
}

#[test]
fn the_check_before_the_run_waits_for_room() {
    let open = |_, stream: &mut std::net::TcpStream| {
        stream.write_all(&streams(0))?;
        std::thread::sleep(Duration::from_millis(100));
        stream.write_all(&streams(100))
    };
    let server = serve_from(open, |_, stream| (ok(stream), true));
    let url = format!("http://{}/", server.address);
    Place::new().measure(&[&[url.as_str()], &FORTY[..6]].concat()).assert_all("ok");
}
