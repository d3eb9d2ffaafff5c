//! What is recorded by operation: where its arrivals ended, the answers by status, response and service times.

use super::pages::{Paged, Pages};
use super::{Answer, Outcomes, Series, Track};
use crate::code::Code;
use crate::time::Nanos;
use hdrhistogram::Counter;

/// Everything that is kept apart by operation, of the measured part.
#[derive(Clone, Debug)]
pub struct Operations<C: Counter> {
    pages: Pages<C>,
    each: Vec<OperationRecord>,
    /// Values for which no page was left, of all operations together; empty when there are no operations.
    spilled: Vec<Track<C>>,
}

/// What is recorded of one operation.
#[derive(Clone, Debug)]
pub struct OperationRecord {
    /// Where its arrivals ended.
    pub outcomes: Outcomes,
    /// Answers by [`Code::index`].
    pub codes: [u64; Code::COUNT],
    /// Of the bodies of these answers.
    pub body_bytes: u64,
    durations: [Paged; Series::BY_OPERATION.len()],
}

/// The exact figures beside a histogram.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Sums {
    /// How many durations were counted.
    pub count: u64,
    /// Those of them that no bin of the operation's own holds: for want of a page they are in
    /// [`Operations::spilled`].
    pub spilled: u64,
    /// Exact sum of all in nanoseconds.
    pub sum_ns: u128,
    /// Exact maximum of all in nanoseconds; 0 when empty.
    pub max_ns: u64,
}

impl Default for OperationRecord {
    fn default() -> OperationRecord {
        OperationRecord {
            outcomes: Outcomes::default(),
            codes: [0; Code::COUNT],
            body_bytes: 0,
            durations: std::array::from_fn(|_| Paged::default()),
        }
    }
}

impl OperationRecord {
    /// Counts an answer.
    pub(super) fn answered(&mut self, answer: &Answer) {
        if let Some(code) = answer.code {
            self.codes[code.index()] += 1;
            self.body_bytes += answer.body_bytes;
        }
    }

    /// The figures of one of [`Series::BY_OPERATION`].
    pub fn sums(&self, series: Series) -> Sums {
        let Paged { count, spilled, sum_ns, max_ns, .. } = self.durations[series as usize];
        Sums { count, spilled, sum_ns, max_ns }
    }
}

impl<C: Counter> Operations<C> {
    /// Nothing yet, for so many operations; none are kept apart when there is only one.
    pub fn new(operations: usize) -> Operations<C> {
        Operations::each_of(if operations > 1 { operations } else { 0 })
    }

    /// Nothing yet, for so many, each of which is kept apart, also a single one.
    pub(super) fn each_of(apart: usize) -> Operations<C> {
        Operations::with(apart, Pages::of(apart * Series::BY_OPERATION.len()))
    }

    /// The same with so few pages that they run out.
    #[doc(hidden)]
    pub fn short_of_pages(operations: usize, pages: usize) -> Operations<C> {
        Operations::with(operations, Pages::at_most(operations * Series::BY_OPERATION.len(), pages))
    }

    fn with(apart: usize, pages: Pages<C>) -> Operations<C> {
        let shared = if apart > 0 { Series::BY_OPERATION.len() } else { 0 };
        Operations {
            pages,
            each: vec![OperationRecord::default(); apart],
            spilled: (0..shared).map(|_| Track::default()).collect(),
        }
    }

    /// How many are kept apart.
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// The run has only one.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Each in order.
    pub fn iter(&self) -> impl Iterator<Item = &OperationRecord> {
        self.each.iter()
    }

    /// One of them by its place.
    pub fn get(&self, place: usize) -> Option<&OperationRecord> {
        self.each.get(place)
    }

