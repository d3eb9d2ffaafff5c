//! One worker thread: its dispatcher, its connections, its recorder, and the loop around them.

mod acting;
mod failing;
mod handover;
mod opening;
mod reading;
mod routes;
mod routing;
mod scripted;
mod slots;
mod ways;

use crate::addresses::AddressCounts;
use crate::clock::Clock;
use crate::codes::CodeRules;
use crate::conn::{Buffers, Common, Conn, Hearing};
use crate::controls::Controls;
use crate::directory::Directory;
use crate::failed::Failed;
use crate::gate::Gate;
use crate::job::Job;
use crate::pace::{CONTROL_TOKEN, Pacer, TIMER_TOKEN};
use crate::priority::Priority;
use crate::so_far::SentSoFar;
use crate::starvation::Starvation;
use crate::target::Address;
use acting::Deferred;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use scripted::Scripted;
use slots::{Slots, id_of};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender};
use unblink_core::dispatch::{
    ACTIONS_MAX, Actions, ConnId, Dispatch, Event, Pool, Room, SENDS_PER_CALL_MAX, Spread,
};
use unblink_core::failure::FailureKind;
use unblink_core::journey::Paths;
use unblink_core::load::Load;
use unblink_core::record::{Bank, Handed, Recorder};
use unblink_core::time::{Instant, Nanos, SECOND_NS};
use unblink_wire::protocol::{Places, Protocol};
use unblink_workload::{Composer, Sent};
use ways::Way;

/// How often recorders are handed over.
pub(crate) const INTERVAL: Nanos = Nanos(SECOND_NS);
/// So late an arrival may be because a turn has many sockets to work on. Sockets first up to then: each answer frees a
/// connection, and an arrival that finds none opens another.
const LATE_IN_TURN: Nanos = Nanos::from_micros(200);

/// An attempt to connect that was under way for so long when the run ended had no answer.
const SILENT_FROM: Nanos = Nanos(SECOND_NS);

/// What a worker says when it is done.
#[derive(Debug, Default)]
pub(crate) struct WorkerEnd {
    /// What came of the attempts to connect, by origin and address.
    pub(crate) by_address: Vec<Vec<(Address, AddressCounts)>>,
    /// How requests have spread over connections, by origin.
    pub(crate) spreads: Vec<Spread>,
    /// Last `ok` arrival after the schedule's zero.
    pub(crate) last_ok: Option<Nanos>,
    /// By named value: what was drawn for the requests that were sent.
    pub(crate) sent: Box<[Sent]>,
    /// Involuntary context switches of the thread.
    pub(crate) involuntary_switches: Option<u64>,
    /// At which priority it ran.
    pub(crate) priority: Priority,
}

