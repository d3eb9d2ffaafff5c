//! How precise the lab server is: an even open-loop load against it, then its own truth log.
//!
//! `cargo run --release -p unblink-lab --example precision [rate_per_s [seconds [scenario [clients]]]]`
//!
//! Prints answered − arrived − baseline in µs. For a scenario with gates or slots, the time that these took is part
//! of it; the server's own lateness, printed last, leaves it out. The second line compares the response times that
//! the server saw with the exact ones; they agree if there are clients enough for the longest stall.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use unblink_lab::{Scenario, ServerConfig, oracle, read_truth, spawn};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rate_per_s: u64 = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    let seconds: u64 = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let scenario = arguments.next().unwrap_or_else(|| "healthy".to_owned());
    let clients: u64 = arguments.next().map_or(Ok(32), |text| text.parse())?;
    let log = std::env::temp_dir().join(format!("lab-precision-{}.csv", std::process::id()));

    let scenario = Scenario::preset(&scenario).ok_or("unknown scenario")?;
    let mut config = ServerConfig::new(scenario.clone());
    config.listen.set_port(0);
    config.truth_log = Some(log.clone());
    let server = spawn(config)?;
    load(server.local_addr(), rate_per_s, rate_per_s * seconds, clients)?;
    let summary = server.stop()?;

    let rows = read_truth(&log)?;
    std::fs::remove_file(&log)?;
    let excess = sorted(rows.iter().map(|row| row.response_ns() - row.baseline_ns));
    println!("{} answers, beyond the baseline: {}", rows.len(), percentiles(&excess, 1e3, "µs"));
    let seen = sorted(rows.iter().map(|row| row.response_ns()));
    let exact =
        sorted(oracle::open_loop(&scenario, rate_per_s, Duration::from_secs(seconds), None).into_iter());
    println!("response: {}", percentiles(&seen, 1e6, "ms"));
    println!("exact:    {}", percentiles(&exact, 1e6, "ms"));
    println!("{summary:?}");
    Ok(())
}

fn sorted(ns: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut ns: Vec<_> = ns.collect();
    ns.sort_unstable();
    ns
}

fn percentiles(sorted_ns: &[u64], unit_ns: f64, unit: &str) -> String {
    let at = |q| oracle::percentile(sorted_ns, q).unwrap_or(0) as f64 / unit_ns;
    format!("p50 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.1} {unit}", at(0.5), at(0.99), at(0.999), at(1.0))
}

/// Clients on their own connections take the next arrival, sleep until just before it, spin, send, and wait.
fn load(address: SocketAddr, rate_per_s: u64, arrivals: u64, clients: u64) -> Result<(), Box<dyn Error>> {
    let next = Arc::new(AtomicU64::new(0));
    let start = Instant::now() + Duration::from_millis(50);
    let clients: Vec<_> = (0..clients)
        .map(|_| {
            let next = Arc::clone(&next);
            std::thread::spawn(move || -> std::io::Result<()> {
                let mut stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                let mut answer = [0; 4_096];
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    if k >= arrivals {
                        return Ok(());
                    }
                    wait_until(start + Duration::from_nanos(k * 1_000_000_000 / rate_per_s));
                    stream.write_all(b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n")?;
                    // The answers are small: one read gets one.
                    if stream.read(&mut answer)? == 0 {
                        return Err(std::io::ErrorKind::UnexpectedEof.into());
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.join().map_err(|_| "a client panicked")??;
    }
    Ok(())
}

fn wait_until(due: Instant) {
    const SPIN: Duration = Duration::from_micros(60);
    if let Some(sleep) = due.checked_duration_since(Instant::now() + SPIN) {
        std::thread::sleep(sleep);
    }
    while Instant::now() < due {
        std::hint::spin_loop();
    }
}
