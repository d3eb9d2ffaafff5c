//! Values that a tool invents for requests that it did not send.

use crate::time::Nanos;

/// What is invented beside a value, once the interval is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Inventing {
    Nothing,
    /// Down to the interval, included.
    ExpectedInterval(Nanos),
    /// For values of at least twice the interval, down to the interval, excluded.
    Backfill(Nanos),
}

impl Inventing {
    /// The values invented beside `value`, longest first.
    pub(super) fn beside(self, value: Nanos) -> impl Iterator<Item = Nanos> {
        let (interval, least) = match self {
            Inventing::Nothing => (Nanos::ZERO, None),
            Inventing::ExpectedInterval(interval) => (interval, Some(interval.0)),
            Inventing::Backfill(interval) if value.0 >= interval.0.saturating_mul(2) => {
                (interval, Some(interval.0 + 1))
            }
            Inventing::Backfill(interval) => (interval, None),
        };
        let mut next = value.0.checked_sub(interval.0);
        std::iter::from_fn(move || {
            // An interval of nothing would go on for ever.
            let least = least.filter(|_| interval > Nanos::ZERO)?;
            let missing = next.filter(|&ns| ns >= least)?;
            next = missing.checked_sub(interval.0);
            Some(Nanos(missing))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(inventing: Inventing, value: u64) -> Vec<u64> {
        inventing.beside(Nanos(value)).map(|ns| ns.0).collect()
    }

    #[test]
    fn as_their_sources_do() {
        assert!(beside(Inventing::Nothing, 100).is_empty());
        // AbstractHistogram.recordValueWithCountAndExpectedInterval: while missing >= interval.
        assert_eq!(beside(Inventing::ExpectedInterval(Nanos(10)), 35), [25, 15]);
        assert_eq!(beside(Inventing::ExpectedInterval(Nanos(10)), 30), [20, 10]);
        assert!(beside(Inventing::ExpectedInterval(Nanos(10)), 19).is_empty());
        assert!(beside(Inventing::ExpectedInterval(Nanos::ZERO), 19).is_empty());
        // wrk's stats_correct: n >= 2I, while m > I.
        assert_eq!(beside(Inventing::Backfill(Nanos(10)), 35), [25, 15]);
        assert_eq!(beside(Inventing::Backfill(Nanos(10)), 30), [20]);
        assert!(beside(Inventing::Backfill(Nanos(10)), 20).is_empty());
        assert!(beside(Inventing::Backfill(Nanos(10)), 19).is_empty());
    }
}
