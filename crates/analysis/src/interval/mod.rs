//! 95 % intervals on percentiles of dependent, partly censored durations.
//!
//! Neighbouring arrivals share the target's queue and its events, so that a million samples may hold what ten
//! independent ones would. What varies is therefore taken from stretches of time (a second, or several): the
//! variance of F̂(x) by circular blocks of stretches ([`influence`]), in the limit of infinitely many resamples,
//! so that nothing is drawn by chance. The interval is {x : F̂(x) is not significantly different from q}
//! (R. S. Woodruff, 1952), with the variance that F̂(x) would have if x were the quantile (E. B. Wilson, 1927).
//! It is never narrower than what ranks alone give for independent samples ([`exact`]).
//!
//! Where no honest interval exists, the [`Answer`] says why. `docs/statistics.md` has the reasons and the measured
//! coverage.

pub(crate) mod bins;
mod dependence;
pub(crate) mod exact;
pub(crate) mod history;
mod influence;

pub use history::History;

use crate::quantile::Survival;
use history::Stretch;
use influence::{Point, Snapshot};
use unblink_core::time::Nanos;

/// A steady stretch of load is cut into this many blocks at least.
pub const BLOCKS_MIN: usize = 20;
/// No interval when fewer independent events than this decide a percentile: what events do is skewed, and with ten
/// the measured coverage has fallen from 95 % to 91 %.
pub const EVENTS_MIN: f64 = 10.0;
/// This many or fewer are one event.
const ONE_EVENT_MAX: f64 = 1.5;
/// Samples come in events when the variance is this many times that of independent samples.
const CLUSTERED: f64 = 3.0;
/// Variance of overlapping blocks has so many degrees of freedom for each block but one (Meketon, Schmeiser 1984).
const FREEDOM_PER_BLOCK: f64 = 1.5;

/// What decided how long a run lasts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum EndedBy {
    /// Something other than its percentiles.
    Plan,
    /// A look at an interval, and a second one that confirmed it ([`crate::precision`]). Whichever look is a lucky one,
    /// the run stops too early, so each gets half of what a 95 % interval may miss (C. E. Bonferroni).
    Precision,
    /// One of several looks that may end it. It gets this share, above 0 and at most 1, of what a 95 % interval may miss;
    /// the shares of all looks add up to 1 (C. E. Bonferroni; K. K. G. Lan, D. L. DeMets, "Discrete Sequential
    /// Boundaries for Clinical Trials", 1983).
    Look(f64),
}

impl EndedBy {
    pub(crate) fn level(self) -> exact::Level {
        match self {
            EndedBy::Plan => exact::ONE_LOOK,
            EndedBy::Precision => exact::EACH_OF_TWO_LOOKS,
            EndedBy::Look(share) => exact::Level::of_share(share),
        }
    }
}

/// Where the ends of an interval come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Circular blocks of stretches.
    BlockBootstrap,
    /// Ranks: dependence was looked for, and adds nothing to them.
    Exact,
}

/// What can be said about where a quantile lies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Answer {
    /// Between these two, in ns, with 95 %.
    Between {
        /// Lower end.
        low_ns: u64,
        /// Upper end.
        high_ns: u64,
        /// Where they come from.
        method: Method,
    },
    /// Above this, in ns; the upper end lies among the censored.
    Above {
        /// Lower end.
        low_ns: u64,
    },
    /// Even independent samples would have to be more.
    NotEnoughData,
    /// What lies above the quantile comes from one event.
    OneEvent {
        /// When it was recorded, from.
        from: Nanos,
        /// To.
        to: Nanos,
    },
    /// What lies above the quantile comes from few events.
    FewEvents {
        /// How many would vary as much.
        events: u32,
    },
    /// Events or memory are too long for the run.
    TooShort {
        /// A steady load of this length might do.
        needed: Nanos,
    },
}

impl Answer {
    /// The same for a load that comes in about so many `bursts`. Each of them is an event that is known beforehand. A run
    /// that happens to have no long one looks calm, and its interval would miss what lies beyond: so there is none, unless
    /// [`EVENTS_MIN`] bursts lie beyond the percentile.
    pub fn in_bursts(self, q: f64, bursts: Option<f64>) -> Answer {
        match (self, bursts.map(|bursts| (1.0 - q) * bursts)) {
            // By rounding, a tenth of 100 is less than 10.
            (Answer::Between { .. } | Answer::Above { .. }, Some(beyond)) if beyond < EVENTS_MIN - 1e-9 => {
                Answer::FewEvents { events: beyond.round().max(1.0) as u32 }
            }
            _ => self,
        }
    }
}

