//! How popular keys are: Zipf's law, or all alike, by how many keys came how often.
//!
//! Which key has which rank isn't known, and the most frequent one of a sample is not the most popular one for sure: a law
//! fitted to counts in order of size is too steep. So the likelihood is that of the number of keys that came once, twice,
//! three times … Under a law, a key of the share p of N draws comes j times with a probability that is nearly Poisson's with mean
//! Np, and the number of keys that came j times is nearly a Poisson variable of the sum of these over all keys. Keys that
//! never came are in it as well: so the number of keys is fitted, too.

use super::normal::poisson_to;
use libm::{exp, expm1, log, pow};
use std::collections::HashMap;

/// Counts up to this one are by themselves; larger ones are in bins.
const ALONE: u64 = 16;
/// From one bin to the next.
const STEP: f64 = 1.15;
/// Ranks up to this one are computed one by one; of more, neighbours are together.
const RANKS_ALONE: f64 = 64.0;
/// From one group of ranks to the next.
const RANKS_STEP: f64 = 1.05;
/// The steepest law that is looked for.
const EXPONENT_MAX: f64 = 4.0;
/// No more keys are believed in than so many times those that came.
const UNSEEN_MAX: f64 = 1_000.0;
/// Draws that a law needs at the least.
pub(super) const DRAWS_MIN: u64 = 200;
/// Twice the gain in log likelihood by which Zipf's law must be better than a uniform one: chi-square with one degree of
/// freedom, 1 %.
const GAIN_MIN: f64 = 6.63;

/// The law that fits best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyLaw {
    /// All keys are as likely.
    Uniform,
    /// P(rank k) is proportional to k to the power of minus this.
    Zipf(f64),
}

/// A law for keys, and how well it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFit {
    /// Requests that have such a key.
    pub draws: u64,
    /// Different keys that came; an estimate where there are very many.
    pub seen: u64,
    /// The law; none where there are fewer than 200 draws, or one key.
    pub law: Option<KeyLaw>,
    /// How many keys there are, those that never came included.
    pub keys: u64,
    /// The number of keys lies at the end of what was tried: there may be any number more.
    pub is_open: bool,
    /// The largest difference between the share of requests whose key came at most j times and that of the law, over all j (a
    /// Kolmogorov–Smirnov distance).
    pub distance: Option<f64>,
}

/// Keys whose hash ends in `level` zeros, with how often they came.
#[derive(Default)]
pub(super) struct KeyCounts {
    level: u32,
    counts: HashMap<u64, u64>,
    draws: u64,
}

impl KeyCounts {
    pub(super) fn add(&mut self, hash: u64) {
        self.draws += 1;
        if hash.trailing_zeros() >= self.level {
            *self.counts.entry(hash).or_default() += 1;
        }
    }

    /// How many are counted one by one.
    pub(super) fn known(&self) -> usize {
        self.counts.len()
    }

    /// Counts half of them from now on.
    pub(super) fn halve(&mut self) {
        self.level += 1;
        self.counts.retain(|hash, _| hash.trailing_zeros() >= self.level);
    }

    pub(super) fn fit(&self) -> KeyFit {
        let seen = (self.counts.len() as u64) << self.level;
        let none =
            KeyFit { draws: self.draws, seen, law: None, keys: seen.max(1), is_open: false, distance: None };
        if self.draws < DRAWS_MIN || self.counts.len() < 2 {
            return none;
        }
        let binned =
            Binned::new(self.counts.values().copied(), self.draws, 1.0 / (1u64 << self.level) as f64);
        let least = log(binned.seen.max(2.0));
        let most = least + log(UNSEEN_MAX);
        let even = best(|[log_n]| binned.likelihood(0.0, exp(log_n)), [least + 0.05], [(least, most)]);
        // Several begins: the likelihood has a long ridge.
        let steep = [0.3, 0.7, 1.0, 1.4, 2.0].map(|s| {
            let from = [s, least + 0.3];
            best(|[s, log_n]| binned.likelihood(s, exp(log_n)), from, [(0.0, EXPONENT_MAX), (least, most)])
        });
        let steep =
            steep.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(([0.0, even.0[0]], even.1));
        let ([s, log_n], gain) = (steep.0, 2.0 * (steep.1 - even.1));
        let (law, s, log_n) = match gain > GAIN_MIN && s > 0.0 {
            true => (KeyLaw::Zipf(s), s, log_n),
            false => (KeyLaw::Uniform, 0.0, even.0[0]),
        };
        KeyFit {
            law: Some(law),
            keys: exp(log_n).round() as u64,
            is_open: log_n > most - 0.01,
            distance: Some(binned.distance(s, exp(log_n))),
            ..none
        }
    }
}

