#![allow(clippy::print_stdout)]
//! How often does the search find the highest rate that meets an objective? Simulates servers for which that rate is
//! known in closed form and prints a table in Markdown:
//! `cargo run --release -p unblink-analysis --example knees -- [SEEDS [WORLD]]`.
//!
//! SEEDS is the number of searches for each server, 100 unless given; WORLD a part of a server's name.

#[path = "support/seeds.rs"]
mod seeds;
#[path = "knees/worlds.rs"]
mod worlds;

use std::sync::{Mutex, PoisonError};
use unblink_analysis::experiment::Experiment;
use unblink_analysis::experiment::knee::Doom;
use worlds::World;

/// A search is right when its answer lies within this share of the exact rate.
const SHARE: f64 = 0.03;

/// How one search ended.
struct End {
    found_per_s: Option<f64>,
    /// The exact rate lies between the highest rate shown to be good and the lowest shown not to be.
    is_covered: bool,
    doom: Option<Doom>,
    last_stationary_per_s: Option<f64>,
    kneedle_per_s: Option<f64>,
    falls: bool,
    trials: usize,
    load_s: f64,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let seeds: u64 = args.next().map_or(100, |n| n.parse().expect("the first argument is a number of seeds"));
    let wanted = args.next().unwrap_or_default();
    println!(
        "| server | exact | found, median | least … most | within 3 % | in its bracket | refused | delivered work falls | last \
         stationary | Kneedle | trials | load |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for world in worlds::all().into_iter().filter(|world| world.name.contains(&wanted)) {
        println!("{}", row(&world, &study(&world, seeds)));
    }
}

fn study(world: &World, seeds: u64) -> Vec<End> {
    let ends = Mutex::new(Vec::new());
    seeds::each(seeds, |seed| {
        let end = search(world, seed);
        ends.lock().unwrap_or_else(PoisonError::into_inner).push(end);
    });
    ends.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn search(world: &World, seed: u64) -> End {
    let knee = worlds::search(world, seed, worlds::settings());
    let curve = knee.curve();
    let found = knee.found();
    let is_covered = found.zip(world.exact_per_s).is_some_and(|(found, exact_per_s)| {
        let missed = found.missed_from.map(|missed| missed.as_per_s());
        found.good.as_per_s() <= exact_per_s && missed.is_none_or(|missed| exact_per_s <= missed)
    });
    let load = knee.steps().iter().map(|step| step.trial.settle + step.outcome.measured);
    End {
        found_per_s: found.map(|found| found.rate.as_per_s()),
        is_covered,
        doom: knee.doomed(),
        last_stationary_per_s: curve.knees.last_stationary.map(|rate| rate.as_per_s()),
        kneedle_per_s: curve.knees.kneedle_per_s,
        falls: curve.collapse.is_some(),
        trials: knee.steps().len(),
        load_s: load.map(|time| time.as_secs_f64()).sum(),
    }
}

fn row(world: &World, ends: &[End]) -> String {
    let mut found: Vec<f64> = ends.iter().filter_map(|end| end.found_per_s).collect();
    found.sort_by(f64::total_cmp);
    let near = |found: &f64| world.exact_per_s.is_some_and(|exact| (found - exact).abs() <= SHARE * exact);
    let number = |value: Option<f64>| value.map_or("–".to_string(), |value| format!("{value:.0}/s"));
    let of_all = |count: usize| match world.exact_per_s {
        Some(_) => format!("{count} of {}", ends.len()),
        None => "–".to_string(),
    };
    let within = of_all(found.iter().filter(|found| near(found)).count());
    let covered = of_all(ends.iter().filter(|end| end.is_covered).count());
    let doomed: Vec<&Doom> = ends.iter().filter_map(|end| end.doom.as_ref()).collect();
    let hysteresis = doomed.iter().filter(|doom| matches!(doom, Doom::Hysteresis { .. })).count();
    let any_rate =
        doomed.iter().filter(|d| matches!(d, Doom::AnyRate { .. } | Doom::NothingMet { .. })).count();
    let refused = match (doomed.len(), hysteresis, any_rate) {
        (n, 0, 0) => n.to_string(),
        (n, hysteresis, 0) => format!("{n}, {hysteresis} for hysteresis"),
        (n, 0, any_rate) => format!("{n}, {any_rate} as missed at any rate"),
        (n, hysteresis, any_rate) => {
            format!("{n}, {hysteresis} for hysteresis, {any_rate} as missed at any rate")
        }
    };
    format!(
        "| {} | {} | {} | {} … {} | {within} | {covered} | {refused} | {} | {} | {} | {:.0} | {:.0} min |",
        world.name,
        number(world.exact_per_s),
        number(median(found.iter().copied())),
        number(found.first().copied()),
        number(found.last().copied()),
        ends.iter().filter(|end| end.falls).count(),
        number(median(ends.iter().filter_map(|end| end.last_stationary_per_s))),
        number(median(ends.iter().filter_map(|end| end.kneedle_per_s))),
        median(ends.iter().map(|end| end.trials as f64)).unwrap_or(0.0),
        median(ends.iter().map(|end| end.load_s / 60.0)).unwrap_or(0.0),
    )
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
