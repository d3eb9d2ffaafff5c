//! `unblink tag` and `unblink baseline`: what the user says of runs. It is written beside the record, too, where there
//! still is one, so that an index made anew knows it.

use super::{existing, list};
use crate::args::history::{BaselineCommand, BaselineSetArgs, BaselineShowArgs, StoreArgs, TagArgs};
use crate::{clock, output};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use unblink_artifact::folder::RUN_FILE;
use unblink_artifact::history::{HistoryDocument, IndexedRun, RunLabels};
use unblink_store::{Filter, Store};

/// `unblink tag`.
pub(crate) fn tag(args: &TagArgs) -> Result<u8> {
    let mut store = existing(&args.store)?;
    let run = store.find(&args.run)?;
    for tag in &args.tags {
        store.tag(&run.id, &tag.key, &tag.value)?;
    }
    beside(&run, |labels| {
        for tag in &args.tags {
            match tag.value.as_str() {
                "" => labels.tags.remove(&tag.key),
                value => labels.tags.insert(tag.key.clone(), value.into()),
            };
        }
    });
    let run = store.find(&run.id)?;
    list(HistoryDocument::new(store.place(), vec![run], false), args.json)
}

/// `unblink baseline`.
pub(crate) fn baseline(command: &BaselineCommand) -> Result<u8> {
    match command {
        BaselineCommand::Set(args) => set(args),
        BaselineCommand::Show(args) => show(args),
    }
}

fn set(args: &BaselineSetArgs) -> Result<u8> {
    let mut store = existing(&args.store)?;
    let runs = args.runs.iter().map(|run| store.find(run)).collect::<Result<Vec<_>, _>>()?;
    let before = of_baseline(&mut store, &args.name)?;
    let ids: Vec<String> = runs.iter().map(|run| run.id.clone()).collect();
    let set_at = clock::now();
    store.set_baseline(&args.name, &ids, &set_at)?;
    for run in before.iter().filter(|run| !ids.contains(&run.id)) {
        beside(run, |labels| {
            labels.baselines.remove(&args.name);
        });
    }
    for run in &runs {
        beside(run, |labels| {
            labels.baselines.insert(args.name.clone(), set_at.clone());
        });
    }
    let runs = of_baseline(&mut store, &args.name)?;
    list(HistoryDocument::new(store.place(), runs, false), args.json)
}

fn show(args: &BaselineShowArgs) -> Result<u8> {
    let mut store = existing(&args.store)?;
    let runs = known_baseline(&mut store, &args.name)?;
    list(HistoryDocument::new(store.place(), runs, false), args.json)
}

/// Folders of a baseline's runs, for a comparison.
pub(crate) fn baseline_folders(name: &str, store: &StoreArgs) -> Result<Vec<PathBuf>> {
    let mut store = existing(store)?;
    let runs = known_baseline(&mut store, name)?;
    if let Some(gone) = runs.iter().find(|run| !Path::new(&run.folder).join(RUN_FILE).is_file()) {
        bail!(
            "the folder {} of run {} in the baseline {name:?} is gone, and a comparison reads whole records: set the \
             baseline anew, or unblink index the folder where it is now",
            gone.folder,
            gone.id
        );
    }
    // In the order in which they were measured.
    Ok(runs.iter().rev().map(|run| PathBuf::from(&run.folder)).collect())
}

/// The runs of a baseline that has been set.
fn known_baseline(store: &mut Store, name: &str) -> Result<Vec<IndexedRun>> {
    let runs = of_baseline(store, name)?;
    if runs.is_empty() {
        bail!("there is no baseline {name:?}: unblink baseline set RUN… --name {name} makes one");
    }
    Ok(runs)
}

fn of_baseline(store: &mut Store, name: &str) -> Result<Vec<IndexedRun>> {
    let (runs, _) = store.runs(&Filter { baseline: Some(name.into()), ..Filter::default() })?;
    Ok(runs)
}

/// Into the run's folder, if it still is there. The index has it already.
fn beside(run: &IndexedRun, change: impl FnOnce(&mut RunLabels)) {
    let folder = Path::new(&run.folder);
    if folder.join(RUN_FILE).is_file()
        && let Err(error) = RunLabels::change(folder, change)
    {
        output::note(format_args!("warning: in the history only: {error}"));
    }
}
