//! When each request came to the responder and when its answer left, in memory while the load runs, then as a file.

use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::Path;

/// One request, as the responder saw it, in ns of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// When its last byte was read.
    pub arrived_ns: u64,
    /// When its answer went to the kernel; `None`: never.
    pub answered_ns: Option<u64>,
}

/// What stands in memory and in the file for an answer that was never sent.
const NEVER: u64 = u64::MAX;

/// Stamps in order of arrival. All memory is touched beforehand: growing would stop the responder for milliseconds.
pub(crate) struct Stamps {
    arrived_ns: Vec<u64>,
    answered_ns: Vec<u64>,
    len: usize,
    /// Requests that found no room.
    overflown: u64,
}

impl Stamps {
    /// Room for `max` requests.
    pub(crate) fn with_room(max: usize) -> Stamps {
        Stamps { arrived_ns: vec![NEVER; max], answered_ns: vec![NEVER; max], len: 0, overflown: 0 }
    }

    /// Notes an arrival; returns its index.
    #[inline]
    pub(crate) fn arrived(&mut self, now_ns: u64) -> usize {
        match self.arrived_ns.get_mut(self.len) {
            Some(slot) => {
                *slot = now_ns;
                self.len += 1;
                self.len - 1
            }
            None => {
                self.overflown += 1;
                self.arrived_ns.len()
            }
        }
    }

    /// Notes the answer to request `index`.
    #[inline]
    pub(crate) fn answered(&mut self, index: usize, now_ns: u64) {
        if let Some(slot) = self.answered_ns.get_mut(index) {
            *slot = now_ns;
        }
    }

    /// Writes pairs of little-endian 64-bit numbers, arrival and answer.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        if self.overflown > 0 {
            bail!("{} requests more than there was room for stamps: ask for more room", self.overflown);
        }
        let file = std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let mut out = std::io::BufWriter::new(file);
        for i in 0..self.len {
            out.write_all(&self.arrived_ns[i].to_le_bytes())?;
            out.write_all(&self.answered_ns[i].to_le_bytes())?;
        }
        out.flush().with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Reads what [`Stamps::write`] wrote.
pub(crate) fn read(path: &Path) -> Result<Vec<Stamp>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (pairs, rest) = bytes.as_chunks::<16>();
    if !rest.is_empty() {
        bail!("{} is cut off: {} bytes are no whole number of stamps", path.display(), bytes.len());
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let stamp = |pair: &[u8; 16]| Stamp {
        arrived_ns: number(&pair[..8]),
        answered_ns: Some(number(&pair[8..])).filter(|&ns| ns != NEVER),
    };
    Ok(pairs.iter().map(stamp).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut stamps = Stamps::with_room(2);
        let first = stamps.arrived(0x0102_0304_0506_0708);
        stamps.arrived(9);
        stamps.answered(first, 11);
        let file = tempfile::NamedTempFile::new().unwrap();
        stamps.write(file.path()).unwrap();
        let expected = [
            Stamp { arrived_ns: 0x0102_0304_0506_0708, answered_ns: Some(11) },
            Stamp { arrived_ns: 9, answered_ns: None },
        ];
        assert_eq!(read(file.path()).unwrap(), expected);
    }

    #[test]
    fn too_many_requests_are_an_error_and_not_a_shorter_list() {
        let mut stamps = Stamps::with_room(1);
        stamps.arrived(1);
        let beyond = stamps.arrived(2);
        stamps.answered(beyond, 3);
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(stamps.write(file.path()).unwrap_err().to_string().starts_with("1 requests more"));
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0; 15]).unwrap();
        assert!(read(file.path()).is_err());
    }
}
