//! The dispatcher: a sans-IO state machine that decides what is sent when, and on which connection.
//!
//! Whoever drives it calls [`Dispatch::handle`] with `now` and what happened, carries out the actions that
//! come back, and calls again with [`Event::Tick`] at [`Dispatch::next_wake`] at the latest. The real
//! engine and a simulator drive the same code.
//!
//! Binding is late: a connection that is being opened belongs to no arrival, and the oldest waiting
//! arrival takes whichever connection is usable first. Nothing is dropped: an arrival that can't be sent
//! waits with its intended time until it is sent, times out or the run ends.

mod event;
mod expiry;
mod notice;
mod opening;
mod slab;

pub use event::{ACTIONS_MAX, Action, Actions, CloseKind, Closing, ConnectTimes, Event, Grain, Policy, Pool};
pub use slab::ConnId;

use crate::arrival::Arrival;
use crate::failure::FailureKind;
use crate::load::Load;
use crate::outcome::Outcome;
use crate::record::{Answer, Flight, Gauges, Recorder};
use crate::time::{Instant, Nanos};
use notice::{OVERSLEPT_FROM, OVERSLEPT_MAX, Overslept};
use opening::OPENING_MIN;
use slab::{List, NONE, Slab, State};
use std::collections::VecDeque;

/// Connection attempts that one tick may ask for.
pub const OPENS_PER_TICK_MAX: usize = 16;
/// Sends that one call may ask for, so that a backlog does not starve the reads.
pub const SENDS_PER_CALL_MAX: usize = 64;
/// While answers are awaited, whoever drives a dispatcher looks at the clock so often: a pause of its own that ends
/// before its next turn would look like an answer that took that long.
pub const LOOK_EVERY: Nanos = Nanos::from_millis(10);
/// Timeouts that one call carries out.
const TIMEOUTS_PER_CALL_MAX: usize = 64;
/// Waiting arrivals that one call lets expire.
const EXPIRIES_PER_CALL_MAX: usize = 4096;
/// Of a pool that grows, a connection that was not needed for so long is closed: what a stall has left behind.
pub const IDLE_MAX: Nanos = Nanos::from_secs(30);
/// Idle connections that one tick closes.
const IDLE_CLOSED_PER_TICK_MAX: usize = 4;

/// The state machine of one worker.
#[derive(Debug)]
pub struct Dispatch<L> {
    load: Option<L>,
    policy: Policy,
    max: u32,
    slab: Slab,
    idle: List,
    /// Since when a connection has been idle at every moment.
    idle_from: Instant,
    opening: List,
    flights: List,
    resend: VecDeque<Flight>,
    prewarm_left: u32,
    /// Connects in progress at once: grows with each that succeeds, shrinks when they vanish.
    opening_max: u32,
    /// Since when attempts have been under way without one that succeeded.
    unaccepted_since: Option<Instant>,
    /// Since when something could have been sent, or opened, and was left for the next turn.
    behind_since: Option<Instant>,
    /// Answers since the last tick.
    answers: usize,
    /// This machine had no port or descriptor: no attempt before then.
    blocked_until: Option<Instant>,
    /// The latest stretch in which the pool was at its limit and nothing was idle.
    full_since: Option<Instant>,
    full_until: Option<Instant>,
    /// Stretches in which nobody looked at the clock while arrivals fell due.
    overslept: VecDeque<Overslept>,
    /// The last answer of `next_wake` took the next arrival into account.
    woke_for_due: bool,
    exhausted_at: Option<Instant>,
    more_to_do: bool,
    finished: bool,
    open_peak: u32,
}

impl<L: Load> Dispatch<L> {
    /// A dispatcher that has no load yet; a fixed pool is opened by ticks before [`Dispatch::start`].
    pub fn new(policy: Policy) -> Dispatch<L> {
        let (max, prewarm_left) = match policy.pool {
            Pool::Auto { max } => (max, 0),
            Pool::Fixed { n } => (n, n),
        };
        Dispatch {
            load: None,
            max,
            slab: Slab::new(max as usize),
            idle: List::EMPTY,
            idle_from: Instant(0),
            opening: List::EMPTY,
            flights: List::EMPTY,
            resend: VecDeque::with_capacity(max as usize),
            prewarm_left,
            opening_max: OPENING_MIN,
            unaccepted_since: None,
            behind_since: None,
            answers: 0,
            blocked_until: None,
            full_since: None,
            full_until: None,
            overslept: VecDeque::with_capacity(OVERSLEPT_MAX),
            woke_for_due: true,
            exhausted_at: None,
            more_to_do: false,
            finished: false,
            open_peak: 0,
            policy,
        }
    }

