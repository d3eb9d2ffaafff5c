//! The journal of a search: `knee.jsonl`, the header and then a line for each trial, written as it ends.

use super::{KneeHeader, KneeTrial};
use crate::bounded::{self, SEARCH_BYTES_MAX};
use crate::harmless;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Name of the file in the search's folder.
/// Its name.
pub const JOURNAL_FILE: &str = "knee.jsonl";

/// Why a journal can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system said no.
    #[error("can't {action} {path:?}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is not what it should be.
    #[error("{path:?}, line {line}: {source}")]
    Line {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Not even the header was written.
    #[error("{path:?} holds no search: it has no header")]
    Empty {
        /// The journal.
        path: PathBuf,
    },
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Begins a journal in `folder`, which exists and holds none.
    pub fn create(folder: &Path, header: &KneeHeader) -> Result<Journal, JournalError> {
        let path = folder.join(JOURNAL_FILE);
        let opened = OpenOptions::new().create_new(true).append(true).open(&path);
        let file = opened.map_err(|source| io("create", &path, source))?;
        let mut journal = Journal { path, file };
        journal.line(header)?;
        Ok(journal)
    }

    /// Reads the journal in `folder` and goes on with it. A last line without an end was cut off by a kill: it is
    /// taken away.
    pub fn resume(folder: &Path) -> Result<(Journal, KneeHeader, Vec<KneeTrial>), JournalError> {
        let path = folder.join(JOURNAL_FILE);
        let text = bounded::read_text(&path, SEARCH_BYTES_MAX).map_err(|source| io("read", &path, source))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines().enumerate();
        let wrong = |line: usize, source| JournalError::Line { path: path.clone(), line: line + 1, source };
        let Some((_, first)) = lines.next() else { return Err(JournalError::Empty { path }) };
        let header = serde_json::from_str(first).map_err(|source| wrong(0, source))?;
        let trials = lines
            .map(|(i, line)| serde_json::from_str(line).map_err(|source| wrong(i, source)))
            .collect::<Result<Vec<KneeTrial>, JournalError>>()?;
        let opened = OpenOptions::new().append(true).open(&path);
        let file = opened.map_err(|source| io("write", &path, source))?;
        file.set_len(whole as u64).map_err(|source| io("write", &path, source))?;
        Ok((Journal { path, file }, header, trials))
    }

    /// Writes a trial that has ended.
    pub fn append(&mut self, trial: &KneeTrial) -> Result<(), JournalError> {
        self.line(trial)
    }

    fn line<T: Serialize>(&mut self, value: &T) -> Result<(), JournalError> {
        let mut line = harmless::json(value).map_err(|source| JournalError::Line {
            path: self.path.clone(),
            line: 0,
            source,
        })?;
        line.push('\n');
        // One write: a reader never sees half a line followed by another.
        self.file.write_all(line.as_bytes()).map_err(|source| io("write", &self.path, source))
    }
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> JournalError {
    JournalError::Io { action, path: path.to_path_buf(), source }
}
