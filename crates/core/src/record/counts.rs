//! Counts by duration on the way of every request: the bins of [`histogram`](super::histogram), without what a
//! histogram keeps up to date at each count.

use super::bins::{BINS, RECORDABLE_MAX, bin_of, start_of};
use super::track::Track;
use crate::time::Nanos;
use hdrhistogram::Counter;

/// Durations of one interval, by one worker.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    bins: Box<[u32]>,
    sum_ns: u128,
    max_ns: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Counts { bins: vec![0; BINS].into_boxed_slice(), sum_ns: 0, max_ns: 0 }
    }
}

impl Counts {
    /// Counts one duration, held at [`RECORDABLE_MAX`] like a [`Track`]'s.
    #[inline]
    pub(super) fn record(&mut self, value: Nanos) {
        let ns = value.0.min(RECORDABLE_MAX.0);
        let bin = &mut self.bins[bin_of(ns)];
        *bin = bin.saturating_add(1);
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Forgets everything, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bins[..=bin_of(self.max_ns)].fill(0);
        self.sum_ns = 0;
        self.max_ns = 0;
    }

    /// How many were counted.
    pub(super) fn count(&self) -> u64 {
        self.bins[..=bin_of(self.max_ns)].iter().map(|&n| u64::from(n)).sum()
    }

    /// Adds everything to a track.
    pub(super) fn add_to<C: Counter>(&self, track: &mut Track<C>) {
        let used = self.bins[..=bin_of(self.max_ns)].iter().enumerate();
        let filled = used.filter(|(_, n)| **n > 0).map(|(bin, &n)| (start_of(bin), u64::from(n)));
        track.add_bins(filled, self.sum_ns, self.max_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_gets_what_it_would_have_counted_itself() {
        let values = [0, 1, 2, 2047, 2048, 2049, 4095, 4096, 123_456, 123_457, u64::from(u32::MAX)]
            .into_iter()
            .chain([RECORDABLE_MAX.0 - 1, RECORDABLE_MAX.0, RECORDABLE_MAX.0 + 5]);
        let (mut counts, mut direct) = (Counts::default(), Track::<u64>::default());
        for ns in values.clone() {
            counts.record(Nanos(ns));
            direct.record(Nanos(ns));
        }
        let mut track = Track::<u64>::default();
        counts.add_to(&mut track);
        counts.add_to(&mut track);
        let twice: Vec<_> = direct.bins().map(|(value, n)| (value, 2 * n)).collect();
        assert_eq!(track.bins().collect::<Vec<_>>(), twice);
        assert_eq!((track.sum_ns, track.max_ns), (2 * direct.sum_ns, direct.max_ns));
        assert_eq!(counts.count(), values.count() as u64);
        counts.clear();
        assert!(counts.count() == 0 && counts.bins.iter().all(|n| *n == 0));
    }
}
