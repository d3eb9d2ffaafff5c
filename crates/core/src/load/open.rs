//! Arrivals from a schedule, whatever the target does.

use super::Load;
use crate::arrival::Arrival;
use crate::outcome::Outcome;
use crate::record::Ages;
use crate::schedule::{Cursor, Schedule};
use crate::share::Share;
use crate::time::{Instant, Nanos};
use std::sync::Arc;

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
    operations: u64,
}

impl Open {
    /// A worker's share of a load that asks for `operations` in turn, with the schedule's zero at `start`.
    pub fn new(schedule: Arc<Schedule>, start: Instant, share: Share, operations: usize) -> Open {
        let cursor = Cursor::of_share(&schedule, share);
        let mut load = Open {
            stop: start + schedule.end(),
            head_cursor: cursor.clone(),
            head: None,
            due_cursor: cursor,
            due: None,
            schedule,
            start,
            waiting: 0,
            operations: operations.max(1) as u64,
        };
        (load.head, load.due) = (load.after_head(), load.after_due());
        load
    }

    fn after_head(&mut self) -> Option<Arrival> {
        let (index, offset) = self.head_cursor.next(&self.schedule)?;
        Some(self.arrival(index, offset))
    }

    fn after_due(&mut self) -> Option<Arrival> {
        let (index, offset) = self.due_cursor.next(&self.schedule)?;
        Some(self.arrival(index, offset))
    }

    fn arrival(&self, index: u64, offset: Nanos) -> Arrival {
        let operation = self.schedule.operation(index, self.operations);
        Arrival::single(index, operation, self.start + offset)
    }
}

impl Load for Open {
    fn advance(&mut self, now: Instant, mut due: impl FnMut(Arrival)) {
        while let Some(arrival) = self.due.filter(|a| a.intended <= now && a.intended < self.stop) {
            due(arrival);
            self.waiting += 1;
            self.due = self.after_due();
        }
    }

    fn head(&self) -> Option<Arrival> {
        if self.waiting > 0 { self.head } else { None }
    }

    fn pop(&mut self) {
        self.waiting -= 1;
        self.head = self.after_head();
    }

    fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Even arrivals have a place for each rank. Of Poisson arrivals the oldest is known, and the others are taken to be
    /// where they are expected between it and `now`.
    fn add_ages(&self, now: Instant, ages: &mut Ages) {
        let Some(head) = self.head() else { return };
        let oldest = head.intended.since(self.start);
        let newest = now.min(self.stop).since(self.start);
        let offset = |rank: u64| match rank {
            0 => oldest,
            _ => {
                let even = self.head_cursor.even_ahead(&self.schedule, rank - 1);
                even.unwrap_or_else(|| self.schedule.between(oldest, newest, rank, self.waiting))
            }
        };
        ages.add_in_order(self.waiting, |rank| now.since(self.start + offset(rank)));
    }

    fn next_due(&self) -> Option<Instant> {
        self.due.map(|a| a.intended).filter(|&d| d < self.stop)
    }

    fn ended(&mut self, _arrival: &Arrival, _outcome: Outcome, _now: Instant) {}

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
