#![allow(clippy::print_stdout)]
//! How often does the interval of a run that stopped itself (`--precision`) hold the exact value? Simulates queues
//! whose percentiles are known in closed form and prints a table in Markdown:
//! `cargo run --release -p unblink-analysis --example stopping -- [RUNS]` (1,000 unless given).

#[path = "support/seeds.rs"]
mod seeds;

use std::sync::{Mutex, PoisonError};
use unblink_analysis::interval::{Answer, EndedBy, History, answers};
use unblink_analysis::precision::Stopping;
use unblink_analysis::quantile::Survival;
use unblink_core::record::Track;
use unblink_core::sim::Random;
use unblink_core::time::Nanos;

/// Capacity of the server per second.
const PER_SECOND: f64 = 1_000.0;
/// Not measured: the relaxation time at ρ = 0.9 is 0.4 s.
const WARMUP_S: u64 = 20;
const QUANTILE: f64 = 0.99;
const SECOND_NS: f64 = 1e9;

/// A queue and what is asked of its p99.
struct Cell {
    utilisation: f64,
    share: f64,
    max_s: u64,
}

/// How one run ended.
struct End {
    stopped: bool,
    after_s: u64,
    interval: Option<(u64, u64)>,
}

fn main() {
    let runs = std::env::args().nth(1).map_or(1_000, |n| n.parse().expect("a number of runs"));
    println!(
        "| target | asked for | at most | median length | held | stopped | held then | held when not |\n\
         |---|---|---|---|---|---|---|---|"
    );
    for (utilisation, share, max_s) in [(0.7, 0.1, 600), (0.9, 0.2, 1_200), (0.7, 0.05, 600)] {
        let cell = Cell { utilisation, share, max_s };
        println!("{}", row(&cell, &study(&cell, runs)));
    }
}

fn study(cell: &Cell, runs: u64) -> Vec<End> {
    let ends = Mutex::new(Vec::new());
    seeds::each(runs, |seed| {
        let end = run(cell, seed);
        ends.lock().unwrap_or_else(PoisonError::into_inner).push(end);
    });
    ends.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// One queue in its own time by Lindley's recursion, recorded by seconds in which answers came.
fn run(cell: &Cell, seed: u64) -> End {
    let mut random = Random::new(seed, 7);
    let mean_gap = Nanos((SECOND_NS / (cell.utilisation * PER_SECOND)) as u64);
    let mean_service = Nanos((SECOND_NS / PER_SECOND) as u64);
    let (mut history, mut whole, mut interval) = (History::default(), Track::default(), Track::default());
    let none = Track::default();
    let (from, mut stopping) = (Nanos::from_secs(WARMUP_S), Stopping::new(cell.share));
    let (mut arrival_ns, mut free_ns, mut second) = (0_u64, 0_u64, 0_u64);
    loop {
        arrival_ns += random.exponential(mean_gap).0;
        free_ns = free_ns.max(arrival_ns) + random.exponential(mean_service).0;
        while free_ns / 1_000_000_000 > second {
            let start = Nanos::from_secs(second);
            if start >= from {
                history.add(start, Nanos::from_secs(1), 0, &interval, &none);
                whole.add(&interval);
            }
            interval.clear();
            second += 1;
            let after = Nanos::from_secs(second) - from;
            let is_last = after >= Nanos::from_secs(cell.max_s);
            if second > WARMUP_S && (stopping.is_due(after) || is_last) {
                let survival = Survival::new(&whole, &none);
                let value = survival.quantile(QUANTILE).map_or(0, |v| v.value_ns);
                let ended = if is_last { EndedBy::Plan } else { EndedBy::Precision };
                let found = answers(&history, from, from + after, &survival, &[QUANTILE], ended);
                let interval = match found.first() {
                    Some(&Answer::Between { low_ns, high_ns, .. }) => Some((low_ns, high_ns)),
                    _ => None,
                };
                let stopped = !is_last && stopping.look(after, value, interval);
                if stopped || is_last {
                    return End { stopped, after_s: second - WARMUP_S, interval };
                }
            }
        }
        interval.record(Nanos(free_ns - arrival_ns));
    }
}

fn row(cell: &Cell, ends: &[End]) -> String {
    // Response time of M/M/1 is exponential with mean 1/(μ − λ).
    let exact_ns = -(1.0 - QUANTILE).ln() / (PER_SECOND * (1.0 - cell.utilisation)) * SECOND_NS;
    let held = |wanted: fn(&End) -> bool| {
        let with: Vec<(u64, u64)> =
            ends.iter().filter(|end| wanted(end)).filter_map(|end| end.interval).collect();
        let holds = with.iter().filter(|&&(low, high)| low as f64 <= exact_ns && exact_ns <= high as f64);
        match (with.len(), holds.count()) {
            (0, _) => "–".to_string(),
            (all, holding) => format!("{:.1} % of {all}", 100.0 * holding as f64 / all as f64),
        }
    };
    let mut lengths: Vec<u64> = ends.iter().map(|end| end.after_s).collect();
    lengths.sort_unstable();
    format!(
        "| M/M/1, ρ = {} | p99 within {} % | {} s | {} s | {} | {:.1} % | {} | {} |",
        cell.utilisation,
        (cell.share * 100.0).round(),
        cell.max_s,
        lengths[lengths.len() / 2],
        held(|_| true),
        100.0 * ends.iter().filter(|end| end.stopped).count() as f64 / ends.len() as f64,
        held(|end| end.stopped),
        held(|end| !end.stopped)
    )
}
