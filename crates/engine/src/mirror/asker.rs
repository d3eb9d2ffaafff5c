//! The thread that sends copies to the targets, and reads their answers.

use super::digested::{Digested, Settings};
use super::lane::{Doing, Lane};
use super::open::{Open, PairId};
use super::place::Place;
use super::queue::{Outgoing, Queue};
use super::{AskerFigures, Books, Mirror, OF_ASKER, Side};
use crate::clock::Clock;
use crate::codes::CodeRules;
use crate::conn::{Buffers, Common, Conn, Hearing, News, Reading};
use crate::controls::Controls;
use crate::job::Job;
use crate::pace::{CONTROL_TOKEN, Pacer, TIMER_TOKEN};
use crate::pacing::Pacing;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use unblink_core::dispatch::{CloseKind, FlightId, Pool};
use unblink_core::failure::FailureKind;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::time::{Instant, Nanos};
use unblink_wire::blank::Filler;
use unblink_wire::http1::{Http1, Request};
use unblink_wire::protocol::Protocol;
use unblink_wire::{Limits, Whole};
use unblink_workload::answer::Expect;

/// It looks at what it has been told this often.
const TICK: Nanos = Nanos::from_millis(500);

pub(super) struct Asker {
    job: Job<Digested>,
    pacer: Pacer,
    controls: Arc<Controls>,
    queue: Arc<Queue>,
    books: Arc<dyn Books>,
    common: Common<Digested>,
    lanes: Vec<Lane>,
    open: Open,
    timeout: Nanos,
    unread: VecDeque<Place>,
    figures: AskerFigures,
    /// Pairs begun, of which every other one goes to the candidate first: neither side is always the later one.
    begun: usize,
}

impl Asker {
    pub(super) fn new(
        mirror: &Mirror,
        clock: Clock,
        controls: Arc<Controls>,
        queue: Arc<Queue>,
        books: Arc<dyn Books>,
    ) -> io::Result<Asker> {
        let job = job(mirror)?;
        let pacer = Pacer::new(clock, Pacing::Frugal)?;
        let data = EventData::new_u64(CONTROL_TOKEN);
        epoll::add(pacer.epoll(), controls.wake_fd(OF_ASKER), data, EventFlags::IN)?;
        let flights = mirror.targets.len() * mirror.bounds.connections as usize;
        let common = Common {
            buffers: Buffers::new(),
            hearing: Hearing::with_capacity(flights, 0, &job.expects, CodeRules::of::<Http1>()),
            of_protocol: Digested::shared(1),
        };
        let lanes = 0..mirror.targets.len();
        Ok(Asker {
            lanes: lanes.map(|number| Lane::new(&job, number, mirror.bounds.connections)).collect(),
            open: Open::new(mirror.targets.len()),
            timeout: mirror.timeout,
            job,
            pacer,
            controls,
            queue,
            books,
            common,
            unread: VecDeque::new(),
            figures: AskerFigures::default(),
            begun: 0,
        })
    }

    pub(super) fn run(mut self) -> AskerFigures {
        let mut copies = VecDeque::new();
        let mut ends_at = None;
        loop {
            let now = self.wait();
            self.queue.drain(&mut copies);
            for copy in copies.drain(..) {
                self.begin(copy);
            }
            self.read_on();
            self.expire(now);
            self.go_on(now);
            if let Some(at) = self.controls.stop_at().filter(|&at| now > at) {
                // The sink hears of it at the same time, and may be in the middle of a turn.
                let end = *ends_at.get_or_insert(at + self.timeout + TICK);
                let is_over = self.queue.open() == 0 || self.controls.is_aborted();
                if is_over && now > at + TICK || now > end {
                    break;
                }
            }
        }
        while let Some((id, _)) = self.open.oldest() {
            for lane in 0..self.lanes.len() {
                self.end(id, lane, Side::Unfinished);
            }
        }
        for (i, lane) in self.lanes.iter().enumerate() {
            (self.figures.connections[i], self.figures.sent_again[i]) = (lane.opened, lane.sent_again);
        }
        self.figures
    }

