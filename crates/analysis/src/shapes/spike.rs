//! A spike: the rate jumps, holds, and drops again.
//!
//! A target that serves μ per second falls behind by λ₁ − μ in each second of a spike of λ₁, and catches up by μ − λ₀ in
//! each second after it: with a length D of the spike (λ₁ − μ)·D have no answer at its end, and it takes
//! (λ₁ − μ)·D / (μ − λ₀) to be as before. That is what the figures here are held against.

use super::{Before, Limit, Recovery, Seen, Stretch, limit_of};
use unblink_core::time::Nanos;

/// How a target took a spike.
#[derive(Clone, PartialEq, Debug)]
pub struct Spike {
    /// How it did before.
    pub before: Before,
    /// The rate before and after.
    pub base_per_s: f64,
    /// The stretch of the higher rate.
    pub spike: Stretch,
    /// What is too long.
    pub limit: Limit,
    /// For how much of the time from the spike's start to the end of the load that was exceeded, by when arrivals were
    /// due.
    pub above: Nanos,
    /// The first and the last moment in which it was exceeded, after t = 0.
    pub above_between: Option<(Nanos, Nanos)>,
    /// The most that had no answer at the end of any row, and when that was.
    pub unanswered_max: (u64, Nanos),
    /// Arrivals that failed or timed out from the spike's start on.
    pub lost: u64,
    /// When it was back at the level before; `None`: not as long as it was watched.
    pub recovery: Option<Recovery>,
    /// Times by when arrivals were due are known to this much.
    pub resolution: Nanos,
    /// From the spike's end to the end of the load.
    pub watched: Nanos,
}

/// Looks at a run of three stretches: before, spike, after. `None` when too little of it was run, or nothing was
/// answered before the spike.
pub fn spike(seen: &Seen<'_>, [base, spike, _]: &[Stretch; 3], asked: Option<Limit>) -> Option<Spike> {
    let before = seen.before(base)?;
    let limit = limit_of(asked, &before);
    let steps = seen.steps(spike.from, seen.load_to, base.to_per_s);
    let exceeding = || steps.iter().filter(|step| step.exceeds(limit.ns, limit.quantile));
    let after = seen.steps(spike.to, seen.load_to, base.to_per_s);
    let rows = || seen.rows.iter().filter(|row| row.end() > spike.from);
    let most = rows().max_by_key(|row| (row.level, std::cmp::Reverse(row.start)))?;
    Some(Spike {
        above: exceeding().fold(Nanos::ZERO, |sum, step| sum + (step.end - step.start)),
        above_between: exceeding()
            .next()
            .zip(exceeding().next_back())
            .map(|(first, last)| (first.start, last.end)),
        unanswered_max: (most.level, most.end()),
        lost: rows().map(|row| row.failed + row.timed_out).sum(),
        recovery: before.recovery(&after, seen.rows, spike.to),
        watched: Nanos(seen.load_to.0.saturating_sub(spike.to.0)),
        resolution: steps.first().map_or(Nanos::ZERO, |step| step.end - step.start),
        base_per_s: base.to_per_s,
        before,
        spike: *spike,
        limit,
    })
}
