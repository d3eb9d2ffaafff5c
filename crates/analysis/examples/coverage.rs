#![allow(clippy::print_stdout)]
//! How often do the printed 95 % intervals hold the exact value? Simulates queues whose percentiles are known in
//! closed form and prints a table in Markdown:
//! `cargo run --release -p unblink-analysis --example coverage -- [RUNS [CELL [dispatcher]]]`.
//!
//! RUNS is the number of seeded runs for each cell, 2,000 unless given; CELL a part of a cell's name. The queues are
//! simulated by recursion; with `dispatcher` by the real dispatcher and recorder, which takes four times as long.

#[path = "coverage/recursion.rs"]
mod recursion;
#[path = "support/responses.rs"]
mod responses;
#[path = "support/seeds.rs"]
mod seeds;
#[path = "coverage/theory.rs"]
mod theory;

use hdrhistogram::Histogram;
use responses::{Load, Responses};
use std::sync::{Mutex, PoisonError};
use unblink_analysis::interval::{Answer, EndedBy, answers};
use unblink_analysis::quantile::Survival;
use unblink_core::record::{Track, histogram};
use unblink_core::schedule::{Bursts, Process};
use unblink_core::sim::{RandomWindows, ServerSpec, Service, WorldSpec};
use unblink_core::time::Nanos;

const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
/// Capacity of the queues with one server.
const PER_SECOND: f64 = 1_000.0;

/// A queue, how it is loaded, and the exact values.
struct Cell {
    name: String,
    rate_per_s: u64,
    poisson: bool,
    /// Poisson arrivals come in these.
    bursts: Option<Bursts>,
    server: ServerSpec,
    warmup_s: u64,
    length_s: u64,
    exact_ns: [f64; 3],
}

/// What became of one cell's runs, for each quantile.
struct Outcome {
    /// Tells which values the histogram takes for one.
    bins: Histogram<u64>,
    held: [u64; 3],
    too_low: [u64; 3],
    none: [u64; 3],
    /// The estimate itself is the exact value, to the histogram's precision.
    met: [u64; 3],
    widths: [Vec<f64>; 3],
}

fn main() {
    let mut args = std::env::args().skip(1);
    let runs: u64 = args.next().map_or(2_000, |n| n.parse().expect("the first argument is a number of runs"));
    let wanted = args.next().unwrap_or_default();
    let by_dispatcher = match args.next().as_deref() {
        None => false,
        Some("dispatcher") => true,
        Some(other) => panic!("{other}: the third argument can only be \"dispatcher\""),
    };
    println!(
        "| target | measured for | runs | held p50 | p90 | p99 | above it | no interval | width p50 | p90 | p99 | \
         estimate exact |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for cell in cells().into_iter().filter(|cell| cell.name.contains(&wanted)) {
        let outcome = study(&cell, runs, by_dispatcher);
        println!("{}", row(&cell, outcome, runs));
    }
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    let mean = Nanos::from_micros(1_000);
    for (utilisation, length_s) in [(0.5, 120), (0.7, 120), (0.8, 240), (0.9, 900)] {
        let rate = utilisation * PER_SECOND;
        cells.push(Cell {
            name: format!("M/M/1, ρ = {utilisation}"),
            exact_ns: QUANTILES.map(|q| theory::mm1_ns(rate, PER_SECOND, q)),
            ..queue(rate, 1, Service::Exponential { mean }, length_s)
        });
    }
    for (utilisation, length_s) in [(0.5, 120), (0.9, 600)] {
        let rate = utilisation * PER_SECOND;
        cells.push(Cell {
            name: format!("M/D/1, ρ = {utilisation}"),
            exact_ns: QUANTILES.map(|q| theory::md1_ns(rate, PER_SECOND, q)),
            ..queue(rate, 1, Service::Constant(mean), length_s)
        });
    }
    for (servers, utilisation, length_s) in [(4, 0.8, 240), (16, 0.8, 240)] {
        let (rate, each) = (utilisation * PER_SECOND, PER_SECOND / f64::from(servers));
        cells.push(Cell {
            name: format!("M/M/{servers}, ρ = {utilisation}"),
            exact_ns: QUANTILES.map(|q| theory::mmc_ns(rate, each, servers, q)),
            ..queue(rate, servers, Service::Exponential { mean: Nanos((1e9 / each) as u64) }, length_s)
        });
    }
    // Bursts that the server carries, 100 of them and 1,000, and 200 that it doesn't.
    let (on, off) = (Nanos::from_millis(200), Nanos::from_secs(1));
    for (rate, length_s) in [(150, 120), (150, 1_200), (300, 240)] {
        let bursts = Bursts { peak_milli: 5_000, on, off };
        let name = format!(
            "MMPP/M/1 at {rate}/s, 5 × for {} s every {} s",
            on.as_secs_f64(),
            (on + off).as_secs_f64()
        );
        cells.push(Cell {
            name,
            bursts: Some(bursts),
            exact_ns: QUANTILES.map(|q| theory::bursty_ns(rate.into(), &bursts, PER_SECOND, q)),
            ..queue(rate.into(), 1, Service::Exponential { mean }, length_s)
        });
    }
    for (stall_ms, gap_mean_s, length_s) in [(2_000, 3, 300), (500, 7, 200), (300, 19, 500)] {
        cells.push(stalls(stall_ms, gap_mean_s, length_s));
    }
    cells
}

fn queue(rate_per_s: f64, slots: u32, service: Service, length_s: u64) -> Cell {
    Cell {
        name: String::new(),
        rate_per_s: rate_per_s.round() as u64,
        poisson: true,
        bursts: None,
        server: ServerSpec { slots: Some(slots), ..ServerSpec::new(service) },
        // The relaxation time at ρ = 0.9 is 0.4 s.
        warmup_s: 20,
        length_s,
        exact_ns: [0.0; 3],
    }
}

