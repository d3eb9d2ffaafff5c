//! What of a figure can be held against the target: the same figure without what the generator itself may have added.
//!
//! An objective is missed for certain only if it is missed in this account as well. For response times it takes
//! [`Series::Hindered`] out and puts [`Series::Unhindered`] in; arrivals that were hindered without anybody seeing it
//! (a full loop, a stolen processor) count as the slowest of all, and as quick without that.
//!
//! [`Series::Hindered`]: unblink_core::record::Series::Hindered
//! [`Series::Unhindered`]: unblink_core::record::Series::Unhindered

use super::{Figure, Judgement, Objective, Population, Relief, Run, Subject};
use crate::interval::exact;

impl Relief<'_> {
    /// Failed and timed out arrivals that are not the target's for certain.
    pub fn errors_at_most(&self) -> u64 {
        self.failed + (self.timed_out_own + self.unseen).min(self.timed_out)
    }

    /// What it added to response times in all.
    fn own_ns(&self) -> f64 {
        self.hindered.sum_ns.saturating_sub(self.unhindered.map_or(0, |track| track.sum_ns)) as f64
    }

    /// Response times that do not hold, and those of them that can be the target's alone.
    fn beyond(&self, objective: &Objective, population: &Population<'_>) -> (u64, u64) {
        let beyond = |track| objective.beyond(track);
        let all = beyond(population.completed) + beyond(population.censored);
        let without = match self.of {
            Subject::Arrivals => {
                all.saturating_sub(beyond(self.hindered)) + self.unhindered.map_or(0, beyond)
            }
            Subject::Journeys => all - self.moved_at_most(objective, population),
        };
        (all, without.min(all).saturating_sub(self.unseen))
    }

    /// How many times what was added in all can have moved beyond the limit: those that are the least beyond it.
    fn moved_at_most(&self, objective: &Objective, population: &Population<'_>) -> u64 {
        let (mut left_ns, mut moved) = (self.own_ns(), 0);
        let all = population.completed.bins().chain(population.censored.bins());
        let mut beyond: Vec<(u64, u64)> = all.filter(|&(ns, _)| !objective.holds(ns as f64)).collect();
        beyond.sort_unstable();
        for (ns, count) in beyond {
            let excess_ns = (ns as f64 - objective.limit).max(1.0);
            let these = ((left_ns / excess_ns) as u64).min(count);
            moved += these;
            left_ns -= these as f64 * excess_ns;
            if these < count {
                break;
            }
        }
        moved
    }
}

/// Is `objective`, which `judgement` calls missed, missed without the generator's part?
pub(super) fn is_missed_without(
    objective: &Objective,
    population: &Population<'_>,
    run: &Run,
    judgement: &Judgement,
) -> bool {
    let relief = &population.relief;
    match objective.figure {
        Figure::Quantile(q) => {
            let (all, left) = relief.beyond(objective, population);
            if left == all && population.open == 0 {
                return true;
            }
            let n = population.completed.count() + population.censored.count() + population.open;
            n - left < rank_below(q, n, population, run, judgement)
        }
        Figure::Max => relief.beyond(objective, population).1 > 0,
        Figure::Mean => {
            let n = population.completed.count() + population.censored.count();
            let less = (relief.own_ns() + sum_of_slowest(population, relief.unseen)) / n.max(1) as f64;
            let at_least = judgement.low.or(judgement.value).unwrap_or(0.0);
            less <= 0.0 || !objective.holds(at_least - less)
        }
        Figure::Errors => {
            let errors = population.counts.errors;
            let left = errors.saturating_sub(relief.errors_at_most());
            let at_least = judgement.low.or(judgement.value).unwrap_or(0.0);
            left == errors || !objective.holds(at_least * left as f64 / errors.max(1) as f64)
        }
        Figure::AchievedShare | Figure::AchievedRate => {
            let length_s = (run.to - run.from).as_secs_f64();
            let other = population.counts.errors + population.counts.open;
            let more = relief.errors_at_most().max(relief.unseen).min(other);
            let more_per_s = if length_s > 0.0 { more as f64 / length_s } else { 0.0 };
            // Users whom the generator held up did not ask meanwhile.
            let held_up_s = run.users.map_or(0.0, |users| relief.own_ns() / 1e9 / users.max(1) as f64);
            let faster = if held_up_s < length_s { length_s / (length_s - held_up_s) } else { f64::INFINITY };
            let unit = match objective.figure {
                Figure::AchievedShare => run.offered_per_s.unwrap_or(1.0),
                _ => 1.0,
            };
            (more == 0 && held_up_s <= 0.0)
                || !objective.holds((judgement.high.unwrap_or(0.0) + more_per_s / unit) * faster)
        }
    }
}

/// The rank of the lower end of what the judgement rests on: that of independent samples, as far as it lies among those
/// that are as long as that end.
fn rank_below(q: f64, n: u64, population: &Population<'_>, run: &Run, judgement: &Judgement) -> u64 {
    let independent = exact::ranks(n, q, run.ended.level()).0.unwrap_or(1);
    let Some(low_ns) = judgement.low else { return independent };
    let (mut below, mut up_to) = (0, 0);
    let bins = &population.completed.histogram;
    let (from, to) = (bins.lowest_equivalent(low_ns as u64), bins.highest_equivalent(low_ns as u64));
    for (ns, samples) in population.completed.bins().chain(population.censored.bins()) {
        below += if ns < from { samples } else { 0 };
        up_to += if ns <= to { samples } else { 0 };
    }
    independent.clamp(below + 1, up_to.max(below + 1))
}

/// The sum in ns of the `n` longest.
fn sum_of_slowest(population: &Population<'_>, mut n: u64) -> f64 {
    let mut all: Vec<(u64, u64)> = population.completed.bins().chain(population.censored.bins()).collect();
    all.sort_unstable();
    let mut sum_ns = 0.0;
    while let Some((ns, count)) = all.pop().filter(|_| n > 0) {
        let taken = count.min(n);
        sum_ns += ns as f64 * taken as f64;
        n -= taken;
    }
    sum_ns
}
