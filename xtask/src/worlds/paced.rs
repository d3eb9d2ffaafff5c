//! Attempts to connect that come at a pace, by the plainest rules: after one that failed there is none for 10 ms, twice as long after each
//! further one, 200 ms at most, until one succeeds. What waits while no connection is there ends with the attempt.

use super::books::Books;
use super::ends::EXPIRIES_PER_TURN;
use super::hold;
use unblink_core::failure::FailureKind;
use unblink_core::sim::ZERO;
use unblink_core::time::{Instant, MILLISECOND_NS, Nanos};

/// Of the attempts to connect to one origin.
#[derive(Default)]
pub(super) struct Paced {
    pub(super) is_paced: bool,
    pause: Nanos,
    failed_at: Instant,
    not_before: Instant,
    /// Not all that waited for an attempt have ended: what it failed of, and when.
    failing: Option<(FailureKind, Instant)>,
}

impl Paced {
    pub(super) fn new(is_paced: bool) -> Paced {
        Paced { is_paced, ..Paced::default() }
    }

    pub(super) fn begins(&mut self, now: Instant) -> Result<(), String> {
        hold!(
            now >= self.not_before,
            "an attempt at {now:?}, and none is to come before {:?}",
            self.not_before
        );
        self.not_before = now + self.pause;
        Ok(())
    }

    /// Before the load begins each is made once.
    pub(super) fn fails(&mut self, began: Instant, now: Instant) {
        if !self.is_paced || now < ZERO {
            return;
        }
        if self.pause == Nanos::ZERO {
            self.pause = Nanos(10 * MILLISECOND_NS);
        } else if began >= self.failed_at {
            self.pause = Nanos((2 * self.pause.0).min(200 * MILLISECOND_NS));
        }
        (self.failed_at, self.not_before) = (now, now + self.pause);
    }

    pub(super) fn succeeds(&mut self) {
        (self.pause, self.not_before, self.failing) = (Nanos::ZERO, Instant(0), None);
    }
}

impl Books<'_> {
    /// An attempt has failed. Where a connection is there or being opened, all wait for that.
    pub(super) fn fail_together(&mut self, origin: usize, kind: FailureKind) -> Result<(), String> {
        if self.lanes[origin].carried.total() > 0 {
            return Ok(());
        }
        self.expire_waiting(origin);
        self.lanes[origin].paced.failing = Some((kind, self.turn.now));
        self.fail_waiting(origin)
    }

    /// As many as one turn ends. Those that have begun to wait since then wait for another attempt.
    pub(super) fn fail_waiting(&mut self, origin: usize) -> Result<(), String> {
        let Some((kind, failed_at)) = self.lanes[origin].paced.failing else { return Ok(()) };
        for _ in 0..EXPIRIES_PER_TURN {
            let lane = &self.lanes[origin];
            let fronts = [lane.ready.front(), lane.waiting.front()].into_iter().flatten();
            let first = fronts.map(|(since, _)| *since).min();
            let is_later = self.turn.now > failed_at && first >= Some(failed_at);
            let Some(place) = (if is_later { None } else { self.take_waiting(origin) }) else {
                self.lanes[origin].paced.failing = None;
                return Ok(());
            };
            self.try_again_or_fail(place, kind, 0)?;
        }
        Ok(())
    }
}
