//! Where arrivals come from: an open schedule, or a closed population of users.

use crate::schedule::{Cursor, Schedule};
use crate::share::Share;
use crate::time::{Instant, Nanos};
use std::collections::VecDeque;
use std::sync::Arc;

/// A request that is to start at `intended`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// Its number in the run, over all workers.
    pub index: u64,
    /// When it should start.
    pub intended: Instant,
    /// The first of a user of a closed population.
    pub begins: bool,
}

impl Arrival {
    /// An arrival of a schedule, which knows no users.
    pub fn scheduled(index: u64, intended: Instant) -> Arrival {
        Arrival { index, intended, begins: false }
    }
}

/// A source of arrivals for one worker. `now` never goes back.
pub trait Load {
    /// Takes note of what has fallen due up to and including `now`, in order of intended time; calls
    /// `due` for each.
    fn advance(&mut self, now: Instant, due: impl FnMut(Arrival));
    /// The oldest arrival that is due and not yet taken.
    fn head(&self) -> Option<Arrival>;
    /// Takes the head away: it is being sent, or it has ended unsent.
    fn pop(&mut self);
    /// How many are due and not yet taken.
    fn waiting(&self) -> u64;
    /// When the next one falls due, if it is known already.
    fn next_due(&self) -> Option<Instant>;
    /// An arrival that was popped has ended.
    fn ended(&mut self, now: Instant);
    /// Nothing falls due at `at` or later any more.
    fn stop(&mut self, at: Instant);
    /// Nothing falls due at this time or later.
    fn end(&self) -> Instant;
    /// Nothing will ever fall due again (some may still wait or be in flight).
    fn is_exhausted(&self, now: Instant) -> bool;
}

/// Arrivals from a schedule, whatever the target does.
#[derive(Clone, Debug)]
pub struct Open {
    schedule: Arc<Schedule>,
    start: Instant,
    stop: Instant,
    head_cursor: Cursor,
    head: Option<Arrival>,
    due_cursor: Cursor,
    due: Option<Arrival>,
    waiting: u64,
}

impl Open {
    /// A worker's share, with the schedule's zero at `start`.
    pub fn new(schedule: Arc<Schedule>, start: Instant, share: Share) -> Open {
        let mut cursor = Cursor::of_share(&schedule, share);
        let stop = start + schedule.end();
        let first = cursor.next(&schedule).map(|(index, offset)| Arrival::scheduled(index, start + offset));
        Open {
            schedule,
            start,
            stop,
            head_cursor: cursor.clone(),
            head: first,
            due_cursor: cursor,
            due: first,
            waiting: 0,
        }
    }
}

impl Load for Open {
    fn advance(&mut self, now: Instant, mut due: impl FnMut(Arrival)) {
        while let Some(arrival) = self.due.filter(|a| a.intended <= now && a.intended < self.stop) {
            due(arrival);
            self.waiting += 1;
            self.due = self
                .due_cursor
                .next(&self.schedule)
                .map(|(index, offset)| Arrival::scheduled(index, self.start + offset));
        }
    }

    fn head(&self) -> Option<Arrival> {
        if self.waiting > 0 { self.head } else { None }
    }

    fn pop(&mut self) {
        self.waiting -= 1;
        self.head = self
            .head_cursor
            .next(&self.schedule)
            .map(|(index, offset)| Arrival::scheduled(index, self.start + offset));
    }

    fn waiting(&self) -> u64 {
        self.waiting
    }

    fn next_due(&self) -> Option<Instant> {
        self.due.map(|a| a.intended).filter(|&d| d < self.stop)
    }

    fn ended(&mut self, _now: Instant) {}

    fn stop(&mut self, at: Instant) {
        self.stop = self.stop.min(at);
    }

    fn end(&self) -> Instant {
        self.stop
    }

    fn is_exhausted(&self, _now: Instant) -> bool {
        self.next_due().is_none()
    }
}

