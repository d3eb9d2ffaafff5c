//! Stretches in which nobody looked at the clock while arrivals fell due.

use crate::arrival::Arrival;
use crate::time::{Instant, Nanos};
use std::collections::VecDeque;

/// Arrivals that are noticed later than this were overslept. A smaller delay is the loop's ordinary turn.
pub(super) const OVERSLEPT_FROM: Nanos = Nanos::from_micros(50);
/// The most overslept stretches with waiting arrivals that are remembered.
const OVERSLEPT_MAX: usize = 256;

/// Arrivals that were noticed late together: those intended from `first` to `last`.
#[derive(Clone, Copy, Debug)]
struct Overslept {
    first: Instant,
    last: Instant,
    noticed: Instant,
}

/// What is known about one line of arrivals.
#[derive(Debug)]
pub(super) struct Oversleep {
    /// Stretches in which nobody looked at the clock while arrivals fell due.
    stretches: VecDeque<Overslept>,
    /// What has fallen due in this turn, if it was overslept.
    falling_due: Option<Overslept>,
}

impl Default for Oversleep {
    fn default() -> Oversleep {
        Oversleep { stretches: VecDeque::with_capacity(OVERSLEPT_MAX), falling_due: None }
    }
}

impl Oversleep {
    /// Those of a turn come in order. True if it was overslept, so that [`Oversleep::note`] must be called.
    #[inline]
    pub(super) fn falls_due(&mut self, arrival: &Arrival, now: Instant) -> bool {
        // If the first is not late, neither are those behind it.
        let is_late = self.falling_due.is_some() || now.since(arrival.intended) >= OVERSLEPT_FROM;
        if is_late {
            self.falls_due_late(arrival, now);
        }
        is_late
    }

    #[inline(never)]
    fn falls_due_late(&mut self, arrival: &Arrival, now: Instant) {
        let first = self.falling_due.map_or(arrival.intended, |stretch| stretch.first);
        self.falling_due = Some(Overslept { first, last: arrival.intended, noticed: now });
    }

    /// If nothing could be sent or opened, nobody had to look (`woke` is false). Without room, the delay is counted as
    /// waiting for a connection, which it may well be.
    #[inline]
    pub(super) fn note(&mut self, woke: bool) {
        if let Some(stretch) = self.falling_due.take()
            && woke
            && self.stretches.len() < OVERSLEPT_MAX
        {
            self.stretches.push_back(stretch);
        }
    }

    /// When an arrival was first seen. Must be called in the order of arrivals.
    #[inline]
    pub(super) fn noticed(&mut self, arrival: &Arrival) -> Instant {
        while let Some(stretch) = self.stretches.front() {
            if arrival.intended < stretch.first {
                return arrival.intended;
            }
            if arrival.intended <= stretch.last {
                return stretch.noticed;
            }
            self.stretches.pop_front();
        }
        arrival.intended
    }
}
