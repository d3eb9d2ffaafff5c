//! One worker thread: its dispatcher, its connections, its recorder, and the loop around them.

mod acting;
mod handover;
mod opening;
mod slots;
mod ways;

use crate::addresses::AddressCounts;
use crate::clock::Clock;
use crate::conn::{Buffers, Common, Conn, Hearing, News, Reading};
use crate::controls::Controls;
use crate::directory::Directory;
use crate::gate::Gate;
use crate::job::Job;
use crate::pace::{CONTROL_TOKEN, Pacer, TIMER_TOKEN};
use crate::priority::Priority;
use crate::starvation::Starvation;
use crate::target::Address;
use acting::Deferred;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use slots::{Slots, id_of};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use unblink_core::dispatch::{
    ACTIONS_MAX, Actions, CloseKind, ConnId, Dispatch, Event, FlightId, Pool, Room, SENDS_PER_CALL_MAX,
};
use unblink_core::failure::FailureKind;
use unblink_core::journey::Paths;
use unblink_core::load::Load;
use unblink_core::record::{Bank, Handed, Recorder};
use unblink_core::time::{Instant, Nanos, SECOND_NS};
use unblink_wire::protocol::{Places, Protocol};
use unblink_workload::Composer;
use ways::Way;

/// How often recorders are handed over.
pub(crate) const INTERVAL: Nanos = Nanos(SECOND_NS);
/// Handshake messages worked on in one turn: each costs up to 0.3 ms, and arrivals are due meanwhile.
const HANDSHAKES_PER_TURN: u32 = 4;

/// So late an arrival may be because a turn has many sockets to work on. Sockets first up to then: each answer frees a
/// connection, and an arrival that finds none opens another.
const LATE_IN_TURN: Nanos = Nanos::from_micros(200);

/// Connections that are read on in one turn: each may bring half a megabyte, and arrivals are due meanwhile.
const UNREAD_PER_TURN: usize = 4;

/// While so many requests wait for the rest of what a read has brought, no more join them.
const UNWRITTEN_MAX: usize = 4 * SENDS_PER_CALL_MAX;

/// An attempt to connect that was under way for so long when the run ended had no answer.
const SILENT_FROM: Nanos = Nanos(SECOND_NS);

/// What a worker says when it is done.
#[derive(Debug, Default)]
pub(crate) struct WorkerEnd {
    /// What came of the attempts to connect, by origin and address.
    pub(crate) by_address: Vec<Vec<(Address, AddressCounts)>>,
    /// Last `ok` arrival after the schedule's zero.
    pub(crate) last_ok: Option<Nanos>,
    /// Involuntary context switches of the thread.
    pub(crate) involuntary_switches: Option<u64>,
    /// At which priority it ran.
    pub(crate) priority: Priority,
}

/// The worker's ends of the channels.
pub(crate) struct Channels {
    pub(crate) full: SyncSender<Handed>,
    pub(crate) empty: Receiver<Box<Bank<u32>>>,
}

pub(crate) struct Worker<L, P: Protocol> {
    number: usize,
    job: Arc<Job<P>>,
    controls: Arc<Controls>,
    channels: Channels,
    pacer: Pacer,
    dispatch: Dispatch<L>,
    recorder: Option<Recorder>,
    conns: Slots<Conn<P>>,
    actions: Actions,
    /// Events that came of carrying out an action; they wait for the next turn, or a target that
    /// refuses at once would never let a turn end.
    deferred: VecDeque<Deferred>,
    /// Connections with more to read than their turn allowed.
    unread: VecDeque<ConnId>,
    common: Common<P>,
    /// What the arrival that is being sent has drawn.
    composer: Option<Composer>,
    /// A connection takes one request at a time.
    is_serial: bool,
    /// Requests that have been taken on and not been written.
    unwritten: Vec<(ConnId, FlightId)>,
    starvation: Starvation,
    /// By origin.
    ways: Vec<Way>,
    start: Instant,
    /// Where the bank being filled begins, by the boundaries.
    bank_from: Instant,
    /// The last boundary that was dealt with.
    handed_until: Instant,
    /// When the last bank was handed over, by the clock.
    handed_at: Instant,
    double: bool,
    stopped: bool,
}