/// An answer for each of `quantiles` (ascending), for the steady load from `from` to `to`. `whole` is the estimate
/// from everything that `history` holds.
pub fn answers(
    history: &History,
    from: Nanos,
    to: Nanos,
    whole: &Survival,
    quantiles: &[f64],
    ended: EndedBy,
) -> Vec<Answer> {
    let stretches = history.between(from, to);
    let length = Nanos((to - from).0 / stretches.len().max(1) as u64);
    let block = stretches.len() / BLOCKS_MIN;
    if block == 0 || whole.count() == 0 {
        let none = if whole.count() == 0 { Answer::NotEnoughData } else { too_short(1, Nanos::from_secs(1)) };
        return vec![none; quantiles.len()];
    }
    let (points, snapshots) = influence::sweep(&stretches, quantiles, block);
    let freedom = FREEDOM_PER_BLOCK * (stretches.len() as f64 / block as f64 - 1.0);
    let run = Run {
        stretches: &stretches,
        length,
        block,
        points: &points,
        shift: history.shift(),
        freedom,
        whole,
        level: ended.level(),
    };
    quantiles.iter().enumerate().map(|(i, &q)| run.answer(q, snapshots.get(i))).collect()
}

fn too_short(block: usize, stretch: Nanos) -> Answer {
    // Whole seconds: the figure is advice.
    let needed_s = (stretch.as_secs_f64() * (block * BLOCKS_MIN) as f64).ceil();
    Answer::TooShort { needed: Nanos::from_secs(needed_s as u64) }
}

/// A steady stretch of load, swept.
struct Run<'a> {
    stretches: &'a [Stretch],
    /// Of a stretch.
    length: Nanos,
    /// Length of a block in stretches.
    block: usize,
    points: &'a [Point],
    /// Of the bins' numbers.
    shift: u32,
    /// Degrees of freedom of the block variance.
    freedom: f64,
    whole: &'a Survival,
    level: exact::Level,
}

