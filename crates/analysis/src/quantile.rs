//! Quantiles by Kaplan–Meier over two bin-aligned histograms: what was completed, and the ages of what
//! is only known to take longer.
//!
//! With nothing censored, or everything censored above everything known (one constant timeout), this is
//! exactly the nearest rank: the smallest value x with count(≤ x) ≥ ⌈q·n⌉, where n includes the censored.
//! Failed arrivals enter neither histogram: a fast error can't improve a percentile, and findings say
//! when failures are many enough to shape one.
//!
//! Source of the estimate: E. L. Kaplan, P. Meier, "Nonparametric Estimation from Incomplete
//! Observations", 1958. Ties follow its convention: within a bin completions come before censorings.

use crate::thresholds::SAMPLES_ABOVE_MIN;
use hdrhistogram::Counter;
use unblink_core::record::Track;

/// The quantiles that every table prints.
pub const QUANTILES: [f64; 8] = [0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999];

/// The rank, from 1 to `count`, of the q-quantile among this many samples in order: ⌈q·n⌉, where 1e-9 takes back what the
/// product of two floats may have added.
pub fn nearest_rank(q: f64, count: u64) -> u64 {
    ((q * count as f64 - 1e-9).ceil() as u64).clamp(1, count.max(1))
}

/// One quantile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuantileValue {
    /// In nanoseconds. The highest value of its bin, but never above the exact maximum; when `censored`,
    /// the value at the same rank if everything open had been answered at its age: a lower bound whatever
    /// the true values are.
    pub value_ns: u64,
    /// The quantile lies beyond what is known: it is longer than `value_ns`.
    pub censored: bool,
    /// Fewer than ten samples lie above its rank.
    pub few_samples: bool,
}

/// The estimated distribution of a duration.
#[derive(Clone, Debug)]
pub struct Survival {
    steps: Vec<Step>,
    count: u64,
    censored: u64,
    /// (value, samples up to it) with the censored at their ages; empty when nothing is censored.
    at_least: Vec<(u64, u64)>,
}

/// Up to and including `value_ns` lie `cumulative` of `count` samples. Whole as long as no censoring
/// precedes; later a censored sample's weight is shared by all that lie above it.
#[derive(Clone, Copy, Debug)]
struct Step {
    value_ns: u64,
    cumulative: f64,
}

impl Survival {
    /// Estimates from completed durations and the ages of the censored.
    pub fn new(completed: &Track<u64>, censored: &Track<u64>) -> Survival {
        Survival::with_open(completed, censored, 0)
    }

    /// The same with `open` samples more of which not even an age is known, as in a run that was killed: they
    /// count as longer than anything known, so that no percentile is that of the survivors.
    pub fn with_open(completed: &Track<u64>, censored: &Track<u64>, open: u64) -> Survival {
        let count = completed.count() + censored.count() + open;
        let mut ages = censored.bins().peekable();
        let (mut steps, mut at_risk, mut remaining) = (Vec::new(), count, count as f64);
        for (value_ns, completions) in completed.bins() {
            while let Some((_, n)) = ages.next_if(|&(age, _)| is_bin_below(completed, age, value_ns)) {
                at_risk -= n;
            }
            // Whole numbers as long as nothing was censored below.
            remaining = if remaining == at_risk as f64 {
                (at_risk - completions) as f64
            } else {
                remaining * ((at_risk - completions) as f64 / at_risk as f64)
            };
            at_risk -= completions;
            steps.push(Step { value_ns, cumulative: count as f64 - remaining });
        }
        Survival {
            steps,
            count,
            censored: censored.count() + open,
            at_least: match censored.count() + open {
                0 => Vec::new(),
                _ => at_their_ages(completed, censored, open),
            },
        }
    }

    /// The same when nothing is censored.
    pub fn known<C: Counter>(completed: &Track<C>) -> Survival {
        let (mut steps, mut below) = (Vec::new(), 0);
        for (value_ns, completions) in completed.bins() {
            below += completions;
            steps.push(Step { value_ns, cumulative: below as f64 });
        }
        Survival { steps, count: completed.count(), censored: 0, at_least: Vec::new() }
    }

    /// Samples, the censored included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Samples known only to be longer than their age.
    pub fn censored(&self) -> u64 {
        self.censored
    }

    /// The value that the share `q` (0 to 1) does not exceed; `None` without samples.
    pub fn quantile(&self, q: f64) -> Option<QuantileValue> {
        if self.count == 0 {
            return None;
        }
        // Where sums are whole, reaching q·n is reaching the rank ⌈q·n⌉.
        let needed = self.needed(q);
        let rank = (needed.ceil() as u64).clamp(1, self.count);
        let few_samples = self.count - rank < SAMPLES_ABOVE_MIN;
        let place = self.steps.partition_point(|step| step.cumulative < needed);
        Some(match self.steps.get(place) {
            Some(step) => QuantileValue { value_ns: step.value_ns, censored: false, few_samples },
            None => {
                let place = self.at_least.partition_point(|&(_, samples)| samples < rank);
                let at_age = self.at_least.get(place).map_or(0, |&(value_ns, _)| value_ns);
                // No quantile is shorter than a lower one that is known.
                let value_ns = self.steps.last().map_or(at_age, |step| at_age.max(step.value_ns));
                QuantileValue { value_ns, censored: true, few_samples }
            }
        })
    }

