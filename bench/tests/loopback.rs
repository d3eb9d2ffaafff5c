//! The responder, the references and the measuring of processes, as real processes on loopback.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const BENCH: &str = env!("CARGO_BIN_EXE_unblink-bench");
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

struct Responder {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Responder {
    fn start(arguments: &[&str]) -> Responder {
        let mut command = Command::new(BENCH);
        command.arg("respond").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut address = String::new();
        stdout.read_line(&mut address).unwrap();
        Responder { child, stdout, address: address.trim().to_string() }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        // Far longer than anything here takes: only a hang meets it.
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    fn finish(mut self) -> Value {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        assert!(self.child.wait().unwrap().success());
        serde_json::from_str(&text).unwrap()
    }
}

fn bench(arguments: &[&str]) -> String {
    let output = Command::new(BENCH).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

/// Pairs of arrival and answer, in ns.
fn stamps(path: &std::path::Path) -> Vec<(u64, u64)> {
    let bytes = std::fs::read(path).unwrap();
    let numbers: Vec<u64> = bytes.as_chunks().0.iter().map(|eight| u64::from_le_bytes(*eight)).collect();
    numbers.as_chunks().0.iter().map(|[arrived, answered]| (*arrived, *answered)).collect()
}

#[test]
fn the_raw_loop_and_the_responder_count_the_same() {
    let responder = Responder::start(&[]);
    let answers: u64 = bench(&["raw", &responder.address, "-c", "8", "-d", "0.3"]).parse().unwrap();
    let summary = responder.finish();
    let counted = summary["answers"].as_u64().unwrap();
    // One answer was asked for beforehand, to learn its length; one may be on its way to each connection.
    assert!((answers + 1..=answers + 9).contains(&counted), "{answers} answers, {counted} counted");
    assert_eq!(summary["connections"], 9);
    let ticks: u64 = summary["answers_per_tick"].as_array().unwrap().iter().filter_map(Value::as_u64).sum();
    assert_eq!(ticks, counted);
}

#[test]
fn the_pace_loop_sends_what_is_due_spread_over_its_time() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let responder = Responder::start(&["--busy", "--stamps", file.path().to_str().unwrap(), "--room", "300"]);
    assert_eq!(bench(&["pace", &responder.address, "-R", "1000", "-c", "4", "-d", "0.3"]), "300");
    assert_eq!(responder.finish()["answers"], 300);
    let stamps = stamps(file.path());
    assert_eq!(stamps.len(), 300);
    assert!(stamps.iter().all(|(arrived, answered)| arrived <= answered));
    assert!(stamps.iter().zip(&stamps[1..]).all(|(before, after)| before.0 <= after.0));
    // Arrival 299 is due 299 ms after arrival 0, which may itself have been late. That both were late by more than
    // half of it is not to be expected of any machine.
    assert!(stamps[299].0 - stamps[0].0 > 150_000_000);
}

#[test]
fn a_stalled_responder_stamps_at_once_and_answers_in_order_afterwards() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let stamps_to = file.path().to_str().unwrap();
    let responder = Responder::start(&["--stall", "0..0.3", "--stamps", stamps_to, "--room", "9"]);
    let mut streams: Vec<TcpStream> = (0..3).map(|_| responder.connect()).collect();
    for stream in &mut streams {
        stream.write_all(REQUEST).unwrap();
    }
    for stream in &mut streams {
        assert_ne!(stream.read(&mut [0; 512]).unwrap(), 0);
    }
    responder.finish();
    let stamps = stamps(file.path());
    let first = stamps[0].0;
    assert_eq!(stamps.len(), 3);
    assert!(stamps.iter().all(|(_, answered)| answered - first >= 300_000_000), "{stamps:?}");
    assert!(stamps.iter().zip(&stamps[1..]).all(|(before, after)| before.1 <= after.1), "{stamps:?}");
}

#[test]
fn answers_have_their_size_and_pipelined_requests_each_theirs() {
    let responder = Responder::start(&["--size", "300000"]);
    let mut stream = responder.connect();
    stream.write_all(&REQUEST.repeat(3)).unwrap();
    let mut bytes = Vec::new();
    while bytes.iter().filter(|&&byte| byte == b'x').count() < 900_000 {
        let mut buffer = [0; 65_536];
        let n = stream.read(&mut buffer).unwrap();
        assert_ne!(n, 0);
        bytes.extend_from_slice(&buffer[..n]);
    }
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 3);
    assert_eq!(text.matches("Content-Length: 300000\r\n").count(), 3);
    assert_eq!(responder.finish()["answers"], 3);
}

#[test]
fn with_close_each_connection_ends_after_its_answer() {
    let responder = Responder::start(&["--close"]);
    for _ in 0..2 {
        let mut stream = responder.connect();
        stream.write_all(REQUEST).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.contains("\r\nConnection: close\r\n") && text.ends_with("\r\n\r\nxxxxxx"), "{text}");
    }
    let summary = responder.finish();
    assert_eq!((&summary["connections"], &summary["answers"]), (&2.into(), &2.into()));
}

#[test]
fn a_process_is_measured_with_all_that_it_starts() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let usage = file.path().to_str().unwrap();
    let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3";
    bench(&["measure", usage, "--", "sh", "-c", script]);
    let usage: Value = serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap();
    assert_eq!(usage["exit"], 3);
    assert!(usage["cpu_ns"].as_u64().unwrap() > 1_000_000, "{usage}");
    assert!(usage["memory_bytes_max"].as_u64().unwrap() > 100_000, "{usage}");
}

#[test]
fn wrong_usage_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    for (arguments, said) in [
        (&["table", folder][..], "measure first: make bench"),
        (&["run", "--server-cpu", "0", "-o", folder], "need a processor each"),
        (&["run", "--server-cpu", "100000", "-o", folder], "there is no processor 100000"),
        (&["run", "--only", "wrk3", "-o", folder], "no tool is called `wrk3`: wrk, wrk2"),
        (&["raw", "127.0.0.1:1"], "cannot connect to 127.0.0.1:1"),
    ] {
        let output = Command::new(BENCH).args(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
}