impl<L: Load, P: Protocol> Worker<L, P> {
    pub(crate) fn new(
        number: usize,
        job: Arc<Job<P>>,
        clock: Clock,
        controls: Arc<Controls>,
        directories: &[Arc<Directory>],
        channels: Channels,
        bank: Box<Bank<u32>>,
    ) -> Result<Worker<L, P>, Errno> {
        let pacer = Pacer::new(clock, job.pacing)?;
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(pacer.epoll(), controls.wake_fd(number), EventData::new_u64(CONTROL_TOKEN), flags)?;
        let mut policy = job.plan.policy(number as u32);
        let Places { max: places, cancels } = P::places(&job.settings);
        policy.room = Room { places, cancels };
        policy.connection_age = job.connection_age;
        // Users who wait for their answer are not kept waiting to save a wake-up.
        if job.plan.is_open() {
            policy.grain = job.pacing.grain(number, job.plan.threads());
        }
        let (Pool::Auto { max } | Pool::Fixed { n: max }) = policy.pool;
        let flights = policy.flights_reserved();
        let origins = policy.origins.clone();
        let conns_max = max as usize * origins.count();
        let ways = job.targets.iter().zip(directories);
        let ways =
            ways.map(|(target, directory)| Way::new(target, directory.clone(), number, job.plan.threads()));
        Ok(Worker {
            number,
            controls,
            channels,
            pacer,
            dispatch: Dispatch::new(policy),
            conns: Slots::new(origins.count(), conns_max),
            recorder: Some(
                Recorder::new(bank, job.plan.spec().timeout).with_origins(origins).with_room(places),
            ),
            actions: Actions::with_capacity(ACTIONS_MAX),
            deferred: VecDeque::with_capacity(conns_max),
            unread: VecDeque::with_capacity(conns_max),
            is_serial: places == 1,
            unwritten: Vec::with_capacity(UNWRITTEN_MAX + SENDS_PER_CALL_MAX),
            common: Common {
                buffers: Buffers::new(),
                hearing: Hearing::with_capacity(
                    flights,
                    job.plan.journeys().map_or(0, Paths::under_way_max),
                    &job.expects,
                ),
                of_protocol: P::shared(job.operations.len()),
            },
            composer: job.values.as_ref().map(|values| Composer::new(values, &job.plan)),
            starvation: Starvation::of_this_thread(),
            ways: ways.collect(),
            start: Instant(0),
            bank_from: Instant(0),
            handed_until: Instant(0),
            handed_at: Instant(0),
            double: false,
            stopped: false,
            job,
        })
    }

