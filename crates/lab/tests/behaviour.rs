//! What the server does to requests in time. Only lower bounds are asserted on the wall clock.

mod support;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use support::{GET, MS, config, connect, constant, exchange, gated, receive, send, serve, wait_for};
use tempfile::TempDir;
use unblink_lab::{ClockStart, LabError, Running, Scenario, Server, TruthRow, read_truth, spawn};

/// A server with a truth log, which is read when it stops.
struct Logged {
    server: Running,
    path: PathBuf,
    _folder: TempDir,
}

impl Logged {
    fn serve(scenario: Scenario, clock: ClockStart) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("truth.csv");
        let mut config = config(scenario);
        config.truth_log = Some(path.clone());
        config.clock = clock;
        Self { server: spawn(config).expect("a server"), path, _folder: folder }
    }

    fn stop(self) -> Vec<TruthRow> {
        let summary = self.server.stop().expect("a summary");
        let rows = read_truth(&self.path).expect("the rows");
        assert_eq!((summary.truth_rows, summary.truth_rows_lost), (rows.len() as u64, 0));
        assert_eq!((summary.served, summary.lateness.count), (rows.len() as u64, rows.len() as u64));
        rows
    }
}

#[test]
fn a_client_measures_at_least_the_baseline() {
    let logged = Logged::serve(constant(30), ClockStart::FirstRequest);
    let mut stream = connect(logged.server.local_addr());
    let sent = Instant::now();
    assert_eq!(exchange(&mut stream, GET).status, 200);
    let measured = sent.elapsed();
    let rows = logged.stop();
    assert_eq!((rows[0].baseline_ns, rows[0].slot_ns), (30 * MS, rows[0].arrived_ns));
    assert!(rows[0].response_ns() >= 30 * MS);
    assert!(measured >= Duration::from_nanos(rows[0].response_ns()));
}

