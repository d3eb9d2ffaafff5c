//! Reads how often each key came of draws with YCSB's own generators, draws as often by each law here, and compares both by χ²:
//! `tools/measure-ycsb-law`.

#![allow(clippy::print_stdout)]

use std::io::BufRead;
use std::process::ExitCode;

use unblink_core::arrival::Key;
use unblink_workload::{Drawing, Draws, Source};

/// Of two samples of one law, one pair in 100,000 exceeds the limit (the standard normal's quantile).
const QUANTILE: f64 = 4.265;
/// Neighbouring keys are joined until so many draws are expected of each sample.
const EXPECTED_MIN: u64 = 10;

fn main() -> ExitCode {
    let mut lines = std::io::stdin().lock().lines().map(|line| line.expect("text"));
    let mut all_fit = true;
    while let Some(law) = lines.next() {
        let head = lines.next().expect("numbers of keys and draws");
        let (keys, draws) = head.split_once(' ').expect("two numbers");
        let [keys, draws] = [keys, draws].map(|n| n.parse::<u64>().expect("a number"));
        let theirs: Vec<u64> =
            (0..keys).map(|_| lines.next().expect("a count").parse().expect("a number")).collect();
        let ours = drawn(&law, keys, draws);
        let (chi2, free) = compared(&ours, &theirs);
        let limit = free * (1.0 - 2.0 / (9.0 * free) + QUANTILE * (2.0 / (9.0 * free)).sqrt()).powi(3);
        let fits = chi2 <= limit;
        all_fit &= fits;
        let said = if fits { "the same law" } else { "NOT the same law" };
        println!("{law:40} χ² {chi2:10.1}, {free:7} degrees of freedom, limit {limit:10.1}: {said}");
    }
    if all_fit { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How often each key comes.
fn drawn(law: &str, keys: u64, draws: u64) -> Vec<u64> {
    let source = Source::parse(law, &mut |_| Err(std::io::ErrorKind::NotFound.into())).expect(law);
    let (seed, mut counts) = (Draws::seed_of(1, law), vec![0; keys as usize]);
    for unit in 0..draws {
        let drawing = Drawing { key: Key::single(unit), ordinal: 0, inserted: 0 };
        counts[source.draw(seed, &drawing).expect("a number") as usize] += 1;
    }
    counts
}

/// χ² of two samples of the same size, and its degrees of freedom.
fn compared(one: &[u64], other: &[u64]) -> (f64, f64) {
    assert_eq!(one.iter().sum::<u64>(), other.iter().sum::<u64>(), "as many draws");
    let (mut chi2, mut bins, mut joined) = (0.0, 0_u32, (0, 0));
    let mut add = |(a, b): (u64, u64)| {
        chi2 += (a as f64 - b as f64).powi(2) / (a + b) as f64;
        bins += 1;
    };
    for (a, b) in one.iter().zip(other) {
        joined = (joined.0 + a, joined.1 + b);
        if joined.0 + joined.1 >= 2 * EXPECTED_MIN {
            add(std::mem::take(&mut joined));
        }
    }
    if joined != (0, 0) {
        add(joined);
    }
    (chi2, f64::from(bins.saturating_sub(1).max(1)))
}
