//! `unblink trend`: a percentile over runs.

use super::{existing, filter};
use crate::args::history::TrendArgs;
use crate::{exit, output};
use anyhow::{Context, Result, bail};
use unblink_artifact::history::{self, IndexedRun, TrendSpec};
use unblink_report::format;
use unblink_report::history as report;
use unblink_store::Filter;

/// Tags that a run goes by unless told otherwise.
const LABELS: [&str; 2] = ["commit", "label"];

pub(crate) fn trend(args: &TrendArgs) -> Result<u8> {
    let mut store = existing(&args.store)?;
    let asked = Filter { limit: Some(args.last), ..filter(&args.which) };
    let series = match &args.run {
        Some(run) => store.find(run)?.series,
        None => one_series(&store.runs(&asked)?.0, asked.target.is_some() || !asked.tags.is_empty())?,
    };
    let (runs, more) = store.runs(&Filter { series: Some(series), ..asked })?;
    let labels = match &args.label {
        Some(label) => vec![label.clone()],
        None => LABELS.map(String::from).to_vec(),
    };
    let spec = TrendSpec { store: store.place(), quantile: args.percentile, labels, more };
    let document = history::trend(&runs, spec).context("no run of this series fits")?;
    if let Some(path) = &args.svg {
        output::write(path, &report::trend_picture(&document))?;
    }
    match args.json {
        true => output::print(&(output::to_json(&document)? + "\n"))?,
        false => output::print(&report::trend(&document, &output::style()))?,
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
