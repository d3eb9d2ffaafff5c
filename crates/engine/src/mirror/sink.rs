//! The thread that takes requests and answers each at once, before anybody else is asked anything.

use super::client::{Brought, Client, Holds, Late};
use super::queue::{Outgoing, Queue};
use super::{Books, Mirror, NotCopied, OF_ASKER, OF_SINK, SinkFigures};
use crate::clock::{Clock, timespec};
use crate::controls::Controls;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SocketFlags, sockopt};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use unblink_core::time::{Instant, Nanos};
use unblink_wire::incoming::{Incoming, Missing};

/// Connections that are accepted in a row.
const ACCEPTS_PER_TURN: usize = 64;
const EVENTS_MAX: usize = 256;
const READ_BYTES: usize = 64 * 1024;
/// It looks after what is idle this often.
const TICK: Nanos = Nanos::from_secs(1);
/// Before its end it waits so long at the least.
const LEAST_WAIT: Nanos = Nanos::from_millis(1);
/// Heads that are not whole and answers that nobody reads may have so many bytes, of all connections together.
const REST_MAX: usize = 64 * 1024 * 1024;
/// Copies of a limited rate may come so much sooner than their turn, if there were fewer before.
const AHEAD_MAX: Nanos = Nanos::from_millis(100);

const LISTENER: u64 = u64::MAX;
const CONTROLS: u64 = u64::MAX - 1;

pub(super) struct Sink {
    mirror: Arc<Mirror>,
    clock: Clock,
    controls: Arc<Controls>,
    queue: Arc<Queue>,
    books: Arc<dyn Books>,
    epoll: OwnedFd,
    clients: HashMap<u64, Client>,
    /// What is held of all of them.
    held: Holds,
    next_token: u64,
    /// The listener is not looked at until a connection has been closed, or for a moment.
    is_deaf: bool,
    /// When the next copy may go out, where the rate is limited.
    next_copy: Instant,
    new: Vec<Outgoing>,
    figures: SinkFigures,
}

