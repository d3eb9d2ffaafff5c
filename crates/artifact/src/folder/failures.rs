//! `failures.jsonl`: requests that failed, with their answers, a line for each, written as the run goes.

use super::FolderError;
use crate::bounded::{self, DOCUMENT_BYTES_MAX};
use crate::exchange::KeptFailure;
use crate::harmless;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read as _, Write as _};
use std::path::Path;

/// Requests that failed, if they were to be kept.
pub const FAILURES_FILE: &str = "failures.jsonl";

/// Writes failed requests as they come.
#[derive(Debug)]
pub struct FailureWriter {
    file: File,
}

impl FailureWriter {
    /// A new file in the run's folder.
    ///
    /// # Errors
    /// It can't be made.
    pub fn create(dir: &Path) -> Result<FailureWriter, FolderError> {
        let path = dir.join(FAILURES_FILE);
        let file = OpenOptions::new().create_new(true).append(true).open(&path);
        Ok(FailureWriter { file: file.map_err(|source| FolderError::Write { path, source })? })
    }

    /// Writes the next one. A disk that is full loses it, and the run goes on.
    pub fn write(&mut self, failure: &KeptFailure) {
        if let Ok(mut line) = harmless::json(failure) {
            line.push('\n');
            let _ = self.file.write_all(line.as_bytes());
        }
    }
}

/// Every whole line of a run; none where nothing was kept. A line that was cut off by the run's death is left out.
pub(super) fn read_failures(dir: &Path) -> Vec<KeptFailure> {
    let (mut all, mut line) = (Vec::new(), Vec::new());
    let Ok(file) = File::open(dir.join(FAILURES_FILE)) else { return all };
    let mut reader = BufReader::new(file.take(DOCUMENT_BYTES_MAX));
    while bounded::read_line(&mut reader, &mut line).is_ok_and(|read| read > 0) {
        all.extend(serde_json::from_slice::<KeptFailure>(&line).ok());
        line.clear();
    }
    all
}
