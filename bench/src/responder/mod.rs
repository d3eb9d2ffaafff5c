//! A server that does as little as one can and still answers: one thread, epoll, keep-alive, one fixed answer.
//!
//! It is no HTTP server: every request is taken for a GET without a body. It notes when each request came and
//! when its answer left, which is the truth that the reports of load generators are held against.

mod connection;
mod framer;

use crate::clock::{now_ns, own_cpu_ns};
use crate::stamps::Stamps;
use anyhow::{Context, Result};
use connection::{Connection, Over};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, accept_with, bind, ipproto, listen, socket_with, sockopt,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

const LISTENER: u64 = u64::MAX;
const STDIN: u64 = u64::MAX - 1;
/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// After a stall, answers between two looks at the sockets: what arrives meanwhile is to be stamped on time.
const RELEASED_AT_ONCE: usize = 16;
/// At the end, what has come already is still answered, in so many turns at the most.
const LAST_TURNS: u32 = 1000;
/// The kernel cuts this down to `net.core.somaxconn`.
const BACKLOG: i32 = 16_384;
/// Resolution of [`Summary::requests_per_tick`], in ns.
pub(crate) const TICK_NS: u64 = 10_000_000;
/// Ticks with room beforehand: a minute.
const TICKS: usize = 6_000;

/// How to answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// On 127.0.0.1; 0 takes any.
    pub port: u16,
    /// Never sleep: look for requests all the time.
    pub busy: bool,
    /// Close each connection after its first answer.
    pub close: bool,
    /// Bytes of the answer's body.
    pub size: usize,
    /// Answer nothing from the first to the second, after the first request.
    pub stall: Option<(Duration, Duration)>,
    /// Where the stamps go.
    pub stamps: Option<PathBuf>,
    /// Requests that can be stamped.
    pub room: usize,
}

/// What happened. Times in ns of `CLOCK_MONOTONIC`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Requests read.
    pub requests: u64,
    /// Answers that went out whole.
    pub answers: u64,
    /// Connections accepted.
    pub connections: u64,
    /// The first request; 0 without any.
    pub first_ns: u64,
    /// The last request; 0 without any.
    pub last_ns: u64,
    /// Answers in each tick of 10 ms since the first request.
    pub answers_per_tick: Vec<u32>,
    /// Processor time of the responder.
    pub cpu_ns: u64,
}

/// A responder that listens.
pub(crate) struct Responder {
    epoll: OwnedFd,
    listener: OwnedFd,
    address: SocketAddr,
    options: Options,
    answer: Vec<u8>,
    /// One whole request as it came last.
    last_request: Vec<u8>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Requests held back by a stall, oldest first: whose they are, and their stamp.
    held: VecDeque<(u64, usize)>,
    stamps: Option<Stamps>,
    summary: Summary,
}

/// A place for a connection. Its generation tells a connection from its predecessors.
struct Slot {
    generation: u32,
    connection: Option<Connection>,
}

