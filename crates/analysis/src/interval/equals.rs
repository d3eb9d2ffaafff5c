//! What is as good as equal: times that differ by less than anybody asks for are no event, and no memory.
//!
//! How often something happens, and whether its neighbours resemble it, does not depend on its size. So a target whose answers take
//! 10.00 ms now and 10.01 ms later looks as if one event decided its percentiles, or as if it remembered for longer than the run,
//! and has no interval. Were the bins of the histogram a little wider, all its answers would lie in one, and the interval would be
//! that bin.
//!
//! Quantiles go through every monotone transformation, and so do their intervals. One that makes the neighbours of a quantile equal
//! gives an interval of the joined value by the same rules as any other, and what was joined is a range that holds the quantile. It
//! is tried where there is no finer answer, and only where nearly all lies there: nothing changes for a target that varies.

use super::bins;
use super::history::Stretch;

/// Neighbours of a quantile differ from it by this share of it at most.
const EQUAL_SHARE: f64 = 0.01;

/// A value that was seen, and the share of all that took at most so long.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Step {
    /// The lowest value that it may stand for.
    pub(super) low_ns: u64,
    pub(super) high_ns: u64,
    pub(super) share: f64,
}

impl Step {
    pub(super) fn of((value_ns, share): (u64, f64)) -> Step {
        Step { low_ns: bins::lowest_ns(bins::number(value_ns)), high_ns: value_ns, share }
    }
}

/// Neighbours of a quantile that are taken for one.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Equals {
    /// All steps, with one for what is joined.
    pub(super) steps: Vec<Step>,
    /// Bins that are joined, from and to.
    bins: (u32, u32),
}

impl Equals {
    /// The neighbours of the `q`-quantile, if at least half of what lies above it and half of what lies below are among them. `shift`
    /// is that of the bins' numbers.
    pub(super) fn around(q: f64, steps: &[Step], shift: u32) -> Option<Equals> {
        let bin = |value_ns: u64| bins::number(value_ns) >> shift;
        let value_ns = steps.get(steps.partition_point(|step| step.share < q - 1e-12))?.high_ns as f64;
        let lowest = bin((value_ns * (1.0 - EQUAL_SHARE)) as u64);
        let highest = bin((value_ns * (1.0 + EQUAL_SHARE)) as u64);
        let from = steps.partition_point(|step| bin(step.high_ns) < lowest);
        let to = steps.partition_point(|step| bin(step.high_ns) <= highest);
        let (before, same, after) = (&steps[..from], &steps[from..to], &steps[to..]);
        let (first, last) = (same.first()?, same.last()?);
        let below = before.last().map_or(0.0, |step| step.share);
        if below > q / 2.0 || 1.0 - last.share > (1.0 - q) / 2.0 {
            return None;
        }
        let joined = Step { low_ns: first.low_ns, ..*last };
        // A bin of a coarse history may reach further.
        let is_near = |ns: u64| (ns as f64 - value_ns).abs() <= 2.0 * EQUAL_SHARE * value_ns;
        if !is_near(joined.low_ns) || !is_near(joined.high_ns) {
            return None;
        }
        let steps = before.iter().chain([&joined]).chain(after).copied().collect();
        Some(Equals { steps, bins: (lowest, bin(last.high_ns)) })
    }

    /// The same in each stretch. Nothing if somebody was given up at such an age: it can't be told from those who took as long.
    pub(super) fn of(&self, stretches: &[Stretch]) -> Option<Vec<Stretch>> {
        stretches.iter().map(|stretch| stretch.joined(self.bins.0, self.bins.1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(all: &[(u64, f64)]) -> Vec<Step> {
        all.iter().copied().map(Step::of).collect()
    }

    #[test]
    fn what_lies_near_is_one_step() {
        let all = steps(&[
            (9_000_000, 0.02),
            (9_990_000, 0.3),
            (10_000_000, 0.995),
            (10_060_000, 0.999),
            (12_000_000, 1.0),
        ]);
        let equals = Equals::around(0.99, &all, 0).expect("nearly all lies there");
        let joined = Step { low_ns: all[1].low_ns, high_ns: 10_060_000, share: 0.999 };
        assert_eq!(equals.steps, [all[0], joined, all[4]]);
        // The bins of a long run are wider, and what shares one with a neighbour is one, too.
        let equals = Equals::around(0.99, &all, 3).expect("nearly all lies there");
        assert_eq!(equals.steps, [all[0], joined, all[4]]);
        assert_eq!(Equals::around(0.99, &all, 9), None, "they are too wide");
    }

    #[test]
    fn who_varies_has_no_equals() {
        // Most of what lies above is elsewhere, or of what lies below.
        let above = steps(&[(10_000_000, 0.99), (10_050_000, 0.994), (30_000_000, 1.0)]);
        assert_eq!(Equals::around(0.99, &above, 0), None);
        let below = steps(&[(5_000_000, 0.6), (10_000_000, 1.0)]);
        assert_eq!(Equals::around(0.99, &below, 0), None);
        assert!(Equals::around(0.5, &below, 0).is_none());
        assert_eq!(Equals::around(0.99, &[], 0), None);
    }

    #[test]
    fn stretches_keep_their_samples() {
        let all = steps(&[(9_990_000, 0.5), (10_000_000, 1.0)]);
        let equals = Equals::around(0.5, &all, 0).expect("all lies there");
        let bin = |value_ns: u64| bins::number(value_ns);
        let stretch =
            Stretch { completed: vec![(bin(9_990_000), 3), (bin(10_000_000), 4)], ..Stretch::default() };
        let joined = equals.of(std::slice::from_ref(&stretch)).expect("nobody was given up");
        assert_eq!(joined[0].completed, [(bin(10_000_000), 7)]);
        let given_up = Stretch { censored: vec![(bin(9_995_000), 1)], ..stretch };
        assert_eq!(equals.of(&[given_up]), None);
    }
}
