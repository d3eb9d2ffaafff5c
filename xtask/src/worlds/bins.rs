//! Which durations a histogram does not tell apart, and whether one holds what it should.

use super::hold;
use std::collections::BTreeMap;
use unblink_core::record::Track;

/// Values below are told apart to the nanosecond; from each power of two on, half as finely as before.
const EXACT_BELOW: u64 = 2048;

/// The highest value that is not told apart from `ns`.
pub(super) fn top_of_bin(ns: u64) -> u64 {
    let ns = ns.max(1);
    let mut width = 1;
    while ns / width >= EXACT_BELOW {
        width *= 2;
    }
    ns / width * width + (width - 1)
}

/// Every bin, the sum and the maximum are those of `list`.
pub(super) fn same(track: &Track<u64>, list: &[u64]) -> Result<(), String> {
    let max = list.iter().copied().max().unwrap_or(0);
    let mut bins = BTreeMap::<u64, u64>::new();
    for &ns in list {
        *bins.entry(top_of_bin(ns).min(max)).or_default() += 1;
    }
    hold!(track.count() == list.len() as u64, "{} values, there were {}", track.count(), list.len());
    let sum = list.iter().map(|&ns| u128::from(ns)).sum::<u128>();
    hold!(track.sum_ns == sum, "a sum of {} ns, it was {sum}", track.sum_ns);
    hold!(track.max_ns == max, "a maximum of {} ns, it was {max}", track.max_ns);
    let first = track.bins().zip(&bins).find(|((top, n), (t, m))| top != *t || n != *m);
    hold!(first.is_none(), "a bin differs, (recorded, expected) are {first:?}");
    hold!(
        track.bins().count() == bins.len(),
        "{} bins, there should be {}",
        track.bins().count(),
        bins.len()
    );
    Ok(())
}