impl Run<'_> {
    fn answer(&self, q: f64, snapshot: Option<&Snapshot>) -> Answer {
        let (rank_low, rank_high) = exact::ranks(self.whole.count(), q, self.level);
        let (Some(rank_low), Some(rank_high)) = (rank_low, rank_high) else { return Answer::NotEnoughData };
        // A quantile that is not reached lies among the censored; what decides it is not known either.
        let Some(snapshot) = snapshot else {
            return self.search(q, 1.0, rank_low, rank_high);
        };
        let events = dependence::events(self.stretches, snapshot);
        let longest = events.iter().map(|(from, to)| to - from).max().unwrap_or(0);
        if let Some(answer) = self.few_events(q, snapshot, &events, longest) {
            return answer;
        }
        let memory = dependence::memory(&snapshot.influence, self.block);
        let needed = longest.max(memory.block);
        if needed > self.block {
            return too_short(needed, self.length);
        }
        self.search(q, memory.factor, rank_low, rank_high)
    }

    /// The share above the quantile varies like a count of so few independent events that its own variance, and what
    /// an event does, can't be known.
    fn few_events(
        &self,
        q: f64,
        snapshot: &Snapshot,
        events: &[dependence::Event],
        longest: usize,
    ) -> Option<Answer> {
        // Twice the event, so that most blocks that touch it hold all of it; up to half of the run, since a longer one
        // leaves nothing beside it to compare it with.
        let block = self.block.max(2 * longest).min(self.stretches.len() / 2);
        let variance = influence::variance(&snapshot.influence, block);
        let above = 1.0 - snapshot.below;
        if variance < CLUSTERED * snapshot.independent || (1.0 - q).powi(2) / variance >= EVENTS_MIN {
            return None;
        }
        let count = above * above / variance;
        if count >= ONE_EVENT_MAX {
            return Some(Answer::FewEvents { events: count.round() as u32 });
        }
        let weight = |&(from, to): &dependence::Event| snapshot.above[from..to].iter().sum::<f64>();
        let heaviest = events.iter().max_by(|a, b| weight(a).total_cmp(&weight(b))).copied();
        let (from, to) = heaviest.unwrap_or_else(|| dependence::shortest(&snapshot.above));
        Some(Answer::OneEvent { from: self.stretches[from].start, to: self.stretches[to - 1].end })
    }

    /// Goes outwards from the estimate until F̂ is significantly different from q. `factor` corrects the block variance.
    fn search(&self, q: f64, factor: f64, rank_low: u64, rank_high: u64) -> Answer {
        let steps: Vec<(u64, f64)> = self.whole.steps().collect();
        let n = self.whole.count() as f64;
        let normal = self.level.normal;
        let student = exact::student(self.freedom, normal);
        // Variance per F̂·(1 − F̂), so that it can be taken at q: with the block's part and the ranks' own.
        let spread = |point: &Point| {
            let block = student * student * factor * point.block;
            let independent = normal * normal * point.independent;
            block.max(independent) / (point.below * (1.0 - point.below))
        };
        let spreads: Vec<(u32, f64)> = self
            .points
            .iter()
            .filter(|p| p.below > 1e-12 && p.below < 1.0 - 1e-12)
            .map(|p| (p.bin, spread(p)))
            .collect();
        let spread_at = |value_ns: u64| {
            let place = spreads.partition_point(|(bin, _)| *bin < bins::number(value_ns) >> self.shift);
            let at = |i: Option<usize>| i.and_then(|i| spreads.get(i)).map_or(0.0, |(_, spread)| *spread);
            at(Some(place)).max(at(place.checked_sub(1)))
        };
        let estimate = steps.partition_point(|(_, share)| *share < q - 1e-12);
        // Farther out fewer events are left to judge the variance by, and a run that saw few of them underrates both
        // the quantile and the variance: above the estimate the variance per sample does not sink.
        let at_estimate = steps.get(estimate).map_or(0.0, |(value_ns, _)| spread_at(*value_ns));
        let is_other = |share: f64, value_ns: u64| {
            let floor = if share > q { at_estimate } else { 0.0 };
            (share - q).powi(2) > q * (1.0 - q) * spread_at(value_ns).max(floor)
        };
        let mut exact_only = true;
        let by_ranks_low = steps.partition_point(|(_, share)| share * n < rank_low as f64 - 1e-6);
        let by_ranks_high = steps.partition_point(|(_, share)| share * n < rank_high as f64 - 1e-6);
        let mut low = estimate;
        while low > 0 {
            let (value_ns, share) = steps[low - 1];
            if low <= by_ranks_low && is_other(share, value_ns) {
                break;
            }
            low -= 1;
        }
        exact_only &= low == by_ranks_low;
        let low_ns = match steps.get(low) {
            Some(&(value_ns, _)) => bins::lowest_ns(bins::number(value_ns)),
            // The lower end lies among the censored, too: above the first of them that is not known.
            None => {
                let known = steps.last().map_or(0.0, |(_, share)| share * n);
                let Some(bound) = self.whole.quantile(((known + 1e-6).floor() + 1.0) / n) else {
                    return Answer::NotEnoughData;
                };
                bound.value_ns
            }
        };
        let mut high = estimate.max(by_ranks_high);
        while steps.get(high).is_some_and(|&(value_ns, share)| !(share > q && is_other(share, value_ns))) {
            high += 1;
        }
        exact_only &= high == by_ranks_high;
        let method = if exact_only { Method::Exact } else { Method::BlockBootstrap };
        match steps.get(high) {
            Some(&(high_ns, _)) => Answer::Between { low_ns, high_ns, method },
            None if self.whole.censored() > 0 => Answer::Above { low_ns },
            None => Answer::NotEnoughData,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bursts_leave_no_interval() {
        let between = Answer::Between { low_ns: 1, high_ns: 2, method: Method::BlockBootstrap };
        assert_eq!(between.in_bursts(0.99, None), between);
        assert_eq!(between.in_bursts(0.9, Some(100.0)), between);
        assert_eq!(between.in_bursts(0.9, Some(60.0)), Answer::FewEvents { events: 6 });
        assert_eq!(between.in_bursts(0.999, Some(60.0)), Answer::FewEvents { events: 1 });
        assert_eq!(Answer::NotEnoughData.in_bursts(0.999, Some(60.0)), Answer::NotEnoughData);
    }
}