    /// True while connections of a fixed pool are still being opened.
    pub fn is_prewarming(&self) -> bool {
        self.prewarm_left > 0 || self.opening.len > 0
    }

    /// Gives the load; its first arrival should lie in the future.
    pub fn start(&mut self, load: L) {
        self.prewarm_left = 0;
        self.woke_for_due = true;
        self.load = Some(load);
    }

    /// Nothing falls due at `at` or later: the run is being ended early.
    pub fn stop(&mut self, at: Instant) {
        if let Some(load) = &mut self.load {
            load.stop(at);
        }
    }

    /// Every arrival has ended: nothing is left to do.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Levels right now, `connections_peak` being that of this worker.
    pub fn gauges(&self) -> Gauges {
        Gauges {
            in_flight: u64::from(self.flights.len),
            backlog: self.waiting(),
            connections: u64::from(self.idle.len + self.flights.len),
            connections_peak: u64::from(self.open_peak),
        }
    }

    /// Requests are under way.
    #[inline]
    pub fn awaits_answers(&self) -> bool {
        self.flights.len > 0
    }

    /// Takes note of what happened at `now` and appends what is to be done to `out`.
    pub fn handle(&mut self, now: Instant, event: Event, out: &mut Actions, rec: &mut Recorder) {
        // Carrying an action out says nothing about what is left to do.
        self.more_to_do &= matches!(event, Event::Sent(_));
        match event {
            Event::Tick => self.tick(now, out, rec),
            Event::Connected(id, times) => self.connected(id, times, now, rec),
            Event::ConnectFailed(id, kind) => self.connect_failed(id, kind, now, rec),
            Event::Sent(id) => self.sent(id, now, rec),
            Event::Answered(id, answer) => self.answered(id, &answer, now, out, rec),
            Event::Closed(id, closing) => self.closed(id, closing, now, rec),
        }
        if !matches!(event, Event::Sent(_)) {
            self.pump(now, out, rec);
            if matches!(event, Event::Tick) {
                self.open_connections(now, out, rec);
            }
            let wants_to_open = self.wants_to_open();
            self.more_to_do |= wants_to_open;
            self.note_fullness(now);
            self.woke_for_due = self.wakes_for_due();
            let is_behind = wants_to_open || (self.idle.len > 0 && self.waiting() > 0);
            self.behind_since = is_behind.then(|| self.behind_since.unwrap_or(now));
            rec.look_at_absences(now);
        }
    }

    /// When a [`Event::Tick`] is due at the latest. A time that has passed means: at once.
    pub fn next_wake(&self) -> Option<Instant> {
        if self.finished {
            return None;
        }
        if self.more_to_do {
            return Some(Instant(0));
        }
        let timeout_of = |slot: u32| {
            let conn = self.slab.at(slot);
            let begin = if conn.state == State::Busy { conn.flight.arrival.intended } else { conn.since };
            // A response time equal to the timeout is still in time.
            begin + self.policy.timeout + Nanos(1)
        };
        let first = |list: &List| (list.head != NONE).then(|| timeout_of(list.head));
        let resend = self.resend.front().map(|f| f.arrival.intended + self.policy.timeout + Nanos(1));
        let mut wake = [first(&self.flights), first(&self.opening), resend, self.unneeded_at()]
            .into_iter()
            .flatten()
            .min();
        if let Some(load) = &self.load {
            let head = load.head().map(|a| a.intended + self.policy.timeout + Nanos(1));
            let due = if self.wakes_for_due() { load.next_due() } else { None };
            let due = due.map(|due| self.policy.grain.map_or(due, |grain| grain.next(due)));
            let blocked = self.blocked_until.filter(|_| load.waiting() > 0);
            let drained = Some(self.drain_end(load));
            wake = [wake, head, due, blocked, drained].into_iter().flatten().min();
        }
        wake
    }