impl Responder {
    /// Listens, and does not answer yet.
    pub(crate) fn bind(options: Options) -> Result<Responder> {
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let listener = listen_on(&wanted).with_context(|| format!("cannot listen on {wanted}"))?;
        let address = TcpListener::from(listener.try_clone()?).local_addr()?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        // The end of standard input ends the responder. What can't be polled, such as /dev/null, never does.
        match epoll::add(&epoll, std::io::stdin().as_fd(), EventData::new_u64(STDIN), EventFlags::IN) {
            Ok(()) | Err(Errno::PERM) => {}
            Err(error) => return Err(error).context("cannot watch standard input"),
        }
        Ok(Responder {
            epoll,
            listener,
            address,
            answer: answer(options.size, options.close),
            last_request: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            held: VecDeque::new(),
            stamps: options.stamps.is_some().then(|| Stamps::with_room(options.room)),
            summary: Summary { answers_per_tick: Vec::with_capacity(TICKS), ..Summary::default() },
            options,
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until standard input ends.
    pub(crate) fn run(mut self) -> Result<Summary> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut buffer = vec![0; 64 * 1024];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // The end of a stall is met to the microsecond by looking all the time.
        let mut timeout = (self.options.busy || self.options.stall.is_some()).then_some(&at_once);
        let mut turns_left: Option<u32> = None;
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error).context("cannot wait for sockets"),
            }
            for event in &events {
                // Copied, since the kernel's struct is packed.
                let (token, flags) = (event.data.u64(), event.flags);
                match token {
                    STDIN => {
                        epoll::delete(&self.epoll, std::io::stdin().as_fd())?;
                        (timeout, turns_left) = (Some(&at_once), Some(LAST_TURNS));
                    }
                    LISTENER => self.accept()?,
                    _ => self.serve(token, flags, &mut buffer),
                }
            }
            if !self.held.is_empty() {
                self.release();
            }
            turns_left = match turns_left {
                Some(0) => return self.finish(),
                Some(_) if events.is_empty() => return self.finish(),
                Some(n) => Some(n - 1),
                None => None,
            };
        }
    }

    fn accept(&mut self) -> Result<()> {
        loop {
            match accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => self.adopt(socket)?,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error).context("cannot accept a connection"),
            }
        }
    }

    fn adopt(&mut self, socket: OwnedFd) -> Result<()> {
        // Fails only on a socket that is already dead.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, connection: None });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1) & 0x7fff_ffff;
        let data = EventData::new_u64(u64::from(slot.generation) << 32 | u64::from(index));
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &socket, data, flags)?;
        slot.connection = Some(Connection::new(socket));
        self.summary.connections += 1;
        Ok(())
    }

    fn serve(&mut self, token: u64, flags: EventFlags, buffer: &mut [u8]) {
        if let Err(Over) = self.take_requests(token, flags, buffer) {
            self.close(token);
        }
    }

    fn take_requests(&mut self, token: u64, flags: EventFlags, buffer: &mut [u8]) -> Result<(), Over> {
        // Edge-triggered: after a short read nothing is left, unless the end of the stream came with it.
        let ends = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        while let Some(connection) = find(&mut self.slots, token) {
            let Some((requests, is_full)) = connection.read(buffer, &mut self.last_request)? else { break };
            if requests > 0 {
                let now_ns = now_ns();
                for _ in 0..requests {
                    let index = self.stamps.as_mut().map_or(0, |stamps| stamps.arrived(now_ns));
                    self.arrived(token, index, now_ns);
                }
                self.answer(token)?;
            }
            if !is_full && !ends {
                break;
            }
        }
        if flags.contains(EventFlags::OUT) { self.answer(token) } else { Ok(()) }
    }

    #[inline]
    fn arrived(&mut self, token: u64, index: usize, now_ns: u64) {
        if self.summary.requests == 0 {
            self.summary.first_ns = now_ns;
        }
        self.summary.requests += 1;
        self.summary.last_ns = now_ns;
        if self.is_stalled(now_ns) || !self.held.is_empty() {
            self.held.push_back((token, index));
        } else if let Some(connection) = find(&mut self.slots, token) {
            connection.owe(index);
        }
    }

    fn is_stalled(&self, now_ns: u64) -> bool {
        let Some((from, to)) = self.options.stall else { return false };
        let since = Duration::from_nanos(now_ns.saturating_sub(self.summary.first_ns));
        from <= since && since < to
    }

    /// Sends what `token` is owed.
    #[inline]
    fn answer(&mut self, token: u64) -> Result<(), Over> {
        let Some(connection) = find(&mut self.slots, token) else { return Ok(()) };
        let before = self.summary.answers;
        let (summary, stamps) = (&mut self.summary, &mut self.stamps);
        connection.flush(&self.answer, |index| {
            summary.answers += 1;
            if let Some(stamps) = stamps {
                stamps.answered(index, now_ns());
            }
        })?;
        let answered = summary.answers - before;
        if answered > 0 {
            // One reading of the clock too many would cost the responder more than the tick is off: the time of
            // the last request will do.
            let tick = ((summary.last_ns - summary.first_ns) / TICK_NS) as usize;
            if tick >= summary.answers_per_tick.len() {
                summary.answers_per_tick.resize(tick + 1, 0);
            }
            summary.answers_per_tick[tick] += answered as u32;
            if self.options.close {
                return Err(Over);
            }
        }
        Ok(())
    }

    fn release(&mut self) {
        if self.is_stalled(now_ns()) {
            return;
        }
        for _ in 0..RELEASED_AT_ONCE {
            let Some((token, index)) = self.held.pop_front() else { return };
            let Some(connection) = find(&mut self.slots, token) else { continue };
            connection.owe(index);
            if let Err(Over) = self.answer(token) {
                self.close(token);
            }
        }
    }

    fn close(&mut self, token: u64) {
        let Some(slot) = self.slots.get_mut(token as u32 as usize) else { return };
        if slot.generation == (token >> 32) as u32 && slot.connection.take().is_some() {
            self.free.push(token as u32);
        }
    }

    fn finish(mut self) -> Result<Summary> {
        if let (Some(stamps), Some(path)) = (&self.stamps, &self.options.stamps) {
            stamps.write(path)?;
        }
        self.summary.cpu_ns = own_cpu_ns();
        Ok(self.summary)
    }
}

fn find(slots: &mut [Slot], token: u64) -> Option<&mut Connection> {
    let slot = slots.get_mut(token as u32 as usize)?;
    if slot.generation == (token >> 32) as u32 { slot.connection.as_mut() } else { None }
}

/// HTTP/1.0 clients keep a connection only when they are told so.
fn answer(size: usize, close: bool) -> Vec<u8> {
    let connection = if close { "close" } else { "keep-alive" };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: {connection}\r\nContent-Length: {size}\r\n\r\n"
    );
    let mut bytes = head.into_bytes();
    bytes.resize(bytes.len() + size, b'x');
    bytes
}

fn listen_on(address: &SocketAddr) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, address)?;
    // Others, such as BBR, pace what is sent: of answers of 1 MB a quick reader would then get half as many.
    let _ = sockopt::set_tcp_congestion(&socket, "reno");
    listen(&socket, BACKLOG)?;
    Ok(socket)
}
