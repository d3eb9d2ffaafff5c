//! The files of a command that makes several runs, each of which reads them anew: all of them are to be of one load.

use crate::inputs;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use unblink_cluster::message::OfferedFile;

/// What stood in files when a run of this command read them first.
static FIRST: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// Refuses files that a run of this command has offered before, and in which something else stands now.
pub(super) fn check_offered(files: &[OfferedFile]) -> Result<()> {
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    for file in files {
        let before = first.entry(file.name.clone()).or_insert_with(|| file.sha256.clone()).clone();
        check_by([&OfferedFile { sha256: before, ..file.clone() }], |_| Ok(file.sha256.clone()))?;
    }
    Ok(())
}

/// Refuses a run of which a file is not any more what it was when the command began.
pub(super) fn check(files: &[OfferedFile]) -> Result<()> {
    check_by(files, inputs::sha256_now)
}

/// The same of what has just been read, as it was read; of `files` those that were.
pub(super) fn check_read(files: &[OfferedFile]) -> Result<()> {
    let read = inputs::all();
    let read = files.iter().filter(|file| read.iter().any(|path| path.display().to_string() == file.name));
    check_by(read, inputs::sha256)
}

fn check_by<'a>(
    files: impl IntoIterator<Item = &'a OfferedFile>,
    sha256: impl Fn(&Path) -> io::Result<String>,
) -> Result<()> {
    for OfferedFile { name, sha256: before, .. } in files {
        let what = match sha256(Path::new(name)) {
            Ok(now) if now == *before => continue,
            Ok(_) => "was changed".to_string(),
            Err(error) => format!("can't be read any more ({error})"),
        };
        bail!(
            "the file {name:?} {what} while the command went on, whose runs would not be of one load: leave its files as they are until it is \
             over, and start it anew"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_cluster::record;

    #[test]
    fn a_file_that_is_not_what_it_was_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("plan.toml");
        let (name, sha256) = (path.display().to_string(), record::sha256(b"before"));
        let files = [OfferedFile { name, bytes: 0, sha256 }];
        std::fs::write(&path, "before").expect("a file");
        check(&files).expect("it is as it was");
        check_offered(&files).expect("the first time");
        check_offered(&files).expect("the same again");
        let other = files.clone().map(|file| OfferedFile { sha256: record::sha256(b"after"), ..file });
        assert!(check_offered(&other).is_err());
        std::fs::write(&path, "after").expect("a file");
        let why = check(&files).expect_err("it was changed").to_string();
        assert!(why.contains("plan.toml") && why.contains("was changed while"), "{why}");
        assert!(check_read(&files).is_ok(), "nobody has read it");
        inputs::note(&path).expect("a file of this process");
        assert!(check_read(&files).is_err());
        std::fs::remove_file(&path).expect("it is there");
        let why = check(&files).expect_err("it is gone").to_string();
        assert!(why.contains("can't be read any more"), "{why}");
    }
}
