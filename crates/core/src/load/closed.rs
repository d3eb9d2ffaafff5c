//! A closed population of users.

use super::{Load, LoadNumber};
use crate::arrival::{Arrival, Key};
use crate::mix::{Asked, Place};
use crate::origins::Origins;
use crate::outcome::Outcome;
use crate::record::{Ages, Recorder};
use crate::share::Share;
use crate::time::{Instant, Nanos};
use std::collections::VecDeque;

/// A finite population: each user waits for its answer, thinks, and comes again.
#[derive(Clone, Debug)]
pub struct Closed {
    beginners: Beginners,
    /// Who comes again and when, in order: all think for the same time, so that whoever ended first is first.
    thinking: VecDeque<Thinking>,
    /// Those whose next request is due, by its origin.
    ready: Vec<VecDeque<Arrival>>,
    number: LoadNumber,
    think: Nanos,
    stop: Instant,
    asked: Asked,
    origins: Origins,
    measured_from: Instant,
    left: u64,
    in_flight: u64,
}

/// A user between two requests.
#[derive(Clone, Copy, Debug)]
struct Thinking {
    until: Instant,
    user: u32,
    /// The number of the next request.
    step: u32,
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
    #[inline]
    fn next_start(&self) -> Option<Instant> {
        (self.next < self.users).then(|| {
            let share = u128::from(self.ramp_up.0) * u128::from(self.next) / u128::from(self.users);
            self.start + Nanos(share as u64)
        })
    }

    /// The next one begins.
    fn begin(&mut self) -> u64 {
        let user = self.next;
        self.next += self.step;
        user
    }
}

/// What a worker's share of a closed population is.
#[derive(Clone, Debug)]
pub struct ClosedShare {
    /// Which load of the run this is, and of how many.
    pub number: LoadNumber,
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
    /// What each user asks for: a sequence of its own.
    pub asked: Asked,
    /// Where these are asked.
    pub origins: Origins,
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
            ready: (0..spec.origins.count()).map(|_| VecDeque::with_capacity(mine)).collect(),
            number: spec.number,
            thinking: VecDeque::with_capacity(mine),
            think: spec.think,
            stop: spec.end,
            asked: spec.asked,
            origins: spec.origins,
            measured_from: spec.measured_from,
            left: spec.limit / of + u64::from(first < spec.limit % of),
            in_flight: 0,
        }
    }
}

impl Closed {
    /// At least one request falls due.
    fn fall_due(&mut self, now: Instant, mut due: impl FnMut(Arrival)) {
        while let Some((intended, begins)) = self.next_user().filter(|&(next, _)| next <= now) {
            let (user, step) = if begins {
                (self.beginners.begin(), 0)
            } else {
                let Some(next) = self.thinking.pop_front() else { return };
                (u64::from(next.user), next.step)
            };
            let arrival = Arrival {
                index: self.number.in_run(u64::from(step) * self.beginners.users + user),
                key: Key { load: self.number.load, unit: user, step },
                operation: self.operation(user, step),
                intended,
                begins,
                ..Arrival::default()
            };
            self.left -= u64::from(intended >= self.measured_from);
            due(arrival);
            self.ready[self.origins.of(arrival.operation)].push_back(arrival);
        }
    }

    /// When the next request falls due, and whether it is the first of its user: of one time, that one comes first.
    #[inline]
    fn next_user(&self) -> Option<(Instant, bool)> {
        let next = match (self.thinking.front(), self.beginners.next_start()) {
            (Some(user), Some(start)) if user.until < start => Some((user.until, false)),
            (_, Some(start)) => Some((start, true)),
            (Some(user), None) => Some((user.until, false)),
            (None, None) => None,
        };
        next.filter(|&(at, _)| self.left > 0 && at < self.stop)
    }

    /// What a user asks for next.
    #[inline]
    fn operation(&self, user: u64, step: u32) -> u32 {
        let sequences = self.beginners.users.max(1);
        self.asked.at(Place { sequence: user, sequences, ordinal: u64::from(step) })
    }
}

impl Load for Closed {
    #[inline]
    fn advance(&mut self, now: Instant, due: impl FnMut(Arrival)) {
        if self.next_due().is_some_and(|next| next <= now) {
            self.fall_due(now, due);
        }
    }

    #[inline]
    fn head(&self, origin: usize) -> Option<Arrival> {
        self.ready[origin].front().copied()
    }

    #[inline]
    fn pop(&mut self, origin: usize) {
        self.ready[origin].pop_front();
        self.in_flight += 1;
    }

    #[inline]
    fn waiting(&self, origin: usize) -> u64 {
        self.ready[origin].len() as u64
    }

    fn add_ages(&self, now: Instant, ages: &mut Ages) {
        for ready in &self.ready {
            ages.add_in_order(ready.len() as u64, |rank| now.since(ready[rank as usize].intended));
        }
    }

    #[inline]
    fn next_due(&self) -> Option<Instant> {
        self.next_user().map(|(at, _)| at)
    }

    #[inline]
    fn ended(&mut self, arrival: &Arrival, _outcome: Outcome, now: Instant, _rec: &mut Recorder) {
        self.in_flight -= 1;
        let Key { unit, step, .. } = arrival.key;
        // Both fit: there are a million users at the most, and nobody asks four thousand million times.
        self.thinking.push_back(Thinking {
            until: now + self.think,
            user: unit as u32,
            step: step.wrapping_add(1),
        });
    }

    fn stop(&mut self, at: Instant) {
        self.stop = self.stop.min(at);
    }

    fn end(&self) -> Instant {
        self.stop
    }

    #[inline]
    fn is_exhausted(&self, now: Instant) -> bool {
        // A user in flight comes again when its answer is there, unless the run is over by then.
        let is_anyone_here = self.in_flight > 0 || self.ready.iter().any(|ready| !ready.is_empty());
        let nobody_returns = self.left == 0 || now >= self.stop || !is_anyone_here;
        nobody_returns && self.next_due().is_none()
    }
}