    /// Ends the run now: what is in flight is `unfinished`, what waits is `unsent`. An early end is announced
    /// by [`Dispatch::stop`], and this is called no sooner than the moment given there.
    pub fn finish(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        while self.flights.head != NONE {
            let slot = self.flights.head;
            let flight = self.end_flight(slot);
            rec.counters().connections.closed_on_timeout += u64::from(self.is_late(&flight.arrival, now));
            self.end_unanswered(&flight, slot, None, now, rec);
            out.push(Action::Close(self.slab.id(slot), CloseKind::Abort));
            self.slab.release(slot);
        }
        if let Some(load) = &mut self.load {
            // What fell due until the end but was not looked at yet is accounted for too.
            load.advance(now, |arrival| rec.due(&arrival));
            load.stop(Instant(0));
        }
        while let Some(flight) = self.take_waiting() {
            let flight = self.with_cause(flight, now);
            self.end_unanswered(&flight, 0, None, now, rec);
        }
        self.finished = true;
    }

    fn tick(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        self.expire_flights(now, out, rec);
        self.expire_waiting(now, rec);
        self.expire_opening(now, out, rec);
        self.close_unneeded(now, out, rec);
        let Some(load) = &self.load else { return };
        if self.exhausted_at.is_none() && load.is_exhausted(now) {
            self.exhausted_at = Some(now.min(load.end()));
        }
        if now >= self.drain_end(load) {
            self.finish(now, out, rec);
        }
    }

    /// As with the timeout, what comes exactly then is still in time. So a drain as long as the timeout lets the last
    /// arrival time out instead of cutting it off.
    fn drain_end(&self, load: &L) -> Instant {
        self.exhausted_at.unwrap_or(load.end()) + self.policy.drain + Nanos(1)
    }

    fn sent(&mut self, id: ConnId, now: Instant, rec: &mut Recorder) {
        let Some(slot) = self.slab.resolve(id) else { return };
        let flight = &mut self.slab.at_mut(slot).flight;
        if flight.sent.is_none() {
            flight.sent = Some(now);
            rec.sent(flight);
        } else {
            rec.counters().connections.resent += 1;
        }
    }

    fn answered(&mut self, id: ConnId, answer: &Answer, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        let Some(slot) = self.slab.resolve(id).filter(|&s| self.slab.at(s).state == State::Busy) else {
            return;
        };
        self.answers += 1;
        let flight = self.end_flight(slot);
        let outcome = rec.answered(&flight, slot, answer, now);
        self.ended(&flight, outcome, now);
        if answer.reusable {
            self.slab.at_mut(slot).reused = true;
            self.make_idle(slot, now);
        } else {
            rec.counters().connections.closed_by_target += 1;
            out.push(Action::Close(self.slab.id(slot), CloseKind::Graceful));
            self.slab.release(slot);
        }
    }

    fn closed(&mut self, id: ConnId, closing: Closing, now: Instant, rec: &mut Recorder) {
        let Some(slot) = self.slab.resolve(id) else { return };
        let state = self.slab.at(slot).state;
        rec.counters().connections.closed_by_target += u64::from(state != State::Opening);
        match state {
            State::Idle => {
                self.slab.unlink(&mut self.idle, slot);
                self.slab.release(slot);
            }
            State::Busy => {
                let reused = self.slab.at(slot).reused;
                let flight = self.end_flight(slot);
                self.slab.release(slot);
                let idempotent =
                    self.policy.idempotent.get(flight.arrival.operation as usize).copied().unwrap_or(false);
                let died = matches!(closing.kind, FailureKind::RESET | FailureKind::CLOSED_EARLY);
                let again = reused && idempotent && died && !closing.answered && !flight.resent;
                if again && !self.is_late(&flight.arrival, now) {
                    self.resend.push_back(Flight { resent: true, ..flight });
                } else {
                    self.end_unanswered(&flight, id.slot, Some(closing.kind), now, rec);
                }
            }
            State::Opening => self.connect_failed(id, closing.kind, now, rec),
            State::Free => {}
        }
    }

