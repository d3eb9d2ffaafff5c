//! `values.json`: what was drawn so far for the requests that were sent, while a run goes on and when it was killed.

use super::FolderError;
use crate::bounded::{self, DOCUMENT_BYTES_MAX};
use crate::document::ValueSent;
use std::fs;
use std::path::{Path, PathBuf};

/// Values as they were sent, up to the last interval or the one before. The document of a run that has ended has them itself.
pub const VALUES_FILE: &str = "values.json";

/// Writes them again and again, each time in the place of what was written before.
#[derive(Debug)]
pub struct ValuesWriter {
    /// Nothing where one could not be written: an old one would be wrong.
    path: Option<PathBuf>,
}

impl ValuesWriter {
    /// In a run's folder, where nothing is written yet.
    pub fn new(dir: &Path) -> ValuesWriter {
        ValuesWriter { path: Some(dir.join(VALUES_FILE)) }
    }

    /// So much was drawn by now. A reader sees all of it, or all of what was written before.
    ///
    /// # Errors
    /// Once, when it can't be written. Then nothing is there any more, and nothing is written again.
    pub fn write(&mut self, values: &[ValueSent]) -> Result<(), FolderError> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        let beside = path.with_extension("json.tmp");
        let text = serde_json::to_string(values).unwrap_or_default();
        // A process that is killed leaves what the kernel has: nothing waits for the disk.
        let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, &path));
        written.map_err(|source| {
            let _ = fs::remove_file(&beside);
            let _ = fs::remove_file(&path);
            self.path = None;
            FolderError::Write { path, source }
        })
    }
}

/// What a run that has no end had sent by its last interval, or the one before; nothing where no values are drawn.
pub(super) fn read_values(dir: &Path) -> Vec<ValueSent> {
    let text = bounded::read_text(&dir.join(VALUES_FILE), DOCUMENT_BYTES_MAX).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The document has them.
pub(super) fn remove_values(dir: &Path) {
    let _ = fs::remove_file(dir.join(VALUES_FILE));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_that_was_written_is_there_or_none() {
        let dir = tempfile::tempdir().expect("a folder");
        let of = |draws| vec![ValueSent { name: "item".into(), draws, popularity: Vec::new(), size: None }];
        assert_eq!(read_values(dir.path()), []);
        let mut writer = ValuesWriter::new(dir.path());
        for draws in [3, 5] {
            writer.write(&of(draws)).expect("written");
            assert_eq!(read_values(dir.path()), of(draws));
        }
        // Where it can't be written, an old one is not kept.
        fs::create_dir(dir.path().join("values.json.tmp")).expect("a folder in its way");
        assert!(writer.write(&of(7)).is_err());
        fs::remove_dir(dir.path().join("values.json.tmp")).expect("removed");
        assert_eq!(read_values(dir.path()), []);
        writer.write(&of(9)).expect("told once");
        assert_eq!(read_values(dir.path()), []);
    }
}
