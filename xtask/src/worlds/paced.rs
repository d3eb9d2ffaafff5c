//! Attempts to connect that come at a pace, by the plainest rules: after one that failed there is none for 10 ms, twice as long after each
//! further one, 200 ms at most, until one succeeds.

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
    pub(super) failing: Option<(FailureKind, Instant)>,
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
        } else if began > self.failed_at {
            self.pause = Nanos((2 * self.pause.0).min(200 * MILLISECOND_NS));
        }
        (self.failed_at, self.not_before) = (now, now + self.pause);
    }

    pub(super) fn succeeds(&mut self) {
        (self.pause, self.not_before, self.failing) = (Nanos::ZERO, Instant(0), None);
    }
}
