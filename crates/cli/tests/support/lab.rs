//! The misbehaving server as a process of its own.

use super::{Place, Started};
use rustix::process::{Pid, Signal};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// `unblink lab serve` on a free loopback port.
pub(crate) struct Lab {
    child: Child,
    /// Where it listens, as it says itself.
    pub(crate) url: String,
    /// Where its page of metrics is, if it has one.
    pub(crate) metrics: Option<String>,
}

impl Lab {
    pub(crate) fn serve(place: &Place, args: &[&str]) -> Lab {
        let listen = if args.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] };
        let all = [&["lab", "serve", "--json"], listen, args].concat();
        let mut child = place.command(&all).stdout(Stdio::piped()).spawn().expect("it starts");
        let stdout = child.stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let first: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let url = first["url"].as_str().expect("a URL").to_string();
        let metrics = first["metrics"].as_str().map(ToString::to_string);
        Lab { child, url, metrics }
    }

    /// Ends it, after which its truth log is whole.
    pub(crate) fn stop(&mut self) {
        rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it runs");
        self.child.wait().expect("it ends");
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// The port that it was given.
    pub(crate) fn port(&self) -> &str {
        self.url.trim_end_matches('/').rsplit(':').next().expect("a port")
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a run in the background has committed so many intervals.
pub(crate) fn wait_for_intervals(place: &Place, run: &mut Started, count: usize) {
    for _ in 0..4_000 {
        let lines = std::fs::read_to_string(place.path().join("out/intervals.jsonl")).unwrap_or_default();
        // The first line is the header.
        if lines.matches('\n').count() > count {
            return;
        }
        assert!(run.is_running(), "it ended before {count} intervals");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("{count} intervals were never written");
}
