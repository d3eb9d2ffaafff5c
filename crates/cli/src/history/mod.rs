//! The history of runs: `unblink history`, `show`, `trend`, `index`, `tag`, `baseline`.

mod index;
mod keep;
mod label;
mod place;
mod record;
mod trend;

pub(crate) use index::index;
pub(crate) use keep::keep;
pub(crate) use label::{baseline, baseline_folders, tag};
pub(crate) use record::record;
pub(crate) use trend::trend;

use crate::args::history::{HistoryArgs, ShowArgs, Since, StoreArgs, WhichArgs};
use crate::clock;
use crate::{exit, output};
use anyhow::{Result, anyhow, bail};
use jiff::Timestamp;
use std::path::Path;
use unblink_artifact::document::RunDocument;
use unblink_artifact::folder::replay;
use unblink_artifact::history::{HistoryDocument, IndexedRun};
use unblink_report::history as report;
use unblink_store::{Filter, Store};

/// `unblink history`.
pub(crate) fn history(args: &HistoryArgs) -> Result<u8> {
    let filter = Filter {
        validity: args.validity.clone(),
        verdict: args.verdict.clone(),
        limit: Some(args.limit),
        ..filter(&args.which)
    };
    let (place, runs, more) = match open(&args.store)? {
        Opened::Nothing(place) => (place, Vec::new(), false),
        Opened::Store(mut store) => {
            let (runs, more) = store.runs(&filter)?;
            (store.place(), runs, more)
        }
    };
    list(HistoryDocument::new(place, runs, more), args.json)
}

/// `unblink show`.
pub(crate) fn show(args: &ShowArgs) -> Result<u8> {
    if let Some(folder) = folder(args) {
        if args.json {
            bail!(
                "{} is a folder, and --json prints an entry of the history: unblink report {} --json prints the run",
                args.run,
                args.run
            );
        }
        let places = [("Record", folder.display().to_string())];
        let document = of_folder(folder)?;
        output::print_report(&unblink_report::terminal::render_with(&document, &output::style(), &places))?;
        return Ok(exit::OK);
    }
    let mut store = existing(&args.store)?;
    let run = store.find(&args.run)?;
    if args.json {
        return list(HistoryDocument::new(store.place(), vec![run], false), true);
    }
    let folder = Path::new(&run.folder);
    match recorded(folder, &run) {
        Ok(document) => {
            let labels = report::labels(&run);
            let named = (!labels.is_empty()).then_some(("Labels", labels));
            let places: Vec<(&str, String)> = [("Run", run.id.clone())]
                .into_iter()
                .chain(named)
                .chain([("Record", folder.display().to_string())])
                .collect();
            output::print_report(&unblink_report::terminal::render_with(
                &document,
                &output::style(),
                &places,
            ))?
        }
        Err(why) => output::print_report(&report::one(&run, &why, &output::style()))?,
    }
    Ok(exit::OK)
}

/// The document of the run that is named.
///
/// # Errors
/// There is no such run, or no folder of it any more.
pub(crate) fn document(args: &ShowArgs) -> Result<RunDocument> {
    if let Some(folder) = folder(args) {
        return of_folder(folder);
    }
    let run = existing(&args.store)?.find(&args.run)?;
    recorded(Path::new(&run.folder), &run).map_err(|why| anyhow!("{why}"))
}

/// The folder of a run that is named as one. What exists is meant.
fn folder(args: &ShowArgs) -> Option<&Path> {
    Some(Path::new(&args.run)).filter(|path| path.is_dir())
}

fn of_folder(folder: &Path) -> Result<RunDocument> {
    let (tally, ending) = replay(folder, None, None)?;
    Ok(tally.document(&ending))
}

/// The document from the run's folder, or why there is none.
fn recorded(folder: &Path, run: &IndexedRun) -> Result<RunDocument, String> {
    if !folder.is_dir() {
        return Err(format!("The folder {} is not there any more.", folder.display()));
    }
    let (tally, ending) =
        replay(folder, None, None).map_err(|error| format!("The record can't be read: {error}."))?;
    let document = tally.document(&ending);
    if document.id() != run.id {
        return Err(format!("The folder {} holds another run now.", folder.display()));
    }
    Ok(document)
}

/// Prints runs as they were asked for.
fn list(document: HistoryDocument, json: bool) -> Result<u8> {
    match json {
        true => output::print_json(&document)?,
        false => output::print_report(&report::list(&document, &output::style()))?,
    }
    Ok(exit::OK)
}

fn filter(which: &WhichArgs) -> Filter {
    Filter {
        target: which.target.clone(),
        tags: which.tag.iter().map(|tag| (tag.key.clone(), tag.value.clone())).collect(),
        since: which.since.map(Since::at),
        ..Filter::default()
    }
}

impl Since {
    /// When that is, counted from now where it is a length of time.
    fn at(self) -> Timestamp {
        match self {
            Since::Moment(moment) => moment,
            Since::Ago(length) => clock::before(length),
        }
    }
}

/// A history to read.
enum Opened {
    Store(Store),
    /// Nothing has been kept here yet; and a reader leaves nothing behind.
    Nothing(String),
}

fn open(args: &StoreArgs) -> Result<Opened> {
    let Some(location) = place::chosen(args)? else {
        bail!("UNBLINK_STORE is none: name a history with --store");
    };
    if !location.may_exist() {
        // Whoever names one expects it to be there.
        if args.store.is_some() {
            bail!(
                "there is no history in {location}: name the file of one, or take run folders in with unblink index DIR \
                 --store {location}"
            );
        }
        return Ok(Opened::Nothing(location.to_string()));
    }
    Ok(Opened::Store(Store::open_to_read(&location)?))
}

/// A history that is to hold something.
fn existing(args: &StoreArgs) -> Result<Store> {
    match open(args)? {
        Opened::Store(store) => Ok(store),
        Opened::Nothing(place) => {
            bail!(
                "there is no history in {place} yet: unblink run begins one, unblink index DIR takes over folders"
            )
        }
    }
}
