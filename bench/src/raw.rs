//! The ceiling: a closed loop that asks again as soon as it is answered, and neither parses nor records.

use crate::clock::{SECOND_NS, now_ns};
use anyhow::{Context, Result, bail};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What it asks for, the same that every generator sends at the least.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const EVENTS: usize = 256;
/// How long a wait may last, so that a dead server does not keep it for ever.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Asks for `length` over `connections` kept alive; returns the number of answers.
pub(crate) fn run(to: SocketAddr, connections: usize, length: Duration) -> Result<u64> {
    let answer_bytes = answer_length(to)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut streams = Vec::with_capacity(connections);
    for index in 0..connections {
        let stream = connect(to)?;
        stream.set_nonblocking(true)?;
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &stream, EventData::new_u64(index as u64), flags)?;
        streams.push((stream, answer_bytes));
    }
    for (stream, _) in &streams {
        ask(stream)?;
    }
    let end_ns = now_ns() + length.as_nanos() as u64;
    let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS);
    let mut buffer = vec![0; 64 * 1024];
    let mut answers = 0;
    while now_ns() < end_ns {
        events.clear();
        match epoll::wait(&epoll, spare_capacity(&mut events), Some(&WAIT)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for sockets"),
        }
        for event in &events {
            let (stream, left) = &mut streams[event.data.u64() as usize];
            loop {
                match recv(&*stream, &mut buffer[..], RecvFlags::empty()) {
                    Ok((_, 0)) => bail!("{to} closed a connection"),
                    Ok((_, n)) if n > *left => bail!("{to} answered more than it was asked for"),
                    Ok((_, n)) => *left -= n,
                    Err(Errno::AGAIN) => break,
                    Err(error) => return Err(error).context("cannot read"),
                }
                if *left == 0 {
                    answers += 1;
                    *left = answer_bytes;
                    ask(stream)?;
                    break;
                }
            }
        }
    }
    Ok(answers)
}

/// A connection that sends at once what it is given.
pub(crate) fn connect(to: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(to).with_context(|| format!("cannot connect to {to}"))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends one request whole, or fails: 36 bytes always fit into an idle socket.
pub(crate) fn ask(stream: &TcpStream) -> Result<()> {
    match send(stream, REQUEST, SendFlags::NOSIGNAL) {
        Ok(n) if n == REQUEST.len() => Ok(()),
        Ok(n) => bail!("only {n} bytes of a request were taken"),
        Err(error) => Err(error).context("cannot send"),
    }
}

/// The length of an answer with its head, from one that is asked for beforehand; the only one that is parsed.
fn answer_length(to: SocketAddr) -> Result<usize> {
    let mut stream = connect(to)?;
    stream.set_read_timeout(Some(Duration::from_nanos(5 * SECOND_NS)))?;
    stream.write_all(REQUEST)?;
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let n = stream.read(&mut buffer).with_context(|| format!("{to} does not answer"))?;
        if n == 0 {
            bail!("{to} closed the connection before its answer was whole");
        }
        bytes.extend_from_slice(&buffer[..n]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            let body: usize = length.with_context(|| format!("{to} does not say how long its answer is"))?;
            return Ok(end + 4 + body);
        }
    }
}
