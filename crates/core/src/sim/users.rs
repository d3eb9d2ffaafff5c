//! Impatient users: each arrives on the schedule, gives up an attempt that takes too long, and tries again.
//!
//! What a user felt counts from the first intention. The server does not learn that an attempt was given up and
//! works on, so that load amplifies itself. An attempt that may not be repeated is waited for until the timeout. Who
//! would come back by itself after that time leaves with the failure of its last attempt, and who has waited for that
//! long in all sends nothing more. The dispatcher's own retries ([`crate::dispatch::Retry`]) have the same law.

use super::intervals::Intervals;
use super::world::{Client, Turn};
use crate::arrival::Arrival;
use crate::dispatch::{Action, Actions, ConnId, Event, FlightId};
use crate::load::{Load, Open};
use crate::origins::Origins;
use crate::plan::Plan;
use crate::record::{Answer, ConnectionLevels, Flight, Gauges, Interval, RetryCause};
use crate::time::{Instant, Nanos};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// When a user whose attempt failed comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Return {
    /// After this time; twice as long after each further attempt.
    After(Nanos),
    /// With everybody else, in the moment in which somebody is answered again. One of those who wait asks once in
    /// this time.
    Together(Nanos),
}

/// How users behave who don't get an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsersSpec {
    /// An attempt that takes longer is given up; without it only failures are repeated.
    pub patience: Option<Nanos>,
    /// Attempts of one user at the most.
    pub attempts_max: u32,
    /// When it comes back.
    pub comes_back: Return,
    /// Further attempts of all users at the most, in percent of the arrivals so far; no limit without it.
    pub budget_percent: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct User {
    /// How many users and attempts had this place before; an answer to one of them is nobody's.
    generation: u32,
    is_here: bool,
    attempts: u32,
    flight: Flight,
    /// Its attempt under way.
    is_waiting: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// The attempt has taken too long.
    GiveUp,
    /// The next attempt begins.
    Again,
    /// The user has waited for longer than the timeout.
    TimeOut,
}

pub(super) struct Users<F> {
    spec: UsersSpec,
    load: Open,
    origins: Origins,
    users: Vec<User>,
    free: Vec<u32>,
    here: u64,
    peak: u64,
    /// (when, who, generation, what).
    ahead: BinaryHeap<Reverse<(Instant, u32, u32, What)>>,
    /// Those who wait to come back together, and when one of them asks.
    herd: VecDeque<(u32, u32)>,
    probe: Option<Instant>,
    arrivals: u64,
    /// Further attempts that were allowed.
    repeated: u64,
    timeout: Nanos,
    end: Instant,
    has_ended: bool,
    pub(super) intervals: Intervals<F>,
}

impl<F: FnMut(&Interval)> Users<F> {
    pub(super) fn new(spec: UsersSpec, plan: &Plan, load: Open, intervals: Intervals<F>) -> Users<F> {
        let end = load.end() + plan.drain();
        Users {
            spec,
            load,
            origins: plan.spec().origins.clone(),
            users: Vec::new(),
            free: Vec::new(),
            here: 0,
            peak: 0,
            ahead: BinaryHeap::new(),
            herd: VecDeque::new(),
            probe: None,
            arrivals: 0,
            repeated: 0,
            timeout: plan.spec().timeout,
            end,
            has_ended: false,
            intervals,
        }
    }

    pub(super) fn gauges(&self) -> Gauges {
        let levels = ConnectionLevels { connections: self.here, connections_peak: self.peak };
        Gauges::of_one_origin(self.here, 0, levels)
    }

    /// The next arrival that is due. A user waits for nobody, so that all origins have one line.
    fn take_due(&mut self) -> Option<Arrival> {
        let lines = 0..self.origins.count();
        let (origin, arrival) = lines
            .filter_map(|origin| Some((origin, self.load.head(origin)?)))
            .min_by_key(|(_, arrival)| arrival.intended)?;
        self.load.pop(origin);
        Some(arrival)
    }

