//! Keeps runs that have ended. Whatever goes wrong here is a warning: the runs are recorded and reported already.

use super::place;
use crate::args::history::KeepArgs;
use crate::output;
use anyhow::Result;
use std::path::PathBuf;
use unblink_artifact::history::{RunLabels, indexed};
use unblink_store::Store;

/// Tags the runs in these folders and takes them into the history, unless it is to be left alone.
pub(crate) fn keep(args: &KeepArgs, folders: &[PathBuf]) {
    if let Err(error) = try_to_keep(args, folders) {
        output::note(format_args!(
            "warning: not in the history: {} (unblink index takes a run in later)",
            crate::explain_error(&error)
        ));
    }
}

fn try_to_keep(args: &KeepArgs, folders: &[PathBuf]) -> Result<()> {
    if !args.tag.is_empty() {
        for folder in folders {
            let add = |labels: &mut RunLabels| {
                labels.tags.extend(args.tag.iter().map(|tag| (tag.key.clone(), tag.value.clone())));
            };
            RunLabels::change(folder, add)?;
        }
    }
    let location = match args.no_store {
        true => None,
        false => place::chosen(&args.store)?,
    };
    let Some(location) = location else { return Ok(()) };
    let runs = folders.iter().map(|folder| indexed(folder)).collect::<Result<Vec<_>, _>>()?;
    if !runs.is_empty() {
        Store::open(&location)?.put(&runs)?;
    }
    Ok(())
}
