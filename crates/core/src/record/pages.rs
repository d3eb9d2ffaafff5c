//! Histograms that take memory only where they hold something: pages of bins, from a pool that many of them share.
//!
//! One with every bin takes 132 KiB, which hundreds of requests with four histograms each can't have. What one of them
//! sees within a second lies within a few powers of two.

use super::bins::{BINS, RECORDABLE_MAX, bin_of, start_of};
use hdrhistogram::Counter;

/// Bins of a page: a quarter of those between a duration and its double.
const PAGE_BINS: usize = 256;
/// Pages of a histogram that is full.
const PAGES_OF_ONE: usize = BINS.div_ceil(PAGE_BINS);
/// A place in a histogram that has no page.
const NONE: u16 = u16::MAX;

/// The pages that all histograms of a bank share. All of them are there from the beginning: taking one allocates nothing,
/// and the system gives memory to those only that are written to.
#[derive(Clone, Debug)]
pub(super) struct Pages<C> {
    cells: Vec<C>,
    taken: usize,
}

impl<C: Counter> Pages<C> {
    /// Enough for so many histograms to be full, but no more than have a number: 64 MiB of 32-bit counts, in each bank that a
    /// worker fills within a second, and 128 MiB of 64-bit ones, for a run of any length, if all of them are written to.
    pub(super) fn of(histograms: usize) -> Pages<C> {
        Pages::at_most(histograms, usize::from(NONE))
    }

    /// The same with another bound.
    pub(super) fn at_most(histograms: usize, pages_max: usize) -> Pages<C> {
        let pages = (histograms * PAGES_OF_ONE).min(pages_max);
        Pages { cells: vec![C::zero(); pages * PAGE_BINS], taken: 0 }
    }

    /// Takes all pages back.
    pub(super) fn clear(&mut self) {
        self.cells[..self.taken * PAGE_BINS].fill(C::zero());
        self.taken = 0;
    }

    fn take(&mut self) -> Option<u16> {
        let page = u16::try_from(self.taken).ok().filter(|_| self.taken * PAGE_BINS < self.cells.len())?;
        self.taken += 1;
        Some(page)
    }

    fn page(&self, page: u16) -> &[C] {
        &self.cells[usize::from(page) * PAGE_BINS..][..PAGE_BINS]
    }
}

/// A histogram in pages, with exact count, sum and maximum beside it.
#[derive(Clone, Debug)]
pub(super) struct Paged {
    pages: [u16; PAGES_OF_ONE],
    /// All that were counted.
    pub(super) count: u64,
    /// Those of them for which no page was left.
    pub(super) spilled: u64,
    /// Of all, in nanoseconds.
    pub(super) sum_ns: u128,
    /// Of all, in nanoseconds; 0 when empty.
    pub(super) max_ns: u64,
}

impl Default for Paged {
    fn default() -> Paged {
        Paged { pages: [NONE; PAGES_OF_ONE], count: 0, spilled: 0, sum_ns: 0, max_ns: 0 }
    }
}

impl Paged {
    /// Counts one duration, held at [`RECORDABLE_MAX`]. False: no page was left for it.
    #[inline]
    pub(super) fn record<C: Counter>(&mut self, pages: &mut Pages<C>, ns: u64) -> bool {
        let ns = ns.min(RECORDABLE_MAX.0);
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
        self.put(pages, ns, 1)
    }

    /// Counts `n` durations of one bin; their sum and maximum are the caller's.
    #[inline]
    pub(super) fn put<C: Counter>(&mut self, pages: &mut Pages<C>, ns: u64, n: u64) -> bool {
        let bin = bin_of(ns.clamp(1, RECORDABLE_MAX.0));
        self.count += n;
        let page = &mut self.pages[bin / PAGE_BINS];
        if *page == NONE {
            let Some(taken) = pages.take() else {
                self.spilled += n;
                return false;
            };
            *page = taken;
        }
        let cell = &mut pages.cells[usize::from(*page) * PAGE_BINS + bin % PAGE_BINS];
        // What a counter can't hold was not counted one by one either.
        let n = C::from_u64(n);
        debug_assert!(n.is_some());
        *cell = cell.saturating_add(n.unwrap_or_else(C::zero));
        true
    }

    /// Every bin that holds something, ascending: (highest value of the bin in ns, count), as of
    /// [`Track::bins`](super::Track::bins).
    pub(super) fn bins<'a, C: Counter>(
        &'a self,
        pages: &'a Pages<C>,
    ) -> impl Iterator<Item = (u64, u64)> + 'a {
        let taken = self.pages.iter().enumerate().filter(|(_, page)| **page != NONE);
        let filled = taken.flat_map(|(place, &page)| {
            let cells = pages.page(page).iter().enumerate();
            cells.filter(|(_, n)| **n > C::zero()).map(move |(i, n)| (place * PAGE_BINS + i, n.as_u64()))
        });
        filled.map(|(bin, n)| ((start_of(bin + 1) - 1).min(self.max_ns), n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Track;
    use crate::time::Nanos;

    const VALUES: [u64; 12] = [
        0,
        1,
        2,
        2_047,
        2_048,
        4_095,
        123_456,
        123_457,
        5_000_000,
        u32::MAX as u64,
        RECORDABLE_MAX.0 - 1,
        RECORDABLE_MAX.0 + 5,
    ];

    #[test]
    fn pages_hold_what_a_histogram_does() {
        let (mut pages, mut paged) = (Pages::<u32>::of(1), Paged::default());
        let mut track = Track::<u32>::default();
        for ns in VALUES.into_iter().cycle().take(40) {
            assert!(paged.record(&mut pages, ns));
            track.record(Nanos(ns));
        }
        assert_eq!(paged.bins(&pages).collect::<Vec<_>>(), track.bins().collect::<Vec<_>>());
        assert_eq!((paged.count, paged.spilled), (track.count(), 0));
        assert_eq!((paged.sum_ns, paged.max_ns), (track.sum_ns, track.max_ns));
        pages.clear();
        assert!(pages.cells.iter().all(|n| *n == 0));
    }

    /// Response and service times of 200 requests over fifteen doublings, as in a stall, and the ages of those who wait.
    #[test]
    fn two_hundred_requests_in_a_stall_have_a_page_for_each_value() {
        let requests = 200;
        let mut pages = Pages::<u32>::of(requests * crate::record::Series::BY_OPERATION.len());
        let mut each = vec![[Paged::default(), Paged::default(), Paged::default()]; requests];
        for durations in &mut each {
            for doubling in 17..32 {
                for quarter in 0..4 {
                    let ns = (4 + quarter) << (doubling - 2);
                    assert!(durations.iter_mut().all(|paged| paged.record(&mut pages, ns)), "{ns}");
                }
            }
        }
        assert_eq!(pages.taken, requests * 3 * 15 * 4);
    }

    #[test]
    fn without_a_page_left_everything_is_counted() {
        let (mut pages, mut paged) = (Pages::<u32>::at_most(1, 2), Paged::default());
        let placed: Vec<bool> = VALUES.iter().map(|&ns| paged.record(&mut pages, ns)).collect();
        // Two pages of 256 bins: to 255 ns, and the one of 2,047 ns.
        assert_eq!(placed.iter().filter(|placed| **placed).count(), 4, "{placed:?}");
        assert_eq!((paged.count, paged.spilled), (12, 8));
        assert_eq!(paged.bins(&pages).map(|(_, n)| n).sum::<u64>(), 4);
        assert_eq!(paged.max_ns, RECORDABLE_MAX.0);
    }
}