    fn arrive(&mut self, arrival: Arrival, now: Instant) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            // A user's connection is there when it is needed.
            let counts = self.intervals.recorder().connections(0);
            counts.attempted += 1;
            counts.opened += 1;
            self.users.push(User::default());
            self.users.len() as u32 - 1
        });
        self.arrivals += 1;
        self.here += 1;
        self.peak = self.peak.max(self.here);
        let user = &mut self.users[place as usize];
        user.is_here = true;
        user.attempts = 0;
        user.flight = Flight { arrival, noticed: now, ready: arrival.intended, ..Flight::default() };
        self.intervals.recorder().due(&arrival);
        place
    }

    /// Sends, unless the user's time is over: a client that was away may notice that late.
    fn attempt(&mut self, place: u32, now: Instant, out: &mut Actions) {
        if self.deadline(place) <= now {
            return self.time_out(place, now);
        }
        let user = &mut self.users[place as usize];
        user.generation += 1;
        user.attempts += 1;
        user.is_waiting = true;
        // A user has one connection, and one request on it.
        let (slot, generation) = (place, user.generation);
        let Arrival { operation, index, .. } = user.flight.arrival;
        let origin = self.origins.of(operation) as u8;
        let (conn, flight) = (ConnId { origin, slot, generation }, FlightId { slot, generation });
        out.push(Action::Send { conn, flight, operation, arrival: index });
    }

    /// When the user has waited for as long as the timeout.
    fn deadline(&self, place: u32) -> Instant {
        self.users[place as usize].flight.arrival.intended + self.timeout
    }

    fn time_out(&mut self, place: u32, now: Instant) {
        let flight = self.leave(place);
        self.intervals.recorder().timed_out(&flight, place, now);
    }

    fn sent(&mut self, id: FlightId, now: Instant) {
        let user = &mut self.users[id.slot as usize];
        let is_first = user.attempts == 1;
        user.flight.attempt = Some(now);
        if is_first {
            user.flight.sent = Some(now);
            let flight = user.flight;
            self.intervals.recorder().sent(&flight);
        } else {
            let flight = user.flight;
            self.intervals.recorder().sent_again(&flight);
        }
        let timeout = self.deadline(id.slot);
        let user = &self.users[id.slot as usize];
        let patience = self.spec.patience.map(|patience| now + patience);
        let entry = match patience.filter(|&at| at < timeout && user.attempts < self.spec.attempts_max) {
            Some(at) => (at, id.slot, id.generation, What::GiveUp),
            None => (timeout, id.slot, id.generation, What::TimeOut),
        };
        self.ahead.push(Reverse(entry));
    }

    /// May this user try once more, after an attempt that is over at `now`?
    fn may_repeat(&self, place: u32, now: Instant) -> bool {
        let within = |percent: u32| {
            u128::from(self.repeated + 1) * 100 <= u128::from(self.arrivals) * u128::from(percent)
        };
        let is_in_time = self.comes_back_at(place, now).is_none_or(|at| at < self.deadline(place));
        self.users[place as usize].attempts < self.spec.attempts_max
            && is_in_time
            && self.spec.budget_percent.is_none_or(within)
    }

    /// When it does by itself.
    fn comes_back_at(&self, place: u32, now: Instant) -> Option<Instant> {
        let Return::After(time) = self.spec.comes_back else { return None };
        let doublings = (self.users[place as usize].attempts - 1).min(32);
        Some(Instant(now.0.saturating_add(time.0.saturating_mul(1 << doublings))))
    }

    /// The attempt of a user is over without success; it will come back.
    fn turn_away(&mut self, place: u32, cause: RetryCause, now: Instant) {
        let (timeout, comes_back_at) = (self.deadline(place), self.comes_back_at(place, now));
        let user = &mut self.users[place as usize];
        let flight = user.flight;
        self.intervals.recorder().turned_away(&flight, cause, now);
        user.flight.attempt = None;
        user.flight.repeats += 1;
        user.flight.is_last = user.attempts + 1 == self.spec.attempts_max;
        user.is_waiting = false;
        user.generation += 1;
        let generation = user.generation;
        self.repeated += 1;
        if let Some(again) = comes_back_at {
            return self.ahead.push(Reverse((again, place, generation, What::Again)));
        }
        if let Return::Together(every) = self.spec.comes_back {
            self.herd.push_back((place, generation));
            self.probe.get_or_insert(now + every);
        }
        self.ahead.push(Reverse((timeout, place, generation, What::TimeOut)));
    }

    fn answered(&mut self, id: FlightId, answer: &Answer, now: Instant, out: &mut Actions) {
        if answer.failure.is_none() {
            // Everybody hears of it, whoever asked.
            self.come_back(now, out);
        }
        if !self.is_asking(id.slot, id.generation) {
            return;
        }
        if let Some(kind) = answer.failure.filter(|_| self.may_repeat(id.slot, now)) {
            return self.turn_away(id.slot, RetryCause::Failed(kind), now);
        }
        let flight = self.leave(id.slot);
        self.intervals.recorder().answered(&flight, id.slot, answer, now);
    }

    fn come_back(&mut self, now: Instant, out: &mut Actions) {
        self.probe = None;
        while let Some((place, generation)) = self.herd.pop_front() {
            if self.is_same(place, generation) {
                self.attempt(place, now, out);
            }
        }
    }

    fn is_same(&self, place: u32, generation: u32) -> bool {
        let user = &self.users[place as usize];
        user.is_here && user.generation == generation
    }

    fn is_asking(&self, place: u32, generation: u32) -> bool {
        self.is_same(place, generation) && self.users[place as usize].is_waiting
    }

    fn leave(&mut self, place: u32) -> Flight {
        let user = &mut self.users[place as usize];
        user.is_here = false;
        user.is_waiting = false;
        user.generation += 1;
        self.here -= 1;
        self.free.push(place);
        while let Some(&Reverse((_, place, generation, _))) = self.ahead.peek() {
            if self.is_same(place, generation) {
                break;
            }
            self.ahead.pop();
        }
        self.users[place as usize].flight
    }

    fn pass_time(&mut self, now: Instant, out: &mut Actions) {
        while let Some(&Reverse((at, place, generation, what))) = self.ahead.peek() {
            if at > now {
                break;
            }
            self.ahead.pop();
            if !self.is_same(place, generation) {
                continue;
            }
            match what {
                What::Again => self.attempt(place, now, out),
                What::GiveUp if self.may_repeat(place, now) => {
                    self.turn_away(place, RetryCause::TryTimeout, now)
                }
                What::GiveUp => {
                    // The budget is used up: this attempt is the last one.
                    let timeout = self.deadline(place);
                    self.ahead.push(Reverse((timeout, place, generation, What::TimeOut)));
                }
                What::TimeOut => self.time_out(place, now),
            }
        }
        while self.probe.is_some_and(|at| at <= now) {
            self.probe = None;
            while let Some((place, generation)) = self.herd.pop_front() {
                if self.is_same(place, generation) && now < self.deadline(place) {
                    self.attempt(place, now, out);
                    break;
                }
            }
            if let (Return::Together(every), false) = (self.spec.comes_back, self.herd.is_empty()) {
                self.probe = Some(now + every);
            }
        }
    }

    /// Ends the run. Whoever has waited for as long as the timeout until then has timed out.
    fn cut_off(&mut self, now: Instant) {
        self.has_ended = true;
        // A client that was away has not seen them yet.
        self.load.advance(now, |_| {});
        while let Some(arrival) = self.take_due() {
            self.arrive(arrival, now);
        }
        for place in 0..self.users.len() as u32 {
            let User { is_here, flight, .. } = self.users[place as usize];
            if is_here && self.deadline(place) <= self.end {
                self.time_out(place, now);
            } else if is_here {
                self.intervals.recorder().cut_off(&flight, place, now);
            }
        }
        self.here = 0;
    }
}

