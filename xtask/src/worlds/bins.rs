//! Which durations a histogram does not tell apart.

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
