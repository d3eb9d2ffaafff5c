//! Two targets that were asked the same things at the same times: pair by pair, and percentile by percentile.
//!
//! Intervals come from blocks of time that are drawn again and again, with both sides of a pair in the same draw, so that
//! what moves both sides alike moves no difference. Pairs that were left out count as longer than anything known for the
//! estimates, and for the ends of intervals as whatever makes these wider: the interval holds whatever became of them.

mod draws;

use crate::interval::bins;
use crate::interval::exact::{Level, ONE_LOOK, ranks, student};
use crate::quantile::nearest_rank;
use crate::thresholds::SAMPLES_ABOVE_MIN;
use draws::Draws;
use std::collections::BTreeMap;

/// Stretches at most; in a longer time neighbours are joined.
const STRETCHES_MAX: usize = 240;
/// Blocks that are drawn, and with how few nothing is said.
const BLOCKS: usize = 20;
const BLOCKS_LEAST: usize = 5;
/// Two equal targets are told apart by their failures once in this many comparisons, half of them in either direction.
pub const ALARM_LEVEL: f64 = 0.01;

/// Durations by bin.
#[derive(Clone, Debug, Default, PartialEq)]
struct Bins {
    counts: BTreeMap<i64, u64>,
    count: u64,
}

impl Bins {
    fn add(&mut self, bin: i64) {
        *self.counts.entry(bin).or_default() += 1;
        self.count += 1;
    }

    fn join(&mut self, other: &Bins) {
        other.counts.iter().for_each(|(&bin, n)| *self.counts.entry(bin).or_default() += n);
        self.count += other.count;
    }

    /// The bin at a rank from 1 on.
    fn at(&self, rank: u64) -> Option<i64> {
        let mut below = 0;
        self.counts.iter().find_map(|(&bin, n)| {
            below += n;
            (below >= rank && rank > 0).then_some(bin)
        })
    }
}

/// A duration's bin, with the sign of a difference.
fn bin(ns: i64) -> i64 {
    i64::from(bins::number(ns.unsigned_abs())) * ns.signum()
}

fn value(bin: i64) -> i64 {
    bins::lowest_ns(u32::try_from(bin.unsigned_abs()).unwrap_or(u32::MAX)) as i64 * bin.signum()
}

/// Pairs of some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    first: Bins,
    second: Bins,
    difference: Bins,
    left_out: u64,
}

impl Pairs {
    /// Both sides of a pair, in ns.
    pub fn add(&mut self, first_ns: u64, second_ns: u64) {
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        self.first.add(bin(signed(first_ns)));
        self.second.add(bin(signed(second_ns)));
        self.difference.add(bin(signed(second_ns) - signed(first_ns)));
    }

    /// Pairs that can't be compared.
    pub fn leave_out(&mut self, pairs: u64) {
        self.left_out += pairs;
    }

    /// Pairs that are compared.
    pub fn compared(&self) -> u64 {
        self.first.count
    }

    /// Adds those of another time.
    pub fn join(&mut self, other: &Pairs) {
        self.first.join(&other.first);
        self.second.join(&other.second);
        self.difference.join(&other.difference);
        self.left_out += other.left_out;
    }

    fn count(&self) -> u64 {
        self.first.count + self.left_out
    }

    /// Percentiles of both sides with every left-out pair beyond all; nothing where that reaches them.
    pub fn quantiles(&self, q: f64) -> Option<(u64, u64)> {
        let rank = nearest_rank(q, self.count());
        let side = |bins: &Bins| bins.at(rank).map(|bin| value(bin).unsigned_abs());
        side(&self.first).zip(side(&self.second))
    }

    fn has_enough(&self, q: f64) -> bool {
        self.count() - nearest_rank(q, self.count()).min(self.count()) >= SAMPLES_ABOVE_MIN
    }

    fn extremes(&self, q: f64) -> Option<Extremes> {
        extremes(self.ranks(q)?, |rank| self.first.at(rank), |rank| self.second.at(rank))
    }

    fn ranks(&self, q: f64) -> Option<(u64, u64)> {
        ranks_between(q, self.count(), self.left_out)
    }

    /// The same of the differences within pairs.
    fn pair_extremes(&self, q: f64) -> Option<(i64, i64)> {
        let (low, high) = self.ranks(q)?;
        Some((value(self.difference.at(low)?), value(self.difference.at(high)?)))
    }
}

/// The least and the greatest rank among those known that a percentile of all may have.
fn ranks_between(q: f64, all: u64, left_out: u64) -> Option<(u64, u64)> {
    let high = nearest_rank(q, all);
    Some((high.checked_sub(left_out).filter(|&rank| rank > 0)?, high))
}

/// The least and the greatest difference of percentiles that left-out pairs allow; both sides by rank.
fn extremes(
    (low, high): (u64, u64),
    first: impl Fn(u64) -> Option<i64>,
    second: impl Fn(u64) -> Option<i64>,
) -> Option<Extremes> {
    let (first_low, first_high) = (value(first(low)?), value(first(high)?));
    let (second_low, second_high) = (value(second(low)?), value(second(high)?));
    let over = |a: i64, b: i64| a.max(1) as f64 / b.max(1) as f64;
    Some(Extremes {
        low_ns: second_low - first_high,
        high_ns: second_high - first_low,
        low: over(second_low, first_high).ln(),
        high: over(second_high, first_low).ln(),
    })
}