    /// The whole life of the worker.
    #[inline(never)] // so that a profiler finds it
    pub(crate) fn run(mut self, gate: &Gate, load: impl FnOnce(Instant) -> L) -> WorkerEnd {
        self.prewarm();
        let Some(start) = gate.ready_and_wait() else { return WorkerEnd::default() };
        self.start = start;
        self.bank_from = start;
        self.handed_until = start;
        self.handed_at = start;
        self.starvation = Starvation::of_this_thread();
        let warmup = self.job.plan.measured_from();
        let load_length = self.job.plan.load_length();
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(start, warmup, load_length);
            recorder.sample_arrivals(self.job.plan.sample_blocks());
        }
        self.dispatch.start(load(start));
        self.pacer.begin();
        let mut now = self.pacer.watch().now();
        while now < start && !self.controls.is_aborted() {
            now = self.turn(start);
        }
        self.pacer.take_figures();
        loop {
            // Not before the moment of the stop: what falls due until then is scheduled, by every worker.
            let abort_at = self.controls.stop_at().filter(|_| self.controls.is_aborted());
            if abort_at.is_some_and(|at| now >= at) {
                self.heed_stop();
                self.with_recorder(|dispatch, actions, recorder| dispatch.finish(now, actions, recorder));
                self.act();
            }
            self.tick(now);
            if self.dispatch.is_finished() {
                return self.finish(now);
            }
            let boundary = self.handed_until + INTERVAL;
            let wakes = [self.dispatch.next_wake(), abort_at];
            now = self.turn(wakes.into_iter().flatten().fold(boundary, Instant::min));
        }
    }

    /// Opens the connections of a fixed pool before the start.
    fn prewarm(&mut self) {
        let mut now = self.pacer.watch().now();
        self.tick(now);
        while self.dispatch.is_prewarming() && !self.controls.is_aborted() {
            let wake = self.dispatch.next_wake().unwrap_or(now + INTERVAL);
            now = self.turn(wake);
            self.tick(now);
        }
    }

    /// Waits until `wake` or the first socket, then works on what the sockets have. Returns the time.
    fn turn(&mut self, wake: Instant) -> Instant {
        let pending = !self.deferred.is_empty() || !self.unread.is_empty();
        let awaits_answers = self.dispatch.awaits_answers();
        let now = self.pacer.wait(if pending { Instant(0) } else { wake }, awaits_answers);
        // First of all, so that what happens after a boundary is not counted before it.
        if self.has_started() && now >= self.handed_until + INTERVAL {
            self.hand_over(now);
        }
        self.feed_deferred(now);
        self.read_on();
        let (mut handshakes, mut due) = (0, wake);
        let mut i = 0;
        while let Some((token, flags)) = self.pacer.event(i) {
            i += 1;
            if token == CONTROL_TOKEN || token == TIMER_TOKEN {
                continue;
            }
            self.on_socket(id_of(token), flags, &mut handshakes);
            due = self.keep_up(due);
        }
        self.pacer.watch().now()
    }

    /// Between two sockets: what fell due a while before the last look at the clock goes out now. After a stall a
    /// turn has hundreds of sockets to work on, for milliseconds. Returns what is due next.
    #[inline]
    fn keep_up(&mut self, due: Instant) -> Instant {
        let now = self.pacer.watch().last();
        // An interval's end comes first, and belongs to the next turn.
        if now.since(due) < LATE_IN_TURN || now >= self.handed_until + INTERVAL {
            return due;
        }
        self.tick(now);
        // One that could not send all of it waits for the next turn: the sockets' turn must end.
        self.dispatch.next_wake().filter(|wake| *wake > now).unwrap_or(Instant(u64::MAX))
    }

    #[inline]
    fn has_started(&self) -> bool {
        self.start != Instant(0)
    }

    /// Lets nothing fall due any more once the user has stopped the run. Asked between reading `now` and
    /// looking at the schedule: a stop always lies ahead of the moment in which it is wished for, so that
    /// nothing falls due at it or later, however late this worker hears of it.
    #[inline]
    fn heed_stop(&mut self) {
        if self.stopped || !self.has_started() {
            return;
        }
        if let Some(stop) = self.controls.stop_at() {
            self.stopped = true;
            self.dispatch.stop(stop);
            if let Some(recorder) = &mut self.recorder {
                recorder.end_load(stop);
            }
        }
    }

    fn tick(&mut self, now: Instant) {
        self.heed_stop();
        self.with_recorder(|dispatch, actions, recorder| {
            dispatch.handle(now, Event::Tick, actions, recorder);
        });
        if !self.actions.is_empty() {
            self.act();
            // The wait that follows begins now.
            self.pacer.watch().now();
        }
    }

    #[inline]
    fn with_recorder(&mut self, f: impl FnOnce(&mut Dispatch<L>, &mut Actions, &mut Recorder)) {
        if let Some(recorder) = &mut self.recorder {
            if let Some(absence) = self.pacer.watch().take_absence() {
                recorder.note_absence(absence.from, absence.until, absence.away);
            }
            f(&mut self.dispatch, &mut self.actions, recorder);
        }
    }

    #[inline]
    fn handle(&mut self, now: Instant, event: Event) {
        self.take_note(now, event);
        self.write_together();
    }

    /// Carries out what an event leads to, except that requests which share their connection are yet to be written.
    #[inline]
    fn take_note(&mut self, now: Instant, event: Event) {
        self.heed_stop();
        self.with_recorder(|dispatch, actions, recorder| dispatch.handle(now, event, actions, recorder));
        self.carry_out();
    }

    /// Goes on with connections that had more to read than their turn allowed; a few in each turn.
    fn read_on(&mut self) {
        let mut handshakes = 0;
        for _ in 0..self.unread.len().min(UNREAD_PER_TURN) {
            let Some(id) = self.unread.pop_front() else { return };
            if let Some(conn) = self.conn(id) {
                conn.is_unread = false;
                self.on_socket(id, EventFlags::empty(), &mut handshakes);
            }
        }
    }

    fn on_socket(&mut self, id: ConnId, flags: EventFlags, handshakes: &mut u32) {
        let Some(conn) = self.conns.get_mut(id).filter(|c| c.generation == id.generation) else { return };
        if flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
            conn.note_peer_closed();
        }
        if conn.is_handshaking() {
            *handshakes += 1;
            if *handshakes > HANDSHAKES_PER_TURN {
                return self.read_later(id);
            }
        }
        let (reading, now) = conn.ready(&self.job, &mut self.common, self.pacer.watch());
        if let Some(recorder) = &mut self.recorder {
            recorder.counters().bytes_received += conn.take_bytes_read();
            let beside = &mut self.common.hearing.beside;
            if beside.unsolicited + beside.pinged > 0 {
                recorder.connections(usize::from(id.origin)).add(&std::mem::take(beside));
            }
        }
        // How much room it has, too, before it is used for the first time.
        self.tell(id, now);
        match reading {
            Reading::Quiet => {}
            Reading::More => self.read_later(id),
            Reading::Usable(times) => {
                if let Some(address) = self.conn(id).map(|conn| conn.attempt().address) {
                    self.ways[usize::from(id.origin)].addresses.count(address);
                }
                self.handle(now, Event::Connected(id, times));
            }
            Reading::Unusable(kind) => {
                let Some(conn) = self.conn(id) else { return };
                let (connecting, attempt) = (conn.is_connecting(), conn.attempt());
                self.close(id, CloseKind::Graceful);
                let elsewhere = match connecting {
                    true => self.connect_elsewhere(id, attempt, kind),
                    false => Err(kind),
                };
                if let Err(kind) = elsewhere {
                    self.handle(now, Event::ConnectFailed(id, kind));
                }
            }
            Reading::Ended(closing) => {
                self.close(id, CloseKind::Graceful);
                self.handle(now, Event::Closed(id, closing));
            }
        }
    }

    /// The dispatcher learns what a connection has heard. What it then asks for is written, and nothing is read. Many answers
    /// may have come in one read: what follows them leaves in one write.
    #[inline]
    fn tell(&mut self, id: ConnId, now: Instant) {
        if self.ways[usize::from(id.origin)].addresses.count_answers() {
            self.count_by_address(id, now);
        }
        let mut i = 0;
        while let Some(news) = self.common.hearing.news.get(i) {
            i += 1;
            let event = match *news {
                News::Answered(flight, answer) => Event::Answered(flight, answer),
                News::Lost(flight, loss) => Event::Lost(flight, loss),
                News::Room(places) => Event::Room(id, places),
                News::Retired => Event::Retired(id),
            };
            self.take_note(now, event);
            if self.unwritten.len() > UNWRITTEN_MAX {
                self.write_together();
            }
        }
        self.write_together();
        self.common.hearing.news.clear();
    }

    fn read_later(&mut self, id: ConnId) {
        if let Some(conn) = self.conn(id)
            && !std::mem::replace(&mut conn.is_unread, true)
        {
            self.unread.push_back(id);
        }
    }

    fn finish(mut self, now: Instant) -> WorkerEnd {
        let silent = |conn: &&Conn<P>| conn.is_connecting() && now.since(conn.attempt().began) >= SILENT_FROM;
        for (origin, conn) in self.conns.iter().filter(|(_, conn)| silent(conn)) {
            let addresses = &mut self.ways[origin].addresses;
            addresses.count_failed(conn.attempt().address, FailureKind::CONNECT_TIMEOUT);
        }
        let last_ok = self.recorder.as_ref().and_then(Recorder::last_ok).map(|at| at.since(self.start));
        let empty = Box::new(Bank::new(0));
        let full = self.prepare(now, now, empty, true);
        // The control thread is waiting for this one.
        let _ = self.channels.full.send(full);
        WorkerEnd {
            by_address: self.ways.into_iter().map(Way::into_counts).collect(),
            last_ok,
            involuntary_switches: involuntary_switches(),
            priority: self.pacer.priority(),
        }
    }
}

fn involuntary_switches() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}
