//! Numbers for the bins of the project's histogram, so that counts can be kept in little memory.
//!
//! Below 2,048 ns every value has its own bin; above, each doubling has 1,024. Dropping `shift` low bits of
//! a number joins 2^shift neighbours.

/// Bins in each doubling of the value, as a power of two: 3 significant digits.
const PER_DOUBLING_LOG2: u32 = 10;

/// The number of the bin that holds `value_ns`. Ascending with the value.
pub(crate) fn number(value_ns: u64) -> u32 {
    let doublings = (63 - (value_ns | 1).leading_zeros()).saturating_sub(PER_DOUBLING_LOG2);
    (doublings << PER_DOUBLING_LOG2) + (value_ns >> doublings) as u32
}

/// The lowest value of a bin, in ns.
pub(crate) fn lowest_ns(number: u32) -> u64 {
    let doublings = (number >> PER_DOUBLING_LOG2).saturating_sub(1);
    u64::from(number - (doublings << PER_DOUBLING_LOG2)) << doublings
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::record::histogram;

    #[test]
    fn bins_are_those_of_the_histogram() {
        let own = histogram::<u64>();
        let mut value = 1u64;
        while value < 3_600_000_000_000 {
            for near in [value - 1, value, value + 1].into_iter().filter(|v| *v > 0) {
                assert_eq!(lowest_ns(number(near)), own.lowest_equivalent(near), "{near}");
                assert_eq!(lowest_ns(number(near) + 1) - 1, own.highest_equivalent(near), "{near}");
            }
            value += 1 + value / 100;
        }
    }
}