/// How many keys came how often.
struct Binned {
    /// The largest count of each bin.
    ends: Vec<f64>,
    /// Keys in each.
    keys: Vec<f64>,
    /// Their draws.
    draws: Vec<f64>,
    /// All draws, of those that are not counted as well.
    all: f64,
    /// Which share of the keys is counted.
    share: f64,
    /// Keys that came, by what is counted.
    seen: f64,
}

impl Binned {
    fn new(counts: impl Iterator<Item = u64>, all: u64, share: f64) -> Binned {
        let mut binned =
            Binned { ends: vec![], keys: vec![], draws: vec![], all: all as f64, share, seen: 0.0 };
        let mut end = 1;
        while binned.ends.last().is_none_or(|last| *last < all as f64) {
            binned.ends.push(end as f64);
            end = if end < ALONE { end + 1 } else { (end as f64 * STEP).ceil() as u64 };
        }
        binned.keys = vec![0.0; binned.ends.len()];
        binned.draws = vec![0.0; binned.ends.len()];
        for count in counts {
            let bin = binned.ends.partition_point(|end| *end < count as f64);
            binned.keys[bin] += 1.0;
            binned.draws[bin] += count as f64;
            binned.seen += 1.0 / share;
        }
        binned
    }

    /// Calls `each` with the number of keys and the mean number of draws of each of them, from the most popular on.
    fn groups(&self, s: f64, n: f64, mut each: impl FnMut(f64, f64)) {
        let scale = self.all / power_sum(s, n);
        let mut rank = 1.0;
        while rank <= n {
            let end = match rank < RANKS_ALONE {
                true => rank,
                false => (rank * RANKS_STEP).floor().max(rank).min(n.floor()),
            };
            let keys = end - rank + 1.0;
            let weight = if keys == 1.0 { pow(rank, -s) } else { integral(s, rank - 0.5, end + 0.5) / keys };
            each(keys, scale * weight);
            rank = end + 1.0;
        }
        // A part of a key, so that the number of keys can be any.
        let rest = n - n.floor();
        if rest > 0.0 {
            each(rest, scale * pow(n, -s));
        }
    }

    /// Log likelihood, but for what is the same for all laws.
    fn likelihood(&self, s: f64, n: f64) -> f64 {
        let (mut expected, mut to) = (vec![0.0; self.ends.len()], Vec::new());
        self.groups(s, n, |keys, mean| {
            poisson_to(mean, &self.ends, &mut to);
            let mut before = exp(-mean);
            for (sum, &to) in expected.iter_mut().zip(&to) {
                *sum += keys * self.share * (to - before).max(0.0);
                before = to;
            }
        });
        self.keys.iter().zip(&expected).map(|(keys, mean)| keys * log(mean.max(1e-12)) - mean).sum()
    }

    /// See [`KeyFit::distance`].
    fn distance(&self, s: f64, n: f64) -> f64 {
        let below: Vec<f64> = self.ends.iter().map(|end| end - 1.0).collect();
        let (mut expected, mut to, mut all) = (vec![0.0; self.ends.len()], Vec::new(), 0.0);
        self.groups(s, n, |keys, mean| {
            poisson_to(mean, &below, &mut to);
            all += keys * mean;
            expected.iter_mut().zip(&to).for_each(|(sum, to)| *sum += keys * mean * to);
        });
        let total: f64 = self.draws.iter().sum();
        let mut sum = 0.0;
        let differences = self.draws.iter().zip(&expected).map(|(draws, expected)| {
            sum += draws;
            (sum / total - expected / all).abs()
        });
        differences.fold(0.0, f64::max)
    }
}

/// ∫ x⁻ˢ from a to b.
fn integral(s: f64, a: f64, b: f64) -> f64 {
    let (turn, log_ratio) = (1.0 - s, log(b / a));
    let t = turn * log_ratio;
    let by_t = if t.abs() < 1e-8 { 1.0 + t / 2.0 } else { expm1(t) / t };
    pow(a, turn) * by_t * log_ratio
}

/// Σ k⁻ˢ over 1 ≤ k ≤ n, where n need not be whole.
fn power_sum(s: f64, n: f64) -> f64 {
    let alone = n.floor().min(1_000.0);
    let head: f64 = (1..=alone as u64).map(|k| pow(k as f64, -s)).sum();
    let rest = n.floor() + 0.5;
    let tail = if rest > alone + 0.5 { integral(s, alone + 0.5, rest) } else { 0.0 };
    head + tail + (n - n.floor()) * pow(n, -s)
}

