//! How long a block must be: longer than any event with its drain, and than the memory of the target.

use super::history::Stretch;
use super::influence::Snapshot;

/// A stretch belongs to an event when its share above the quantile is more than this many times the run's.
const EVENT_SHARE_RATIO: f64 = 4.0;
/// Fewer samples above than this, in one stretch, are no event.
const EVENT_SAMPLES_MIN: f64 = 10.0;
/// Or when more than this many times as many arrivals as usual are unanswered at its end …
const EVENT_LEVEL_RATIO: u64 = 5;
/// … and at least this many more.
const EVENT_LEVEL_MIN: u64 = 30;

/// An event that is known by its weight alone holds this share of what lies above the quantile.
const EVENT_WEIGHT: f64 = 0.9;

/// Memory is told from chance when the correlation of neighbours is above this many standard errors.
const CORRELATION_ERRORS: f64 = 2.0;
/// With blocks of L stretches the variance is too low by the share G/L; this much of it can be corrected.
const BIAS_MAX: f64 = 0.25;

/// A run of stretches that belong together: from, to (exclusive).
pub(super) type Event = (usize, usize);

/// The events that reach the quantile of `snapshot`, in order of time.
pub(super) fn events(stretches: &[Stretch], snapshot: &Snapshot) -> Vec<Event> {
    let mut levels: Vec<u64> = stretches.iter().map(|s| s.level).collect();
    levels.sort_unstable();
    let usual = levels[levels.len() / 2];
    let level_max = (usual * EVENT_LEVEL_RATIO).max(usual + EVENT_LEVEL_MIN);
    let share = 1.0 - snapshot.below;
    let is_event = |i: usize| {
        let above = snapshot.above[i];
        (above >= EVENT_SAMPLES_MIN && above > EVENT_SHARE_RATIO * share * snapshot.samples[i])
            || stretches[i].level > level_max
    };
    let mut events: Vec<Event> = Vec::new();
    for i in (0..stretches.len()).filter(|&i| is_event(i)) {
        match events.last_mut().filter(|event| event.1 == i) {
            Some(event) => event.1 = i + 1,
            None => events.push((i, i + 1)),
        }
    }
    events
}

/// The shortest time that holds [`EVENT_WEIGHT`] of what lies above a quantile, by stretch: where one event decides, and
/// too few samples saw it for [`events`] to tell it from chance, this is where it was.
pub(super) fn shortest(above: &[f64]) -> Event {
    let wanted = EVENT_WEIGHT * above.iter().sum::<f64>();
    let (mut from, mut sum, mut found) = (0, 0.0, (0, above.len()));
    for (i, weight) in above.iter().enumerate() {
        sum += weight;
        while sum - above[from] >= wanted && from < i {
            sum -= above[from];
            from += 1;
        }
        if sum >= wanted && i + 1 - from < found.1 - found.0 {
            found = (from, i + 1);
        }
    }
    found
}

/// What the target's memory from one stretch to the next asks for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Memory {
    /// The shortest block that will do, in stretches.
    pub(super) block: usize,
    /// The variance by blocks is too low by this factor.
    pub(super) factor: f64,
}

/// Reads the memory off the correlation of the influences, up to the first lag without any (C. J. Geyer,
/// "Practical Markov Chain Monte Carlo", 1992). With the correlations ρ(k), the variance by blocks of L is too low
/// by the share G/L with G = 2·Σ k·ρ(k) / (1 + 2·Σ ρ(k)) (D. N. Politis, H. White, "Automatic Block-Length
/// Selection for the Dependent Bootstrap", 2004).
pub(super) fn memory(influence: &[f64], block: usize) -> Memory {
    let n = influence.len();
    let product = |lag: usize| (0..n).map(|i| influence[i] * influence[(i + lag) % n]).sum::<f64>();
    let none = Memory { block: 1, factor: 1.0 };
    let square = product(0);
    let chance = CORRELATION_ERRORS / (n as f64).sqrt();
    if square <= 0.0 || product(1) / square <= chance {
        return none;
    }
    let (mut sum, mut weighted) = (0.0, 0.0);
    for lag in 1..=n / 4 {
        let correlation = product(lag) / square;
        if correlation <= chance / CORRELATION_ERRORS {
            break;
        }
        sum += correlation;
        weighted += lag as f64 * correlation;
    }
    let bias = 2.0 * weighted / (1.0 + 2.0 * sum);
    let share = (bias / block as f64).min(BIAS_MAX);
    Memory { block: (bias / BIAS_MAX).ceil().max(1.0) as usize, factor: 1.0 / (1.0 - share) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::sim::Random;

    /// An autoregressive series with correlation `phi` of neighbours.
    fn series(n: usize, phi: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed, 0);
        let mut x = 0.0;
        (0..n)
            .map(|_| {
                x = phi * x + random.normal();
                x
            })
            .collect()
    }

    #[test]
    fn the_shortest_time_that_holds_most() {
        assert_eq!(shortest(&[0.0, 0.0, 5.0, 3.0, 0.0]), (2, 4));
        assert_eq!(shortest(&[1.0, 0.0, 10.0, 0.0, 9.0, 0.0]), (2, 5));
        assert_eq!(shortest(&[0.0, 7.0]), (1, 2));
        assert_eq!(shortest(&[1.0, 1.0, 1.0]), (0, 3));
    }

    #[test]
    fn memory_is_found_where_there_is_some() {
        let found = |phi| (0..200).filter(|&seed| memory(&series(240, phi, seed), 12).block > 1).count();
        assert!(found(0.0) <= 12, "{}", found(0.0));
        assert!(found(0.5) >= 198, "{}", found(0.5));
        // G = 2φ/(1 − φ²) = 9.47 for φ = 0.9, so blocks of 38 or so.
        let mut blocks: Vec<usize> =
            (0..200).map(|seed| memory(&series(2_000, 0.9, seed), 100).block).collect();
        blocks.sort_unstable();
        assert!((28..50).contains(&blocks[100]), "{}", blocks[100]);
    }
}