    /// The `q`-quantile if `lost` samples more had been shorter than all others, and if they had been longer (`None`: it is
    /// without end).
    pub fn with_lost(&self, q: f64, lost: u64) -> Option<(u64, Option<u64>)> {
        let (known, rank) = (self.count as f64, q * (self.count + lost) as f64);
        let at = |rank: f64| self.quantile((rank / known).clamp(0.0, 1.0));
        let if_at_once = if rank <= lost as f64 { 0 } else { at(rank - lost as f64)?.value_ns };
        let if_never = at(rank).filter(|found| rank <= known + 1e-9 && !found.censored);
        (self.count > 0).then(|| (if_at_once, if_never.map(|found| found.value_ns)))
    }

    /// Every quantile that a table prints; empty without samples.
    pub fn table(&self) -> Vec<(f64, QuantileValue)> {
        QUANTILES.iter().filter_map(|&q| Some((q, self.quantile(q)?))).collect()
    }

    /// The curve (share, highest value in ns) for drawing, ascending in both, at most `points` long.
    ///
    /// Ticks lie evenly on a 1/(1−q) axis, as in HdrHistogram's percentile output, so that they are
    /// denser towards the tail. The widest jumps keep both their ends. The curve ends where the known
    /// data end; a known maximum stands in the middle of its own rank, at 1 − 1/(2n), because 1 has no
    /// place on such an axis.
    pub fn spectrum(&self, points: usize) -> Vec<(f64, u64)> {
        let (Some(first), Some(last)) = (self.steps.first(), self.steps.last()) else { return Vec::new() };
        let n = self.count as f64;
        let end = (last.cumulative / n).min(1.0 - 0.5 / n);
        let mut curve = vec![(0.0, first.value_ns), (end, last.value_ns)];

        // Every jump costs two points and every tick one; half of the points for each.
        let mut jumps: Vec<(f64, usize)> = (1..self.steps.len())
            .map(|i| (self.steps[i].value_ns as f64 / self.steps[i - 1].value_ns.max(1) as f64, i))
            .collect();
        jumps.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for &(_, i) in jumps.iter().take(points.saturating_sub(2) / 4) {
            let share = (self.steps[i - 1].cumulative / n).min(end);
            curve.push((share, self.steps[i - 1].value_ns));
            curve.push((share, self.steps[i].value_ns));
        }

        let halvings = (1.0 / (1.0 - end)).log2();
        let ticks = points.saturating_sub(curve.len()).max(1);
        for tick in 1..=ticks {
            let q = 1.0 - (-halvings * tick as f64 / (ticks + 1) as f64).exp2();
            if let Some(value) = self.quantile(q).filter(|v| !v.censored) {
                curve.push((q, value.value_ns));
            }
        }
        curve.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        curve.dedup();
        without_inner_points(&curve)
    }

    /// Every step of the curve: (highest value in ns, share of all that is at most that).
    pub fn steps(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.steps.iter().map(|step| (step.value_ns, step.cumulative / self.count as f64))
    }

    /// q·n, less what rounding may have added to it.
    fn needed(&self, q: f64) -> f64 {
        let exact = q * self.count as f64;
        // 1e-9 as in the oracle; beyond 10⁶ samples the product itself is rounded by more.
        exact - 1e-9 - exact * 1e-15
    }
}

/// Completed and censored together, ascending: (value, samples up to it). An age stands for the lowest value
/// of its bin, unless all are the same: one timeout is known exactly.
fn at_their_ages(completed: &Track<u64>, censored: &Track<u64>, open: u64) -> Vec<(u64, u64)> {
    let is_one_age = censored.sum_ns == u128::from(censored.max_ns) * u128::from(censored.count());
    let age = |top_ns: u64| if is_one_age { top_ns } else { censored.histogram.lowest_equivalent(top_ns) };
    let ages = censored.bins().map(|(top_ns, n)| (age(top_ns), n));
    let mut all: Vec<(u64, u64)> = completed.bins().chain(ages).chain([(0, open)]).collect();
    all.sort_unstable();
    let mut below = 0;
    for (_, samples) in &mut all {
        below += *samples;
        *samples = below;
    }
    all
}

/// Is `age` in a bin below that of `value`? Both are tops of bins, or exact maxima within one, so that
/// bins have to be compared: two maxima may differ within a bin, and a tie must stay one.
fn is_bin_below(track: &Track<u64>, age: u64, value: u64) -> bool {
    // The first bin is that of 1 ns, and holds 0 too.
    let (age, value) = (age.max(1), value.max(1));
    age < value && !track.histogram.equivalent(age, value)
}

/// Drops points in the middle of a level stretch: its ends draw the same line.
fn without_inner_points(curve: &[(f64, u64)]) -> Vec<(f64, u64)> {
    let is_inner = |i: usize| {
        i > 0 && i + 1 < curve.len() && curve[i - 1].1 == curve[i].1 && curve[i].1 == curve[i + 1].1
    };
    (0..curve.len()).filter(|&i| !is_inner(i)).map(|i| curve[i]).collect()
}
