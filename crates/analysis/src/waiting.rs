//! Percentiles while arrivals still wait: whoever has no answer is at least as slow as they are old.
//!
//! A percentile of what was answered alone falls silent in a stall, and is that of the survivors after it (coordinated
//! omission, Tene 2013). Here everyone takes part, the waiting at their age: the least that the percentile
//! of these arrivals can be once all of them have ended. Where an age decides, it says so.

use crate::quantile::nearest_rank;
use unblink_core::record::Track;

/// A percentile of everyone so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SoFar {
    /// In nanoseconds.
    pub value_ns: u64,
    /// It was decided by somebody who is only known to take longer than that, or a lower quantile was.
    pub is_longer: bool,
}

/// The quantiles `qs`, ascending, of those who were `answered` and of those who are only known to take `longer`: (than this, in ns;
/// how many). `None` where nothing is known: there is nobody, or it is longer than 0.
pub fn quantiles<const N: usize>(
    answered: &Track<u64>,
    longer: impl IntoIterator<Item = (u64, u64)>,
    qs: [f64; N],
) -> [Option<SoFar>; N] {
    // Of one value, the answers come first: then it is known.
    let known = answered.bins().map(|(value_ns, n)| (value_ns, false, n));
    let mut all: Vec<(u64, bool, u64)> =
        known.chain(longer.into_iter().map(|(age_ns, n)| (age_ns, true, n))).collect();
    all.sort_unstable();
    let count = all.iter().map(|(.., n)| n).sum();
    let mut is_longer = false;
    qs.map(|q| {
        let rank = nearest_rank(q, count);
        let mut below = 0;
        let (value_ns, is_age, _) = *all.iter().find(|(.., n)| {
            below += n;
            below >= rank
        })?;
        is_longer |= is_age;
        (value_ns > 0 || !is_age).then_some(SoFar { value_ns, is_longer })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::time::Nanos;

    fn ms(values: impl IntoIterator<Item = u64>) -> Track<u64> {
        let mut track = Track::default();
        values.into_iter().for_each(|value| track.record(Nanos::from_millis(value)));
        track
    }

    fn shown(answered: &Track<u64>, longer: &[(u64, u64)], q: f64) -> Option<(u64, bool)> {
        let longer = longer.iter().map(|(age_ms, n)| (age_ms * 1_000_000, *n));
        let [found] = quantiles(answered, longer, [q]);
        found.map(|found| ((found.value_ns + 500_000) / 1_000_000, found.is_longer))
    }

    #[test]
    fn without_anybody_who_waits_it_is_the_nearest_rank() {
        assert_eq!(shown(&ms(1..=100), &[], 0.5), Some((50, false)));
        assert_eq!(shown(&ms(1..=100), &[], 0.99), Some((99, false)));
        assert_eq!(shown(&ms([7]), &[], 0.99), Some((7, false)));
        assert_eq!(shown(&ms([]), &[], 0.5), None);
    }

    /// Half of a second was answered after 10 ms, of the other half nobody was.
    #[test]
    fn those_who_wait_raise_it_at_once() {
        let waiting: Vec<_> = (0..500).map(|age| (age, 1)).collect();
        let answered = ms(std::iter::repeat_n(10, 500));
        assert_eq!(shown(&answered, &waiting, 0.5), Some((10, false)));
        assert_eq!(shown(&answered, &waiting, 0.99), Some((489, true)));
        assert_eq!(shown(&ms([]), &waiting, 0.99), Some((494, true)));
    }

    #[test]
    fn few_who_have_just_begun_move_nothing() {
        let answered = ms(std::iter::repeat_n(10, 1_000));
        let young: Vec<_> = (0..10).map(|age| (age, 1)).collect();
        for q in [0.5, 0.99] {
            assert_eq!(shown(&answered, &young, q), Some((10, false)));
        }
        // As old as the answers: those count first.
        assert_eq!(shown(&answered, &[(10, 10)], 0.99), Some((10, false)));
    }

    /// A backlog is answered oldest first: the slowest answers are older than all who still wait.
    #[test]
    fn above_a_bound_everything_is_one() {
        let (answered, waiting) = (ms([4_000; 40]), [(2_000_000_000, 60)]);
        let [p50, p99] = quantiles(&answered, waiting, [0.5, 0.99]);
        assert_eq!(p50, Some(SoFar { value_ns: 2_000_000_000, is_longer: true }));
        assert!(p99.is_some_and(|p99| p99.is_longer && p99.value_ns > 3_900_000_000));
    }

    #[test]
    fn those_of_whom_no_time_is_known_claim_nothing() {
        assert_eq!(shown(&ms([]), &[(0, 1_000), (3, 10)], 0.5), None);
        assert_eq!(shown(&ms([]), &[(0, 10), (3_000, 1_000)], 0.5), Some((3_000, true)));
    }
}
