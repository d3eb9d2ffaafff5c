//! Data that is too large for memory. It is written once to a file without a name and then read as if it were memory.

#![allow(unsafe_code)] // Mapping a file has no safe interface.

use memmap2::Mmap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use unblink_core::recorded::Bytes;

/// A file that is being written.
#[derive(Debug)]
pub struct Spill {
    out: BufWriter<File>,
    length: u64,
}

/// `TMPDIR`, or else the folder for large files: `/tmp` is in memory on many machines.
fn folder() -> PathBuf {
    let large = PathBuf::from("/var/tmp");
    let usual = || if large.is_dir() { large } else { std::env::temp_dir() };
    std::env::var_os("TMPDIR").map_or_else(usual, PathBuf::from)
}

impl Spill {
    /// An empty file in `TMPDIR`, or else in `/var/tmp`.
    ///
    /// # Errors
    /// The file can't be made.
    pub fn new() -> io::Result<Spill> {
        Ok(Spill { out: BufWriter::new(tempfile::tempfile_in(folder())?), length: 0 })
    }

    /// How many bytes were written.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns what was written. The file is deleted when the returned bytes are dropped.
    ///
    /// # Errors
    /// The rest can't be written, or the file can't be mapped.
    pub fn finish(self) -> io::Result<Bytes> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        if self.length == 0 {
            return Ok(Arc::new(Vec::new()));
        }
        // SAFETY: The file has no name and its descriptor is dropped here, so nobody can change it or cut it short.
        let mapped = unsafe { Mmap::map(&file)? };
        Ok(Arc::new(mapped))
    }
}

impl Write for Spill {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut spill = Spill::new().unwrap();
        let all: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        for part in all.chunks(7_777) {
            spill.write_all(part).unwrap();
        }
        assert_eq!(spill.length(), all.len() as u64);
        assert_eq!((*spill.finish().unwrap()).as_ref(), all);
        assert!((*Spill::new().unwrap().finish().unwrap()).as_ref().is_empty());
    }
}
