//! Several requests under way on a connection that answers them in order: behind a slow one, the others wait. A run and its
//! simulation agree on how long.

use crate::stores::Postgres;
use crate::support::{Place, Run};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const SERVICE: Duration = Duration::from_millis(1);
/// Every 200th command takes this long.
const SLOW: Duration = Duration::from_secs(1);
const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

/// A server of Redis that works on each connection's commands one after the other.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let commands = Arc::new(AtomicU64::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let commands = commands.clone();
            std::thread::spawn(move || converse(stream, &commands));
        }
    });
    address
}

fn converse(mut stream: TcpStream, commands: &AtomicU64) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let (came, waiting) = mpsc::channel::<u64>();
    std::thread::spawn(move || {
        for number in waiting {
            std::thread::sleep(if number.is_multiple_of(200) { SLOW } else { SERVICE });
            if out.write_all(b"+PONG\r\n").is_err() {
                return;
            }
        }
    });
    let mut command = [0; PING.len()];
    loop {
        stream.read_exact(&mut command)?;
        assert_eq!(command, *PING, "nothing else is sent");
        let _ = came.send(commands.fetch_add(1, Ordering::SeqCst) + 1);
    }
}

/// 800 arrivals over one connection, in which eight may be under way.
const LOAD: [&str; 11] =
    ["-R", "100", "-d", "8s", "-c", "1", "--timeout", "20s", "--no-store", "--json", "-o"];
const DEPTH: &str = "8";

/// The run agrees with its simulation. The slow ones are few and long, so that what the machine does besides is small beside them.
#[track_caller]
fn assert_agrees(place: &Place, live: &Run) {
    live.assert_all("ok");
    assert_eq!(live.connections("opened"), 1);
    let simulate = |order: &str, folder: &str| {
        let server = format!("service=1ms pause=1s/200{order}");
        let streams = ["sim", "--server", &server, "--http", "2", "--streams", DEPTH];
        place.call(&[&streams[..], &LOAD, &[folder]].concat()).run()
    };
    let simulated = simulate(" order=connection", "simulated");
    let p99 = |run: &Run, series: &str| run.quantile(series, 0.99).0 as f64;
    // From the send on, the seven behind a slow one wait for it, too: as many as go over the connection at once.
    for series in ["response_time", "service_time"] {
        let (of_run, of_sim) = (p99(live, series), p99(&simulated, series));
        assert!(
            (of_run / of_sim - 1.0).abs() < 0.05,
            "{series}: {of_run} ns in the run, {of_sim} ns simulated"
        );
    }
    // Each on its own: 4 of 800 are slow, and nobody is behind them.
    let (apart, of_sim) = (simulate("", "apart"), p99(&simulated, "response_time"));
    assert!(p99(&apart, "response_time") < 0.1 * of_sim);
}

#[test]
fn a_simulation_of_commands_behind_a_slow_one_agrees_with_a_run() {
    let place = Place::new();
    let url = format!("redis://{}", serve());
    let over = ["run", &url, "--command", "PING", "--depth", DEPTH, "--no-preflight"];
    assert_agrees(&place, &place.call(&[&over[..], &LOAD, &["live"]].concat()).run());
}

/// The same of a real server, whose work on a connection is as slow as it is asked to be.
#[test]
fn a_simulation_of_transactions_behind_a_slow_one_agrees_with_a_run() {
    let (postgres, place) = (Postgres::start("trust", &[]), Place::new());
    let url = postgres.url();
    let slow = "SELECT pg_sleep(CASE WHEN {{index}} % 200 = 199 THEN 1 ELSE 0.001 END)";
    let over = ["run", &url, "--sql", slow, "--depth", DEPTH, "--no-preflight"];
    assert_agrees(&place, &place.call(&[&over[..], &LOAD, &["live"]].concat()).run());
}
