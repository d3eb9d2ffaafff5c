//! The dispatcher: a sans-IO state machine that decides what is sent when, and on which connection.
//!
//! Whoever drives it calls [`Dispatch::handle`] with `now` and what happened, carries out the actions that
//! come back, and calls again with [`Event::Tick`] at [`Dispatch::next_wake`] at the latest. The real
//! engine and a simulator drive the same code.
//!
//! Binding is late: a connection that is being opened belongs to no arrival, and the oldest waiting
//! arrival takes whichever connection has room first. Nothing is dropped: an arrival that can't be sent
//! waits with its intended time until it is sent, times out or the run ends.
//!
//! An arrival that is under way is a flight. A connection carries as many as it has places, each with a name of its own.

mod arena;
mod connections;
mod event;
mod expiry;
mod landing;
mod notice;
mod opening;
mod waiting;

pub use event::{
    ACTIONS_MAX, Action, Actions, CloseKind, Closing, ConnId, ConnectTimes, Event, FlightId, Grain, Loss,
    Policy, Pool, Room,
};

use crate::arrival::Arrival;
use crate::load::Load;
use crate::record::{Flight, Gauges, Recorder};
use crate::time::{Instant, Nanos};
use arena::{Arena, List};
use connections::Connections;
use landing::Bound;
use notice::{OVERSLEPT_FROM, OVERSLEPT_MAX, Overslept};
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
/// Connections that one tick closes because they are idle, and because they are old.
const IDLE_CLOSED_PER_TICK_MAX: usize = 4;

/// The state machine of one worker.
#[derive(Debug)]
pub struct Dispatch<L> {
    load: Option<L>,
    policy: Policy,
    connections: Connections,
    flights: Arena<Bound, 2>,
    /// What is under way, by intended time.
    in_flight: List<{ landing::BY_INTENDED }>,
    resend: VecDeque<Flight>,
    /// Since when something could have been sent, or opened, and was left for the next turn.
    behind_since: Option<Instant>,
    /// Answers since the last tick.
    answers: usize,
    /// Stretches in which nobody looked at the clock while arrivals fell due.
    overslept: VecDeque<Overslept>,
    /// The last answer of `next_wake` took the next arrival into account.
    woke_for_due: bool,
    exhausted_at: Option<Instant>,
    more_to_do: bool,
    finished: bool,
}

impl<L: Load> Dispatch<L> {
    /// A dispatcher that has no load yet; a fixed pool is opened by ticks before [`Dispatch::start`].
    pub fn new(policy: Policy) -> Dispatch<L> {
        let flights = policy.flights_reserved();
        Dispatch {
            load: None,
            connections: Connections::new(&policy),
            flights: Arena::new(flights),
            in_flight: List::EMPTY,
            resend: VecDeque::with_capacity(flights),
            behind_since: None,
            answers: 0,
            overslept: VecDeque::with_capacity(OVERSLEPT_MAX),
            woke_for_due: true,
            exhausted_at: None,
            more_to_do: false,
            finished: false,
            policy,
        }
    }

    /// True while connections of a fixed pool are still being opened.
    pub fn is_prewarming(&self) -> bool {
        self.connections.owed > 0 || !self.connections.opening.is_empty()
    }

