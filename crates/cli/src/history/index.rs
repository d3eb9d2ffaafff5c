//! `unblink index`: run folders into the history.

use super::{list, place};
use crate::args::history::IndexArgs;
use crate::output;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use unblink_artifact::folder::RUN_FILE;
use unblink_artifact::history::{HistoryDocument, IndexedRun, indexed};
use unblink_store::{Location, Store, StoreError};

/// So many runs are taken in at a time: other writers wait no longer than that.
const AT_ONCE: usize = 50;

pub(crate) fn index(args: &IndexArgs) -> Result<u8> {
    let Some(location) = place::chosen(&args.store)? else {
        bail!("UNBLINK_STORE is none: name a history with --store");
    };
    let mut folders = Vec::new();
    for dir in &args.dirs {
        find(dir, &mut folders).with_context(|| format!("can't read the folder {dir:?}"))?;
    }
    folders.sort();
    let mut runs = Vec::new();
    for folder in &folders {
        match indexed(folder) {
            Ok(run) => runs.push(run),
            Err(error) => output::note(format_args!("warning: {} is left out: {error}", folder.display())),
        }
    }
    if runs.is_empty() {
        bail!(
            "no run can be taken in: {} of {} folders hold one that can be read",
            runs.len(),
            folders.len()
        );
    }
    let mut store = match taken_in(&location, &runs) {
        Err(error) if error.is_damage() => {
            let aside =
                location.put_aside().with_context(|| format!("{error}, but it can't be put aside"))?;
            output::note(format_args!(
                "note: the history in {location} is damaged; it is {} now, and {location} is a new one",
                aside.display()
            ));
            taken_in(&location, &runs)?
        }
        taken => taken?,
    };
    if !args.json {
        let (count, all) = (runs.len(), folders.len());
        output::print(&format!("{count} of {all} runs are in {} now\n", store.place()))?;
        return Ok(crate::exit::OK);
    }
    // As the history has them, with the labels that it knew before.
    let mut known = runs.iter().map(|run| store.find(&run.id)).collect::<Result<Vec<_>, _>>()?;
    known.sort_by(|a, b| b.started_at.cmp(&a.started_at));
    known.dedup_by(|a, b| a.id == b.id);
    list(HistoryDocument::new(store.place(), known, false), true)
}

fn taken_in(location: &Location, runs: &[IndexedRun]) -> Result<Store, StoreError> {
    let mut store = Store::open(location)?;
    for some in runs.chunks(AT_ONCE) {
        store.put(some)?;
    }
    // A damaged file may take things in and not give them back.
    runs.first().map_or(Ok(()), |run| store.find(&run.id).map(drop))?;
    Ok(store)
}

/// Folders of runs in `dir`, or itself. Links are not followed: they may lead round in a circle.
fn find(dir: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if dir.join(RUN_FILE).is_file() {
        found.push(dir.to_path_buf());
        return Ok(());
    }
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir()
            && let Err(error) = find(&entry.path(), found)
        {
            output::note(format_args!("warning: {:?} is left out: {error}", entry.path()));
        }
    }
    Ok(())
}
