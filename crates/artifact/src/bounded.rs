//! Files of a folder, which may come from anybody: read no further than to a limit, since what is named may have no end.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

/// Of `run.json`: a document lists no more than somebody reads.
pub const DOCUMENT_BYTES_MAX: u64 = 256 << 20;
/// Of what a search has left.
pub const SEARCH_BYTES_MAX: u64 = 64 << 20;
/// Of what a person writes, or what says only how something was begun.
pub const SMALL_BYTES_MAX: u64 = 1 << 20;
/// Of one line of what is read line by line.
pub(crate) const LINE_BYTES_MAX: u64 = 64 << 20;

/// The text of a file of at most `bytes_max` bytes; a longer one is refused.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(too_long("it", bytes_max));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Takes the next line, with what ends it; gives its length.
pub(crate) fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let read = from.take(LINE_BYTES_MAX + 1).read_until(b'\n', line)?;
    if read as u64 > LINE_BYTES_MAX { Err(too_long("a line of it", LINE_BYTES_MAX)) } else { Ok(read) }
}

fn too_long(what: &str, bytes_max: u64) -> io::Error {
    let said = format!(
        "{what} has more than {bytes_max} bytes, which is the most that is read of it, and more than unblink writes: \
         put the right file in its place"
    );
    io::Error::new(io::ErrorKind::FileTooLarge, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        let error = read_text(Path::new("/dev/zero"), 1 << 16).unwrap_err();
        assert!(error.to_string().contains("more than 65536 bytes"), "{error}");
        assert_eq!(read_text(Path::new("/dev/null"), 0).unwrap(), "");
        let mut line = Vec::new();
        assert_eq!(read_line(&mut &b"one\ntwo"[..], &mut line).unwrap(), 4);
    }
}
