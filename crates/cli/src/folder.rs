//! Folders for what is recorded: a new one for each run, whoever else asks for one in the same second.

use crate::observe::{End, Observer};
use crate::{clock, output};
use anyhow::{Context, Result};
use std::io::ErrorKind;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use unblink_artifact::document::{GuardKind, RunDocument};
use unblink_artifact::folder::{FolderError, FolderWriter};
use unblink_artifact::tally::Tally;
use unblink_core::record::Interval;

/// A folder that something is recorded into. One that was made here and is still empty in the end goes again.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    is_made_here: bool,
}

impl Folder {
    /// The one that the user names, or a new one below `parent`, named after the time.
    pub(crate) fn named_or_new(named: Option<&PathBuf>, parent: &str) -> Result<Folder> {
        match named {
            Some(path) => Ok(Folder { path: path.clone(), is_made_here: false }),
            None => Folder::new(Path::new(parent), &clock::folder_name()),
        }
    }

    /// Made at once, since another process may choose a name in the same second.
    fn new(parent: &Path, name: &str) -> Result<Folder> {
        let of_number = |n: u32| if n == 1 { name.to_string() } else { format!("{name}-{n}") };
        for n in 1.. {
            let path = parent.join(of_number(n));
            // A run that was refused takes an empty parent away with it.
            std::fs::create_dir_all(parent).with_context(|| cant(&path))?;
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path, is_made_here: true }),
                Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {}
                Err(error) => return Err(error).with_context(|| cant(&path)),
            }
        }
        unreachable!("there are names enough")
    }
}

fn cant(path: &Path) -> String {
    format!("can't create the folder {path:?} (-o names another)")
}

impl Deref for Folder {
    type Target = PathBuf;

    fn deref(&self) -> &PathBuf {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Only an empty folder can be removed.
        if self.is_made_here && std::fs::remove_dir(&self.path).is_ok() {
            let _ = self.path.parent().map(std::fs::remove_dir);
        }
    }
}

/// Writes each interval. A folder that can't be written is told once, and ends nothing.
impl Observer for FolderWriter {
    fn look(&mut self, interval: &Interval, _: &mut Tally) -> Option<End> {
        if let Err(error) = self.interval(interval) {
            output::note(format_args!("warning: {error}"));
        }
        None
    }
}

/// The record of a run, which a run of many machines can't go on without.
pub(crate) struct Recorder {
    writer: FolderWriter,
    /// Others know of this run what is recorded, and nothing else.
    is_needed: bool,
    /// Why it is not whole.
    failed: Option<String>,
}

impl Recorder {
    pub(crate) fn new(writer: FolderWriter, is_needed: bool) -> Recorder {
        Recorder { writer, is_needed, failed: None }
    }

    /// Leaves the document. Gives why the record is not whole, if others need it.
    pub(crate) fn finish(self, document: &RunDocument) -> Option<String> {
        let Recorder { writer, is_needed, mut failed } = self;
        if let Err(error) = writer.finish(document) {
            output::note(format_args!("warning: {error}"));
            failed = failed.or_else(|| is_needed.then(|| unwritten(error)));
        }
        failed
    }
}

/// Load of which nobody will know what came of it is offered for nothing, and no rule of who leads sees what it does.
impl Observer for Recorder {
    fn look(&mut self, interval: &Interval, tally: &mut Tally) -> Option<End> {
        if !self.is_needed {
            return self.writer.look(interval, tally);
        }
        let error = self.writer.interval(interval).err()?;
        let why = unwritten(error);
        output::note(format_args!("error: {why}: no more load is offered"));
        self.failed = Some(why.clone());
        Some(End::by_guard(GuardKind::Record, why, interval.start + interval.length))
    }
}

fn unwritten(error: FolderError) -> String {
    let why = match error {
        FolderError::Write { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    format!("the record can't be written any more: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn who_asks_in_the_same_second_gets_a_folder_of_its_own() {
        let place = tempfile::tempdir().unwrap();
        let parent = place.path().join("runs");
        let folders: Vec<Folder> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..32)
                .map(|_| scope.spawn(|| Folder::new(&parent, "2026-01-31T12-00-00Z").unwrap()))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let names: BTreeSet<_> =
            folders.iter().map(|folder| folder.file_name().unwrap().to_owned()).collect();
        assert_eq!(names.len(), 32);
        assert!(names.contains(std::ffi::OsStr::new("2026-01-31T12-00-00Z-32")), "{names:?}");
        std::fs::write(folders[0].join("run.json"), "{}").unwrap();
        let kept = folders[0].clone();
        drop(folders);
        // What is empty goes, what is not stays.
        assert_eq!(std::fs::read_dir(&parent).unwrap().count(), 1);
        assert!(kept.join("run.json").exists());
        drop(Folder::new(&place.path().join("other"), "a").unwrap());
        assert!(!place.path().join("other").exists());
    }
}
