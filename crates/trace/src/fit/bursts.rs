//! Bursts and lulls by maximum likelihood: numbers of arrivals in cells of time are those of a Poisson process whose rate is
//! switched between two levels by a hidden chain, as the load of `bursty` is.
//!
//! The algorithm is that of L. Baum and others (1970), forwards and backwards over the cells.

use libm::{exp, log};

/// Passes over all cells at the most.
const PASSES_MAX: usize = 120;
/// A pass that gains less likelihood than this was the last.
const GAIN_MIN: f64 = 0.01;

/// Two levels of the rate, and how long each lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Levels {
    /// Share of the time in bursts.
    pub(super) share: f64,
    /// How many changes there would be in a second, were every state left at once: 1/on + 1/off.
    pub(super) turns_per_s: f64,
    /// The rate of a burst and of a lull, in multiples of the mean.
    pub(super) high: f64,
    pub(super) low: f64,
    /// How much larger the logarithm of the likelihood is than that of a constant rate.
    pub(super) gain: f64,
}

impl Levels {
    /// Mean length of a burst, s.
    pub(super) fn on_s(&self) -> f64 {
        1.0 / (self.turns_per_s * (1.0 - self.share))
    }

    /// Mean length of a lull, s.
    pub(super) fn off_s(&self) -> f64 {
        1.0 / (self.turns_per_s * self.share)
    }

    /// The index of dispersion of numbers in windows of so many seconds, at a mean rate (W. Fischer and
    /// K. Meier-Hellstern, 1993).
    pub(super) fn index(&self, mean_per_s: f64, window_s: f64) -> f64 {
        let swing = self.high - self.low;
        let most = 2.0 * mean_per_s * self.share * (1.0 - self.share) * swing * swing / self.turns_per_s;
        let turns = self.turns_per_s * window_s;
        1.0 + most * (1.0 - (1.0 - exp(-turns)) / turns)
    }
}

/// Cells of one width: blocks of neighbours, with the expected number in each at the mean rate.
pub(super) struct Cells<'a> {
    pub(super) counts: &'a [u32],
    pub(super) expected: &'a [f64],
    pub(super) block: usize,
    pub(super) width_s: f64,
}

/// The levels that are likeliest; none where nothing came, or there is only one level.
pub(super) fn levels(cells: &Cells<'_>) -> Option<Levels> {
    let sum: f64 = cells.counts.iter().map(|&count| f64::from(count)).sum();
    let expected: f64 = cells.expected.iter().sum();
    if sum == 0.0 || cells.counts.len() < 100 {
        return None;
    }
    let mean = sum / expected;
    // From several begins: bursts that are short and high, or long.
    let begins = [(0.15, 3.0, 0.15), (0.3, 1.8, 0.05)];
    let found = begins.map(|(share, high, turns)| {
        let low = (1.0 - share * high) / (1.0 - share);
        let mut chain =
            Chain { up: share * turns, down: (1.0 - share) * turns, rates: [low * mean, high * mean] };
        let (mut last, mut passes) = (f64::NEG_INFINITY, Passes::default());
        for _ in 0..PASSES_MAX {
            let likelihood = chain.improve(cells, &mut passes);
            if likelihood - last < GAIN_MIN {
                break;
            }
            last = likelihood;
        }
        (chain, last)
    });
    let (chain, likelihood) = found.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let even: f64 =
        cells.counts.iter().zip(cells.expected).map(|(&count, expected)| term(count, mean * expected)).sum();
    let [low, high] = chain.rates;
    let share = chain.up / (chain.up + chain.down);
    // How fast the chain forgets its state, from cell to cell.
    let kept = 1.0 - chain.up - chain.down;
    let average = share * high + (1.0 - share) * low;
    let is_told = kept > 0.0 && kept < 1.0 && high > low && share > 0.0 && share < 1.0;
    is_told.then(|| Levels {
        share,
        turns_per_s: -log(kept) / cells.width_s,
        high: high / average,
        low: low / average,
        gain: likelihood - even,
    })
}