/// The worker's ends of the channels.
pub(crate) struct Channels {
    /// Where the worker says what it has drawn so far.
    pub(crate) sent: Arc<SentSoFar>,
    pub(crate) full: SyncSender<Handed>,
    pub(crate) empty: Receiver<Box<Bank<u32>>>,
    /// Where the first arrivals to fail in each way go, and how many, if anybody wants to know them.
    pub(crate) failed: Option<(u32, Sender<Failed>)>,
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
    /// What renders the requests instead.
    script: Option<Scripted>,
    /// Every request is always the same, and nothing is kept by arrival.
    is_plain: bool,
    /// A connection takes one request at a time.
    is_serial: bool,
    /// Connections with requests that they have taken on and not written.
    unwritten: Vec<ConnId>,
    /// How many requests that are.
    unwritten_requests: usize,
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
    /// Nothing falls due from then on.
    stop: Instant,
    /// The lease has ended: nothing is sent any more.
    has_ceased: bool,
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
        let ways = ways.map(|(target, directory)| {
            let own = job.script.as_ref().and_then(|script| script.address(number));
            Way::new(target, own, directory.clone(), number, job.plan.threads())
        });
        let ways: Vec<Way> = ways.collect();
        let failed_each = channels.failed.as_ref().map_or(0, |(each, _)| *each);
        let mut hearing = Hearing::with_capacity(
            flights,
            job.plan.journeys().map_or(0, Paths::under_way_max),
            &job.expects,
            CodeRules::of::<P>(),
        );
        if failed_each > 0 {
            hearing.keep_echoes();
        }
        let script = job.script.as_ref().and_then(|script| Scripted::new(script, number, &job.plan));
        let is_routed = ways.iter().any(|way| way.routes.is_some());
        let mut dispatch = Dispatch::new(policy);
        if is_routed {
            dispatch.keep_size();
        }
        Ok(Worker {
            is_plain: script.is_none() && job.values.is_none() && !hearing.follows_arrivals() && !is_routed,
            number,
            controls,
            channels,
            pacer,
            dispatch,
            conns: Slots::new(origins.count(), conns_max),
            recorder: Some(
                Recorder::new(bank, job.plan.spec().timeout)
                    .with_origins(origins)
                    .with_room(places)
                    .with_failed(failed_each)
                    .with_own_waits(job.script.is_some())
                    .with_addresses(ways.iter().map(|way| way.has_several)),
            ),
            actions: Actions::with_capacity(ACTIONS_MAX),
            deferred: VecDeque::with_capacity(conns_max),
            unread: VecDeque::with_capacity(conns_max),
            is_serial: places == 1,
            unwritten: Vec::with_capacity(reading::UNWRITTEN_MAX + SENDS_PER_CALL_MAX),
            unwritten_requests: 0,
            common: Common { buffers: Buffers::new(), hearing, of_protocol: P::shared(job.operations.len()) },
            script,
            composer: job.values.as_ref().map(|values| Composer::new(values, &job.plan)),
            starvation: Starvation::of_this_thread(),
            ways,
            start: Instant(0),
            bank_from: Instant(0),
            handed_until: Instant(0),
            handed_at: Instant(0),
            double: false,
            stop: Instant(u64::MAX),
            has_ceased: false,
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
        // That of another thread until now.
        self.starvation = Starvation::of_this_thread();
        let warmup = self.job.plan.measured_from();
        let load_length = self.job.plan.load_length();
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(start, warmup, load_length);
            recorder.sample_arrivals(self.job.plan.sample_blocks());
            recorder.set_streams(self.job.expects.streams());
        }
        self.dispatch.start(load(start));
        self.pause_ahead();
        self.pacer.begin();
        let mut now = self.pacer.watch().now();
        while now < start && !self.controls.is_aborted() {
            now = self.turn(start);
        }
        self.pacer.take_figures();
        // What is held against the time since the start must not have been waited for before it.
        self.starvation.take();
        loop {
            // Not before the moment of the stop: what falls due until then is scheduled, by every worker.
            let abort_at = self.controls.stop_at().filter(|_| self.controls.is_aborted());
            if abort_at.is_some_and(|at| now >= at) {
                self.heed_stop(now);
                self.with_recorder(|dispatch, actions, recorder| dispatch.finish(now, actions, recorder));
                self.act();
            }
            self.tick(now);
            self.tell_of_inserts(now);
            if self.dispatch.is_finished() {
                return self.finish(now);
            }
            let boundary = self.handed_until + INTERVAL;
            let wakes = [self.dispatch.next_wake(), abort_at];
            let wake = wakes.into_iter().flatten().fold(boundary, Instant::min);
            self.render_ahead(wake);
            now = self.turn(wake);
        }
    }