#[test]
fn a_gate_holds_everything_and_releases_the_oldest_first() {
    let logged = Logged::serve(gated(1, 800), ClockStart::FirstRequest);
    let mut streams: Vec<_> = (0..20).map(|_| connect(logged.server.local_addr())).collect();
    let start = Instant::now();
    for (sent, stream) in (1..).zip(streams.iter_mut().rev()) {
        send(stream, GET);
        // So that the order of arrival is the order of sending.
        wait_for(logged.server.local_addr(), "requests", sent);
    }
    for stream in &mut streams {
        assert_eq!(receive(stream).status, 200);
    }
    assert!(start.elapsed() >= Duration::from_millis(800));
    let rows = logged.stop();
    assert_eq!(rows.iter().map(|row| row.request).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    assert!(rows.is_sorted_by_key(|row| row.arrived_ns));
    assert_eq!(rows[0].connection, 19);
    assert!(rows.iter().all(|row| row.clock_ns == Some(rows[0].arrived_ns)));
    assert!(rows.iter().all(|row| row.answered_ns >= rows[0].arrived_ns + 800 * MS));
}

#[test]
fn healthy_is_answered_during_a_stall_and_starts_no_clock() {
    let server = serve(gated(1, 60_000));
    let (mut stalled, mut probe) = (connect(server.local_addr()), connect(server.local_addr()));
    let healthy = "GET /healthy HTTP/1.1\r\nHost: lab\r\n\r\n";
    assert_eq!(exchange(&mut probe, healthy).body, b"healthy\n");
    let counts = exchange(&mut probe, "GET /_lab/truth HTTP/1.1\r\nHost: lab\r\n\r\n").body;
    assert!(String::from_utf8_lossy(&counts).contains("\"clock_ns\":null,"));
    send(&mut stalled, GET);
    wait_for(server.local_addr(), "in_flight", 1);
    assert_eq!(exchange(&mut probe, healthy).body, b"healthy\n");
    let summary = server.stop().expect("a summary");
    assert_eq!((summary.requests, summary.served, summary.unserved), (1, 0, 1));
}

#[test]
fn an_abandoned_request_keeps_its_slot() {
    let mut scenario = constant(600);
    scenario.max_concurrency = Some(1);
    let logged = Logged::serve(scenario, ClockStart::FirstRequest);
    let (mut gone, mut stays) = (connect(logged.server.local_addr()), connect(logged.server.local_addr()));
    send(&mut gone, GET);
    wait_for(logged.server.local_addr(), "in_flight", 1);
    send(&mut stays, GET);
    wait_for(logged.server.local_addr(), "in_flight", 2);
    drop(gone);
    assert_eq!(receive(&mut stays).status, 200);
    let rows = logged.stop();
    assert_eq!(rows.iter().map(|row| row.abandoned).collect::<Vec<_>>(), [true, false]);
    assert_eq!(rows[1].slot_ns, rows[0].slot_ns + 600 * MS);
    assert!(rows[1].answered_ns >= rows[0].arrived_ns + 1_200 * MS);
}

#[test]
fn a_place_taken_over_gets_no_answer_of_its_predecessor() {
    let server = serve(constant(600));
    let mut gone = connect(server.local_addr());
    send(&mut gone, GET);
    wait_for(server.local_addr(), "in_flight", 1);
    drop(gone);
    // The first two connections are gone by now; new ones take their places.
    let mut streams: Vec<_> = (0..4).map(|_| connect(server.local_addr())).collect();
    wait_for(server.local_addr(), "abandoned", 1);
    for stream in &mut streams {
        assert_eq!(exchange(stream, "GET /healthy HTTP/1.1\r\nHost: lab\r\n\r\n").body, b"healthy\n");
    }
    assert_eq!(server.stop().expect("a summary").abandoned, 1);
}

#[test]
fn a_probe_starts_no_run() {
    let logged = Logged::serve(constant(10), ClockStart::FirstRequest);
    let mut stream = connect(logged.server.local_addr());
    exchange(&mut stream, GET);
    std::thread::sleep(Duration::from_millis(50));
    for _ in 0..3 {
        exchange(&mut stream, GET);
    }
    // The clock restarts once only, whatever comes.
    std::thread::sleep(Duration::from_millis(50));
    exchange(&mut stream, GET);
    let rows = logged.stop();
    assert_eq!(rows[0].arrived_on_clock_ns(), Some(0));
    assert_eq!(rows[1].arrived_on_clock_ns(), Some(0));
    assert!(rows[2..].iter().all(|row| row.clock_ns == rows[1].clock_ns));
}

#[test]
fn arming_starts_the_clock() {
    let logged = Logged::serve(gated(1, 200), ClockStart::Arm);
    let mut stream = connect(logged.server.local_addr());
    let arm = "POST /_lab/arm HTTP/1.1\r\nHost: lab\r\n\r\n";
    exchange(&mut stream, GET);
    assert_eq!(exchange(&mut stream, arm).status, 200);
    exchange(&mut stream, GET);
    let rows = logged.stop();
    assert_eq!(rows[0].clock_ns, None);
    let clock_ns = rows[1].clock_ns.expect("a running clock");
    assert!(clock_ns >= rows[0].answered_ns && rows[1].answered_ns >= clock_ns + 200 * MS);

    let server = serve(constant(1));
    let mut stream = connect(server.local_addr());
    assert_eq!(exchange(&mut stream, arm).status, 409);
    assert_eq!(exchange(&mut stream, "GET /_lab/other HTTP/1.1\r\nHost: lab\r\n\r\n").status, 404);
}

#[test]
fn the_clock_can_start_with_the_server() {
    let logged = Logged::serve(constant(1), ClockStart::ProcessStart);
    exchange(&mut connect(logged.server.local_addr()), GET);
    assert_eq!(logged.stop()[0].clock_ns, Some(0));
}

#[test]
fn the_log_is_readable_while_the_server_runs() {
    let logged = Logged::serve(constant(0), ClockStart::FirstRequest);
    exchange(&mut connect(logged.server.local_addr()), GET);
    let rows = || read_truth(&logged.path).expect("rows").len();
    let seen = (0..1_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        rows() == 1
    });
    assert!(seen, "the row never came");
}

#[test]
fn a_server_can_be_stopped_at_any_time() {
    let server = Server::bind(config(constant(1))).expect("a server");
    server.stopper().stop();
    server.stopper().stop();
    assert_eq!(server.run().expect("a summary").requests, 0);

    let running = serve(constant(60_000));
    let mut stream = connect(running.local_addr());
    send(&mut stream, GET);
    wait_for(running.local_addr(), "in_flight", 1);
    let stopper = running.stopper();
    std::thread::spawn(move || stopper.stop()).join().expect("stopped");
    assert_eq!(running.stop().expect("a summary").unserved, 1);
    drop(serve(constant(1)));
}

#[test]
fn setting_up_fails_with_a_reason() {
    let running = serve(constant(1));
    let mut taken = config(constant(1));
    taken.listen = running.local_addr();
    assert!(matches!(Server::bind(taken), Err(LabError::Listen { .. })));
    let mut wrong = config(constant(1));
    wrong.scenario.max_concurrency = Some(0);
    assert!(matches!(Server::bind(wrong), Err(LabError::Scenario { .. })));
    let mut wrong = config(constant(1));
    wrong.spin = Duration::from_secs(1);
    assert!(matches!(Server::bind(wrong), Err(LabError::Config(_))));
    let mut wrong = config(constant(1));
    wrong.truth_log = Some("/dev/null/none".into());
    assert!(matches!(Server::bind(wrong), Err(LabError::TruthFile { .. })));
}
