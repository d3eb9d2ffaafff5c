//! The folder of a run that is named as the history names it, where a folder is expected.

use super::existing;
use crate::args::history::StoreArgs;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use unblink_artifact::folder::RUN_FILE;

/// The newest run.
const LATEST: &str = "latest";
/// Digits of a name at the least: fewer are rather a folder's that was mistyped.
const DIGITS_MIN: usize = 4;

/// The folder that `text` names: itself, or that of the run of this name in the history. What exists is meant.
pub(crate) fn record(text: &Path, store: &StoreArgs) -> Result<PathBuf> {
    match text.to_str().filter(|name| !text.exists() && is_name(name)) {
        Some(name) => in_history(name, store),
        None => Ok(text.to_path_buf()),
    }
}

/// `latest`, or the first digits of a run's name.
fn is_name(text: &str) -> bool {
    text == LATEST || (text.len() >= DIGITS_MIN && text.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn in_history(name: &str, store: &StoreArgs) -> Result<PathBuf> {
    let run = existing(store)?.find(name)?;
    let folder = PathBuf::from(&run.folder);
    if !folder.join(RUN_FILE).is_file() {
        bail!(
            "the folder {} of run {} is gone; what the history has of it: unblink show {}",
            run.folder,
            run.id,
            unblink_report::history::short_id(&run)
        );
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_runs_are_told_from_those_of_folders() {
        for name in ["latest", "3f9a1c2e", "3F9A"] {
            assert!(is_name(name), "{name}");
        }
        for folder in ["runs", "3f9", "unblink-runs/latest", "latest/", "./latest", ""] {
            assert!(!is_name(folder), "{folder}");
        }
    }

    /// A folder that is called so is the one that is meant; nothing is looked up.
    #[test]
    fn what_exists_is_meant() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("latest");
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(record(&folder, &StoreArgs::default()).unwrap(), folder);
    }
}