    /// Waits until something is to be done, and reads what has come.
    fn wait(&mut self) -> Instant {
        let now = self.pacer.watch().last();
        let deadline = self.open.oldest().map(|(_, begun)| begun.began + self.timeout);
        let resumes = self.lanes.iter().filter_map(|lane| lane.resumes_at(now)).min();
        let wake = [deadline, resumes, Some(now + TICK)].into_iter().flatten().min().unwrap_or(now);
        let wake = if self.unread.is_empty() { wake } else { now };
        let now = self.pacer.wait(wake, false);
        let mut i = 0;
        while let Some((token, flags)) = self.pacer.event(i) {
            i += 1;
            match token {
                TIMER_TOKEN => {}
                CONTROL_TOKEN => {
                    let _ = rustix::io::read(self.controls.wake_fd(OF_ASKER), &mut [0; 8]);
                }
                token => self.on_socket(Place::of_token(token), flags),
            }
        }
        now
    }

    /// The clock of all sides starts now, and each is asked, or the copy waits in its line.
    fn begin(&mut self, copy: Outgoing) {
        let now = self.pacer.watch().now();
        self.figures.handed_over.record(now.since(copy.at));
        let id = self.open.begin(copy, now);
        self.figures.open_max = self.figures.open_max.max(self.open.count() as u64);
        self.begun += 1;
        let targets = self.lanes.len();
        for i in 0..targets {
            let lane = (i + self.begun) % targets;
            self.lanes[lane].waiting.push_back((id, false));
            self.send_waiting(lane);
        }
    }

    /// Sends what waits as long as a connection is free.
    fn send_waiting(&mut self, lane: usize) {
        while let Some(&(id, was_sent)) = self.lanes[lane].waiting.front() {
            if self.open.awaited(id, lane).is_none() {
                self.lanes[lane].waiting.pop_front();
                continue;
            }
            let Some(place) = self.lanes[lane].take_idle() else { return };
            self.lanes[lane].waiting.pop_front();
            self.send(place, id, was_sent);
        }
    }

    fn send(&mut self, place: Place, id: PairId, was_sent: bool) {
        let flight = flight(place);
        let Some(begun) = self.open.awaited_mut(id, place.lane) else { return };
        begun.asked_on[place.lane] = Some(place);
        let mut copy = Filled { bytes: &begun.request.bytes, whole: begun.request.whole };
        let is_safe = begun.request.is_safe;
        let Some((conn, doing)) = self.lanes[place.lane].conn(place) else { return };
        // One that fails at once is asked once more, if it had been used before.
        *doing = Doing::Asking(id, is_safe && !was_sent);
        conn.submit(&self.job, &mut self.common, flight, 0, &mut copy);
        if conn.write_on(&self.job).is_err() {
            self.lost(place, FailureKind::RESET, false);
        }
    }

    fn read_on(&mut self) {
        for _ in 0..self.unread.len() {
            if let Some(place) = self.unread.pop_front() {
                self.on_socket(place, EventFlags::empty());
            }
        }
    }

