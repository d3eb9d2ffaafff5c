//! A schedule and the workers that keep it: one lane for all of them, or one for each.

use super::spec::{Late, Pacing, ToolSpec};
use crate::arrival::Arrival;
use crate::mix::Asked;
use crate::schedule::{Cursor, Schedule};
use crate::time::{Instant, Nanos};
use std::collections::VecDeque;
use std::sync::Arc;

/// A request that starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Start {
    pub(super) worker: u32,
    /// Intended for when a tool counts from that counts from its schedule.
    pub(super) arrival: Arrival,
    /// Since when both the request was due and its worker free.
    pub(super) ready: Instant,
}

/// The next entry of the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Next {
    index: u64,
    /// As planned, after the schedule's zero.
    planned: Nanos,
}

/// wrk2's catching up: from the moment in which a worker falls behind, at a multiple of its rate.
#[derive(Clone, Copy, Debug)]
struct CatchUp {
    factor: u32,
    /// Since when it has been behind: (then, planned time of the request then).
    behind: Option<(Instant, Nanos)>,
}

/// A rate limiter that saves up permits, up to its burst.
#[derive(Clone, Debug)]
struct Limiter {
    /// A burst ahead of the next entry of the schedule.
    cursor: Cursor,
    /// As planned: the last permit that can have been saved when the next one is given.
    last_saved: Option<Nanos>,
}

#[derive(Clone, Debug)]
pub(super) struct Lane {
    schedule: Arc<Schedule>,
    cursor: Cursor,
    next: Option<Next>,
    zero: Instant,
    asked: Asked,
    /// Nothing starts at this time or later, after the schedule moved.
    end: Option<Instant>,
    /// How far the schedule has moved.
    moved: Nanos,
    late: Late,
    limiter: Option<Limiter>,
    catch_up: Option<CatchUp>,
    /// Workers that have nothing to do, longest first, and since when.
    free: VecDeque<(u32, Instant)>,
    /// Workers made on demand, where their number has no limit.
    unlimited: Option<u32>,
}

impl Limiter {
    fn new(schedule: &Schedule, part: (u64, u64), burst: u32) -> Limiter {
        let (shard, shards) = part;
        Limiter { cursor: Cursor::new(schedule, shard + u64::from(burst) * shards, shards), last_saved: None }
    }

    fn step(&mut self, schedule: &Schedule) {
        self.last_saved = self.cursor.next(schedule).map(|(_, planned)| planned);
    }
}

impl Lane {
    /// Part `shard` of `shards` of the schedule.
    pub(super) fn new(
        spec: &ToolSpec,
        schedule: &Arc<Schedule>,
        asked: &Asked,
        zero: Instant,
        part: (u64, u64),
    ) -> Lane {
        let is_limiter = matches!(spec.pacing, Pacing::Dynamic | Pacing::DynamicLocal);
        let mut lane = Lane {
            cursor: Cursor::new(schedule, part.0, part.1),
            schedule: schedule.clone(),
            next: None,
            zero,
            asked: asked.clone(),
            end: (!spec.by_count).then(|| zero + schedule.span()),
            moved: Nanos::ZERO,
            late: if is_limiter { Late::Shift } else { spec.late },
            limiter: is_limiter.then(|| Limiter::new(schedule, part, spec.burst)),
            catch_up: spec.catch_up.map(|factor| CatchUp { factor, behind: None }),
            free: VecDeque::new(),
            unlimited: spec.workers.is_none().then_some(0),
        };
        lane.step();
        lane
    }

    /// A worker has nothing to do from `now` on.
    pub(super) fn free(&mut self, worker: u32, now: Instant) {
        if let Some(catch_up) = &mut self.catch_up
            && self.next.is_none_or(|next| self.zero + next.planned + self.moved > now)
        {
            catch_up.behind = None;
        }
        self.free.push_back((worker, now));
    }

    /// When something may start.
    pub(super) fn wake(&self) -> Option<Instant> {
        let due = self.due()?;
        let has_free = !self.free.is_empty() || self.unlimited.is_some();
        has_free.then(|| due.max(self.held_back()))
    }

    /// The request that starts at `now`, if any.
    pub(super) fn start(&mut self, now: Instant) -> Option<Start> {
        loop {
            let due = self.due().filter(|&due| due <= now)?;
            let next = self.next?;
            let (worker, since) = self.longest_free(due)?;
            if self.late == Late::Drop && since > due {
                // No worker was free when it fell due: those free now became so later.
                self.free.push_front((worker, since));
                self.step();
                continue;
            }
            if self.held_back() > now {
                self.free.push_front((worker, since));
                return None;
            }
            let ready = due.max(since);
            if self.late == Late::Shift {
                self.moved += self.forgotten(due, ready);
            }
            self.note_behind(next, due, now);
            self.step();
            let intended = if self.limiter.is_some() { ready } else { due };
            return Some(Start { worker, arrival: self.arrival(next.index, intended), ready });
        }
    }

    /// The worker that takes what fell due at `due`, and since when it is free.
    fn longest_free(&mut self, due: Instant) -> Option<(u32, Instant)> {
        let longest = self.free.front().copied();
        match (longest.filter(|&(_, since)| since <= due), &mut self.unlimited) {
            (None, Some(made)) => {
                *made += 1;
                Some((*made - 1, due))
            }
            _ => self.free.pop_front(),
        }
    }

    fn arrival(&self, index: u64, intended: Instant) -> Arrival {
        Arrival::single(index, self.asked.at(self.schedule.place(index)), intended)
    }

    /// What has fallen due by `now` and was not sent: only where it is queued.
    pub(super) fn left_over(&mut self, now: Instant) -> Option<Arrival> {
        let due = self.due().filter(|&due| due <= now)?;
        let index = self.next?.index;
        self.step();
        Some(self.arrival(index, due))
    }

    /// Everything that is left will never be sent.
    pub(super) fn is_exhausted(&self) -> bool {
        self.due().is_none()
    }

    fn due(&self) -> Option<Instant> {
        let due = self.zero + self.next?.planned + self.moved;
        // A schedule that has not moved ends by itself.
        self.end.is_none_or(|end| due < end).then_some(due)
    }

    /// By how much the schedule moves when what was due at `due` starts at `ready`.
    fn forgotten(&self, due: Instant, ready: Instant) -> Nanos {
        match &self.limiter {
            None => ready.since(due),
            // Permits that fell due until now are saved; the schedule moves so that this is the last of them.
            Some(limiter) => limiter
                .last_saved
                .map_or(Nanos::ZERO, |planned| ready.since(self.zero + planned + self.moved)),
        }
    }

    fn step(&mut self) {
        self.next = self.cursor.next(&self.schedule).map(|(index, planned)| Next { index, planned });
        if let Some(limiter) = &mut self.limiter {
            limiter.step(&self.schedule);
        }
    }

    /// Until when catching up holds the next request back.
    fn held_back(&self) -> Instant {
        let (Some(CatchUp { factor, behind: Some((since, planned)) }), Some(next)) =
            (self.catch_up, self.next)
        else {
            return Instant(0);
        };
        since + Nanos((next.planned - planned).0 / u64::from(factor.max(1)))
    }

    fn note_behind(&mut self, sent: Next, due: Instant, now: Instant) {
        let Some(catch_up) = &mut self.catch_up else { return };
        if due >= now {
            catch_up.behind = None;
        } else if catch_up.behind.is_none() {
            catch_up.behind = Some((now, sent.planned));
        }
    }
}