/// A finite population: each user waits for its answer, thinks, and comes again.
#[derive(Clone, Debug)]
pub struct Closed {
    beginners: Beginners,
    /// When each user comes again, in order: all think for the same time, so that whoever ended first is first.
    thinking: VecDeque<Instant>,
    ready: VecDeque<Arrival>,
    think: Nanos,
    stop: Instant,
    /// Which numbers its arrivals have: as in an open load, so that each worker sends every request.
    share: Share,
    /// How many have fallen due.
    begun: u64,
    measured_from: Instant,
    left: u64,
    in_flight: u64,
}

/// The users of a worker who have not begun: those from `next` on, in steps.
#[derive(Clone, Debug)]
struct Beginners {
    next: u64,
    step: u64,
    users: u64,
    start: Instant,
    ramp_up: Nanos,
}

impl Beginners {
    /// User u of n begins at u/n of the ramp-up.
    fn next_start(&self) -> Option<Instant> {
        let share = u128::from(self.ramp_up.0) * u128::from(self.next) / u128::from(self.users.max(1));
        (self.next < self.users).then(|| self.start + Nanos(share as u64))
    }
}

/// What a worker's share of a closed population is.
#[derive(Clone, Copy, Debug)]
pub struct ClosedShare {
    /// Users over all workers.
    pub users: u32,
    /// From the end of an answer to the next request.
    pub think: Nanos,
    /// Their first requests are spread evenly over this time, so that they don't march in step.
    pub ramp_up: Nanos,
    /// When the first user starts.
    pub start: Instant,
    /// Nothing starts at this time or later.
    pub end: Instant,
    /// Requests that start at this time or later are measured; those before are warm-up.
    pub measured_from: Instant,
    /// Measured requests over all workers at the most.
    pub limit: u64,
    /// Which users are this worker's: those whose number is `first` (mod `of`).
    pub share: Share,
}

impl Closed {
    /// One worker's users.
    pub fn new(spec: ClosedShare) -> Closed {
        let mine = spec.users.div_ceil(spec.share.of) as usize;
        let (first, of) = (u64::from(spec.share.first), u64::from(spec.share.of));
        Closed {
            beginners: Beginners {
                next: first,
                step: of,
                users: u64::from(spec.users),
                start: spec.start,
                ramp_up: spec.ramp_up,
            },
            ready: VecDeque::with_capacity(mine),
            thinking: VecDeque::with_capacity(mine),
            think: spec.think,
            stop: spec.end,
            share: spec.share,
            begun: 0,
            measured_from: spec.measured_from,
            left: spec.limit / of + u64::from(first < spec.limit % of),
            in_flight: 0,
        }
    }
}

impl Load for Closed {
    fn advance(&mut self, now: Instant, mut due: impl FnMut(Arrival)) {
        while let Some(intended) = self.next_due().filter(|&next| next <= now) {
            let begins = self.beginners.next_start() == Some(intended);
            if begins {
                self.beginners.next += self.beginners.step;
            } else {
                self.thinking.pop_front();
            }
            let arrival = Arrival { index: self.share.in_group(self.begun), intended, begins };
            self.begun += 1;
            self.left -= u64::from(intended >= self.measured_from);
            self.ready.push_back(arrival);
            due(arrival);
        }
    }

    fn head(&self) -> Option<Arrival> {
        self.ready.front().copied()
    }

    fn pop(&mut self) {
        self.ready.pop_front();
        self.in_flight += 1;
    }

    fn waiting(&self) -> u64 {
        self.ready.len() as u64
    }

    fn next_due(&self) -> Option<Instant> {
        let next = self.thinking.front().copied().into_iter().chain(self.beginners.next_start()).min();
        next.filter(|&t| self.left > 0 && t < self.stop)
    }

    fn ended(&mut self, now: Instant) {
        self.in_flight -= 1;
        self.thinking.push_back(now + self.think);
    }

    fn stop(&mut self, at: Instant) {
        self.stop = self.stop.min(at);
    }

    fn end(&self) -> Instant {
        self.stop
    }

    fn is_exhausted(&self, now: Instant) -> bool {
        // A user in flight comes again when its answer is there, unless the run is over by then.
        let nobody_returns = self.left == 0 || now >= self.stop || self.in_flight + self.waiting() == 0;
        nobody_returns && self.next_due().is_none()
    }
}
