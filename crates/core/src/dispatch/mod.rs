//! The dispatcher: a sans-IO state machine that decides what is sent when, and on which connection.
//!
//! Whoever drives it calls [`Dispatch::handle`] with `now` and what happened, and carries out the actions that come
//! back. It calls again with [`Event::Tick`] no later than [`Dispatch::next_wake`]. The real engine and a simulator
//! drive the same code.
//!
//! Binding is late: a connection that is being opened belongs to no arrival, and the oldest waiting arrival takes
//! whichever connection has room first. Nothing is dropped. An arrival that can't be sent waits with its intended time
//! until it is sent, it times out, or the run ends.
//!
//! An arrival that is under way is a flight. A connection carries as many flights as it has places, and each flight has
//! its own name.
//!
//! Each origin has a lane: its connections, and the arrivals that wait for them. Lanes share nothing but the loop, so
//! an origin that stalls holds up no other.

mod again;
mod arena;
mod ceasing;
mod connections;
mod event;
mod expiry;
mod fullness;
mod held;
mod landing;
mod lane;
mod notice;
mod opening;
mod overslept;
mod own;
mod rebind;
mod retry;
mod sending;
mod sockets;
mod spread;
mod together;
mod told;
mod waiting;
mod wake;

pub use event::{
    ACTIONS_MAX, AUTO_CONNECTIONS_MAX, Action, Actions, CloseKind, Closing, ConnId, ConnectTimes, Event,
    FlightId, Grain, Loss, Policy, Pool, Room, ports_found_quickly,
};
pub use retry::{ATTEMPTS_MAX, Jitter, Retry, RetryOn};
pub use spread::Spread;

use crate::load::Load;
use crate::record::{Answer, ConnectionLevels, Gauges, LaneLevels, Recorder};
use crate::time::{Instant, Nanos};
use again::Retrying;
use landing::Flights;
use lane::Lane;
use std::collections::VecDeque;

/// Connection attempts that one tick may ask for.
pub const OPENS_PER_TICK_MAX: usize = 16;
/// Sends that one call may ask for, so that a backlog does not starve the reads.
pub const SENDS_PER_CALL_MAX: usize = 64;
/// How often whoever drives a dispatcher looks at the clock while answers are awaited. If the driver paused and the
/// pause ended before its next turn, it would look like an answer that took that long.
pub const LOOK_EVERY: Nanos = Nanos::from_millis(10);
/// The most timeouts that one call carries out, for arrivals and for attempts each.
const TIMEOUTS_PER_CALL_MAX: usize = 64;
/// The most waiting arrivals that one call lets expire.
const EXPIRIES_PER_CALL_MAX: usize = 4096;
/// How long a connection of a growing pool may be idle before it is closed. Such connections are what a stall has left
/// behind.
pub const IDLE_MAX: Nanos = Nanos::from_secs(30);
/// The most journeys that have ended whose own connections one call closes.
const LEFT_PER_CALL_MAX: usize = 64;
/// The most connections to one origin that one tick closes because they are idle, and as many because they are old.
const IDLE_CLOSED_PER_TICK_MAX: usize = 4;

/// The state machine of one worker.
#[derive(Debug)]
pub struct Dispatch<L> {
    load: Option<L>,
    policy: Policy,
    /// One lane per origin.
    lanes: Vec<Lane>,
    /// The lane that sends first in the next turn. It changes if there is too much to send in one turn.
    first_to_send: usize,
    /// The lane that opens first in the next turn. This is separate, because lanes that open must not decide which
    /// lanes send.
    first_to_open: usize,
    flights: Flights,
    /// `None` if nothing is tried again.
    retrying: Option<Box<Retrying>>,
    /// Nothing is tried again, and connections belong to no journey and have no age: only what is in the lanes can take
    /// too long.
    is_plain: bool,
    /// Of a plain one: if a tick is the next event and comes before then, nothing has taken too long.
    quiet_until: Instant,
    /// Answers since the last tick.
    answers: usize,
    /// Sends that the current call has asked for.
    sends: usize,
    /// Connections may be those of journeys: closed or given back when they end, and looked after until then.
    binds: bool,
    exhausted_at: Option<Instant>,
    /// Nothing is sent any more.
    has_ceased: bool,
    more_to_do: bool,
    finished: bool,
}

impl<L: Load> Dispatch<L> {
    /// A dispatcher that has no load yet. Ticks before [`Dispatch::start`] open a fixed pool.
    pub fn new(policy: Policy) -> Dispatch<L> {
        Dispatch {
            load: None,
            lanes: (0..policy.origins.count()).map(|origin| Lane::new(&policy, origin)).collect(),
            first_to_send: 0,
            first_to_open: 0,
            flights: Flights::new(policy.flights_reserved()),
            retrying: Retrying::new(&policy).map(Box::new),
            is_plain: policy.retry.is_none()
                && policy.own.is_none()
                && policy.held.is_none()
                && policy.connection_age.is_none()
                && !policy.origins.has_sockets(),
            quiet_until: Instant(0),
            answers: 0,
            sends: 0,
            binds: policy.own.is_some() || policy.held.is_some() || policy.origins.has_sockets(),
            exhausted_at: None,
            has_ceased: false,
            more_to_do: false,
            finished: false,
            policy,
        }
    }

