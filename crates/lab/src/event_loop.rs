//! The server's one thread: sockets on one side, the model on the other.

mod answering;
mod ending;

use std::collections::{HashMap, VecDeque};
use std::net::TcpStream;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use rustls::ServerConnection;

use crate::answer::{Answer, Answers};
use crate::connection::{Advance, Connection, Scratch};
use crate::framer::{Request, Route};
use crate::freezer::Freezer;
use crate::lateness::LatenessBins;
use crate::metrics::Metrics;
use crate::model::Model;
use crate::timing::{Clock, Sleeper};
use crate::truth::TruthLog;
use crate::{EventStream, LabError, Protocol, ServerConfig, Summary};

/// Events taken from the kernel at once. Few, so that none gets stale.
const EVENTS: usize = 64;
/// Connections accepted in one turn: some 0.2 ms of work, without TLS.
const MOST_ACCEPTED: usize = 32;
/// Answers between two looks at the sockets, lest the release of a gate starve the arrivals.
const MOST_ANSWERS: usize = 64;
/// Without descriptors, wait so long before accepting again, in ns.
const ACCEPT_RETRY_NS: u64 = 10_000_000;

// Tokens of the descriptors that are no connections. A connection's token has its slot in the low half, which
// never comes near u32::MAX.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;

/// See the module.
#[derive(Debug)]
pub(crate) struct EventLoop {
    clock: Clock,
    sleeper: Sleeper,
    model: Model,
    listener: OwnedFd,
    /// Kept open for the epoll instance.
    _stop: Arc<OwnedFd>,
    tls: Option<Arc<rustls::ServerConfig>>,
    protocol: Protocol,
    events: Option<EventStream>,
    /// When the events of answers under way left, by request; only for the truth log.
    events_ns: HashMap<u64, Vec<u64>>,
    answers: Answers,
    answers_json: bool,
    truth: Option<TruthLog>,
    metrics: Option<Arc<Metrics>>,
    scratch: Scratch,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    open: u64,
    /// Connections that had more to do at the end of their turn.
    again: Vec<u64>,
    /// Connections whose last answer has left, to be finished, by since when, in ns: after a stall the answers come first.
    answered: VecDeque<(u64, u64)>,
    /// Connections to be closed, by deadline in ns.
    lingering: VecDeque<(u64, u64)>,
    /// When to listen again: the descriptors ran out, or the scenario accepts nothing.
    accept_at_ns: Option<u64>,
    /// Each answer ends its connection.
    ends_connections: bool,
    freezer: Option<Freezer>,
    stopping: bool,
    lateness: LatenessBins,
    summary: Summary,
}

/// A place for a connection. Its number tells a connection from its predecessors in the same place.
#[derive(Debug)]
struct Slot {
    number: u32,
    connection: Option<Connection>,
}

impl EventLoop {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn new(
        config: &ServerConfig,
        clock: Clock,
        model: Model,
        listener: OwnedFd,
        stop: Arc<OwnedFd>,
        tls: Option<Arc<rustls::ServerConfig>>,
        truth: Option<TruthLog>,
        metrics: Option<Arc<Metrics>>,
    ) -> Result<Self, LabError> {
        let sleeper = Sleeper::new(clock, config.spin.as_nanos() as u64, TIMER)?;
        watch(&sleeper.epoll, &stop, STOP, EventFlags::IN)?;
        watch(&sleeper.epoll, &listener, LISTENER, EventFlags::IN)?;
        Ok(Self {
            clock,
            sleeper,
            model,
            listener,
            _stop: stop,
            tls,
            protocol: config.protocol,
            events: config.events,
            events_ns: HashMap::new(),
            answers: Answers::new(config.body_bytes),
            answers_json: config.json,
            truth,
            metrics,
            scratch: Scratch::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            open: 0,
            again: Vec::new(),
            answered: VecDeque::new(),
            lingering: VecDeque::new(),
            accept_at_ns: None,
            ends_connections: config.scenario.ends_connections(),
            freezer: Freezer::new(&config.scenario)?,
            stopping: false,
            lateness: LatenessBins::new(),
            summary: Summary::default(),
        })
    }

    pub(crate) fn run(mut self) -> Result<Summary, LabError> {
        // Wake-ups as exact as the kernel can; where that is not allowed, the lateness shows it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut events = Vec::with_capacity(EVENTS);
        let mut again = Vec::new();
        while !self.stopping {
            self.answer_due(MOST_ANSWERS);
            self.finish_answered();
            self.keep_house()?;
            let wake_ns = self.next_wake_ns();
            self.sleeper.wait(&mut events, wake_ns)?;
            for event in &events {
                // Copied, since the kernel's struct is packed.
                let (token, flags) = (event.data.u64(), event.flags);
                self.handle(token, flags)?;
                self.answer_due(1);
            }
            std::mem::swap(&mut again, &mut self.again);
            for token in again.drain(..) {
                self.advance(token);
                self.answer_due(1);
            }
        }
        Ok(self.finish())
    }

