//! The files that a command line and its plan were read from, so that whoever reads them again later can tell whether they
//! are still the same.

use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static READ: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Takes note of a file that is read.
pub(crate) fn note(path: &Path) {
    READ.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_path_buf());
}

/// What is read from now on is another command's.
pub(crate) fn forget() {
    READ.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// The first of the files read so far that was written later than `at`, by the file system's account.
pub(crate) fn changed_since(at: Timestamp) -> Option<PathBuf> {
    let all = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let is_later = |path: &&PathBuf| {
        let modified = std::fs::metadata(path).and_then(|known| known.modified()).ok();
        modified.and_then(|modified| Timestamp::try_from(modified).ok()).is_some_and(|modified| modified > at)
    };
    all.iter().find(is_later).cloned()
}

/// All files read so far, in their order.
pub(crate) fn all() -> Vec<PathBuf> {
    READ.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The first of them that is none of those.
pub(crate) fn other_than(is_known: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    all().into_iter().find(|path| !is_known(path))
}