    /// True while connections of a fixed pool are still being opened.
    pub fn is_prewarming(&self) -> bool {
        self.lanes.iter().any(|lane| lane.connections.owed > 0 || !lane.connections.opening.is_empty())
    }

    /// Sets the load. Its first arrival should lie in the future.
    pub fn start(&mut self, load: L) {
        self.lanes.iter_mut().for_each(|lane| lane.connections.start());
        // Connections grow old from the start on, no matter when the first arrival is due.
        self.more_to_do |= self.policy.connection_age.is_some();
        self.quiet_until = Instant(0);
        self.load = Some(load);
    }

    /// Nothing falls due at `at` or later: the run is being ended early.
    pub fn stop(&mut self, at: Instant) {
        if let Some(load) = &mut self.load {
            load.stop(at);
        }
    }

    /// Pauses that users take from here on ([`Load::pauses`]).
    pub fn pauses(&mut self) -> Option<&mut VecDeque<Nanos>> {
        self.load.as_mut()?.pauses()
    }

    /// Every arrival has ended: nothing is left to do.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// The levels right now. `connections_peak` is the peak of this worker.
    pub fn gauges(&self) -> Gauges {
        let ahead = self.retrying.as_ref().map_or(0, |retrying| retrying.ahead());
        // An arrival that waits before its next attempt has been sent, and nothing on the client's side holds it back.
        let mut gauges = Gauges {
            in_flight: ahead,
            backlog: self.load.as_ref().map_or(0, Load::held_back),
            ..Gauges::default()
        };
        for (origin, lane) in self.lanes.iter().enumerate() {
            let in_flight = lane.in_flight().iter().map(|list| u64::from(list.len)).sum();
            let levels = LaneLevels { in_flight, backlog: self.waiting_in_all(origin) };
            gauges.in_flight += levels.in_flight;
            gauges.backlog += levels.backlog;
            gauges.lanes[origin] = levels;
            gauges.origins[origin] = ConnectionLevels {
                connections: u64::from(lane.connections.open),
                connections_peak: u64::from(lane.connections.open_peak),
            };
        }
        gauges
    }

    /// How requests have spread over the connections to each origin.
    pub fn spreads(&self) -> Vec<Spread> {
        self.lanes.iter().map(|lane| lane.connections.spread()).collect()
    }

    /// When the journey of an arrival that is under way was to start; for one that stands alone, when it was itself.
    #[inline]
    pub fn began(&self, arrival: &crate::arrival::Arrival) -> Instant {
        self.load.as_ref().map_or(arrival.intended, |load| load.began(arrival))
    }

    /// Whether requests are under way.
    #[inline]
    pub fn awaits_answers(&self) -> bool {
        self.lanes.iter().any(|lane| lane.in_flight().iter().any(|list| !list.is_empty()))
    }

    /// Takes note of what happened at `now` and appends what is to be done to `out`.
    #[inline(always)] // what kind of event it is is known where this is called
    pub fn handle(&mut self, now: Instant, event: Event, out: &mut Actions, rec: &mut Recorder) {
        match &event {
            // Carrying out an action says nothing about what is left to do.
            Event::Sent(id) => self.sent(*id, now, rec),
            Event::Heard(id, events) => self.heard(*id, *events, now, rec),
            Event::Answered(id, answer) => self.handle_answer(now, *id, answer, out, rec),
            _ => self.react(now, &event, out, rec),
        }
    }

    /// The same as [`Dispatch::handle`] of [`Event::Answered`]. Apart, because it is what happens most.
    #[inline(never)]
    pub fn handle_answer(
        &mut self,
        now: Instant,
        id: FlightId,
        answer: &Answer,
        out: &mut Actions,
        rec: &mut Recorder,
    ) {
        (self.more_to_do, self.quiet_until) = (false, Instant(0));
        self.answered(id, answer, now, out, rec);
        self.pump(now, out, rec);
        self.look_around(now, rec);
    }

    #[inline(never)]
    fn react(&mut self, now: Instant, event: &Event, out: &mut Actions, rec: &mut Recorder) {
        self.more_to_do = false;
        match event {
            Event::Tick => self.tick(now, out, rec),
            Event::Connected(id, times) => self.connected(*id, *times, now, out, rec),
            Event::ConnectFailed(id, kind) => self.connect_failed(*id, *kind, now, rec),
            Event::Sent(_) | Event::Heard(..) | Event::Answered(..) => {}
            Event::Lost(id, loss) => self.lost(*id, *loss, now, out, rec),
            Event::Unsent(id) => self.unsent(*id, now, out, rec),
            Event::Kept(id) => self.kept(*id, now, out, rec),
            Event::Room(id, places) => self.room(*id, *places, now, out, rec),
            Event::Retired(id) => self.retired(*id, now, out, rec),
            Event::Broken(id, breach) => self.broken(*id, *breach, now),
            Event::Closed(id, closing) => self.closed(*id, *closing, now, rec),
        }
        self.quiet_until = Instant(0);
        self.pump(now, out, rec);
        if matches!(event, Event::Tick) {
            self.open_connections(now, out, rec);
        }
        self.look_around(now, rec);
    }

