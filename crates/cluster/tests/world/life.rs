//! Clocks, and when processes live.

use super::{EPOCH, Node, TICK};
use unblink_cluster::message::Time;

/// A clock that is off, and drifts.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) ahead: i64,
    pub(super) drift_ppm: i64,
}

impl Clock {
    pub(super) fn at(self, now: u64) -> Time {
        let drift = now as i64 / 1_000_000 * self.drift_ppm;
        EPOCH.saturating_add_signed(self.ahead).saturating_add_signed(drift) + now
    }
}

/// When a process does not live or not run.
#[derive(Clone, Copy, Default)]
pub(super) struct Life {
    pub(super) dies_at: Option<u64>,
    /// Another one takes its place.
    pub(super) back_at: Option<u64>,
    pub(super) stands_still: Option<(u64, u64)>,
}

impl Life {
    pub(super) fn is_dead(self, now: u64) -> bool {
        self.dies_at.is_some_and(|at| now >= at) && self.back_at.is_none_or(|at| now < at)
    }

    pub(super) fn is_dead_for_good(self, now: u64) -> bool {
        self.is_dead(now) && self.back_at.is_none()
    }

    pub(super) fn runs(self, now: u64) -> bool {
        !self.is_dead(now) && self.stands_still.is_none_or(|(from, to)| now < from || now >= to)
    }
}

impl Node {
    /// What its workers make of the lease at `own` by their clock, before they look at what has fallen due of a load up to `end`.
    pub(super) fn look(&mut self, own: Time, end: Time) {
        let Some(until) = self.lease_until.filter(|until| own >= *until) else {
            self.looked_at = own;
            return;
        };
        // While it runs, workers look far more often than this. After it has stood still, nothing is sent that fell due since then.
        let at = if own > self.looked_at + 2 * TICK { self.looked_at } else { until };
        if at < end {
            self.stop_at = Some(self.stop_at.unwrap_or(at).min(at));
        }
    }
}
