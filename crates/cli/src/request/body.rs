//! Bodies from files: each file is read once, however many requests send it, and none without end.

use crate::inputs;
use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Of one body.
const BYTES_MAX: u64 = 256 << 20;
/// Of all bodies of a run, which are in memory at the same time.
const BYTES_MAX_ALL: u64 = 1 << 30;

/// The files that were read.
#[derive(Default)]
pub(crate) struct BodyFiles {
    read: HashMap<PathBuf, Arc<[u8]>>,
    bytes: u64,
}

impl BodyFiles {
    /// What is in the file.
    pub(crate) fn read(&mut self, path: &Path) -> Result<Arc<[u8]>> {
        if let Some(body) = self.read.get(path) {
            return Ok(body.clone());
        }
        let read = inputs::read(path, BYTES_MAX);
        let body: Arc<[u8]> = read.with_context(|| format!("can't read the body file {path:?}"))?.into();
        self.bytes += body.len() as u64;
        if self.bytes > BYTES_MAX_ALL {
            bail!("with {path:?} the bodies of this run have more than {BYTES_MAX_ALL} bytes together");
        }
        self.read.insert(path.to_path_buf(), body.clone());
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("body");
        std::fs::write(&path, b"hello").unwrap();
        let mut files = BodyFiles::default();
        let (one, other) = (files.read(&path).unwrap(), files.read(&path).unwrap());
        assert!(Arc::ptr_eq(&one, &other) && *one == *b"hello");
        let error = files.read(Path::new("/dev/zero")).unwrap_err();
        assert!(format!("{error:#}").contains("more than 268435456 bytes"), "{error:#}");
    }
}
