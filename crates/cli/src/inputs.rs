//! The files that a command line and its plan were read from, so that whoever reads them again later can tell whether they
//! are still the same.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

static READ: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Takes note of a file that is read.
pub(crate) fn note(path: &Path) {
    READ.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_path_buf());
}

/// The first of the files read so far that was written later than `at`, by the file system's account.
pub(crate) fn changed_since(at: SystemTime) -> Option<PathBuf> {
    let all = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let is_later = |path: &&PathBuf| {
        let modified = std::fs::metadata(path).and_then(|known| known.modified());
        modified.is_ok_and(|modified| modified > at)
    };
    all.iter().find(is_later).cloned()
}