    /// Sends what waits on what is usable.
    fn pump(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        if self.finished {
            return;
        }
        self.take_note_of_due(self.policy.grain.map_or(now, |grain| grain.last(now)), now, rec);
        self.blocked_until = self.blocked_until.filter(|&until| now < until);
        let mut sends = 0;
        while self.idle.len > 0 && self.waiting() > 0 {
            if sends == SENDS_PER_CALL_MAX {
                self.more_to_do = true;
                return;
            }
            let Some(flight) = self.take_waiting() else { break };
            if self.is_late(&flight.arrival, now) {
                self.give_up_waiting(flight, now, rec);
                continue;
            }
            self.bind(flight, out);
            sends += 1;
        }
        if self.exhausted_at.is_some() && self.waiting() == 0 && self.flights.len == 0 {
            self.finished = true;
        } else if self.exhausted_at.is_none() && self.load.as_ref().is_some_and(|l| l.is_exhausted(now)) {
            // The next tick sets the end of the drain.
            self.more_to_do = true;
        }
    }

    fn bind(&mut self, mut flight: Flight, out: &mut Actions) {
        let slot = self.idle.head;
        self.slab.unlink(&mut self.idle, slot);
        let conn = self.slab.at_mut(slot);
        // Any idle connection would have done: only the time without one is time waited for one.
        flight.ready = conn.since.min(self.idle_from);
        conn.state = State::Busy;
        conn.flight = flight;
        self.slab.insert_by_intended(&mut self.flights, slot);
        let Arrival { operation, index, .. } = flight.arrival;
        out.push(Action::Send { conn: self.slab.id(slot), operation, arrival: index });
    }

    fn total(&self) -> u32 {
        self.idle.len + self.flights.len + self.opening.len
    }

    /// Arrivals that could neither be sent nor cause a connection need no turn of their own.
    fn wakes_for_due(&self) -> bool {
        self.load.as_ref().is_some_and(|load| load.waiting() == 0) || self.can_open()
    }

    fn note_fullness(&mut self, now: Instant) {
        // Where most are still being opened, it is the target that has not accepted them: a larger pool would only have
        // more of them waiting.
        let in_use = self.total() >= self.max && self.flights.len >= self.opening.len;
        let at_limit = in_use || self.blocked_until.is_some();
        // Whoever has a connection of its own being opened waits for that one: a closed population whose users
        // have a connection each is never short of them.
        let all_served = self.opening.len > 0 && self.waiting() <= u64::from(self.opening.len);
        let full = at_limit && self.idle.len == 0 && !all_served;
        match (full, self.full_since, self.full_until) {
            (true, None, _) | (true, Some(_), Some(_)) => {
                (self.full_since, self.full_until) = (Some(now), None)
            }
            (false, Some(_), None) => self.full_until = Some(now),
            _ => {}
        }
    }

    fn was_full_at(&self, at: Instant) -> bool {
        self.full_since.is_some_and(|since| since <= at) && self.full_until.is_none_or(|until| at < until)
    }

    fn waiting(&self) -> u64 {
        self.resend.len() as u64 + self.load.as_ref().map_or(0, Load::waiting)
    }

    fn take_waiting(&mut self) -> Option<Flight> {
        self.resend.pop_front().or_else(|| self.take_head())
    }

    fn take_head(&mut self) -> Option<Flight> {
        let load = self.load.as_mut()?;
        let arrival = load.head()?;
        load.pop();
        let noticed = self.noticed(&arrival);
        Some(Flight {
            arrival,
            noticed,
            // Arrivals that are noticed in one turn may find the pool filled by the first of them.
            pool_full: self.was_full_at(noticed) || self.was_full_at(noticed + OVERSLEPT_FROM),
            ..Flight::default()
        })
    }

    /// The load learns who ended and how: a user comes again.
    fn ended(&mut self, flight: &Flight, outcome: Outcome, now: Instant) {
        if let Some(load) = &mut self.load {
            load.ended(&flight.arrival, outcome, now);
        }
    }

    fn end_flight(&mut self, slot: u32) -> Flight {
        self.slab.unlink(&mut self.flights, slot);
        std::mem::take(&mut self.slab.at_mut(slot).flight)
    }

    fn make_idle(&mut self, slot: u32, now: Instant) {
        if self.idle.len == 0 {
            self.idle_from = now;
        }
        let conn = self.slab.at_mut(slot);
        conn.state = State::Idle;
        conn.since = now;
        self.slab.push_front(&mut self.idle, slot);
    }
}