    fn on_socket(&mut self, place: Place, flags: EventFlags) {
        if place.lane >= self.lanes.len() {
            return;
        }
        let Some((conn, _)) = self.lanes[place.lane].conn(place) else { return };
        if flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
            conn.note_peer_closed();
        }
        let (reading, now) = conn.ready(&self.job, &mut self.common, self.pacer.watch());
        let mut reusable = None;
        for news in self.common.hearing.news.drain(..) {
            if let News::Answered(_, answer) = news {
                reusable = Some(answer.reusable);
            }
        }
        if let Some(reusable) = reusable {
            self.answered(place, reusable && !matches!(reading, Reading::Ended(_)), now);
        }
        match reading {
            Reading::Quiet => {}
            Reading::More => self.unread.push_back(place),
            Reading::Usable(_) => {
                self.lanes[place.lane].make_idle(place);
                self.send_waiting(place.lane);
            }
            Reading::Unusable(kind) => {
                let way = (&self.job, self.pacer.epoll());
                if let Some(kind) = self.lanes[place.lane].unusable(place, kind, way, now) {
                    self.fail_oldest(place.lane, kind);
                }
            }
            Reading::Ended(closing) => self.lost(place, closing.kind, closing.answered),
        }
    }

    fn answered(&mut self, place: Place, reusable: bool, now: Instant) {
        let Some((conn, doing)) = self.lanes[place.lane].conn(place) else { return };
        let &mut Doing::Asking(id, _) = doing else { return };
        let (status, digest) = Conn::protocol_mut(conn).take();
        *doing = Doing::Idle;
        match reusable {
            true => self.lanes[place.lane].make_idle(place),
            false => self.lanes[place.lane].close(place, CloseKind::Graceful),
        }
        if let Some(begun) = self.open.awaited(id, place.lane) {
            let took = now.since(begun.began);
            // An answer that came too late is none.
            let side = match took > self.timeout {
                true => Side::TimedOut,
                false => Side::Answered { status, took, digest },
            };
            self.end(id, place.lane, side);
        }
        self.send_waiting(place.lane);
    }

    /// The connection has ended. What was asked on it is asked once more if nobody can have noticed.
    fn lost(&mut self, place: Place, kind: FailureKind, answered: bool) {
        let Some((_, doing)) = self.lanes[place.lane].conn(place) else { return };
        let doing = *doing;
        self.lanes[place.lane].close(place, CloseKind::Abort);
        let Doing::Asking(id, may_repeat) = doing else { return };
        let is_awaited = self.open.awaited(id, place.lane).is_some();
        if may_repeat && !answered && is_awaited && self.queue.spend(1) {
            self.lanes[place.lane].sent_again += 1;
            self.lanes[place.lane].waiting.push_front((id, true));
        } else {
            self.end(id, place.lane, Side::Failed(kind));
        }
    }

    /// A failed attempt to connect has no copy of its own; it costs the one that waits longest.
    fn fail_oldest(&mut self, lane: usize, kind: FailureKind) {
        while let Some((id, _)) = self.lanes[lane].waiting.pop_front() {
            if self.open.awaited(id, lane).is_some() {
                return self.end(id, lane, Side::Failed(kind));
            }
        }
    }

    /// Ends the sides of those pairs that have waited too long.
    fn expire(&mut self, now: Instant) {
        while let Some((id, begun)) = self.open.oldest() {
            if begun.began + self.timeout > now {
                return;
            }
            for lane in 0..self.lanes.len() {
                let Some(begun) = self.open.awaited(id, lane) else { continue };
                if let Some(place) = begun.asked_on[lane].filter(|&place| self.lanes[lane].asks(place, id)) {
                    self.lanes[lane].close(place, CloseKind::Abort);
                }
                self.end(id, lane, Side::TimedOut);
            }
        }
    }

    /// Opens connections that copies wait for.
    fn go_on(&mut self, now: Instant) {
        for lane in 0..self.lanes.len() {
            self.send_waiting(lane);
            for kind in self.lanes[lane].open(&self.job, self.pacer.epoll(), now) {
                self.fail_oldest(lane, kind);
            }
        }
    }

    fn end(&mut self, id: PairId, lane: usize, side: Side) {
        if let Some((pair, request)) = self.open.end(id, lane, side) {
            self.books.ended(&pair);
            self.queue.give_room(request.bytes.len());
        }
    }
}

/// Its number among all connections, for what has been heard on it.
fn flight(place: Place) -> FlightId {
    FlightId { slot: (place.slot * super::TARGETS_MAX + place.lane) as u32, generation: 0 }
}

/// A copy, as what fills a request in.
struct Filled<'a> {
    bytes: &'a [u8],
    whole: Whole,
}

impl Filler for Filled<'_> {
    fn fill(&mut self, _: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
    }

    fn whole(&self) -> Option<Whole> {
        Some(self.whole)
    }
}

/// What connections must know. No schedule: the plan stands for one because a job has one.
fn job(mirror: &Mirror) -> io::Result<Job<Digested>> {
    let plan = Plan::new(PlanSpec {
        idempotent: vec![false],
        ..PlanSpec::plain(
            LoadSpec::closed(1, Nanos::ZERO, Nanos::from_secs(1)),
            Pool::Fixed { n: 1 },
            mirror.timeout,
        )
    });
    Ok(Job {
        plan: plan.map_err(io::Error::other)?,
        targets: mirror.targets.clone(),
        operations: vec![Request::filled_in()],
        values: None,
        script: None,
        expects: Expect::default().into(),
        settings: Settings { limits: Limits::default(), digests: mirror.digests },
        connection_age: None,
        pacing: Pacing::Frugal,
    })
}
