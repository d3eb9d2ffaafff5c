//! Where a tool's requests come from: lanes with a schedule, or a closed population.

use super::lane::{Lane, Start};
use super::spec::{Late, Pacing, ToolSpec};
use crate::arrival::Arrival;
use crate::load::{self, Closed, ClosedShare, Load, LoadNumber};
use crate::origins::Origins;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::record::Recorder;
use crate::schedule::{Cursor, HOLD_LENGTH_MAX, Schedule};
use crate::share::Share;
use crate::time::{Instant, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Users begin this far apart, and are measured from the first on: tools don't wait until all have begun.
const USER_STAGGER: Nanos = Nanos::from_millis(1);

#[derive(Debug)]
pub(super) enum Source {
    /// One for all workers.
    Shared(Lane),
    /// One for each worker.
    Local(Lanes),
    Population(Population),
}

/// Lanes of one worker each, with the time at which each that is free wants to act.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    wakes: BinaryHeap<Reverse<(Instant, u32)>>,
}

/// Users who each wait for their answer.
#[derive(Debug)]
pub(super) struct Population {
    load: Closed,
    idle: Vec<u32>,
}

impl Source {
    pub(super) fn new(spec: &ToolSpec, plan: &Plan, schedule: &Arc<Schedule>, zero: Instant) -> Source {
        let workers = spec.workers.unwrap_or(0);
        let asked = plan.asked();
        match spec.pacing {
            Pacing::Closed => Source::Population(Population::new(spec, plan, zero)),
            Pacing::Static | Pacing::Dynamic => {
                let mut lane = Lane::new(spec, schedule, asked, zero, (0, 1));
                (0..workers).for_each(|worker| lane.free(worker, zero));
                Source::Shared(lane)
            }
            Pacing::StaticLocal | Pacing::DynamicLocal => {
                let all = u64::from(workers);
                let lane = |worker| Lane::new(spec, schedule, asked, zero, (worker, all));
                let mut lanes = Lanes {
                    lanes: (0..all).map(lane).collect(),
                    wakes: BinaryHeap::with_capacity(workers as usize),
                };
                (0..workers).for_each(|worker| lanes.free(worker, zero));
                Source::Local(lanes)
            }
        }
    }

    /// The request of a worker has ended, which has nothing to do from `now` on.
    pub(super) fn free(
        &mut self,
        worker: u32,
        arrival: &Arrival,
        outcome: Outcome,
        now: Instant,
        rec: &mut Recorder,
    ) {
        match self {
            Source::Shared(lane) => lane.free(worker, now),
            Source::Local(lanes) => lanes.free(worker, now),
            Source::Population(users) => {
                users.load.ended(arrival, outcome, now, rec);
                users.idle.push(worker);
            }
        }
    }

    /// When something may start.
    pub(super) fn wake(&self) -> Option<Instant> {
        match self {
            Source::Shared(lane) => lane.wake(),
            Source::Local(lanes) => lanes.wakes.peek().map(|&Reverse((at, _))| at),
            Source::Population(users) => users.load.next_due(),
        }
    }

    /// The next request that starts at `now`, if any.
    pub(super) fn start(&mut self, now: Instant) -> Option<Start> {
        match self {
            Source::Shared(lane) => lane.start(now),
            Source::Local(lanes) => lanes.start(now),
            Source::Population(users) => users.start(now),
        }
    }

    /// A request that fell due and was never sent; each is told once.
    pub(super) fn left_over(&mut self, now: Instant) -> Option<Arrival> {
        match self {
            Source::Shared(lane) => lane.left_over(now),
            Source::Local(lanes) => lanes.lanes.iter_mut().find_map(|lane| lane.left_over(now)),
            Source::Population(_) => None,
        }
    }

    /// Nothing starts any more, provided that nothing is in flight.
    pub(super) fn is_exhausted(&self, now: Instant) -> bool {
        match self {
            Source::Shared(lane) => lane.is_exhausted(),
            Source::Local(lanes) => lanes.lanes.iter().all(Lane::is_exhausted),
            Source::Population(users) => users.load.is_exhausted(now),
        }
    }
}

impl Lanes {
    fn free(&mut self, worker: u32, now: Instant) {
        self.lanes[worker as usize].free(worker, now);
        self.note(worker);
    }

    fn start(&mut self, now: Instant) -> Option<Start> {
        while let Some(&Reverse((at, lane))) = self.wakes.peek() {
            if at > now {
                return None;
            }
            self.wakes.pop();
            // A lane with a worker of its own starts one request and is busy.
            if let Some(start) = self.lanes[lane as usize].start(now) {
                return Some(Start { worker: lane, ..start });
            }
            self.note(lane);
        }
        None
    }

    fn note(&mut self, lane: u32) {
        if let Some(wake) = self.lanes[lane as usize].wake() {
            self.wakes.push(Reverse((wake, lane)));
        }
    }
}

impl Population {
    fn new(spec: &ToolSpec, plan: &Plan, zero: Instant) -> Population {
        let users = spec.workers.unwrap_or(1);
        let end = if spec.by_count { HOLD_LENGTH_MAX } else { plan.load_length() };
        let load = Closed::new(ClosedShare {
            population: load::Population::Alike {
                users,
                think: Nanos::ZERO,
                ramp_up: Nanos(USER_STAGGER.0 * u64::from(users)),
            },
            start: zero,
            end: zero + end,
            measured_from: zero + plan.measured_from(),
            limit: plan.spec().limit.unwrap_or(u64::MAX),
            share: Share::WHOLE,
            asked: plan.asked().clone(),
            // A tool has one line of users for all.
            origins: Origins::default(),
            number: LoadNumber::ONLY,
        });
        Population { load, idle: (0..users).rev().collect() }
    }

    fn start(&mut self, now: Instant) -> Option<Start> {
        self.load.advance(now, |_| {});
        let arrival = self.load.head(0)?;
        let worker = self.idle.pop()?;
        self.load.pop(0);
        Some(Start { worker, arrival, ready: arrival.intended })
    }
}

/// How many requests the schedule has made due and the tool has not sent: what it queues.
#[derive(Debug)]
pub(super) struct Backlog {
    cursor: Cursor,
    next: Option<Nanos>,
    due: u64,
    is_queued: bool,
}

impl Backlog {
    pub(super) fn new(spec: &ToolSpec, schedule: &Schedule) -> Backlog {
        let mut cursor = Cursor::new(schedule, 0, 1);
        let next = cursor.next(schedule).map(|(_, at)| at);
        let is_static = matches!(spec.pacing, Pacing::Static | Pacing::StaticLocal);
        Backlog { cursor, next, due: 0, is_queued: is_static && spec.late == Late::Queue }
    }

    /// Due by `at`, after the schedule's zero, less the `started`.
    pub(super) fn at(&mut self, at: Nanos, schedule: &Schedule, started: u64) -> u64 {
        while self.is_queued && self.next.is_some_and(|next| next <= at) {
            self.due += 1;
            self.next = self.cursor.next(schedule).map(|(_, at)| at);
        }
        self.due.saturating_sub(started)
    }
}
