//! What a stall's end costs at least: 1,000 connections hold one answer each, which a bare loop then sends.
//!
//! `cargo run --release -p unblink-lab --example release [held [rounds]]`
//!
//! A gate that opens for 1,000 answers at once can't answer them at once: each takes the kernel a send of its own, and
//! the last one waits for all others. Nothing is parsed, logged or looked up here, and the other side does nothing but
//! read; so no server of one thread does it in less on this machine. Beside it stands what the lab server needed.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::time::Timespec;
use unblink_lab::{Gate, Scenario, ServerConfig, read_truth, spawn};

/// As large as the lab's answers, in bytes.
const ANSWER: [u8; 130] = [b'x'; 130];
const HELD: Duration = Duration::from_secs(1);
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let held: usize = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    println!(
        "{held} answers, ms from the first to 60 % of them (p99 of a minute at 1,000/s), and to the last"
    );
    for _ in 0..rounds {
        let (bare, lab) = (bare(held)?, lab(held)?);
        println!("bare loop {:5.2} {:5.2}   lab server {:5.2} {:5.2}", bare.0, bare.1, lab.0, lab.1);
    }
    Ok(())
}

/// Both figures of a bare loop, in ms.
fn bare(held: usize) -> Result<(f64, f64), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut pairs = Vec::with_capacity(held);
    for _ in 0..held {
        let client = TcpStream::connect(listener.local_addr()?)?;
        let (server, _) = listener.accept()?;
        server.set_nodelay(true)?;
        pairs.push((client, server));
    }
    for (client, server) in &mut pairs {
        client.write_all(REQUEST)?;
        server.read_exact(&mut [0; REQUEST.len()])?;
    }
    let (clients, mut servers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let sent = reading(&clients, || {
        std::thread::sleep(HELD);
        let start = Instant::now();
        servers
            .iter_mut()
            .map(|server| server.write_all(&ANSWER).map(|()| start.elapsed().as_nanos() as u64))
            .collect::<Result<Vec<_>, _>>()
    })?;
    Ok(both(&sent))
}

/// Both figures of the lab server, by its own log, in ms: a gate of a second, and all requests at its beginning.
fn lab(held: usize) -> Result<(f64, f64), Box<dyn Error>> {
    let log = std::env::temp_dir().join(format!("lab-release-{}.csv", std::process::id()));
    let mut scenario = Scenario::preset("healthy").ok_or("no scenario of this name")?;
    scenario.gates = vec![Gate::once(0, HELD.as_nanos() as u64)];
    let mut config = ServerConfig::new(scenario);
    config.listen.set_port(0);
    config.truth_log = Some(log.clone());
    let server = spawn(config)?;
    let mut clients =
        (0..held).map(|_| TcpStream::connect(server.local_addr())).collect::<Result<Vec<_>, _>>()?;
    for client in &mut clients {
        client.write_all(REQUEST)?;
    }
    reading(&clients, || {
        std::thread::sleep(HELD * 2);
        Ok(())
    })?;
    server.stop()?;
    let mut answered: Vec<_> = read_truth(&log)?.iter().map(|row| row.answered_ns).collect();
    std::fs::remove_file(&log)?;
    answered.sort_unstable();
    let first = answered.first().copied().unwrap_or(0);
    Ok(both(&answered.iter().map(|at| at - first).collect::<Vec<_>>()))
}

/// Does `work` while another thread reads what comes for the clients, polling.
fn reading<T>(clients: &[TcpStream], work: impl FnOnce() -> std::io::Result<T>) -> Result<T, Box<dyn Error>> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    for (i, client) in clients.iter().enumerate() {
        client.set_nonblocking(true)?;
        epoll::add(&epoll, client, EventData::new_u64(i as u64), EventFlags::IN | EventFlags::ET)?;
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| -> std::io::Result<()> {
            let mut events = Vec::with_capacity(256);
            while !done.load(Ordering::Relaxed) {
                epoll::wait(&epoll, spare_capacity(&mut events), Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
                for event in events.drain(..) {
                    let mut client = &clients[event.data.u64() as usize];
                    let _ = client.read(&mut [0; 4_096]);
                }
            }
            Ok(())
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        reader.join().map_err(|_| "the reader panicked")??;
        Ok(result?)
    })
}

fn both(ns: &[u64]) -> (f64, f64) {
    let at = |i: usize| ns.get(i).copied().unwrap_or(0) as f64 / 1e6;
    (at(ns.len() * 6 / 10), at(ns.len().saturating_sub(1)))
}