impl Sink {
    pub(super) fn new(
        mirror: Arc<Mirror>,
        clock: Clock,
        controls: Arc<Controls>,
        queue: Arc<Queue>,
        books: Arc<dyn Books>,
    ) -> io::Result<Sink> {
        mirror.listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &mirror.listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, controls.wake_fd(OF_SINK), EventData::new_u64(CONTROLS), EventFlags::IN)?;
        Ok(Sink {
            mirror,
            clock,
            controls,
            queue,
            books,
            epoll,
            clients: HashMap::new(),
            held: Holds::default(),
            next_token: 0,
            is_deaf: false,
            next_copy: Instant(0),
            new: Vec::new(),
            figures: SinkFigures::default(),
        })
    }

    pub(super) fn run(mut self) -> SinkFigures {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS_MAX);
        let mut buffer = vec![0; READ_BYTES];
        let mut swept = self.clock.now();
        while self.controls.stop_at().is_none_or(|at| self.clock.now() < at) {
            events.clear();
            // A signal is a wake-up like any other.
            let left = |at: Instant| at.since(self.clock.now()).clamp(LEAST_WAIT, TICK);
            let wait = self.controls.stop_at().map_or(TICK, left);
            let _ = epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timespec(wait)));
            let now = self.clock.now();
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(now),
                    CONTROLS => {
                        let _ = rustix::io::read(self.controls.wake_fd(OF_SINK), &mut [0; 8]);
                    }
                    token => self.turn(token, &mut buffer, now),
                }
            }
            if now.since(swept) >= TICK {
                swept = now;
                self.sweep(now);
            }
        }
        self.figures.stopped_at = self.controls.stop_at();
        self.figures
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTS_PER_TURN {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let fd = match rustix::net::accept_with(&self.mirror.listener, flags) {
                Ok(fd) => fd,
                Err(Errno::AGAIN) => return,
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => return self.hear(false),
                // It was gone before it was taken.
                Err(_) => continue,
            };
            if self.clients.len() >= self.mirror.bounds.clients {
                self.figures.refused += 1;
                continue;
            }
            let _ = sockopt::set_tcp_nodelay(&fd, true);
            let token = self.next_token;
            if epoll::add(&self.epoll, &fd, EventData::new_u64(token), EventFlags::IN).is_ok() {
                self.next_token += 1;
                self.figures.connections += 1;
                self.clients.insert(token, Client::new(fd, self.mirror.bounds.body, now));
            }
        }
    }

    /// Listens, or leaves connections waiting where the system lacks what they need.
    fn hear(&mut self, hears: bool) {
        if self.is_deaf != hears {
            return;
        }
        self.is_deaf = !hears;
        let flags = if hears { EventFlags::IN } else { EventFlags::empty() };
        let _ = epoll::modify(&self.epoll, &self.mirror.listener, EventData::new_u64(LISTENER), flags);
    }

    fn turn(&mut self, token: u64, buffer: &mut [u8], now: Instant) {
        let Some(mut client) = self.clients.remove(&token) else { return };
        self.held = self.held.less(client.holds());
        let mut brought = Vec::new();
        let stays = client.turn(buffer, now, |what| brought.push(what));
        // The answers are out; only now is anybody asked.
        let answered = self.clock.now();
        for what in brought {
            self.figures.offered += 1;
            match what {
                Brought::Request(request) => self.take(&request, answered),
                Brought::Unreadable => self.books.not_copied(None, NotCopied::Unreadable),
            }
        }
        if !self.new.is_empty() && self.queue.push(&mut self.new) {
            let _ = rustix::io::write(self.controls.wake_fd(OF_ASKER), &1u64.to_ne_bytes());
        }
        if !stays || !self.bound(&mut client) {
            return self.hear(true);
        }
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, !client.waits_to_write());
        flags.set(EventFlags::OUT, client.has_unwritten());
        if epoll::modify(&self.epoll, &client.fd, EventData::new_u64(token), flags).is_ok() {
            self.held = self.held.more(client.holds());
            self.clients.insert(token, client);
        }
    }

    /// Keeps what is held of all connections within its bounds: this one has just grown. False if it is to be closed.
    fn bound(&mut self, client: &mut Client) -> bool {
        let all = self.held.more(client.holds());
        if !self.queue.has_room(all.body) {
            client.give_up_body();
        }
        let stays = all.rest <= REST_MAX || client.holds().rest == 0;
        self.figures.cut_off += u64::from(!stays);
        stays
    }

    fn take(&mut self, request: &Incoming, now: Instant) {
        let operation = self.books.operation(request.method(), request.target());
        match self.copy(request, operation, now) {
            Ok(copy) => self.new.push(copy),
            Err(why) => {
                if why == NotCopied::OverBudget {
                    self.figures.budget_is_spent |= self.controls.stop();
                }
                self.books.not_copied(Some(operation), why);
            }
        }
    }

    fn copy(&mut self, request: &Incoming, operation: u32, now: Instant) -> Result<Outgoing, NotCopied> {
        let is_safe = is_safe(request.method());
        if request.is_upgrade() {
            return Err(NotCopied::Upgrade);
        }
        if !is_safe && !self.mirror.mutating {
            return Err(NotCopied::Mutating);
        }
        match request.missing {
            Some(Missing::TooLarge) => return Err(NotCopied::BodyTooLarge),
            Some(Missing::NoRoom) => return Err(NotCopied::BytesFull),
            None => {}
        }
        if self.mirror.apart.is_some() && now + AHEAD_MAX < self.next_copy {
            return Err(NotCopied::OverRate);
        }
        let copied = request.copy(&self.mirror.headers, &self.mirror.host);
        self.queue.take_room(copied.bytes.len(), self.held.body, self.mirror.targets.len() as u64)?;
        if let Some(apart) = self.mirror.apart {
            self.next_copy = self.next_copy.max(now) + apart;
        }
        Ok(Outgoing { bytes: copied.bytes, whole: copied.whole, is_safe, operation, at: now })
    }

    /// Closes what has been idle for long or comes to no end, and listens again.
    fn sweep(&mut self, now: Instant) {
        self.hear(true);
        let cut_off = &mut self.figures.cut_off;
        self.clients.retain(|_, client| {
            let late = client.is_late(now);
            *cut_off += u64::from(late == Some(Late::Unfinished));
            late.is_none()
        });
        self.held = self.clients.values().fold(Holds::default(), |all, client| all.more(client.holds()));
    }
}

/// It changes nothing (RFC 9110 §9.2.1).
fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
}
