//! How fast attempts to connect come once one has failed.
//!
//! Clients of databases hold a pool, and what waits there for a connection shares the attempts to open one. So a server that is not
//! there gets as many attempts however high the rate is: each comes no sooner than a pause after the one before it and after the
//! last failure. The pause doubles with each attempt that fails, up to a limit, and the first success ends it.

use crate::time::{Instant, Nanos};

/// The pause after the first attempt that fails.
const PAUSE_MIN: Nanos = Nanos::from_millis(10);
/// The longest pause: a server that is back is found this late at most.
const PAUSE_MAX: Nanos = Nanos::from_millis(200);

/// Of one worker's attempts to connect to one origin.
#[derive(Clone, Debug, Default)]
pub(in crate::dispatch) struct Pace {
    /// Zero unless the last attempt that ended has failed.
    pause: Nanos,
    /// When the last one failed.
    failed_at: Instant,
    /// There is no attempt before then.
    until: Option<Instant>,
}

impl Pace {
    #[inline]
    pub(in crate::dispatch) fn is_pausing(&self) -> bool {
        self.until.is_some()
    }

    /// The end of the pause that goes on.
    #[inline]
    pub(in crate::dispatch) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Ends a pause that is over.
    pub(in crate::dispatch) fn look(&mut self, now: Instant) {
        self.until = self.until.filter(|&until| now < until);
    }

    /// An attempt begins.
    pub(super) fn begins(&mut self, now: Instant) {
        if self.pause != Nanos::ZERO {
            self.until = Some(now + self.pause);
        }
    }

    /// An attempt that began at `began` has failed. Those that were under way together are one reason to wait longer, not several.
    pub(super) fn fails(&mut self, began: Instant, now: Instant) {
        if self.pause == Nanos::ZERO {
            self.pause = PAUSE_MIN;
        } else if began > self.failed_at {
            self.pause = PAUSE_MAX.min(Nanos(2 * self.pause.0));
        }
        self.failed_at = now;
        self.until = Some(now + self.pause);
    }

    /// An attempt has succeeded.
    pub(super) fn succeeds(&mut self) {
        (self.pause, self.until) = (Nanos::ZERO, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Instant {
        Instant(at * 1_000_000)
    }

    #[test]
    fn the_pause_doubles_up_to_its_limit_and_ends_with_a_success() {
        let mut pace = Pace::default();
        pace.begins(ms(0));
        assert!(!pace.is_pausing(), "nothing has failed");
        let mut now = ms(0);
        for pause in [10, 20, 40, 80, 160, 200, 200] {
            pace.begins(now);
            pace.fails(now, now);
            assert_eq!(pace.until(), Some(now + Nanos::from_millis(pause)));
            now = now + Nanos::from_millis(pause);
            pace.look(Instant(now.0 - 1));
            assert!(pace.is_pausing());
            pace.look(now);
            assert!(!pace.is_pausing());
        }
        // One that hangs does not keep others from being made, at the same pace.
        pace.begins(now);
        assert_eq!(pace.until(), Some(now + Nanos::from_millis(200)));
        pace.succeeds();
        assert!(!pace.is_pausing());
        pace.begins(now);
        assert!(!pace.is_pausing());
    }

    #[test]
    fn attempts_that_were_under_way_together_double_it_once() {
        let mut pace = Pace::default();
        // The clock is asked once a turn: in one, they begin and fail at the same moment.
        (1..=20).for_each(|at| pace.fails(ms(at.min(10)), ms(at.max(10))));
        assert_eq!(pace.until(), Some(ms(30)));
        pace.fails(ms(30), ms(31));
        assert_eq!(pace.until(), Some(ms(51)));
    }
}
