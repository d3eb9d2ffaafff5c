//! When to stop a run that is to go on until a percentile is known well enough.
//!
//! This is optional stopping: whoever looks often and stops at the first narrow interval stops too often when the
//! interval is narrow by chance (a calm stretch has both a low percentile and little variance), and it then holds the
//! true value less often than it says. So nothing is looked at before a minimum duration, looks lie ever further
//! apart (each a tenth later than the one before), and a narrow interval does not end the run: the run goes on for
//! [`CONFIRMED_AFTER`] times as long as it took, and ends when the interval of all of it is narrow enough then too.
//! What the stopped interval is worth is measured: `docs/statistics.md` has the table.

use unblink_core::time::Nanos;

/// Nothing is looked at before so much load.
pub const MINIMUM: Nanos = Nanos::from_secs(30);
/// Between two looks at least.
const SPACING_MIN: Nanos = Nanos::from_secs(2);
/// Between two looks, as a part of the load so far.
const SPACING_PART: u64 = 10;
/// A run whose interval is narrow after some time goes on for this many times as long in all.
pub const CONFIRMED_AFTER: u64 = 2;

/// Decides when to stop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stopping {
    share: f64,
    next: Nanos,
    /// The interval was narrow enough: the next look decides.
    is_confirming: bool,
}

impl Stopping {
    /// Until both ends of the interval lie within `share` (0 to 1) of the percentile.
    pub fn new(share: f64) -> Stopping {
        Stopping { share, next: MINIMUM, is_confirming: false }
    }

    /// Is it time to look, after so much measured load?
    pub fn is_due(&self, after: Nanos) -> bool {
        after >= self.next
    }

    /// Looks at a percentile and its interval, if it has one; all in the same unit. True when the run may stop.
    pub fn look(&mut self, after: Nanos, value: u64, interval: Option<(u64, u64)>) -> bool {
        let is_narrow = interval.is_some_and(|(low, high)| relative_width(value, low, high) <= self.share);
        let may_stop = is_narrow && self.is_confirming;
        self.next = match is_narrow && !self.is_confirming {
            true => Nanos(after.0.saturating_mul(CONFIRMED_AFTER)),
            false => after + Nanos(after.0 / SPACING_PART).max(SPACING_MIN),
        };
        self.is_confirming |= is_narrow;
        may_stop
    }
}

/// How far the farther end of an interval lies from the percentile, as a share of it.
pub fn relative_width(value: u64, low: u64, high: u64) -> f64 {
    let farther = value.saturating_sub(low).max(high.saturating_sub(value));
    farther as f64 / value.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(s: u64) -> Nanos {
        Nanos::from_secs(s)
    }

    #[test]
    fn looks_lie_ever_further_apart() {
        let mut stopping = Stopping::new(0.05);
        let mut looks = Vec::new();
        for second in 1..=600 {
            if stopping.is_due(s(second)) {
                assert!(!stopping.look(s(second), 100, Some((94, 101))));
                looks.push(second);
            }
        }
        assert_eq!(looks[..4], [30, 33, 37, 41]);
        assert!(looks.len() < 35, "{looks:?}");
    }

    #[test]
    fn a_narrow_interval_must_stay_narrow_for_longer() {
        let mut stopping = Stopping::new(0.05);
        let narrow = Some((95, 105));
        assert!(!stopping.look(s(30), 100, None));
        assert!(!stopping.look(s(40), 100, narrow));
        assert!(!stopping.is_due(s(79)) && stopping.is_due(s(80)));
        assert!(!stopping.look(s(80), 100, Some((95, 106))));
        assert!(!stopping.is_due(s(87)) && stopping.is_due(s(88)));
        assert!(stopping.look(s(88), 100, narrow));
    }

    #[test]
    fn the_farther_end_counts() {
        assert_eq!(relative_width(100, 90, 105), 0.1);
        assert_eq!(relative_width(100, 99, 130), 0.3);
        assert_eq!(relative_width(0, 0, 0), 0.0);
    }
}