impl<F: FnMut(&Interval)> Client for Users<F> {
    fn wake(&mut self) -> Option<Instant> {
        let ahead = self.ahead.peek().map(|&Reverse((at, ..))| at);
        let next = [self.load.next_due(), ahead, self.probe].into_iter().flatten().min()?;
        Some(next.min(self.end))
    }

    fn handle(&mut self, now: Instant, event: Event, out: &mut Actions) {
        match event {
            Event::Sent(id) => return self.sent(id, now),
            Event::Answered(id, answer) => self.answered(id, &answer, now, out),
            Event::Closed(conn, closing) if self.is_asking(conn.slot, conn.generation) => {
                if self.may_repeat(conn.slot, now) {
                    self.turn_away(conn.slot, RetryCause::Failed(closing.kind), now);
                } else {
                    let flight = self.leave(conn.slot);
                    self.intervals.recorder().failed(&flight, conn.slot, closing.kind, None, now);
                }
            }
            // Answers of the same moment come first.
            Event::Tick if now >= self.end => return self.cut_off(now),
            Event::Tick => self.pass_time(now, out),
            Event::Closed(..)
            | Event::Connected(..)
            | Event::ConnectFailed(..)
            | Event::Lost(..)
            | Event::Heard(..)
            | Event::Kept(_)
            | Event::Room(..)
            | Event::Retired(..)
            | Event::Unsent(_)
            | Event::Broken(..) => {}
        }
        self.load.advance(now, |_| {});
        while let Some(arrival) = self.take_due() {
            let place = self.arrive(arrival, now);
            self.attempt(place, now, out);
        }
    }

    fn turn(&mut self, turn: Turn) {
        self.intervals.turn(turn);
    }

    fn reach(&mut self, now: Instant) {
        while let Some(end) = self.intervals.passed(now) {
            let gauges = self.gauges();
            self.intervals.hand_over(end, gauges);
        }
    }

    fn is_finished(&self) -> bool {
        self.has_ended || (self.here == 0 && self.load.next_due().is_none())
    }
}