/// Bounds of a difference, in ns and as the logarithm of a ratio.
struct Extremes {
    low_ns: i64,
    high_ns: i64,
    low: f64,
    high: f64,
}

/// Pairs over time, in memory that does not grow with it.
#[derive(Clone, Debug)]
pub struct Over {
    stretches: Vec<Pairs>,
    intervals: u32,
    per_stretch: u32,
    total: Pairs,
}

impl Default for Over {
    fn default() -> Over {
        Over { stretches: Vec::new(), intervals: 0, per_stretch: 1, total: Pairs::default() }
    }
}

/// A percentile of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// 0 to 1.
    pub q: f64,
    /// Of both sides in ns, if left-out pairs don't reach it.
    pub sides_ns: Option<(u64, u64)>,
    /// 95 % interval of second − first in ns.
    pub between_ns: Option<(i64, i64)>,
    /// 95 % interval of second/first − 1.
    pub change: Option<(f64, f64)>,
}

impl Over {
    /// Takes in what ended in the next interval.
    pub fn add(&mut self, pairs: &Pairs) {
        self.total.join(pairs);
        match self.stretches.last_mut().filter(|_| !self.intervals.is_multiple_of(self.per_stretch)) {
            Some(last) => last.join(pairs),
            None => self.stretches.push(pairs.clone()),
        }
        self.intervals += 1;
        if self.stretches.len() > STRETCHES_MAX {
            self.stretches = self.stretches.chunks(2).map(joined).collect();
            self.per_stretch *= 2;
        }
    }

    /// All pairs.
    pub fn total(&self) -> &Pairs {
        &self.total
    }

    /// Percentiles, with intervals where there is enough to tell.
    pub fn lines(&self, quantiles: &[f64]) -> Vec<Line> {
        let draws = self.draws();
        let line = |&q: &f64| {
            let sides_ns = self.total.quantiles(q);
            let own = self.total.extremes(q).filter(|_| self.total.has_enough(q));
            let all = draws.as_ref().zip(own).and_then(|(draws, own)| {
                let all: Vec<Extremes> = draws.all(|draw| draw.extremes(q))?;
                Some((all, own, draws.blocks()))
            });
            let between_ns = all.as_ref().map(|(all, own, blocks)| {
                let ends = |of: fn(&Extremes) -> i64| all.iter().map(|one| of(one) as f64).collect();
                let own = (own.low_ns as f64, own.high_ns as f64);
                let (low, high) = between(ends(|e| e.low_ns), ends(|e| e.high_ns), own, *blocks);
                (low.floor() as i64, high.ceil() as i64)
            });
            let change = all.map(|(all, own, blocks)| {
                let ends = |of: fn(&Extremes) -> f64| all.iter().map(of).collect();
                let (low, high) = between(ends(|e| e.low), ends(|e| e.high), (own.low, own.high), blocks);
                (low.exp_m1(), high.exp_m1())
            });
            Line { q, sides_ns, between_ns, change }
        };
        quantiles.iter().map(line).collect()
    }

    /// The median of the differences within pairs, and its 95 % interval, in ns.
    pub fn median(&self) -> Option<(i64, Option<(i64, i64)>)> {
        let own = self.total.pair_extremes(0.5)?;
        let middle = value(self.total.difference.at(nearest_rank(0.5, self.total.compared()))?);
        let draws = self.draws().filter(|_| self.total.has_enough(0.5));
        let interval = draws.and_then(|draws| {
            let all = draws.all(|draw| draw.pair_extremes(0.5))?;
            let (lows, highs) = all.iter().map(|&(low, high)| (low as f64, high as f64)).unzip();
            let (low, high) = between(lows, highs, (own.0 as f64, own.1 as f64), draws.blocks());
            Some((low.floor() as i64, high.ceil() as i64))
        });
        Some((middle, interval))
    }

    /// Blocks to be drawn; none where there are too few.
    fn draws(&self) -> Option<Draws> {
        let n = self.stretches.len().min(BLOCKS);
        let part = |i: usize| i * self.stretches.len() / n;
        (n >= BLOCKS_LEAST).then(|| {
            let blocks = (0..n).map(|i| joined(&self.stretches[part(i)..part(i + 1)]));
            Draws::of(&blocks.collect::<Vec<Pairs>>())
        })
    }
}

fn joined(parts: &[Pairs]) -> Pairs {
    let mut all = Pairs::default();
    parts.iter().for_each(|part| all.join(part));
    all
}

