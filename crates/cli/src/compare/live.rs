//! Runs of two targets in turn: baseline, candidate, candidate, baseline, and so on, so that a machine that slowly
//! changes does the same to both.

use super::Measured;
use crate::args::compare::CompareArgs;
use crate::args::load::LoadArgs;
use crate::args::run::RunArgs;
use crate::{output, run, signals};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;
use unblink_artifact::compare::{left_out, load_difference, run_folders, target_failed};
use unblink_artifact::document::{RunDocument, RunStatus};
use unblink_artifact::folder::read_folder;
use unblink_report::format;

/// Names of the sides and of their folders.
const SIDES: [&str; 2] = ["baseline", "candidate"];

/// Measures what is missing below `root`, and gives the folders of both sides.
pub(super) fn measure(args: &CompareArgs, urls: [&str; 2], root: &Path) -> Result<Measured> {
    let sides = SIDES.map(|name| root.join(name));
    let plans = [0, 1].map(|side| run_args(args, urls[side], side as u64));
    let mut done = [0, 0];
    for side in [0, 1] {
        let prepared = run::prepare(&plans[side])?;
        if args.resume.is_some() {
            done[side] = finished(&sides[side], &prepared)?;
        } else {
            output::check_folder(&sides[side])?;
        }
        // Both, before a minute is spent on one.
        if !args.target.no_preflight && done[side] < args.runs {
            run::preflight_all(&prepared.job, &prepared.header.targets)?;
        }
    }
    let interruptions = signals::listen()?;
    interruptions.defer();
    let folders = |is_interrupted| Measured {
        baseline: run_folders(&sides[0]).unwrap_or_default(),
        candidate: run_folders(&sides[1]).unwrap_or_default(),
        is_interrupted,
    };
    let all = 2 * args.runs;
    let mut number = done[0].min(args.runs) + done[1].min(args.runs);
    for pair in 0..args.runs {
        let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
        for side in order.into_iter().filter(|&side| pair >= done[side]) {
            number += 1;
            if !interruptions.wait(Duration::ZERO) {
                say_how_to_go_on("before", number, all, root);
                return Ok(folders(true));
            }
            let place = next_number(&sides[side]);
            let folder = sides[side].join(place.to_string());
            let plan = run_args(args, urls[side], place * 2 + side as u64);
            // The preflight of each side has been sent.
            let prepared = run::prepare(&plan)?;
            let (document, _) = run::execute(prepared, &folder, true, args.quiet, &interruptions)?;
            output::write_page(&folder, &document);
            if document.status == RunStatus::Interrupted {
                say_how_to_go_on("in", number, all, root);
                return Ok(folders(true));
            }
            let said = say(&document, args.percentile);
            output::note(format_args!("run {number} of {all}, {:<9}  {said}", SIDES[side]));
        }
    }
    Ok(folders(false))
}

fn say_how_to_go_on(when: &str, number: u32, all: u32, root: &Path) {
    output::note(format_args!(
        "interrupted {when} run {number} of {all}; to go on, give the same command with --resume {}",
        root.display()
    ));
}

/// Folders of all runs below `root`, those that do not count, too.
pub(super) fn recorded(root: &Path) -> Vec<PathBuf> {
    SIDES.iter().flat_map(|side| run_folders(&root.join(side)).unwrap_or_default()).collect()
}

/// Runs of one target as if they had been measured in turn.
pub(super) fn dealt_out(all: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let of = |first: bool| {
        let is_first = |i: usize| matches!(i % 4, 0 | 3);
        all.iter().enumerate().filter(|(i, _)| is_first(*i) == first).map(|(_, f)| f.clone()).collect()
    };
    (of(true), of(false))
}

/// The flags of one run. Each has arrivals of its own, or no two Poisson runs would differ in them.
fn run_args(args: &CompareArgs, url: &str, number: u64) -> RunArgs {
    let load = LoadArgs { seed: args.load.seed.wrapping_add(number), ..args.load.clone() };
    RunArgs::of_experiment(vec![url.to_string()], load, args.target.clone(), args.quiet)
}

/// How many runs of a side are there that count. Those of another load or target are refused.
fn finished(side: &Path, prepared: &run::Prepared) -> Result<u32> {
    if !side.is_dir() {
        bail!(
            "{side:?} is no folder of a comparison: --resume needs the folder that an interrupted one has named"
        );
    }
    let mut count = 0;
    for folder in run_folders(side).unwrap_or_default() {
        let recorded = read_folder(&folder)?;
        let (load, targets) = (&recorded.header.load, &recorded.header.targets);
        if let Some(what) = load_difference(load, &prepared.header.load) {
            bail!("{folder:?} has another load: {what}; give the same flags as before");
        }
        if *targets != prepared.header.targets {
            bail!("{folder:?} has another target; give the same URLs, in the same order, as before");
        }
        let document = recorded.final_document;
        // What a candidate fails in counts, and a failing baseline is measured again.
        let counts = |document: &RunDocument| {
            left_out(document).is_none() || (side.ends_with(SIDES[1]) && target_failed(document).is_some())
        };
        count += u32::from(document.is_some_and(|document| counts(&document)));
    }
    Ok(count)
}

/// The number after the last that is there.
fn next_number(side: &Path) -> u64 {
    let numbers = std::fs::read_dir(side).into_iter().flatten().filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse::<u64>().ok()
    });
    numbers.max().unwrap_or(0) + 1
}

fn say(document: &RunDocument, quantile: f64) -> String {
    if let Some(why) = left_out(document) {
        return match target_failed(document) {
            Some(how) => format!("failed: {}", format::plain(&how)),
            None => format!("left out: {}", format::plain(&why)),
        };
    }
    let value = document.response_time.quantiles.iter().find(|q| q.q == quantile);
    let value = value.map_or("–".to_string(), |value| {
        format!("{}{}", if value.censored { "> " } else { "" }, format::duration(value.value))
    });
    format::plain(&format!("{} {value}", format::quantile_label(quantile)))
}
