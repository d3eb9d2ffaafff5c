//! Streams of random numbers that worlds draw from side by side must know nothing of each other: those of neighbouring
//! seeds, those of one seed, and that of the schedule.

use unblink_core::schedule::{Cursor, Phase, Process, Rate, Schedule};
use unblink_core::sim::Random;
use unblink_core::time::Nanos;

/// Cells on each side of the table of joint frequencies.
const CELLS: usize = 16;
/// Draws from each stream.
const DRAWS: usize = 64;
const SEEDS: u64 = 4_000;
/// Of a test whose hypothesis is true, such a deviation or a larger one comes once in a million times.
const SIGMAS: f64 = 4.9;

/// Pairs of uniform draws, as a table of joint frequencies and their correlation.
struct Pairs {
    table: [[u64; CELLS]; CELLS],
    count: u64,
    sum: f64,
}

impl Pairs {
    fn new() -> Pairs {
        Pairs { table: [[0; CELLS]; CELLS], count: 0, sum: 0.0 }
    }

    /// Takes in draws of two streams, one of them `lag` draws later.
    fn add(&mut self, a: &[f64], b: &[f64], lag: usize) {
        let cell = |x: f64| ((x * CELLS as f64) as usize).min(CELLS - 1);
        for (&x, &y) in a.iter().zip(&b[lag..]) {
            self.table[cell(x)][cell(y)] += 1;
            self.count += 1;
            self.sum += (x - 0.5) * (y - 0.5);
        }
    }

    /// Standard deviations of Pearson's X² (K. Pearson, 1900) from its mean, and of the correlation from 0.
    fn sigmas(&self) -> (f64, f64) {
        let expected = self.count as f64 / (CELLS * CELLS) as f64;
        let squares: f64 = self.table.iter().flatten().map(|&n| (n as f64 - expected).powi(2)).sum();
        let freedom = (CELLS * CELLS - 1) as f64;
        let chi = (squares / expected - freedom) / (2.0 * freedom).sqrt();
        // The variance of a uniform draw is 1/12.
        (chi, self.sum * 12.0 / (self.count as f64).sqrt())
    }

    #[track_caller]
    fn check(&self, of: &str) {
        let (chi, correlation) = self.sigmas();
        assert!(chi.abs() < SIGMAS && correlation.abs() < SIGMAS, "{of}: {chi} {correlation}");
    }
}

fn draws(seed: u64, stream: u64) -> Vec<f64> {
    let mut random = Random::new(seed, stream);
    (0..DRAWS).map(|_| random.uniform()).collect()
}

/// The exponentials of a Poisson schedule, as uniform draws.
fn of_schedule(seed: u64) -> Vec<f64> {
    let phases = [Phase::hold(Rate::per_second(1), Nanos::from_secs(3600))];
    let schedule = Schedule::new(&phases, Process::Poisson { seed }, DRAWS as u64);
    let mut cursor = Cursor::new(&schedule, 0, 1);
    let mut before = Nanos::ZERO;
    std::iter::from_fn(|| cursor.next(&schedule))
        .map(|(_, at)| {
            let gap = at - before;
            before = at;
            (-gap.as_secs_f64()).exp()
        })
        .collect()
}

#[test]
fn neighbouring_seeds_are_strangers() {
    for stream in 0..4 {
        let all: Vec<Vec<f64>> = (0..SEEDS).map(|seed| draws(seed, stream)).collect();
        for (distance, lag) in [(1, 0), (1, 1), (2, 0), (5, 0), (64, 0)] {
            let mut pairs = Pairs::new();
            all.iter().zip(&all[distance..]).for_each(|(a, b)| pairs.add(a, b, lag));
            pairs.check(&format!("stream {stream}, {distance} seeds apart, lag {lag}"));
        }
    }
}

/// Arrivals, service times, stalls and the network of one world.
#[test]
fn streams_of_one_seed_are_strangers() {
    for (a, b) in [(0, 1), (1, 2), (1, 3), (2, 3), (0, 3)] {
        for lag in [0, 1] {
            let mut pairs = Pairs::new();
            (0..SEEDS).for_each(|seed| pairs.add(&draws(seed, a), &draws(seed, b), lag));
            pairs.check(&format!("streams {a} and {b}, lag {lag}"));
        }
    }
    for stream in 1..4 {
        for (seeds_apart, lag) in [(0, 0), (0, 1), (1, 0)] {
            let mut pairs = Pairs::new();
            (0..SEEDS)
                .for_each(|seed| pairs.add(&of_schedule(seed), &draws(seed + seeds_apart, stream), lag));
            pairs.check(&format!("the schedule and stream {stream}, {seeds_apart} apart, lag {lag}"));
        }
    }
}

/// The generator's state is filled with outputs of another one at steps of an odd constant (SplitMix64), and stream
/// `n` begins as many steps later where seed and constant have no bit in common: three of its four words are then those
/// of stream n − 1. Nothing of that may be left in what is drawn, from the first draw on.
#[test]
fn states_with_words_in_common_lead_to_strangers() {
    let constant = 0x9e37_79b9_7f4a_7c15_u64;
    let seeds: Vec<u64> = (0..1 << 18).filter(|seed| seed & constant == 0).take(SEEDS as usize).collect();
    assert!(seeds.len() > 400, "{}", seeds.len());
    for (name, first) in
        [("schedule", of_schedule as fn(u64) -> Vec<f64>), ("stream 0", |seed| draws(seed, 0))]
    {
        for lag in [0, 1, 2] {
            let mut pairs = Pairs::new();
            seeds.iter().for_each(|&seed| pairs.add(&first(seed), &draws(seed, 1), lag));
            pairs.check(&format!("{name} and stream 1, lag {lag}"));
        }
        let mut pairs = Pairs::new();
        // The first draws alone, where little has been mixed yet.
        for &seed in &seeds {
            pairs.add(&first(seed)[..8], &draws(seed, 1)[..8], 0);
        }
        pairs.check(&format!("first draws of {name} and stream 1"));
    }
}

/// The tests above can fail: streams that share a tenth of their draws are found out.
#[test]
fn relatives_are_found_out() {
    let mut pairs = Pairs::new();
    for seed in 0..SEEDS {
        let (a, mut b) = (draws(seed, 0), draws(seed, 1));
        for i in (0..DRAWS).step_by(10) {
            b[i] = a[i];
        }
        pairs.add(&a, &b, 0);
    }
    let (chi, correlation) = pairs.sigmas();
    assert!(chi > 10.0 * SIGMAS && correlation > 5.0 * SIGMAS, "{chi} {correlation}");
}
