//! One figure's histogram with the exact count, sum and maximum beside it.

use super::bins::{RECORDABLE_MAX, bin_of, start_of};
use crate::time::Nanos;
use hdrhistogram::{Counter, Histogram};

/// Significant decimal digits of every histogram: a value is off by 0.1 % at the most.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// The one histogram configuration of the project, so that merging is exact.
pub fn histogram<C: Counter>() -> Histogram<C> {
    Histogram::new_with_bounds(1, RECORDABLE_MAX.0, SIGNIFICANT_DIGITS).expect("constant, valid bounds")
}

/// A distribution of durations: bins from the histogram, sum and maximum exact.
#[derive(Clone, PartialEq, Debug)]
pub struct Track<C: Counter> {
    /// Counts by value in nanoseconds.
    pub histogram: Histogram<C>,
    /// Exact sum in nanoseconds.
    pub sum_ns: u128,
    /// Exact maximum in nanoseconds; 0 when empty.
    pub max_ns: u64,
}

impl<C: Counter> Default for Track<C> {
    fn default() -> Self {
        Track { histogram: histogram(), sum_ns: 0, max_ns: 0 }
    }
}

impl<C: Counter> Track<C> {
    /// Counts one duration. Above [`RECORDABLE_MAX`] it is held at it; callers that must not lose the
    /// difference censor it instead.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        let ns = value.0.min(RECORDABLE_MAX.0);
        // Within bounds by construction; a histogram starts at 1 ns.
        let recorded = self.histogram.record(ns.max(1));
        debug_assert!(recorded.is_ok());
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Counts `n` durations of nothing.
    pub(super) fn add_zeros(&mut self, n: u64) {
        if n > 0 {
            self.record_n(1, n);
        }
    }

    fn record_n(&mut self, ns: u64, n: u64) {
        // What a counter can't hold was not counted one by one either.
        let recorded = C::from_u64(n).is_some_and(|n| self.histogram.record_n(ns, n).is_ok());
        debug_assert!(recorded);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Exact mean in nanoseconds.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        if self.count() > 0 {
            self.histogram.reset();
        }
        self.sum_ns = 0;
        self.max_ns = 0;
    }

    /// Every bin that holds something, ascending: (highest value of the bin in ns, count). The last
    /// bin's value is the exact maximum.
    ///
    /// The histogram's own iterator looks at each empty bin from 1 ns on; of requests that take a millisecond or so, nearly all
    /// are below the first that holds something.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let is_used = self.count() > 0;
        let used = bin_of(self.histogram.min_nz())..=bin_of(self.histogram.max());
        used.filter(move |_| is_used).filter_map(|bin| {
            let count = self.histogram.count_at(start_of(bin)).as_u64();
            (count > 0).then(|| ((start_of(bin + 1) - 1).min(self.max_ns), count))
        })
    }

    /// Adds the counts of a track of any counter width.
    pub fn add<D: Counter>(&mut self, other: &Track<D>) {
        if other.count() > 0 {
            self.add_bins(other.bins(), other.sum_ns, other.max_ns);
        }
    }

    /// Adds bins: any duration of each in ns, and how many.
    pub(super) fn add_bins(&mut self, bins: impl Iterator<Item = (u64, u64)>, sum_ns: u128, max_ns: u64) {
        bins.for_each(|(ns, n)| self.record_n(ns.clamp(1, RECORDABLE_MAX.0), n));
        self.sum_ns += sum_ns;
        self.max_ns = self.max_ns.max(max_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_those_that_the_histogram_iterates_over() {
        let mut track = Track::<u64>::default();
        let own = |track: &Track<u64>| track.bins().collect::<Vec<_>>();
        assert_eq!(own(&track), []);
        for ns in [0, 1, 2, 2_047, 2_048, 2_049, 4_097, 123_456, 7_000_000_001, 3_600_000_000_000, u64::MAX] {
            track.record(Nanos(ns));
            let recorded = track.histogram.iter_recorded();
            let theirs =
                recorded.map(|bin| (bin.value_iterated_to().min(track.max_ns), bin.count_at_value()));
            assert_eq!(own(&track), theirs.collect::<Vec<_>>(), "up to {ns}");
        }
        track.clear();
        assert_eq!(own(&track), []);
        track.record(Nanos(900_000));
        assert_eq!(own(&track), [(900_000, 1)]);
    }

    #[test]
    fn adding_keeps_counts_sum_and_maximum() {
        let (mut narrow, mut wide) = (Track::<u32>::default(), Track::<u64>::default());
        for ns in [0, 1, 1500, 10_000_000, 10_000_000, RECORDABLE_MAX.0] {
            narrow.record(Nanos(ns));
        }
        wide.add(&narrow);
        wide.add(&narrow);
        assert_eq!(wide.count(), 12);
        assert_eq!(wide.sum_ns, 2 * narrow.sum_ns);
        assert_eq!(wide.max_ns, RECORDABLE_MAX.0);
        let doubled: Vec<_> = narrow.bins().map(|(v, n)| (v, 2 * n)).collect();
        assert_eq!(wide.bins().collect::<Vec<_>>(), doubled);
        narrow.clear();
        assert_eq!((narrow.count(), narrow.sum_ns, narrow.max_ns), (0, 0, 0));
    }
}