/// Even arrivals at half of the capacity; stalls of one length at random times, each drained before the next.
fn stalls(stall_ms: u64, gap_mean_s: u64, length_s: u64) -> Cell {
    let (rate, service_s) = (1_000.0, 0.000_5);
    let stall = Nanos::from_millis(stall_ms);
    let windows = RandomWindows { length: stall, gap_min: stall, gap_mean: Nanos::from_secs(gap_mean_s) };
    let cycle_s = 2.0 * stall.as_secs_f64() + gap_mean_s as f64;
    Cell {
        name: format!("D/D/1, stalls of {} s every {cycle_s} s", stall.as_secs_f64()),
        rate_per_s: 1_000,
        poisson: false,
        bursts: None,
        server: ServerSpec {
            slots: Some(1),
            shut_at_random: Some(windows),
            ..ServerSpec::new(Service::Constant(Nanos((service_s * 1e9) as u64)))
        },
        warmup_s: 60,
        length_s,
        exact_ns: QUANTILES.map(|q| theory::stalls_ns(rate, service_s, stall.as_secs_f64(), cycle_s, q)),
    }
}

fn study(cell: &Cell, runs: u64, by_dispatcher: bool) -> Outcome {
    let outcome = Mutex::new(Outcome::new());
    seeds::each(runs, |seed| {
        let found = if by_dispatcher { dispatched(cell, seed) } else { recursed(cell, seed) };
        outcome.lock().unwrap_or_else(PoisonError::into_inner).add(&found, &cell.exact_ns);
    });
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// What a run says: the intervals and the estimates.
struct Found {
    answers: Vec<Answer>,
    survival: Survival,
}

impl Found {
    fn new(cell: &Cell, responses: &Responses) -> Found {
        let survival = Survival::new(&responses.completed, &responses.censored);
        let (from, length) = (Nanos::from_secs(cell.warmup_s), Nanos::from_secs(cell.length_s));
        let bursts = cell.bursts.map(|b| length.as_secs_f64() / (b.on + b.off).as_secs_f64());
        let answers = answers(&responses.history, from, from + length, &survival, &QUANTILES, EndedBy::Plan);
        let told = answers.into_iter().zip(QUANTILES).map(|(answer, q)| answer.in_bursts(q, bursts));
        let answers = told.collect();
        Found { answers, survival }
    }
}

fn recursed(cell: &Cell, seed: u64) -> Found {
    let (mut all, none) = (Responses::default(), Track::default());
    recursion::run(cell, seed, |second, level, answered| {
        all.history.add(Nanos::from_secs(second), Nanos::from_secs(1), level, answered, &none);
        all.completed.add(answered);
    });
    Found::new(cell, &all)
}

fn dispatched(cell: &Cell, seed: u64) -> Found {
    let warmup = Nanos::from_secs(cell.warmup_s);
    let length = Nanos::from_secs(cell.length_s);
    let process = match cell.bursts {
        Some(bursts) => Process::Bursty { seed, bursts },
        None if cell.poisson => Process::Poisson { seed },
        None => Process::Even,
    };
    let mut world = WorldSpec::new(cell.server.clone());
    world.seed = seed + 1_000_000;
    let load = Load { rate_per_s: cell.rate_per_s, process, warmup, length };
    Found::new(cell, &load.responses(&world, |_| {}))
}

impl Outcome {
    fn new() -> Outcome {
        Outcome {
            bins: histogram(),
            held: [0; 3],
            too_low: [0; 3],
            none: [0; 3],
            met: [0; 3],
            widths: Default::default(),
        }
    }

    fn add(&mut self, found: &Found, exact_ns: &[f64; 3]) {
        for (i, (answer, exact)) in found.answers.iter().zip(exact_ns).enumerate() {
            let estimate = found.survival.quantile(QUANTILES[i]).map_or(0, |value| value.value_ns);
            self.met[i] += u64::from(self.bins.equivalent(estimate, *exact as u64));
            let Answer::Between { low_ns, high_ns, .. } = *answer else {
                self.none[i] += 1;
                continue;
            };
            self.held[i] += u64::from(low_ns as f64 <= *exact && *exact <= high_ns as f64);
            self.too_low[i] += u64::from(*exact > high_ns as f64);
            self.widths[i].push((high_ns - low_ns) as f64 / exact);
        }
    }
}

fn row(cell: &Cell, mut outcome: Outcome, runs: u64) -> String {
    let percent = |part: u64, whole: u64| match whole {
        0 => "–".to_string(),
        _ => format!("{:.1} %", 100.0 * part as f64 / whole as f64),
    };
    let given = |i: usize| runs - outcome.none[i];
    let held: Vec<String> = (0..3).map(|i| percent(outcome.held[i], given(i))).collect();
    let too_low: Vec<String> = (0..3).map(|i| percent(outcome.too_low[i], given(i))).collect();
    let none: Vec<String> = (0..3).map(|i| percent(outcome.none[i], runs)).collect();
    let met: Vec<String> = (0..3).map(|i| percent(outcome.met[i], runs)).collect();
    let width = |widths: &mut Vec<f64>| {
        widths.sort_by(f64::total_cmp);
        widths.get(widths.len() / 2).map_or("–".to_string(), |w| format!("{:.2} %", 100.0 * w))
    };
    let widths: Vec<String> = outcome.widths.iter_mut().map(width).collect();
    format!(
        "| {} | {} s | {runs} | {} | {} | {} | {} | {} |",
        cell.name,
        cell.length_s,
        held.join(" | "),
        too_low.join(", "),
        none.join(", "),
        widths.join(" | "),
        met.join(", ")
    )
}
