//! Numbers for the bins of [`histogram`](super::histogram).

use crate::time::{Nanos, SECOND_NS};

/// Longest duration that a histogram tells apart: one hour. What is longer is censored at it.
pub const RECORDABLE_MAX: Nanos = Nanos(3600 * SECOND_NS);

/// Bins from one power of two to the next; below twice that many ns each value has its own. As a histogram of three
/// significant digits has them (tested).
const HALF: u64 = 1 << HALF_BITS;
const HALF_BITS: u32 = 10;
/// Every duration up to [`RECORDABLE_MAX`] has one of so many.
pub(super) const BINS: usize = bin_of(RECORDABLE_MAX.0) + 1;

/// The bin of a duration in ns.
#[inline]
pub(super) const fn bin_of(ns: u64) -> usize {
    let shift = (ns | (2 * HALF - 1)).ilog2() - HALF_BITS;
    ((shift as u64 * HALF) + (ns >> shift)) as usize
}

/// The smallest duration of a bin in ns.
pub(super) const fn start_of(bin: usize) -> u64 {
    let bin = bin as u64;
    let shift = (bin / HALF).saturating_sub(1);
    (bin - shift * HALF) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_those_of_the_histogram() {
        let histogram = super::super::histogram::<u32>();
        for bin in 1..BINS {
            let start = start_of(bin);
            assert_eq!((bin_of(start), bin_of(start - 1)), (bin, bin - 1), "{start}");
            assert_eq!(histogram.lowest_equivalent(start), start);
            assert_eq!(histogram.lowest_equivalent(start - 1), start_of(bin - 1));
        }
    }
}
