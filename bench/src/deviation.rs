//! How far arrivals lie from their ideal line.
//!
//! Arrival k of a load of r per second belongs at k/r. Its offset is when it came minus that; its deviation is
//! |offset − the 1st percentile of all offsets|. The first second is left out: generators start there.

use crate::clock::SECOND_NS;
use crate::stamps::Stamp;
use serde::{Deserialize, Serialize};

/// Fewer arrivals after the first second than these have no p99 worth the name.
const ARRIVALS_MIN: usize = 500;

/// Deviations of one load, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Deviation {
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub p99_9_ns: u64,
    pub max_ns: u64,
    /// Arrivals that these are from.
    pub arrivals: u64,
}

/// The deviation of `stamps`, in order of arrival; `None` when too few came after the first second.
pub(crate) fn of(stamps: &[Stamp], rate_per_s: u64) -> Option<Deviation> {
    let first_ns = stamps.first()?.arrived_ns;
    let after = |(_, stamp): &(usize, &Stamp)| stamp.arrived_ns - first_ns >= SECOND_NS;
    let mut offsets: Vec<i64> = stamps
        .iter()
        .enumerate()
        .filter(after)
        .map(|(k, stamp)| offset_ns(stamp.arrived_ns - first_ns, k, rate_per_s))
        .collect();
    if offsets.len() < ARRIVALS_MIN {
        return None;
    }
    offsets.sort_unstable();
    let base_ns = *offsets.get(rank(offsets.len(), 0.01)?)?;
    let mut deviations: Vec<u64> = offsets.iter().map(|offset| offset.abs_diff(base_ns)).collect();
    deviations.sort_unstable();
    let at = |q| Some(deviations[rank(deviations.len(), q)?]);
    Some(Deviation {
        p50_ns: at(0.5)?,
        p99_ns: at(0.99)?,
        p99_9_ns: at(0.999)?,
        max_ns: *deviations.last()?,
        arrivals: deviations.len() as u64,
    })
}

/// When arrival `k` came, relative to its place on the line, both counted from the first arrival.
pub(crate) fn offset_ns(since_first_ns: u64, k: usize, rate_per_s: u64) -> i64 {
    let ideal_ns = k as u128 * u128::from(SECOND_NS) / u128::from(rate_per_s);
    since_first_ns as i64 - ideal_ns as i64
}

/// The index of quantile `q` among `n` sorted values: the smallest with at least q·n values at or below it.
pub(crate) fn rank(n: usize, q: f64) -> Option<usize> {
    // The product is a whole number now and then, and must not become the next one by a rounding error.
    let rank = (q * n as f64 - 1e-9).ceil() as usize;
    n.checked_sub(1).map(|last| rank.saturating_sub(1).min(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(arrived_ns: impl Iterator<Item = u64>) -> Vec<Stamp> {
        arrived_ns.map(|arrived_ns| Stamp { arrived_ns, answered_ns: None }).collect()
    }

    #[test]
    fn an_exact_line_has_no_deviation() {
        let exact = stamps((0..3000).map(|k| 5_000 + k * 1_000_000));
        let found = of(&exact, 1000).unwrap();
        let expected = Deviation { p50_ns: 0, p99_ns: 0, p99_9_ns: 0, max_ns: 0, arrivals: 2000 };
        assert_eq!(found, expected);
    }

    #[test]
    fn lateness_is_measured_from_the_first_percentile() {
        // Arrival k is (k mod 100) µs late: the 1st percentile is 0 µs late, the median 49 µs.
        let late = stamps((0..10_100).map(|k| k * 1_000_000 + k % 100 * 1000));
        let found = of(&late, 1000).unwrap();
        assert_eq!((found.p50_ns, found.p99_ns, found.max_ns), (49_000, 98_000, 99_000));
    }

    #[test]
    fn a_constant_delay_of_the_first_arrival_does_not_matter() {
        let late_start = stamps((0..3000).map(|k| if k == 0 { 900_000 } else { k * 1_000_000 }));
        assert_eq!(of(&late_start, 1000).unwrap().max_ns, 0);
    }

    #[test]
    fn a_rate_that_is_not_held_shows() {
        let slow = stamps((0..2000).map(|k| k * 1_001_000));
        assert!(of(&slow, 1000).unwrap().p50_ns > 400_000);
    }

    #[test]
    fn too_few_arrivals_have_no_deviation() {
        let arrivals = |n| of(&stamps((0..n).map(|k| k * 1_000_000)), 1000).map(|found| found.arrivals);
        assert_eq!([arrivals(0), arrivals(1000), arrivals(1499)], [None; 3]);
        assert_eq!(arrivals(1500), Some(500));
    }

    #[test]
    fn ranks_are_those_of_a_sorted_list() {
        assert_eq!([rank(100, 0.01), rank(100, 0.5), rank(100, 0.99)], [Some(0), Some(49), Some(98)]);
        assert_eq!([rank(1, 0.5), rank(0, 0.5), rank(1000, 0.999)], [Some(0), None, Some(998)]);
    }
}
