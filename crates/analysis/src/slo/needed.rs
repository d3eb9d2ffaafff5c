//! How many samples an objective takes, at least.

use super::ratio::clean_share;
use super::{Figure, Objective};
use crate::interval::exact::{Level, ranks};

/// More are no advice.
const SAMPLES_MAX: u64 = 1_000_000_000;
/// From here on sums of binomial probabilities are costly; percentiles so far out are not asked for.
const RANKED_MAX: u64 = 10_000_000;

/// The fewest samples with which `objective` can be met at all; `None` where no number of them is what it lacks.
pub(super) fn needed(objective: &Objective, level: Level) -> Option<u64> {
    match objective.figure {
        Figure::Quantile(q) => fewest(RANKED_MAX, |n| ranks(n, q, level).1.is_some()),
        Figure::Errors => fewest(SAMPLES_MAX, |n| objective.holds(clean_share(n).1)),
        _ => None,
    }
}

/// The smallest number up to `max` from which on `is_enough` holds.
fn fewest(max: u64, is_enough: impl Fn(u64) -> bool) -> Option<u64> {
    let mut high = 1;
    while !is_enough(high) {
        high *= 2;
        if high > max {
            return None;
        }
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}