/// The place within `bounds` where `value` is largest, from `at` on, by steps in each direction that become smaller.
fn best<const N: usize>(
    value: impl Fn([f64; N]) -> f64,
    mut at: [f64; N],
    bounds: [(f64, f64); N],
) -> ([f64; N], f64) {
    let mut best = value(at);
    let mut steps = [0.25; N];
    for _ in 0..200 {
        let before = at;
        for place in 0..N {
            let mut moved = false;
            for sign in [1.0, -1.0] {
                let mut next = at;
                next[place] = (at[place] + sign * steps[place]).clamp(bounds[place].0, bounds[place].1);
                let got = value(next);
                if got > best {
                    (at, best, moved) = (next, got, true);
                    break;
                }
            }
            steps[place] *= if moved { 1.5 } else { 0.5 };
        }
        // Along the direction of both steps, as the ridge lies.
        if N > 1 && before != at {
            let mut next = at;
            for place in 0..N {
                next[place] = (2.0 * at[place] - before[place]).clamp(bounds[place].0, bounds[place].1);
            }
            let got = value(next);
            if got > best {
                (at, best) = (next, got);
            }
        }
        if steps.iter().all(|step| *step < 1e-4) {
            break;
        }
    }
    (at, best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::seeded::Seeded;

    fn zipf(seed: u64, keys: u64, s: f64, draws: u64) -> KeyCounts {
        let mut random = Seeded::new(seed);
        let ends: Vec<f64> = (1..=keys)
            .scan(0.0, |sum, k| {
                *sum += (k as f64).powf(-s);
                Some(*sum)
            })
            .collect();
        let mut counts = KeyCounts::default();
        for _ in 0..draws {
            let at = random.uniform() * ends[ends.len() - 1];
            // Not the rank itself: its hash.
            counts.add(Seeded::new(ends.partition_point(|end| *end < at) as u64).bits());
        }
        counts
    }

    #[test]
    fn the_law_that_keys_were_drawn_from_is_found() {
        for (seed, keys, s, draws) in [
            (1, 1_000, 0.99, 100_000),
            (2, 10_000, 0.7, 200_000),
            (3, 100_000, 1.1, 300_000),
            (4, 500, 0.5, 20_000),
            (5, 20_000, 0.99, 50_000),
        ] {
            let fit = zipf(seed, keys, s, draws).fit();
            let Some(KeyLaw::Zipf(found)) = fit.law else { panic!("{fit:?}") };
            assert!((found - s).abs() < 0.05, "s = {s}: {fit:?}");
            let ratio = fit.keys as f64 / keys as f64;
            assert!((0.7..1.4).contains(&ratio), "{keys} keys: {fit:?}");
            assert!(fit.distance.unwrap() < 0.03 && !fit.is_open, "{fit:?}");
        }
    }

    #[test]
    fn keys_that_are_all_alike_are_uniform() {
        for (seed, keys, draws) in [(1, 10, 5_000), (2, 1_000, 50_000), (3, 50_000, 50_000), (4, 2, 1_000)] {
            let fit = zipf(seed, keys, 0.0, draws).fit();
            assert_eq!(fit.law, Some(KeyLaw::Uniform), "{fit:?}");
            assert!((fit.keys as f64 / keys as f64 - 1.0).abs() < 0.05, "{keys}: {fit:?}");
            // By chance alone, it is about one over the root of the number of keys.
            assert!(fit.distance.unwrap() < (keys as f64).powf(-0.5) + 0.01, "{fit:?}");
        }
    }

    #[test]
    fn a_part_of_the_keys_tells_the_same_law() {
        let mut counts = zipf(8, 100_000, 0.9, 400_000);
        let all = counts.fit();
        (0..2).for_each(|_| counts.halve());
        let part = counts.fit();
        let exponent = |fit: &KeyFit| match fit.law {
            Some(KeyLaw::Zipf(s)) => s,
            other => panic!("{other:?}"),
        };
        assert!((exponent(&all) - exponent(&part)).abs() < 0.05, "{all:?} {part:?}");
        assert!((part.seen as f64 / all.seen as f64 - 1.0).abs() < 0.05);
    }

    #[test]
    fn another_law_does_not_fit() {
        // Half of the requests are for 100 keys, the others for 10,000, each as likely.
        let mut random = Seeded::new(6);
        let mut counts = KeyCounts::default();
        for _ in 0..200_000 {
            let hot = random.uniform() < 0.5;
            let key = random.uniform() * if hot { 100.0 } else { 10_000.0 };
            counts.add(Seeded::new(key as u64 + if hot { 1_000_000 } else { 0 }).bits());
        }
        assert!(counts.fit().distance.unwrap() > 0.1, "{:?}", counts.fit());
    }

    #[test]
    fn few_draws_have_no_law() {
        assert_eq!(zipf(1, 50, 1.0, DRAWS_MIN - 1).fit().law, None);
        let one = zipf(1, 1, 1.0, 1_000).fit();
        assert_eq!((one.law, one.keys, one.draws), (None, 1, 1_000));
    }
}
