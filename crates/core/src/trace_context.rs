//! What an arrival is called in the traces of the target (W3C Trace Context, Recommendation of 23 November 2021).

use crate::random::mixed;

/// The trace of the arrival with the number `index`, in a run whose traces are told from those of others by `seed`. Never 0, which
/// names no trace. Attempts of an arrival share its trace; requests of a journey have traces of their own.
pub fn trace_id(seed: u64, index: u64) -> u128 {
    let high = mixed(seed ^ mixed(index));
    let low = mixed(high ^ index) | 1;
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_arrivals_share_a_trace() {
        let all: BTreeSet<u128> =
            (0..100).flat_map(|seed| (0..100).map(move |index| trace_id(seed, index))).collect();
        assert_eq!(all.len(), 10_000);
        assert!(!all.contains(&0));
        // Half of all bits differ from one arrival to the next.
        let bits: u32 =
            (0..1_000).map(|index| (trace_id(7, index) ^ trace_id(7, index + 1)).count_ones()).sum();
        assert!((62_000..66_000).contains(&bits), "{bits}");
    }
}
