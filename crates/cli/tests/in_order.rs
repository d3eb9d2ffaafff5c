//! Several requests under way on a connection that answers them in order: behind a slow one, the others wait. A run and its
//! simulation agree on how long.

use crate::support::{Place, Run};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const SERVICE: Duration = Duration::from_millis(1);
/// Every 200th command takes this long.
const SLOW: Duration = Duration::from_millis(100);
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

#[test]
fn a_simulation_of_commands_behind_a_slow_one_agrees_with_a_run() {
    let place = Place::new();
    let load = ["-R", "400", "-d", "6s", "-c", "1", "--timeout", "10s", "--no-store", "--json", "-o"];
    let url = format!("redis://{}", serve());
    let over = ["run", &url, "--command", "PING", "--depth", "8", "--no-preflight"];
    let live = place.call(&[&over[..], &load, &["live"]].concat()).run();
    live.assert_all("ok");
    let simulate = |order: &str, folder: &str| {
        let server = format!("service=1ms pause=100ms/200{order}");
        let streams = ["sim", "--server", &server, "--http", "2", "--streams", "8"];
        place.call(&[&streams[..], &load, &[folder]].concat()).run()
    };
    let simulated = simulate(" order=connection", "simulated");
    let p99 = |run: &Run| run.quantile("response_time", 0.99).0 as f64;
    let (of_run, of_sim) = (p99(&live), p99(&simulated));
    assert!((of_run / of_sim - 1.0).abs() < 0.05, "{of_run} ns in the run, {of_sim} ns simulated");
    // Each on its own: 12 of 2,400 are slow, and nobody is behind them.
    assert!(p99(&simulate("", "apart")) < 0.1 * of_sim);
}