    /// Ends the run now: what is in flight is `unfinished`, and what waits is `unsent`. An early end is announced by
    /// [`Dispatch::stop`]; this must not be called before the moment given there.
    pub fn finish(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        self.end_flights(now, out, rec);
        if let Some(load) = &mut self.load {
            // Arrivals that fell due before the end but were not looked at yet are counted too.
            load.advance(now, |arrival| rec.due(&arrival));
            load.stop(Instant(0));
            load.finish(now, rec);
        }
        self.end_waiting(now, rec);
        while self.has_left() {
            self.close_left(now, out, rec);
        }
        self.finished = true;
    }

    #[inline(always)]
    fn tick(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        // An arrival that has just fallen due waits for this.
        if now >= self.quiet_until {
            self.expire(now, out, rec);
        }
        let Some(load) = &self.load else { return };
        if self.exhausted_at.is_none() && load.is_exhausted(now) {
            self.exhausted_at = Some(now.min(load.end()));
        }
        if now >= self.drain_end(load) {
            self.finish(now, out, rec);
        }
    }

    /// As with the timeout, what comes exactly at this moment is still in time. So a drain as long as the timeout lets
    /// the last arrival time out instead of cutting it off.
    fn drain_end(&self, load: &L) -> Instant {
        self.exhausted_at.unwrap_or(load.end()) + self.policy.drain + Nanos(1)
    }

    /// Sends waiting arrivals on connections with room.
    #[inline(never)] // one for ticks and answers: what is cold at low rates is little
    fn pump(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        if self.finished {
            return;
        }
        if self.binds {
            self.close_left(now, out, rec);
        }
        let until = self.policy.grain.map_or(now, |grain| grain.last(now));
        if self.load.as_ref().is_some_and(|load| load.may_be_due(until)) {
            self.take_note_of_due(until, now, rec);
        }
        if self.retrying.is_some() {
            self.release_retries(until);
        }
        let mut origin = self.first_to_send;
        self.sends = 0;
        let mut lanes_left = self.lanes.len();
        if self.has_ceased {
            self.end_waiting(now, rec);
            self.lanes.iter_mut().for_each(|lane| lane.connections.look_at_block(now));
            lanes_left = 0;
        }
        for _ in 0..lanes_left {
            let before = self.sends;
            if self.binds && !self.pump_bound(origin, now, out, rec) || !self.pump_lane(origin, now, out, rec)
            {
                // A lane that has sent nothing goes first. Otherwise, others that fill each turn could shut it out.
                self.first_to_send = if self.sends > before { self.lane_after(origin) } else { origin };
                self.more_to_do = true;
                return;
            }
            origin = self.lane_after(origin);
        }
        if self.exhausted_at.is_some() {
            self.finished = self.is_over();
        } else if self.load.as_ref().is_some_and(|l| l.is_exhausted(now)) {
            // The next tick sets the end of the drain.
            self.more_to_do = true;
        }
    }

    /// Sends what can be sent on connections of journeys. Returns false if something is left for the next call.
    #[inline(never)]
    fn pump_bound(&mut self, origin: usize, now: Instant, out: &mut Actions, rec: &mut Recorder) -> bool {
        (self.policy.own.is_none() || self.pump_own(origin, now, out, rec))
            && (self.policy.held.is_none() || self.pump_held(origin, now, out, rec))
    }

    /// Attempts after the first are due up to `until`.
    #[inline(never)]
    fn release_retries(&mut self, until: Instant) {
        let Dispatch { retrying: Some(retrying), policy: Policy { origins, own, .. }, .. } = self else {
            return;
        };
        retrying.release(until, |arrival| {
            let is_own = own.is_some_and(|own| own.has(arrival));
            origins.of(arrival.operation) + if is_own { origins.count() } else { 0 }
        });
    }

    fn waiting_in_all(&self, origin: usize) -> u64 {
        self.waiting(origin) + self.waiting_own(origin) + self.waiting_held(origin)
    }

    /// Nothing is under way, and nothing waits.
    #[inline(never)]
    fn is_over(&self) -> bool {
        let is_ahead = || self.retrying.as_ref().is_some_and(|retrying| retrying.ahead() > 0);
        let nobody_waits = |origin| self.waiting_in_all(origin) == 0;
        !self.awaits_answers() && (0..self.lanes.len()).all(nobody_waits) && !is_ahead()
    }

    #[inline]
    fn lane_after(&self, origin: usize) -> usize {
        if origin + 1 < self.lanes.len() { origin + 1 } else { 0 }
    }

    /// The number of lines of arrivals in the load.
    fn lines(&self) -> usize {
        self.lanes.len() * if self.policy.own.is_some() { 3 } else { 1 }
    }
}