/// The ends of an interval of 95 %, from draws of both ends out of so many blocks; stretched from the normal distribution's
/// to Student's, and for what few blocks vary too little.
fn between(mut lows: Vec<f64>, mut highs: Vec<f64>, own: (f64, f64), blocks: usize) -> (f64, f64) {
    let freedom = (blocks - 1) as f64;
    let stretch = student(freedom, ONE_LOOK.normal) / ONE_LOOK.normal * ((freedom + 1.0) / freedom).sqrt();
    lows.sort_unstable_by(f64::total_cmp);
    highs.sort_unstable_by(f64::total_cmp);
    let place = (lows.len() as f64 * ONE_LOOK.side) as usize;
    let (low, high) = (lows[place], highs[highs.len() - 1 - place]);
    (own.0 - stretch * (own.0 - low).max(0.0), own.1 + stretch * (high - own.1).max(0.0))
}

/// Does the second side fail in more pairs than chance explains? Of pairs in which exactly one side failed: `first` and
/// `second` (Q. McNemar, "Note on the Sampling Error of the Difference between Correlated Proportions", 1947; exact).
pub fn fails_more(first: u64, second: u64) -> bool {
    let level = Level::of_share(ALARM_LEVEL / 2.0 / ONE_LOOK.side);
    ranks(first + second, 0.5, level).0.is_some_and(|low| first < low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::sim::Random;

    /// Seconds of pairs with noise that both sides share, and noise of their own.
    fn over(seed: u64, seconds: usize, slower_ns: f64) -> Over {
        let mut random = Random::new(seed, 3);
        let mut over = Over::default();
        for _ in 0..seconds {
            let mut pairs = Pairs::default();
            for _ in 0..50 {
                let both = 1e6 + 3e5 * random.normal();
                let mut side = |more: f64| (both + more + 5e4 * random.normal()).max(1.0) as u64;
                pairs.add(side(0.0), side(slower_ns));
            }
            over.add(&pairs);
        }
        over
    }

    #[test]
    fn intervals_hold_the_true_difference() {
        const TRIALS: u64 = 60;
        let (mut of_sides, mut of_pairs) = (0, 0);
        for seed in 0..TRIALS {
            let over = over(seed, 40, 1e5);
            let (low, high) = over.lines(&[0.5])[0].between_ns.expect("an interval");
            of_sides += u64::from(low <= 100_000 && 100_000 <= high);
            let (low, high) = over.median().and_then(|(_, between)| between).expect("an interval");
            of_pairs += u64::from(low <= 100_000 && 100_000 <= high);
            // What both sides share, 300 µs, does not widen it.
            assert!(high - low < 15_000, "{low} {high}");
        }
        // 95 % of 60, less three standard errors.
        assert!(of_sides >= 52 && of_pairs >= 52, "{of_sides} {of_pairs}");
    }

    #[test]
    fn few_blocks_make_wide_intervals_and_fewer_none() {
        const TRIALS: u64 = 200;
        let holds = |seed: &u64| {
            let (low, high) =
                over(*seed, 5, 1e5).median().and_then(|(_, between)| between).expect("an interval");
            low <= 100_000 && 100_000 <= high
        };
        let held = (0..TRIALS).filter(holds).count();
        // 95 % of 200, less three standard errors; with the 19 degrees of freedom of 20 blocks it was less.
        assert!(held >= 180, "{held}");
        let short = over(1, 4, 1e5);
        assert_eq!(
            (short.median().map(|(_, between)| between), short.lines(&[0.5])[0].between_ns),
            (Some(None), None)
        );
    }

    #[test]
    fn quantiles_above_the_share_of_those_left_out_are_withheld() {
        let mut pairs = Pairs::default();
        (1..=980).for_each(|ms| pairs.add(ms * 1_000, ms * 2_000));
        pairs.leave_out(20);
        let (first, second) = pairs.quantiles(0.98).expect("980 of 1,000 are known");
        assert!(first.abs_diff(980_000) < 1_000 && second.abs_diff(1_960_000) < 2_000, "{first} {second}");
        assert_eq!(pairs.quantiles(0.981), None);
        // Had they been the fastest, the median would be the 480th.
        let extremes = pairs.extremes(0.5).expect("known");
        assert!((extremes.low_ns - (960_000 - 500_000)).abs() < 2_000, "{}", extremes.low_ns);
        assert!((extremes.high_ns - (1_000_000 - 480_000)).abs() < 2_000, "{}", extremes.high_ns);
    }

    #[test]
    fn a_long_time_needs_no_more_memory() {
        let mut over = Over::default();
        let mut pairs = Pairs::default();
        pairs.add(1, 2);
        (0..1_000).for_each(|_| over.add(&pairs));
        assert!(over.stretches.len() <= STRETCHES_MAX && over.total().compared() == 1_000);
        let all: u64 = over.stretches.iter().map(Pairs::compared).sum();
        assert_eq!(all, 1_000);
    }

    #[test]
    fn failures_are_more_when_chance_says_so() {
        // Both tails of the binomial: 8 of 8 have 0.78 %, 7 of 7 have 1.6 %.
        assert!(fails_more(0, 8) && !fails_more(0, 7) && !fails_more(8, 0) && !fails_more(0, 0));
        assert!(fails_more(40, 80) && !fails_more(50, 70));
    }
}
