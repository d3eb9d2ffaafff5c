//! How long those have waited who have no answer yet: what hangs is in no histogram.

use crate::time::Nanos;

/// Bins from one power of two to the next: an age is told too short by a sixteenth at the most.
const PER_OCTAVE: u64 = 1 << OCTAVE_BITS;
const OCTAVE_BITS: u32 = 4;
/// The finest step, 1.024 µs: ages below it are told as 0.
const STEP_BITS: u32 = 10;
/// Ages of 73 minutes and more share the last bin.
const BINS: usize = bin_of(u64::MAX) + 1;

/// Of many arrivals in order, so many are looked at. The others lie between them.
const LOOKED_AT_MAX: u64 = 256;

/// Counts by age at one moment. An age is known by the lower edge of its bin: nobody is told to have waited for longer
/// than they have. Adding the counts of several workers is exact.
#[derive(Clone, PartialEq, Eq)]
pub struct Ages {
    counts: [u64; BINS],
}

impl Default for Ages {
    fn default() -> Self {
        Ages { counts: [0; BINS] }
    }
}

impl Ages {
    /// Counts `n` arrivals that have waited for `age`.
    pub fn add(&mut self, age: Nanos, n: u64) {
        let count = &mut self.counts[bin_of(age.0)];
        *count = count.saturating_add(n);
    }

    /// Counts `n` arrivals in order, the oldest first, of which the one with `rank` before it has waited for
    /// `age(rank)`. No more than 256 are looked at, evenly by rank; those between two count as the younger one.
    pub fn add_in_order(&mut self, n: u64, age: impl Fn(u64) -> Nanos) {
        let groups = n.min(LOOKED_AT_MAX);
        let end = |group: u64| (u128::from(n) * u128::from(group) / u128::from(groups)) as u64;
        for group in 0..groups {
            self.add(age(end(group + 1) - 1), end(group + 1) - end(group));
        }
    }

    /// Counts `n` arrivals that are as old as those of `sample`, by its shares. What is left by rounding counts as
    /// younger.
    pub(crate) fn add_like(&mut self, sample: &Ages, n: u64) {
        let all = sample.count();
        let (mut older, mut added) = (0, 0);
        for (bin, &count) in sample.counts.iter().enumerate().rev().filter(|(_, count)| **count > 0) {
            older += count;
            let until = (u128::from(n) * u128::from(older) / u128::from(all)) as u64;
            self.counts[bin] += until - added;
            added = until;
        }
    }

    /// Adds another worker's at the same moment.
    pub fn merge(&mut self, other: &Ages) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a = a.saturating_add(*b));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// How many wait.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many have surely waited for longer than `age`.
    pub fn longer_than(&self, age: Nanos) -> u64 {
        self.bins().filter(|(at_least, _)| *at_least > age).map(|(_, n)| n).sum()
    }

    /// Every bin that holds someone, ascending: (how long these have waited at least, how many).
    pub fn bins(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        filled.map(|(bin, &n)| (Nanos(start_of(bin)), n))
    }
}

impl std::fmt::Debug for Ages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.bins()).finish()
    }
}

/// The bin of an age in ns.
const fn bin_of(ns: u64) -> usize {
    let steps = ns >> STEP_BITS;
    let steps = if steps > u32::MAX as u64 { u32::MAX as u64 } else { steps };
    let shift = (steps | (2 * PER_OCTAVE - 1)).ilog2() - OCTAVE_BITS;
    (shift as u64 * PER_OCTAVE + (steps >> shift)) as usize
}

/// The least age of a bin in ns.
const fn start_of(bin: usize) -> u64 {
    let bin = bin as u64;
    let shift = (bin / PER_OCTAVE).saturating_sub(1);
    ((bin - shift * PER_OCTAVE) << shift) << STEP_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SECOND_NS;

    fn list(ages: &Ages) -> Vec<(u64, u64)> {
        ages.bins().map(|(age, n)| (age.0, n)).collect()
    }

    #[test]
    fn an_age_is_told_too_short_by_a_sixteenth_at_the_most() {
        for bin in 1..BINS {
            let start = start_of(bin);
            assert_eq!((bin_of(start), bin_of(start - 1)), (bin, bin - 1), "{start}");
        }
        for ns in [1u64 << 15, 99_999, SECOND_NS, 3 * SECOND_NS, 3_600 * SECOND_NS] {
            let told = start_of(bin_of(ns));
            assert!(told <= ns && (ns - told) * 16 <= ns, "{ns} is told as {told}");
        }
        let mut ages = Ages::default();
        ages.add(Nanos(1_023), 2);
        ages.add(Nanos(u64::MAX), 3);
        assert_eq!(list(&ages), [(0, 2), (start_of(BINS - 1), 3)]);
    }

    #[test]
    fn nobody_among_many_is_told_older_than_they_are() {
        for n in [0, 1, 7, LOOKED_AT_MAX, LOOKED_AT_MAX + 1, 1_000_003] {
            // The one with r before it is n − r µs old.
            let age = |rank: u64| Nanos((n - rank) * 1_000);
            let (mut few, mut all) = (Ages::default(), Ages::default());
            few.add_in_order(n, age);
            (0..n).for_each(|rank| all.add(age(rank), 1));
            assert_eq!(few.count(), n);
            if n <= LOOKED_AT_MAX {
                assert_eq!(few, all);
            }
            for limit in (0..n).step_by(1 + n as usize / 50) {
                let limit = Nanos(limit * 1_000);
                let (told, truly) = (few.longer_than(limit), all.longer_than(limit));
                assert!(
                    told <= truly && truly <= told + n / LOOKED_AT_MAX + 1,
                    "{n}, {limit:?}: {told}, {truly}"
                );
            }
        }
    }

    #[test]
    fn a_sample_stands_for_many_by_its_shares() {
        let (mut sample, mut ages) = (Ages::default(), Ages::default());
        sample.add(Nanos(1 << 20), 3);
        sample.add(Nanos(1 << 30), 1);
        ages.add_like(&sample, 10);
        assert_eq!(list(&ages), [(1 << 20, 8), (1 << 30, 2)]);
        ages.add_like(&Ages::default(), 10);
        assert_eq!(ages.count(), 10, "nobody to go by");
        ages.merge(&sample);
        assert_eq!((ages.count(), ages.longer_than(Nanos(1 << 25))), (14, 3));
        ages.clear();
        assert_eq!(ages, Ages::default());
    }
}