    /// Says up to when its inserts have ended, where what is drawn follows them.
    fn tell_of_inserts(&self, now: Instant) {
        let Some(values) = self.job.values.as_ref().filter(|values| values.follows_inserts()) else { return };
        // Whoever has finished holds up nobody.
        let until = match self.dispatch.is_finished() {
            true => Instant(u64::MAX),
            false => self.dispatch.ended_until(now, |operation| values.is_insert(operation)),
        };
        values.inserts_ended(self.number, until.since(self.start));
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
            if P::ROUTES {
                self.even_out(now);
            }
        } else if !pending && self.pacer.event(0).is_none() {
            // Nothing but time has passed, and an arrival may be waiting for this.
            return now;
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
    /// nothing falls due at it or later, however late this worker hears of it. The end of a lease may lie behind: whoever finds
    /// it takes note of nothing more.
    #[inline]
    fn heed_stop(&mut self, now: Instant) {
        if !self.has_started() {
            return;
        }
        if !self.has_ceased && !self.controls.may_look(self.number, now) {
            self.has_ceased = true;
            self.dispatch.cease();
        }
        // One that was known beforehand may be followed by one that comes sooner.
        let stop = self.controls.stop_at().map(|stop| stop.max(self.start));
        if let Some(stop) = stop.filter(|stop| *stop < self.stop) {
            self.stop = stop;
            self.dispatch.stop(stop);
            if let Some(recorder) = &mut self.recorder {
                recorder.end_load(stop);
            }
        }
    }

    fn tick(&mut self, now: Instant) {
        self.heed_stop(now);
        self.with_recorder(|dispatch, actions, recorder| {
            dispatch.handle(now, Event::Tick, actions, recorder);
        });
        if !self.actions.is_empty() {
            self.act();
            // The wait that follows begins now.
            self.pacer.watch().now();
        }
    }

    #[inline(always)]
    fn with_recorder(&mut self, f: impl FnOnce(&mut Dispatch<L>, &mut Actions, &mut Recorder)) {
        self.note_absence();
        if let Some(recorder) = &mut self.recorder {
            f(&mut self.dispatch, &mut self.actions, recorder);
        }
        self.look_for_failed();
    }

    #[inline(always)]
    fn note_absence(&mut self) {
        if self.pacer.watch().was_away() {
            self.note_that_absence();
        }
    }

    #[cold]
    fn note_that_absence(&mut self) {
        if let Some(recorder) = &mut self.recorder
            && let Some(absence) = self.pacer.watch().take_absence()
        {
            recorder.note_absence(absence.from, absence.until, absence.away);
        }
    }

    #[inline(always)]
    fn look_for_failed(&mut self) {
        if self.recorder.as_ref().is_some_and(Recorder::has_failed) {
            self.hand_over_failed();
        }
    }

    fn handle(&mut self, now: Instant, event: Event) {
        self.take_note(now, event);
        self.write_together();
    }

    /// Carries out what an event leads to, except that requests which share their connection are yet to be written.
    #[inline(always)] // into the loop over what a read has brought
    fn take_note(&mut self, now: Instant, event: Event) {
        self.heed_stop(now);
        self.note_absence();
        if let Some(recorder) = &mut self.recorder {
            self.dispatch.handle(now, event, &mut self.actions, recorder);
        }
        self.look_for_failed();
        self.carry_out();
    }

    fn finish(mut self, now: Instant) -> WorkerEnd {
        let silent = |conn: &&Conn<P>| conn.is_connecting() && now.since(conn.attempt().began) >= SILENT_FROM;
        for (origin, conn) in self.conns.iter().filter(|(_, conn)| silent(conn)) {
            let addresses = &mut self.ways[origin].addresses;
            addresses.count_failed(conn.attempt().address, FailureKind::CONNECT_TIMEOUT);
        }
        let last_ok = self.recorder.as_ref().and_then(Recorder::last_ok).map(|at| at.since(self.start));
        let by_address = self.recorder.as_mut().map(Recorder::take_addresses).unwrap_or_default();
        let mut by_address = by_address.into_iter();
        let empty = Box::new(Bank::new(0));
        let full = self.prepare(now, now, empty, true);
        let sent = self.composer.take().map(Composer::into_sent).unwrap_or_default();
        // The control thread is waiting for this one.
        let _ = self.channels.full.send(full);
        WorkerEnd {
            by_address: (self.ways.into_iter())
                .map(|way| way.into_counts(by_address.next().unwrap_or_default()))
                .collect(),
            spreads: self.dispatch.spreads(),
            last_ok,
            sent,
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
