//! Recording by intervals of a second, as the engine does it.

use super::world::Turn;
use crate::plan::Plan;
use crate::record::{Ages, Bank, Gauges, Interval, Recorder};
use crate::time::{Instant, Nanos};

/// Length of an interval.
const LENGTH: Nanos = Nanos::from_secs(1);

/// A recorder whose bank is handed to `each` at every boundary.
pub(super) struct Intervals<F> {
    recorder: Recorder,
    spare: Option<Box<Bank<u32>>>,
    interval: Interval,
    zero: Instant,
    boundary: Instant,
    /// How long the client has waited since the last boundary, as far as that was counted.
    waited: Nanos,
    /// What is not counted yet.
    waiting: (Instant, Instant),
    each: F,
}

impl<F: FnMut(&Interval)> Intervals<F> {
    pub(super) fn new(plan: &Plan, zero: Instant, each: F) -> Intervals<F> {
        let layout = plan.layout();
        let recorder = Recorder::new(Box::new(Bank::new(layout)), plan.spec().timeout);
        let mut recorder = recorder.with_origins(plan.spec().origins.clone());
        recorder.begin(zero, plan.measured_from(), plan.load_length());
        recorder.sample_arrivals(plan.sample_blocks());
        Intervals {
            recorder,
            spare: Some(Box::new(Bank::new(layout))),
            interval: Interval::empty(layout),
            zero,
            boundary: zero + LENGTH,
            waited: Nanos::ZERO,
            waiting: (zero, zero),
            each,
        }
    }

    /// A connection takes so many requests at once.
    pub(super) fn with_room(mut self, places: u32) -> Intervals<F> {
        self.recorder = self.recorder.with_room(places);
        self
    }

    pub(super) fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    /// Takes note of how the client's machine came to its turn, before any boundary that has passed is looked at.
    pub(super) fn turn(&mut self, turn: Turn) {
        self.count_waiting(self.waiting.1);
        self.waiting = turn.waited;
        self.recorder.counters().own.note_away(turn.away);
        self.recorder.note_absence(turn.looked.0, turn.looked.1, turn.away);
    }

    fn count_waiting(&mut self, until: Instant) {
        let (from, to) = self.waiting;
        let until = until.min(to).max(from);
        self.waited += until.since(from);
        self.waiting.0 = until;
    }

    /// The boundary that lies at or before `now`.
    pub(super) fn passed(&self, now: Instant) -> Option<Instant> {
        (self.boundary <= now).then_some(self.boundary)
    }

    /// How long those have waited at the end of the interval that is handed over next who have no answer.
    pub(super) fn ages(&mut self) -> &mut Ages {
        &mut self.interval.ages
    }

    /// Hands over what was recorded until `end`.
    pub(super) fn hand_over(&mut self, end: Instant, gauges: Gauges) {
        let length = end.since(self.zero + self.interval.start);
        self.count_waiting(end);
        let busy = length - std::mem::take(&mut self.waited);
        let own = &mut self.recorder.counters().own;
        own.total += length;
        own.busy += busy;
        let Some(empty) = self.spare.take() else { return };
        let mut full = self.recorder.swap(empty, end);
        self.interval.bank.clear();
        self.interval.bank.add(&full);
        self.interval.bank.timeline.begin(self.interval.start);
        self.interval.bank.timeline.follow(&full.timeline);
        full.clear();
        self.spare = Some(full);
        self.interval.length = length;
        self.interval.gauges = gauges;
        (self.each)(&self.interval);
        self.interval.start += length;
        self.interval.ages.clear();
        self.boundary = end + LENGTH;
    }

    /// Hands over what is left when the run has ended at `now`.
    pub(super) fn finish(&mut self, now: Instant, gauges: Gauges) {
        self.hand_over(now.max(self.zero + self.interval.start), gauges);
    }
}
