//! Where arrivals come from: an open schedule, or a closed population of users.

use crate::schedule::{Cursor, Schedule};
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
    /// The share of worker `shard` of `shards`, with the schedule's zero at `start`.
    pub fn new(schedule: Arc<Schedule>, start: Instant, shard: u64, shards: u64) -> Open {
        let mut cursor = Cursor::new(&schedule, shard, shards);
        let stop = start + schedule.end();
        let first = cursor.next(&schedule).map(|(index, offset)| Arrival { index, intended: start + offset });
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
                .map(|(index, offset)| Arrival { index, intended: self.start + offset });
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
            .map(|(index, offset)| Arrival { index, intended: self.start + offset });
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
    /// When each user comes again, in order: all think for the same time, so that whoever ended first is first.
    thinking: VecDeque<Instant>,
    ready: VecDeque<Arrival>,
    think: Nanos,
    stop: Instant,
    next_index: u64,
    index_step: u64,
    measured_from: Instant,
    left: u64,
    in_flight: u64,
}

/// What a worker's share of a closed population is.
#[derive(Clone, Copy, Debug)]
pub struct ClosedShare {
    /// Users over all workers.
    pub users: u32,
    /// From the end of an answer to the next request.
    pub think: Nanos,
    /// Gap between the first requests of two users, so that they don't march in step.
    pub stagger: Nanos,
    /// When the first user starts.
    pub start: Instant,
    /// Nothing starts at this time or later.
    pub end: Instant,
    /// Requests that start at this time or later are measured; those before are warm-up.
    pub measured_from: Instant,
    /// Measured requests over all workers at the most.
    pub limit: u64,
    /// This worker's number.
    pub shard: u32,
    /// Number of workers.
    pub shards: u32,
}

impl Closed {
    /// One worker's users: those whose number is ≡ shard (mod shards).
    pub fn new(share: ClosedShare) -> Closed {
        let mine = (share.shard..share.users).step_by(share.shards as usize);
        let mut thinking = VecDeque::with_capacity(share.users.div_ceil(share.shards) as usize);
        thinking.extend(mine.map(|user| share.start + Nanos(share.stagger.0 * u64::from(user))));
        let (shard, shards) = (u64::from(share.shard), u64::from(share.shards));
        Closed {
            ready: VecDeque::with_capacity(thinking.len()),
            thinking,
            think: share.think,
            stop: share.end,
            next_index: shard,
            index_step: shards,
            measured_from: share.measured_from,
            left: share.limit / shards + u64::from(shard < share.limit % shards),
            in_flight: 0,
        }
    }
}

impl Load for Closed {
    fn advance(&mut self, now: Instant, mut due: impl FnMut(Arrival)) {
        while self.left > 0 {
            let Some(&intended) = self.thinking.front() else { return };
            if intended > now || intended >= self.stop {
                return;
            }
            self.thinking.pop_front();
            let arrival = Arrival { index: self.next_index, intended };
            self.next_index += self.index_step;
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
        let next = self.thinking.front().copied();
        next.filter(|&t| self.left > 0 && t < self.stop)
    }

    fn ended(&mut self, now: Instant) {
        self.in_flight -= 1;
        let again = now + self.think;
        // Before those who have not started yet, which only the first moments of a run see.
        let place = match self.thinking.back() {
            Some(&last) if last > again => self.thinking.partition_point(|&at| at <= again),
            _ => self.thinking.len(),
        };
        self.thinking.insert(place, again);
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
