//! One open load: arrivals from a schedule, whatever the target does.

use super::Load;
use super::queue::Queue;
use crate::arrival::{Arrival, Key};
use crate::journey::Starts;
use crate::mix::Asked;
use crate::origins::Origins;
use crate::outcome::Outcome;
use crate::record::{Ages, Recorder};
use crate::schedule::{Cursor, Schedule};
use crate::share::Share;
use crate::time::{Instant, Nanos};
use std::sync::Arc;

/// Arrivals from a schedule, whatever the target does.
#[derive(Clone, Debug)]
pub struct OpenLoad {
    drawing: Drawing,
    stop: Instant,
    cursor: Cursor,
    /// The next that falls due.
    due: Option<Arrival>,
    /// The one behind it, if it was drawn ahead: else it is drawn between the moment in which the one before falls due and
    /// its send. The cursor is behind this one then.
    ahead: Option<Arrival>,
    /// By origin, and behind these those of journeys that begin there, if there are journeys: first those of journeys without
    /// connections of their own.
    queues: Vec<Queue>,
}

/// What a worker's share of an open load is.
#[derive(Clone, Debug)]
pub struct OpenShare {
    /// Which load of the run this is, and of how many.
    pub number: LoadNumber,
    /// When its arrivals are intended.
    pub schedule: Arc<Schedule>,
    /// The schedule's zero.
    pub start: Instant,
    /// Which arrivals are this worker's.
    pub share: Share,
    /// What they ask for.
    pub asked: Asked,
    /// Where these are asked.
    pub origins: Origins,
    /// What of it are journeys.
    pub(crate) starts: Starts,
}

/// One load of so many that a run has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadNumber {
    /// From 0.
    pub load: u32,
    /// How many there are.
    pub of: u32,
}

impl LoadNumber {
    /// The only load.
    pub const ONLY: LoadNumber = LoadNumber { load: 0, of: 1 };

    /// The number in the run of the load's arrival with the number `index`.
    #[inline]
    pub(crate) fn in_run(self, index: u64) -> u64 {
        index * u64::from(self.of) + u64::from(self.load)
    }

    /// Which load the run's arrival with the number `index` is of, and which number it has there.
    pub(crate) fn of_run(self, index: u64) -> (u32, u64) {
        ((index % u64::from(self.of)) as u32, index / u64::from(self.of))
    }
}

/// How arrivals follow from the schedule.
#[derive(Clone, Debug)]
struct Drawing {
    number: LoadNumber,
    schedule: Arc<Schedule>,
    start: Instant,
    asked: Asked,
    origins: Origins,
    starts: Starts,
}

impl Drawing {
    #[inline]
    fn next(&self, cursor: &mut Cursor) -> Option<Arrival> {
        let (unit, offset) = cursor.next(&self.schedule)?;
        let (operation, journey) = self.starts.of(self.asked.at(self.schedule.place(unit)));
        Some(Arrival {
            index: self.number.in_run(unit),
            key: Key { load: self.number.load, unit, step: 0 },
            operation,
            intended: self.start + offset,
            journey,
            ..Arrival::default()
        })
    }

    /// In which line an arrival waits.
    #[inline]
    fn line(&self, arrival: &Arrival) -> usize {
        self.starts.line(arrival) * self.origins.count() + self.origins.of(arrival.operation)
    }
}

impl OpenLoad {
    /// A worker's share of an open load.
    pub fn new(spec: OpenShare) -> OpenLoad {
        let OpenShare { number, schedule, start, share, asked, origins, starts } = spec;
        let mut cursor = Cursor::of_share(&schedule, share);
        let lines = starts.lines() * origins.count();
        let queues = (0..lines).map(|_| Queue::new(cursor.clone())).collect();
        let stop = start + schedule.end();
        let drawing = Drawing { number, schedule, start, asked, origins, starts };
        let due = drawing.next(&mut cursor);
        OpenLoad { drawing, stop, cursor, due, ahead: None, queues }
    }

    /// When the arrival with `rank` before it in this line should have started. Even arrivals have a place for each rank.
    /// Of others, and where they wait in several lines, the oldest are known, and the rest is taken to be where it is
    /// expected between these and `newest`.
    fn intended(&self, queue: &Queue, rank: u64, newest: Nanos) -> Instant {
        if let Some(known) = queue.intended(rank) {
            return known;
        }
        let (cursor, first) = queue.counted_from();
        let (schedule, ahead) = (&self.drawing.schedule, rank - first);
        let even = (self.queues.len() == 1).then(|| cursor.even_ahead(schedule, ahead)).flatten();
        let offset = even.unwrap_or_else(|| {
            let oldest = queue.intended(first - 1).unwrap_or(self.drawing.start).since(self.drawing.start);
            schedule.between(oldest, newest, ahead + 1, queue.len() - first + 1)
        });
        self.drawing.start + offset
    }
}

impl Load for OpenLoad {
    fn advance(&mut self, now: Instant, mut due: impl FnMut(Arrival)) {
        while let Some(&arrival) = self.due.as_ref().filter(|a| a.intended <= now && a.intended < self.stop) {
            due(arrival);
            let line = self.drawing.line(&arrival);
            self.queues[line].push(arrival, &self.cursor);
            self.due = self.ahead.take().or_else(|| self.drawing.next(&mut self.cursor));
        }
    }

    #[inline]
    fn draw_ahead(&mut self) {
        let Some(due) = self.due.as_ref().filter(|_| self.ahead.is_none()) else { return };
        // A line that only counts its last ones needs to know the place just behind the next.
        if self.queues[self.drawing.line(due)].holds_next() {
            self.ahead = self.drawing.next(&mut self.cursor);
        }
    }

    #[inline]
    fn may_be_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|next| next.intended <= now)
    }

    #[inline(always)]
    fn head(&self, origin: usize) -> Option<Arrival> {
        self.queues[origin].head()
    }

    #[inline(always)]
    fn take(&mut self, origin: usize) -> Option<Arrival> {
        let is_mine = |arrival: &Arrival| self.drawing.line(arrival) == origin;
        self.queues[origin].take(|cursor| self.drawing.next(cursor), is_mine)
    }

    #[inline]
    fn pop(&mut self, origin: usize) {
        let is_mine = |arrival: &Arrival| self.drawing.line(arrival) == origin;
        self.queues[origin].pop(|cursor| self.drawing.next(cursor), is_mine);
    }

    #[inline]
    fn waiting(&self, origin: usize) -> u64 {
        self.queues[origin].len()
    }

    fn add_ages(&self, now: Instant, ages: &mut Ages) {
        let newest = now.min(self.stop).since(self.drawing.start);
        for queue in &self.queues {
            ages.add_in_order(queue.len(), |rank| now.since(self.intended(queue, rank, newest)));
        }
    }

    #[inline]
    fn next_due(&self) -> Option<Instant> {
        self.due.map(|a| a.intended).filter(|&d| d < self.stop)
    }

    #[inline]
    fn ended(&mut self, _arrival: &Arrival, _outcome: Outcome, _now: Instant, _rec: &mut Recorder) {}

    fn stop(&mut self, at: Instant) {
        self.stop = self.stop.min(at);
    }

    fn end(&self) -> Instant {
        self.stop
    }

    #[inline]
    fn is_exhausted(&self, _now: Instant) -> bool {
        self.next_due().is_none()
    }
}
