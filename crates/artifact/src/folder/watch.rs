//! `watch.jsonl`: what was seen beside the load, a line for each sample, written as the run goes.

use super::FolderError;
use crate::bounded::{self, DOCUMENT_BYTES_MAX};
use crate::document::WatchSample;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

/// Samples of what was watched beside the load, if anything was.
pub const WATCH_FILE: &str = "watch.jsonl";

/// Writes samples as they come.
#[derive(Debug)]
pub struct WatchWriter {
    file: File,
}

impl WatchWriter {
    /// A new file in the run's folder.
    pub fn create(dir: &Path) -> Result<WatchWriter, FolderError> {
        let path = dir.join(WATCH_FILE);
        let file = OpenOptions::new().create_new(true).append(true).open(&path);
        Ok(WatchWriter { file: file.map_err(|source| FolderError::Write { path, source })? })
    }

    /// Writes the next sample. A disk that is full loses it, and the run goes on.
    pub fn write(&mut self, sample: &WatchSample) {
        if let Ok(mut line) = serde_json::to_string(sample) {
            line.push('\n');
            let _ = self.file.write_all(line.as_bytes());
        }
    }
}

/// Every whole sample of a run; none where nothing was watched. A line that was cut off by the run's death is left out.
pub(super) fn read_watch(dir: &Path) -> Vec<WatchSample> {
    let text = bounded::read_text(&dir.join(WATCH_FILE), DOCUMENT_BYTES_MAX).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