    /// The same, to write.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut OperationRecord> {
        self.each.get_mut(place)
    }

    /// Where an operation is counted: those beyond the last place share it.
    #[inline]
    pub fn place(&self, operation: u32) -> Option<usize> {
        let last = self.each.len().checked_sub(1)?;
        Some(last.min(operation as usize))
    }

    /// Counts a duration of the operation at `place`, in one of [`Series::BY_OPERATION`].
    #[inline]
    pub fn record(&mut self, place: usize, series: Series, value: Nanos) {
        let paged = &mut self.each[place].durations[series as usize];
        if !paged.record(&mut self.pages, value.0) {
            self.spilled[series as usize].record(value);
        }
    }

    /// Puts in what was recorded elsewhere: bins (any duration of each in ns, and how many), and the figures of all,
    /// those that had spilled already included.
    pub fn put(&mut self, place: usize, series: Series, bins: impl Iterator<Item = (u64, u64)>, sums: Sums) {
        let paged = &mut self.each[place].durations[series as usize];
        for (ns, n) in bins {
            if !paged.put(&mut self.pages, ns, n) {
                // The exact sum of these few is lost among that of all.
                self.spilled[series as usize].add_bins(
                    [(ns, n)].into_iter(),
                    u128::from(ns) * u128::from(n),
                    ns,
                );
            }
        }
        paged.count += sums.spilled;
        paged.spilled += sums.spilled;
        paged.sum_ns += sums.sum_ns;
        paged.max_ns = paged.max_ns.max(sums.max_ns);
    }

    /// Every bin that holds something, ascending: (highest value of the bin in ns, count).
    pub fn bins(&self, place: usize, series: Series) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.each[place].durations[series as usize].bins(&self.pages)
    }

    /// The durations of one operation as a histogram of its own, which takes 264 KiB. What has spilled is in its sum and
    /// maximum, and in none of its bins.
    pub fn track(&self, place: usize, series: Series) -> Track<u64> {
        let sums = self.each[place].sums(series);
        let mut track = Track::default();
        track.add_bins(self.bins(place, series), sums.sum_ns, sums.max_ns);
        track
    }

    /// Durations for which no page was left, of all operations together; `None` when there are no operations.
    pub fn spilled(&self, series: Series) -> Option<&Track<C>> {
        self.spilled.get(series as usize)
    }

    /// The same, to write.
    pub fn spilled_mut(&mut self, series: Series) -> Option<&mut Track<C>> {
        self.spilled.get_mut(series as usize)
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.each.fill_with(OperationRecord::default);
        self.spilled.iter_mut().for_each(Track::clear);
    }
}

impl Operations<u64> {
    /// Adds another worker's or another interval's.
    pub fn add<D: Counter>(&mut self, other: &Operations<D>) {
        for (place, from) in other.each.iter().enumerate().take(self.each.len()) {
            let to = &mut self.each[place];
            to.outcomes.add(&from.outcomes);
            to.codes.iter_mut().zip(from.codes).for_each(|(a, b)| *a += b);
            to.body_bytes += from.body_bytes;
            for series in Series::BY_OPERATION {
                let sums = from.sums(series);
                if sums.count > 0 {
                    self.put(place, series, other.bins(place, series), sums);
                }
            }
        }
        self.spilled.iter_mut().zip(&other.spilled).for_each(|(a, b)| a.add(b));
    }
}

/// By what was counted, wherever it lies.
impl<C: Counter> PartialEq for Operations<C> {
    fn eq(&self, other: &Operations<C>) -> bool {
        let same = |place: usize| {
            let (a, b) = (&self.each[place], &other.each[place]);
            a.outcomes == b.outcomes
                && a.codes == b.codes
                && a.body_bytes == b.body_bytes
                && Series::BY_OPERATION.into_iter().all(|series| {
                    a.sums(series) == b.sums(series) && self.bins(place, series).eq(other.bins(place, series))
                })
        };
        self.len() == other.len() && (0..self.len()).all(same) && self.spilled == other.spilled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(pages: usize, seeds: impl Iterator<Item = u64>) -> Operations<u32> {
        let mut some = Operations::short_of_pages(3, pages);
        for k in seeds {
            let place = some.place((k % 4) as u32).expect("there are operations");
            some.record(place, Series::BY_OPERATION[(k % 3) as usize], Nanos(1 << (k % 40)));
        }
        some
    }

    /// Too few pages for a worker or too few where all is added: every duration is counted once, exactly, and lies
    /// either with its operation or with what has spilled.
    #[test]
    fn nothing_is_lost_where_pages_run_out() {
        let plenty = 10_000;
        let mut whole = Operations::<u64>::short_of_pages(3, plenty);
        whole.add(&some(plenty, 0..2_000));
        assert_eq!(whole.spilled(Series::Response).map(Track::count), Some(0));
        for (of_worker, of_all) in [(5, plenty), (plenty, 7), (9, 9), (0, 0)] {
            let mut all = Operations::<u64>::short_of_pages(3, of_all);
            all.add(&some(of_worker, 0..900));
            all.add(&some(of_worker, 900..2_000));
            for series in Series::BY_OPERATION {
                let (mut kept, mut spilled) = (0, 0);
                for place in 0..3 {
                    let (sums, exact) = (all.each[place].sums(series), whole.each[place].sums(series));
                    assert_eq!(Sums { spilled: 0, ..sums }, exact);
                    let bins: u64 = all.bins(place, series).map(|(_, n)| n).sum();
                    assert_eq!(bins, sums.count - sums.spilled);
                    assert_eq!(all.track(place, series).count(), bins);
                    (kept, spilled) = (kept + bins, spilled + sums.spilled);
                }
                assert_eq!(all.spilled(series).map(Track::count), Some(spilled));
                let counted: u64 = whole.each.iter().map(|o| o.sums(series).count).sum();
                assert_eq!(kept + spilled, counted);
            }
            all.clear();
            assert!(all == Operations::short_of_pages(3, 1), "nothing is left");
        }
    }
}
