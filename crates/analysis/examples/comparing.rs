#![allow(clippy::print_stdout)]
//! How often does a comparison err? Compares runs of simulated servers with runs of the same servers, and with runs
//! that are slower by a known factor, and prints tables in Markdown:
//! `cargo run --release -p unblink-analysis --example comparing -- [PAIRS [SERVER]]`.
//!
//! PAIRS is the number of comparisons of 5 + 5 seeded runs for each server, 1,000 unless given; SERVER a part of a
//! server's name.

#[path = "support/responses.rs"]
mod responses;
#[path = "support/seeds.rs"]
mod seeds;
#[path = "comparing/servers.rs"]
mod servers;

use servers::Server;
use std::sync::{Mutex, PoisonError};
use unblink_analysis::compare::power::Power;
use unblink_analysis::compare::{
    ComparisonVerdict, Quantity, Rule, Run, compare, decided, noise, permutation,
};

/// Runs on a side.
const RUNS: usize = 5;
const QUANTILE: f64 = 0.99;
/// Equal targets raise an alarm in 2 of the 252 ways to deal ten runs out.
const CHANCE: f64 = 2.0 / 252.0;
/// The shift that must be found, in standard deviations between runs.
const SHIFT: f64 = 4.5;
/// A smaller difference is not a regression; as the command has it unless told otherwise.
const EFFECT_MIN: f64 = 0.05;
/// Comparisons whose intervals are looked at: these cost far more than the test.
const INTERVALS_MAX: u64 = 300;
/// What intervals are shown of.
const SHOWN: [Quantity; 4] =
    [Quantity::Percentile(0.5), Quantity::Percentile(0.9), Quantity::Percentile(0.99), Quantity::Throughput];

/// One comparison of a server with itself.
struct Pair {
    baseline: Vec<f64>,
    candidate: Vec<f64>,
    /// Did the interval of the difference hold 0, and how wide was it? By place in [`SHOWN`].
    intervals: Option<Vec<(bool, f64)>>,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let pairs: u64 =
        args.next().map_or(1_000, |n| n.parse().expect("the first argument is a number of pairs"));
    let wanted = args.next().unwrap_or_default();
    println!(
        "| target | a run | runs differ by | A against A: alarms | {SHIFT} sd slower: found | smallest findable, \
         median | found | with at least {} %, median | found |\n|---|---|---|---|---|---|---|---|---|",
        EFFECT_MIN * 100.0
    );
    let mut intervals = Vec::new();
    for server in servers::all().into_iter().filter(|server| server.name.contains(&wanted)) {
        let pairs = study(&server, pairs);
        println!("{}", test_row(&server, &pairs));
        intervals.push(interval_row(&server, &pairs));
    }
    println!(
        "\n| target | comparisons | held p50 | p90 | p99 | throughput | width p50 | p90 | p99 | throughput |\n\
         |---|---|---|---|---|---|---|---|---|---|\n{}",
        intervals.join("\n")
    );
}

fn study(server: &Server, pairs: u64) -> Vec<Pair> {
    let found = Mutex::new(Vec::new());
    seeds::each(pairs, |number| {
        let pair = pair(server, number);
        found.lock().unwrap_or_else(PoisonError::into_inner).push((number, pair));
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, pair)| pair).collect()
}

fn pair(server: &Server, number: u64) -> Pair {
    let all: Vec<_> = (0..2 * RUNS as u64).map(|i| server.record(number * 2 * RUNS as u64 + i)).collect();
    let logs: Vec<f64> = all.iter().map(|run| run.log_quantile(QUANTILE)).collect();
    let intervals = (number < INTERVALS_MAX).then(|| {
        let runs: Vec<Run> = all.iter().zip(0..).map(|(run, i)| run.run(i)).collect();
        let rule = Rule { quantile: QUANTILE, effect_min: EFFECT_MIN };
        let comparison = compare(&runs[..RUNS], &runs[RUNS..], &rule);
        let of = |quantity| comparison.lines.iter().find(|line| line.quantity == quantity);
        SHOWN
            .iter()
            .map(|&quantity| of(quantity).and_then(|line| line.interval).expect("an interval"))
            .map(|(low, high)| (low <= 0.0 && 0.0 <= high, high - low))
            .collect()
    });
    Pair { baseline: logs[..RUNS].to_vec(), candidate: logs[RUNS..].to_vec(), intervals }
}

fn test_row(server: &Server, pairs: &[Pair]) -> String {
    let all: Vec<f64> = pairs.iter().flat_map(|p| p.baseline.iter().chain(&p.candidate)).copied().collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let sd = (all.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (all.len() - 1) as f64).sqrt();
    let alarms = share(pairs, |i| verdict(&pairs[i], 0.0, 0.0) != ComparisonVerdict::NoRegression);
    let shifted = share(pairs, |i| verdict(&pairs[i], SHIFT * sd, 0.0) == ComparisonVerdict::Regression);
    let power = Power::new(RUNS, RUNS).expect("5 + 5 reach the alarm level");
    // What one comparison prints is tried on the next one, whose noise it has not seen.
    let smallest = |effect_min: f64| {
        let mut printed: Vec<f64> = pairs
            .iter()
            .map(|pair| power.smallest(noise(&pair.baseline, &pair.candidate), effect_min))
            .collect();
        let found = share(pairs, |i| {
            verdict(&pairs[(i + 1) % pairs.len()], printed[i], effect_min) == ComparisonVerdict::Regression
        });
        printed.sort_by(f64::total_cmp);
        format!("{} | {}", percent(printed[printed.len() / 2].exp_m1()), percent(found))
    };
    format!(
        "| {} | {} s | {} | {} of {} (chance: {} ± {}) | {} | {} | {} |",
        server.name,
        server.length_s,
        percent(sd.exp_m1()),
        percent(alarms),
        pairs.len(),
        percent(CHANCE),
        percent((CHANCE * (1.0 - CHANCE) / pairs.len() as f64).sqrt()),
        percent(shifted),
        smallest(0.0),
        smallest(EFFECT_MIN.ln_1p()),
    )
}

fn verdict(pair: &Pair, slower: f64, effect_min: f64) -> ComparisonVerdict {
    let candidate: Vec<f64> = pair.candidate.iter().map(|value| value + slower).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    decided(
        permutation::test(&pair.baseline, &candidate),
        mean(&candidate) - mean(&pair.baseline),
        effect_min,
    )
}

fn share(pairs: &[Pair], is: impl Fn(usize) -> bool) -> f64 {
    (0..pairs.len()).filter(|&i| is(i)).count() as f64 / pairs.len() as f64
}

fn interval_row(server: &Server, pairs: &[Pair]) -> String {
    let looked: Vec<&Vec<(bool, f64)>> = pairs.iter().filter_map(|pair| pair.intervals.as_ref()).collect();
    let held = |place: usize| looked.iter().filter(|of| of[place].0).count() as f64 / looked.len() as f64;
    let width = |place: usize| {
        let mut widths: Vec<f64> = looked.iter().map(|of| of[place].1).collect();
        widths.sort_by(f64::total_cmp);
        widths[widths.len() / 2]
    };
    let all =
        |of: &dyn Fn(usize) -> f64| (0..SHOWN.len()).map(|i| percent(of(i))).collect::<Vec<_>>().join(" | ");
    format!("| {} | {} | {} | {} |", server.name, looked.len(), all(&held), all(&width))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
