//! The reference for pacing: sleeps until shortly before each arrival is due, spins the rest, sends. It has no
//! event loop and measures nothing, so nothing but the machine itself makes it late.

use crate::clock::{SECOND_NS, now_ns, sleep_until};
use crate::raw::{ask, connect};
use anyhow::{Context, Result, bail};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::num::NonZeroU64;
use std::time::Duration;

/// How a reference paces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub rate_per_s: u64,
    pub length: Duration,
    pub connections: usize,
    /// The last stretch before an arrival, which is not slept.
    pub spin_ns: u64,
}

/// Sends every arrival of `pace` to `to`, in turn over its connections; returns how many.
pub(crate) fn run(to: SocketAddr, pace: Pace) -> Result<u64> {
    let streams = (0..pace.connections)
        .map(|_| {
            let stream = connect(to)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        })
        .collect::<Result<Vec<_>>>()?;
    // Where it is not allowed, the arrivals show it.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let arrivals = (pace.rate_per_s as u128 * pace.length.as_nanos() / u128::from(SECOND_NS)) as u64;
    let start_ns = now_ns() + SECOND_NS / 20;
    let mut buffer = vec![0; 16 * 1024];
    for k in 0..arrivals {
        let due_ns = start_ns + (u128::from(k) * u128::from(SECOND_NS) / u128::from(pace.rate_per_s)) as u64;
        let stream = &streams[k as usize % streams.len()];
        // The answer of this connection's last request came long ago, and is thrown away before the deadline.
        drain(stream, &mut buffer)?;
        if now_ns() + pace.spin_ns < due_ns {
            sleep_until(due_ns - pace.spin_ns);
        }
        while now_ns() < due_ns {
            std::hint::spin_loop();
        }
        ask(stream)?;
    }
    for stream in streams {
        finish(stream)?;
    }
    Ok(arrivals)
}

/// Reads what is still to come. To close a connection with unread answers would reset it, and the server would lose
/// the requests that it has not read yet.
fn finish(mut stream: TcpStream) -> Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.shutdown(Shutdown::Write)?;
    std::io::copy(&mut stream, &mut std::io::sink()).context("the last answers do not come")?;
    Ok(())
}

fn drain(stream: &TcpStream, buffer: &mut [u8]) -> Result<()> {
    loop {
        match recv(stream, &mut *buffer, RecvFlags::empty()) {
            Ok((_, 0)) => bail!("the server closed a connection"),
            Ok((_, n)) if n < buffer.len() => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error).context("cannot read"),
        }
    }
}