    /// `None`: nothing will happen unless a socket says so.
    fn next_wake_ns(&self) -> Option<u64> {
        if !self.again.is_empty() || !self.answered.is_empty() {
            return Some(0);
        }
        let flush_ns = self.truth.as_ref().and_then(TruthLog::flush_at_ns);
        let linger_ns = self.lingering.front().map(|&(at_ns, _)| at_ns);
        let freeze_ns = self.freezer.as_ref().and_then(|f| self.model.next_freeze(f.done_until_ns()));
        [self.model.next_wake_ns(), flush_ns, linger_ns, self.accept_at_ns, freeze_ns.map(|(at_ns, _)| at_ns)]
            .into_iter()
            .flatten()
            .min()
    }

    fn handle(&mut self, token: u64, flags: EventFlags) -> Result<(), LabError> {
        match token {
            LISTENER => self.accept(),
            STOP => {
                self.stopping = true;
                Ok(())
            }
            TIMER => Ok(()),
            _ => {
                let Some(connection) = self.connection(token) else { return Ok(()) };
                if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
                    connection.is_gone = true;
                    match connection.is_answered() {
                        true => self.finish_later(token),
                        false => self.close(token),
                    }
                    return Ok(());
                }
                if flags.intersects(EventFlags::IN | EventFlags::RDHUP) {
                    connection.readable = true;
                }
                if flags.contains(EventFlags::RDHUP) {
                    connection.peer_closed = true;
                    if connection.in_flight().next().is_some() {
                        self.close(token);
                        return Ok(());
                    }
                }
                self.advance(token);
                Ok(())
            }
        }
    }

    fn accept(&mut self) -> Result<(), LabError> {
        if let Some(at_ns) = self.model.accepts_at_ns(self.clock.now_ns()) {
            return self.look_away_until(at_ns);
        }
        for _ in 0..MOST_ACCEPTED {
            match accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    self.adopt(socket);
                    self.answer_due(1);
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                // Out of descriptors or memory. The event would come back at once, for ever: look away a while.
                Err(_) => {
                    self.summary.accept_errors += 1;
                    return self.look_away_until(self.clock.now_ns() + ACCEPT_RETRY_NS);
                }
            }
        }
        Ok(())
    }

    /// No new connection until then.
    fn look_away_until(&mut self, at_ns: u64) -> Result<(), LabError> {
        epoll::delete(&self.sleeper.epoll, &self.listener)
            .map_err(|source| LabError::Loop { operation: "epoll_ctl", source })?;
        self.accept_at_ns = Some(at_ns);
        Ok(())
    }

    /// Takes a new connection in, and at once the request that it may have brought: after a stall of the accept queue
    /// they all have, and the next must not wait for a turn around all sockets.
    fn adopt(&mut self, socket: OwnedFd) {
        let tls = match self.tls.clone().map(ServerConnection::new).transpose() {
            Ok(tls) => tls,
            Err(_) => {
                self.summary.tls_errors += 1;
                return;
            }
        };
        let index = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(Slot { number: 0, connection: None });
            (self.slots.len() - 1) as u32
        });
        let number = self.summary.connections as u32;
        let token = u64::from(number) << 32 | u64::from(index);
        let mut connection = Connection::new(TcpStream::from(socket), tls, self.protocol);
        connection.readable = true;
        self.slots[index as usize] = Slot { number, connection: Some(connection) };
        self.open += 1;
        self.summary.connections += 1;
        self.summary.connections_peak = self.summary.connections_peak.max(self.open);
        self.advance(token);
        // Only now, so that what was there to read is not read for a second time. What has come since is reported.
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let Some(connection) = self.slots[index as usize].connection.as_ref() else { return };
        if watch(&self.sleeper.epoll, connection.socket(), token, flags).is_err() {
            self.summary.accept_errors += 1;
            self.close(token);
        }
    }

    /// Takes a connection as far as it goes.
    fn advance(&mut self, token: u64) {
        while let Some(slot) = self.slots.get_mut(token as u32 as usize)
            && slot.number == (token >> 32) as u32
            && let Some(connection) = &mut slot.connection
        {
            match connection.advance(&mut self.scratch) {
                Advance::Arrived(mut request) if request.route == Route::Scenario => {
                    request.keep_alive &= !self.ends_connections;
                    let number = self.model.arrivals();
                    let events = answering::stream_of(&mut request, self.protocol, self.events);
                    let id = self.model.arrive(self.clock.now_ns(), token, events);
                    self.summary.requests_peak = self.summary.requests_peak.max(self.model.in_flight());
                    connection.keep(number, id, request);
                    if connection.peer_closed {
                        return self.close(token);
                    }
                }
                Advance::Arrived(request) => {
                    let answer = self.answer_at_once(request);
                    if let Some(connection) = self.connection(token) {
                        connection.answer(&answer, request);
                    }
                }
                Advance::Rejected(reject) => {
                    connection.answer(&Answer::rejection(reject), Request::REJECTED);
                    self.summary.bad_requests += 1;
                }
                Advance::Wait => return,
                Advance::Again => return self.again.push(token),
                Advance::Answered => return self.finish_later(token),
                Advance::Closed => return self.close(token),
                Advance::TlsFailed => {
                    self.summary.tls_errors += 1;
                    return self.close(token);
                }
            }
        }
    }

    fn answer_at_once(&mut self, request: Request) -> Answer {
        match request.route {
            Route::Healthy | Route::Scenario => self.answers.healthy.clone(),
            Route::Arm if self.model.arm(self.clock.now_ns()) => Answer::text("200 OK", "armed\n"),
            Route::Arm => Answer::text("409 Conflict", "this server's clock is not started by arming\n"),
            Route::Truth => Answer::new("200 OK", "application/json", self.counts()),
            Route::Unknown => Answer::text("404 Not Found", "POST /_lab/arm or GET /_lab/truth\n"),
        }
    }

    fn keep_house(&mut self) -> Result<(), LabError> {
        let is_idle = self.lingering.is_empty() && self.truth.is_none() && self.accept_at_ns.is_none();
        if is_idle && self.freezer.is_none() {
            return Ok(());
        }
        let now_ns = self.clock.now_ns();
        if let Some(freezer) = &mut self.freezer
            && let Some((at_ns, length_ns)) = self.model.next_freeze(freezer.done_until_ns())
            && at_ns <= now_ns
        {
            freezer.freeze(at_ns, length_ns)?;
        }
        let due = |at_ns: Option<u64>| at_ns.is_some_and(|at_ns| at_ns <= now_ns);
        while due(self.lingering.front().map(|&(at_ns, _)| at_ns)) {
            if let Some((_, token)) = self.lingering.pop_front() {
                self.close(token);
            }
        }
        if let Some(truth) = self.truth.as_mut().filter(|truth| due(truth.flush_at_ns())) {
            truth.flush();
        }
        if due(self.accept_at_ns) {
            self.accept_at_ns = None;
            watch(&self.sleeper.epoll, &self.listener, LISTENER, EventFlags::IN)?;
        }
        Ok(())
    }

    fn connection(&mut self, token: u64) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(token as u32 as usize)?;
        if slot.number == (token >> 32) as u32 { slot.connection.as_mut() } else { None }
    }

    fn counts(&self) -> String {
        let clock_ns = self.model.clock_ns().map_or("null".to_owned(), |ns| ns.to_string());
        format!(
            "{{\"requests\":{},\"in_flight\":{},\"served\":{},\"abandoned\":{},\"bad_requests\":{},\"connections\":{},\
             \"connections_open\":{},\"clock_ns\":{},\"now_ns\":{}}}\n",
            self.model.arrivals(),
            self.model.in_flight(),
            self.summary.served,
            self.summary.abandoned,
            self.summary.bad_requests,
            self.summary.connections,
            self.open,
            clock_ns,
            self.clock.now_ns()
        )
    }

    fn finish(mut self) -> Summary {
        self.summary.requests = self.model.arrivals();
        self.summary.unserved = self.model.in_flight();
        self.summary.lateness = self.lateness.summary();
        // They came, and whoever counts requests must see them.
        let now_ns = self.clock.now_ns();
        for left in self.model.leave(now_ns) {
            self.log(&left, now_ns);
        }
        if let Some(truth) = self.truth.take() {
            let account = truth.finish();
            self.summary.truth_rows = account.written;
            self.summary.truth_rows_lost = account.lost;
            self.summary.truth_error = account.error;
        }
        self.summary
    }
}

fn watch(epoll: &OwnedFd, fd: impl AsFd, token: u64, flags: EventFlags) -> Result<(), LabError> {
    epoll::add(epoll, fd.as_fd(), epoll::EventData::new_u64(token), flags)
        .map_err(|source| LabError::Loop { operation: "epoll_ctl", source })
}