/// Log of Poisson's probability, but for the factorial, which is the same for all means.
fn term(count: u32, mean: f64) -> f64 {
    let count = f64::from(count);
    if count == 0.0 { -mean } else { count * log(mean) - mean }
}

/// Probabilities to go from lull to burst and back within a cell, and the rates in multiples of what is expected.
#[derive(Clone, Copy)]
struct Chain {
    up: f64,
    down: f64,
    rates: [f64; 2],
}

#[derive(Default)]
struct Passes {
    forwards: Vec<[f64; 2]>,
    given: Vec<[f64; 2]>,
}

impl Chain {
    /// One pass; the likelihood is that of the chain before it.
    fn improve(&mut self, cells: &Cells<'_>, passes: &mut Passes) -> f64 {
        let share = self.up / (self.up + self.down);
        let start = [1.0 - share, share];
        let step = [[1.0 - self.up, self.up], [self.down, 1.0 - self.down]];
        let (mut likelihood, mut moves, mut left) = (0.0, [0.0; 2], [0.0; 2]);
        let (mut arrived, mut exposed) = ([0.0; 2], [0.0; 2]);
        for (counts, expected) in cells.counts.chunks(cells.block).zip(cells.expected.chunks(cells.block)) {
            passes.forwards.clear();
            passes.given.clear();
            let mut before = start;
            for (&count, expected) in counts.iter().zip(expected) {
                let logs = self.rates.map(|rate| term(count, rate * expected));
                let most = logs[0].max(logs[1]);
                let given = logs.map(|one| exp(one - most));
                let mut now = [before[0] * given[0], before[1] * given[1]];
                let sum = now[0] + now[1];
                now = now.map(|one| one / sum);
                likelihood += log(sum) + most;
                passes.forwards.push(now);
                passes.given.push(given);
                before =
                    [now[0] * step[0][0] + now[1] * step[1][0], now[0] * step[0][1] + now[1] * step[1][1]];
            }
            let mut behind = [1.0; 2];
            for place in (0..counts.len()).rev() {
                let forwards = passes.forwards[place];
                let both = [forwards[0] * behind[0], forwards[1] * behind[1]];
                let sum = both[0] + both[1];
                let in_state = both.map(|one| one / sum);
                for state in 0..2 {
                    arrived[state] += in_state[state] * f64::from(counts[place]);
                    exposed[state] += in_state[state] * expected[place];
                }
                if place == 0 {
                    break;
                }
                let given = passes.given[place];
                let from = passes.forwards[place - 1];
                let ahead = [given[0] * behind[0], given[1] * behind[1]];
                let pair = |a: usize, b: usize| from[a] * step[a][b] * ahead[b];
                let all = pair(0, 0) + pair(0, 1) + pair(1, 0) + pair(1, 1);
                moves[0] += pair(0, 1) / all;
                moves[1] += pair(1, 0) / all;
                left[0] += (pair(0, 0) + pair(0, 1)) / all;
                left[1] += (pair(1, 0) + pair(1, 1)) / all;
                behind = [
                    step[0][0] * ahead[0] + step[0][1] * ahead[1],
                    step[1][0] * ahead[0] + step[1][1] * ahead[1],
                ];
                let scale = behind[0] + behind[1];
                behind = behind.map(|one| one / scale);
            }
        }
        // Nothing is impossible: what has a chance of 0 would keep it.
        let chance = |part: f64, whole: f64| (part / whole.max(1e-9)).clamp(1e-7, 0.999);
        (self.up, self.down) = (chance(moves[0], left[0]), chance(moves[1], left[1]));
        self.rates = [0, 1].map(|state| (arrived[state] / exposed[state].max(1e-9)).max(1e-6));
        if self.rates[0] > self.rates[1] {
            self.rates.swap(0, 1);
            std::mem::swap(&mut self.up, &mut self.down);
        }
        likelihood
    }
}