    /// Gives the load; its first arrival should lie in the future.
    pub fn start(&mut self, load: L) {
        self.connections.start();
        // Connections grow old from the start on, whenever the first arrival is due.
        self.more_to_do |= self.policy.connection_age.is_some();
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
            in_flight: u64::from(self.in_flight.len),
            backlog: self.waiting(),
            connections: u64::from(self.connections.open),
            connections_peak: u64::from(self.connections.open_peak),
        }
    }

    /// Requests are under way.
    #[inline]
    pub fn awaits_answers(&self) -> bool {
        !self.in_flight.is_empty()
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
            Event::Lost(id, loss) => self.lost(id, loss, now, out, rec),
            Event::Room(id, places) => self.room(id, places, now, out, rec),
            Event::Retired(id) => self.retired(id, now, out, rec),
            Event::Closed(id, closing) => self.closed(id, closing, now, rec),
        }
        if !matches!(event, Event::Sent(_)) {
            self.pump(now, out, rec);
            if matches!(event, Event::Tick) {
                self.open_connections(now, out, rec);
            }
            let waiting = self.waiting();
            let wants_to_open = self.connections.want_more(waiting, now);
            self.more_to_do |= wants_to_open;
            self.connections.note_fullness(now, waiting);
            self.woke_for_due = self.wakes_for_due();
            let is_behind = wants_to_open || (self.connections.have_room() && waiting > 0);
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
        // A response time equal to the timeout is still in time.
        let timeout = self.policy.timeout + Nanos(1);
        let mut wake = Instant(u64::MAX);
        let mut no_later = |at: Option<Instant>| {
            if let Some(at) = at {
                wake = wake.min(at);
            }
        };
        no_later(self.oldest().map(|flight| flight.arrival.intended + timeout));
        no_later(self.connections.first_opening().map(|(_, since)| since + timeout));
        no_later(self.resend.front().map(|flight| flight.arrival.intended + timeout));
        no_later(self.connections.unneeded().map(|(_, at)| at));
        no_later(self.connections.first_to_age().map(|(_, at)| at));
        no_later(self.connections.owed_at().filter(|_| self.connections.can_open()));
        if let Some(load) = &self.load {
            no_later(load.head().map(|arrival| arrival.intended + timeout));
            if self.wakes_for_due() {
                let due = load.next_due();
                no_later(due.map(|due| self.policy.grain.map_or(due, |grain| grain.next(due))));
            }
            no_later(self.connections.blocked_until.filter(|_| load.waiting() > 0));
            no_later(Some(self.drain_end(load)));
        }
        (wake != Instant(u64::MAX)).then_some(wake)
    }

    /// Ends the run now: what is in flight is `unfinished`, what waits is `unsent`. An early end is announced
    /// by [`Dispatch::stop`], and this is called no sooner than the moment given there.
    pub fn finish(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        self.end_flights(now, out, rec);
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
        self.retire_aged(now, out, rec);
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

    /// Sends what waits on what has room.
    fn pump(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        if self.finished {
            return;
        }
        self.take_note_of_due(self.policy.grain.map_or(now, |grain| grain.last(now)), now, rec);
        let blocked_until = &mut self.connections.blocked_until;
        *blocked_until = blocked_until.filter(|&until| now < until);
        let mut sends = 0;
        while self.waiting() > 0 {
            let Some(conn) = self.connections.least_loaded() else { break };
            if sends == SENDS_PER_CALL_MAX {
                self.more_to_do = true;
                return;
            }
            let Some(flight) = self.take_waiting() else { break };
            if self.is_late(&flight.arrival, now) {
                self.give_up_waiting(flight, now, rec);
                continue;
            }
            self.bind(flight, conn, out);
            sends += 1;
        }
        if self.exhausted_at.is_some() && self.waiting() == 0 && self.in_flight.is_empty() {
            self.finished = true;
        } else if self.exhausted_at.is_none() && self.load.as_ref().is_some_and(|l| l.is_exhausted(now)) {
            // The next tick sets the end of the drain.
            self.more_to_do = true;
        }
    }

    fn bind(&mut self, mut flight: Flight, conn: u32, out: &mut Actions) {
        // Any connection with room would have done: only the time without one is time waited for one.
        flight.ready = self.connections.at(conn).since.min(self.connections.room_from);
        // It has waited for room, and the pool neither grew nor could.
        flight.pool_full |= flight.ready > flight.noticed && self.connections.was_settled_at(flight.noticed);
        let Arrival { operation, index, .. } = flight.arrival;
        let flight = self.take_off(flight, conn);
        out.push(Action::Send { conn: self.connections.id(conn), flight, operation, arrival: index });
    }

    /// Arrivals that could neither be sent nor cause a connection need no turn of their own.
    fn wakes_for_due(&self) -> bool {
        self.load.as_ref().is_some_and(|load| load.waiting() == 0) || self.connections.can_open()
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
            pool_full: self.connections.was_full_at(noticed)
                || self.connections.was_full_at(noticed + OVERSLEPT_FROM),
            ..Flight::default()
        })
    }
}
