//! `unblink trend`: a percentile over runs, or the highest rate over searches.

use super::{existing, filter};
use crate::args::history::TrendArgs;
use crate::{exit, output};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use unblink_artifact::compare::knee_folders;
use unblink_artifact::history::{self, IndexedRun, TrendSpec};
use unblink_report::format;
use unblink_report::history as report;
use unblink_store::Filter;

/// Tags that a run goes by unless told otherwise.
const LABELS: [&str; 2] = ["commit", "label"];
/// The percentile unless told otherwise.
const QUANTILE: f64 = 0.99;
/// So many runs unless told otherwise.
const RUNS_MAX: u32 = 200;

pub(crate) fn trend(args: &TrendArgs) -> Result<u8> {
    let folders: Vec<Vec<PathBuf>> = args.runs.iter().map(|run| knee_folders(run.as_ref())).collect();
    if folders.iter().any(|found| !found.is_empty()) {
        if let Some(nth) = folders.iter().position(Vec::is_empty) {
            bail!("{:?} holds no search of unblink knee, and the others do: leave it out", args.runs[nth]);
        }
        return knees(args, &folders.concat());
    }
    if args.runs.len() > 1 {
        bail!("a trend is that of one series: name one run of it, or folders of unblink knee");
    }
    runs(args)
}

fn knees(args: &TrendArgs, folders: &[PathBuf]) -> Result<u8> {
    let asked = [
        ("--percentile", args.percentile.is_some()),
        ("--target", args.which.target.is_some()),
        ("--tag", !args.which.tag.is_empty()),
        ("--since", args.which.since.is_some()),
        ("--last", args.last.is_some()),
        ("--label", args.label.is_some()),
    ];
    if let Some((flag, _)) = asked.iter().find(|(_, is_given)| *is_given) {
        bail!(
            "{flag} picks and reads runs of the history, and these are folders of unblink knee: leave it out"
        );
    }
    let document = history::knee_trend(folders)?.context("no search fits")?;
    if let Some(path) = &args.svg {
        output::write(path, &report::knee_trend_picture(&document))?;
    }
    match args.json {
        true => output::print_json(&document)?,
        false => output::print_report(&report::knee_trend(&document, &output::style()))?,
    }
    Ok(exit::OK)
}

fn runs(args: &TrendArgs) -> Result<u8> {
    let mut store = existing(&args.store)?;
    let asked = Filter { limit: Some(args.last.unwrap_or(RUNS_MAX)), ..filter(&args.which) };
    let series = match args.runs.first() {
        Some(run) => store.find(run)?.series,
        None => one_series(&store.runs(&asked)?.0, asked.target.is_some() || !asked.tags.is_empty())?,
    };
    let (runs, more) = store.runs(&Filter { series: Some(series), ..asked })?;
    let labels = match &args.label {
        Some(label) => vec![label.clone()],
        None => LABELS.map(String::from).to_vec(),
    };
    let spec =
        TrendSpec { store: store.place(), quantile: args.percentile.unwrap_or(QUANTILE), labels, more };
    let document = history::trend(&runs, spec).context("no run of this series fits")?;
    if let Some(path) = &args.svg {
        output::write(path, &report::trend_picture(&document))?;
    }
    match args.json {
        true => output::print_json(&document)?,
        false => output::print_report(&report::trend(&document, &output::style()))?,
    }
    Ok(exit::OK)
}

/// The series of the newest run; where runs were asked for by what they are, they must be of one.
fn one_series(runs: &[IndexedRun], is_asked: bool) -> Result<String> {
    let Some(newest) = runs.first() else { bail!("no run fits: unblink history lists those that there are") };
    let mut others: Vec<&IndexedRun> = Vec::new();
    for run in runs.iter().filter(|run| run.series != newest.series) {
        if others.iter().all(|other| other.series != run.series) {
            others.push(run);
        }
    }
    if !is_asked || others.is_empty() {
        return Ok(newest.series.clone());
    }
    let some = [newest].into_iter().chain(others).map(|run| {
        let target = run.targets.first().map_or("", |target| target.url.as_str());
        format!("\n  {}  {}, {target}", report::short_id(run), format::plain(&run.load))
    });
    bail!(
        "these runs differ in load or target, and one line can't be drawn through them: name a run of the series\
         {}",
        some.collect::<String>()
    );
}
