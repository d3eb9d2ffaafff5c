//! Imports a million seeded lines and says how fast: `cargo run --release -p unblink-trace --example seeded [LINES]`.

use std::io::Read;
use std::time::Instant;
use unblink_trace::anonymous::{Anonymous, Keep, Key};
use unblink_trace::format::Writer;
use unblink_trace::import::{Import, Input, WINDOW};
use unblink_trace::source::{self, Map, Source};

/// Lines of nginx, made as they are read.
struct Log {
    left: u64,
    state: u64,
    msec: u64,
    line: Vec<u8>,
    at: usize,
}

impl Log {
    fn draw(&mut self, below: u64) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % below
    }
}

impl Read for Log {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.line.len() && self.left > 0 {
            self.left -= 1;
            self.msec += self.draw(3);
            let (user, item, took, size) =
                (self.draw(50_000), self.draw(1_000_000), self.draw(2_000), self.draw(90_000));
            let (a, b, second, ms) = (user / 250, user % 250, self.msec / 1000, self.msec % 1000);
            let line = format!(
                "10.0.{a}.{b} - - [{second}.{ms:03}] \"GET /shop/items/{item}?page={took} HTTP/1.1\" 200 {size} \"https://example.com/shop\" \"Mozilla/5.0 (X11; Linux x86_64)\" {}.{:03}\n",
                took / 1000,
                took % 1000
            );
            self.line = line.into_bytes();
            self.at = 0;
        }
        let n = to.len().min(self.line.len() - self.at);
        to[..n].copy_from_slice(&self.line[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

#[allow(clippy::print_stdout)]
fn main() {
    let lines = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let log = || Log { left: lines, state: 7, msec: 1_769_860_800_000, line: Vec::new(), at: 0 };
    // What making the lines costs is not the import's.
    let begin = Instant::now();
    std::io::copy(&mut log(), &mut std::io::sink()).expect("lines");
    let making = begin.elapsed();
    let format = r#"$remote_addr - $remote_user [$msec] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time"#;
    let source = Source::Lines(source::nginx(Some(format), &Map::default(), &[]).expect("a format"));
    let anonymous = Anonymous::new(Key::from_secret(b"a key for this example"), Keep::default());
    let mut trace = Vec::new();
    let input = Input { name: "seeded".into(), bytes: Box::new(log()) };
    let begin = Instant::now();
    let imported = Import::new(source, "nginx", anonymous, WINDOW)
        .run([input], Writer::to(&mut trace).expect("a trace"), &mut |_| true)
        .expect("an import");
    let took = begin.elapsed().saturating_sub(making);
    println!(
        "{} requests of {lines} lines in {took:?}: {:.0} lines/s, {} bytes",
        imported.requests,
        lines as f64 / took.as_secs_f64(),
        trace.len()
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
}
