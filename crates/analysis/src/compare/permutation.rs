//! An exact test of two sets of runs: could chance alone have dealt them out like this?
//!
//! If both targets were the same, each of the C(n + m, n) ways to split the runs into a baseline and a candidate
//! would have been equally likely, whatever the noise between runs is distributed like. The share of splits that
//! differ at least as much as the one that was measured is the p-value; nothing is assumed and nothing is drawn
//! (E. J. G. Pitman, "Significance Tests Which May Be Applied to Samples from Any Populations", 1937).
//!
//! What is compared are the means of the logarithms. A median would be robust and blind: of 5 + 5 runs the most
//! extreme difference of medians is reached by 12 of 252 splits, so that no data at all could reach 1 %; and with
//! many runs of lognormal noise it needs 57 % more of them (its asymptotic efficiency is 2/π).

/// Differences of logarithms that are smaller than this are ties: far below the histogram's resolution.
const TIE: f64 = 1e-9;

/// In how many ways `n + m` runs can be dealt out; saturates.
pub fn splits(n: usize, m: usize) -> u64 {
    let chosen = n.min(m) as u128;
    let all = (n + m) as u128;
    let count = (1..=chosen).try_fold(1u128, |count, i| Some(count.checked_mul(all - chosen + i)? / i));
    count.map_or(u64::MAX, |count| count.min(u128::from(u64::MAX)) as u64)
}

/// Shares of all splits whose difference (candidate − baseline) lies at least as far out as the measured one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tails {
    /// Towards larger values of the candidate.
    pub slower: f64,
    /// Towards smaller ones.
    pub faster: f64,
}

impl Tails {
    /// Two-sided p-value: twice the smaller tail.
    ///
    /// Unlike a test on the absolute difference it keeps each direction's share of false alarms for unequal
    /// numbers of runs, too, and a candidate that turns out slower still never becomes less significant.
    pub fn p_value(&self) -> f64 {
        (2.0 * self.slower.min(self.faster)).min(1.0)
    }
}

/// Tests `baseline` against `candidate`, both in logarithms; 63 runs at most.
pub fn test(baseline: &[f64], candidate: &[f64]) -> Tails {
    let all: Vec<f64> = baseline.iter().chain(candidate).copied().collect();
    let measured = difference(&all, baseline.len(), own(baseline.len(), candidate.len()));
    let (mut slower, mut faster, mut count) = (0u64, 0u64, 0u64);
    for split in Splits::new(baseline.len(), candidate.len()) {
        let other = difference(&all, baseline.len(), split);
        slower += u64::from(other >= measured - TIE);
        faster += u64::from(other <= measured + TIE);
        count += 1;
    }
    Tails { slower: slower as f64 / count as f64, faster: faster as f64 / count as f64 }
}

/// The split as it was measured: the candidate's runs come after the `n` of the baseline.
pub(super) fn own(n: usize, m: usize) -> u64 {
    ((1 << m) - 1) << n
}

/// Mean of the runs in `split` less that of the others, of which there are `n`.
pub(super) fn difference(all: &[f64], n: usize, split: u64) -> f64 {
    let (mut within, mut without) = (0.0, 0.0);
    for (i, value) in all.iter().enumerate() {
        match split >> i & 1 {
            1 => within += value,
            _ => without += value,
        }
    }
    within / (all.len() - n) as f64 - without / n as f64
}

/// Every choice of `m` of `n + m` runs, as bits.
pub(super) struct Splits {
    next: u64,
    end: u64,
}

impl Splits {
    pub(super) fn new(n: usize, m: usize) -> Splits {
        Splits { next: (1 << m) - 1, end: 1 << (n + m) }
    }
}

impl Iterator for Splits {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let split = self.next;
        if split >= self.end || split == 0 {
            return None;
        }
        // The next larger number with as many bits (HAKMEM, item 175).
        let lowest = split & split.wrapping_neg();
        let ripple = split + lowest;
        self.next = (((split ^ ripple) >> 2) / lowest) | ripple;
        Some(split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_split_comes_once() {
        for (n, m, count) in [(5, 5, 252), (4, 4, 70), (5, 3, 56), (1, 1, 2), (10, 10, 184_756)] {
            assert_eq!(splits(n, m), count);
            let mut all: Vec<u64> = Splits::new(n, m).collect();
            assert!(all.iter().all(|split| split.count_ones() as usize == m && *split < 1 << (n + m)));
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len() as u64, count);
        }
        assert_eq!(splits(100, 100), u64::MAX);
    }

    #[test]
    fn p_values_are_those_counted_by_hand() {
        // Complete separation: one split of 252 on each side.
        let low = [1.0, 2.0, 3.0, 4.0, 5.0];
        let high = [6.0, 7.0, 8.0, 9.0, 10.0];
        assert_eq!(test(&low, &high), Tails { slower: 1.0 / 252.0, faster: 1.0 });
        assert!((test(&high, &low).p_value() - 2.0 / 252.0).abs() < 1e-12);
        // Four against four never reach 1 %.
        assert!((test(&low[..4], &high[..4]).p_value() - 2.0 / 70.0).abs() < 1e-12);
        // 5 and 6 changed places: the own split and the complete separation are as far out, or farther.
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 6.0], [5.0, 7.0, 8.0, 9.0, 10.0]);
        assert!((test(&a, &b).slower - 2.0 / 252.0).abs() < 1e-12);
        // Nothing differs: every split ties.
        assert_eq!(test(&[3.0; 5], &[3.0; 5]).p_value(), 1.0);
    }

    #[test]
    fn a_slower_candidate_is_never_less_significant() {
        let baseline = [1.0, 1.2, 1.1, 0.9, 1.05, 1.3];
        let mut candidate = [1.25, 1.15, 1.4, 1.02, 1.31];
        let before = test(&baseline, &candidate).slower;
        for i in 0..candidate.len() {
            let kept = candidate[i];
            for more in [0.01, 0.3, 50.0] {
                candidate[i] = kept + more;
                assert!(test(&baseline, &candidate).slower <= before, "{i} {more}");
            }
            candidate[i] = kept;
        }
    }
}
