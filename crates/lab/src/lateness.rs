//! How late the server was: a small histogram with logarithmic bins.

use crate::Lateness;

/// Bins per power of two; a bin's width is at most 1/16 of its values.
const BINS_PER_OCTAVE: usize = 16;

/// Counts of times in ns, exact below 16 ns and within 1/16 above.
#[derive(Debug)]
pub(crate) struct LatenessBins {
    counts: Vec<u64>,
    count: u64,
    max_ns: u64,
}

impl LatenessBins {
    pub(crate) fn new() -> Self {
        // Octaves 4..=63 and the exact bins below: any u64 has a bin.
        Self { counts: vec![0; 61 * BINS_PER_OCTAVE], count: 0, max_ns: 0 }
    }

    pub(crate) fn record(&mut self, ns: u64) {
        self.counts[bin(ns)] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    pub(crate) fn summary(&self) -> Lateness {
        Lateness {
            count: self.count,
            p50_ns: self.at_most_ns(500),
            p99_ns: self.at_most_ns(990),
            p999_ns: self.at_most_ns(999),
            max_ns: self.max_ns,
        }
    }

    /// The upper edge of the bin in which the nearest-rank quantile lies, at most the maximum.
    fn at_most_ns(&self, per_mille: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(per_mille)).div_ceil(1_000).max(1);
        let mut seen = 0;
        for (index, &count) in self.counts.iter().enumerate() {
            seen += u128::from(count);
            if seen >= rank {
                return upper_edge_ns(index).min(self.max_ns);
            }
        }
        self.max_ns
    }
}

fn bin(ns: u64) -> usize {
    if ns < BINS_PER_OCTAVE as u64 {
        return ns as usize;
    }
    let octave = ns.ilog2() as usize;
    (octave - 3) * BINS_PER_OCTAVE + (ns >> (octave - 4)) as usize - BINS_PER_OCTAVE
}

fn upper_edge_ns(bin: usize) -> u64 {
    if bin < BINS_PER_OCTAVE {
        return bin as u64;
    }
    let shift = bin / BINS_PER_OCTAVE - 1;
    let mantissa = (bin % BINS_PER_OCTAVE + BINS_PER_OCTAVE) as u128;
    (((mantissa + 1) << shift) - 1).min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bin() {
        for ns in (0..5_000).chain([1 << 20, (1 << 40) - 1, u64::MAX]) {
            let edge_ns = upper_edge_ns(bin(ns));
            assert!(ns <= edge_ns && edge_ns - ns <= ns / 16, "{ns} {edge_ns}");
            assert!(edge_ns == u64::MAX || bin(edge_ns + 1) == bin(ns) + 1);
        }
    }

    #[test]
    fn quantiles_are_upper_bounds_and_the_maximum_is_exact() {
        let mut bins = LatenessBins::new();
        assert_eq!(bins.summary().p99_ns, 0);
        for ns in 1..=1_000 {
            bins.record(ns * 1_000);
        }
        let summary = bins.summary();
        assert_eq!((summary.count, summary.max_ns), (1_000, 1_000_000));
        assert!((500_000..=532_000).contains(&summary.p50_ns));
        assert!((990_000..=1_000_000).contains(&summary.p99_ns));
    }
}
