//! Files that a user names, read no further than to a limit: what is named may have no end, as `/dev/zero`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// All of a file of at most `bytes_max` bytes; a longer one is refused.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_from(File::open(path)?, bytes_max)
}

/// The same from what is open already.
pub fn read_from(reader: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let what = format!("it has more than {bytes_max} bytes, which is the most that is read of it");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        let error = read(Path::new("/dev/zero"), 1 << 16).unwrap_err();
        assert!(error.to_string().contains("more than 65536 bytes"), "{error}");
        assert_eq!(read_from(&[7; 9][..], 9).unwrap(), [7; 9]);
        assert!(read_from(&[7; 9][..], 8).is_err());
        assert_eq!(read(Path::new("/dev/null"), 0).unwrap(), b"");
    }
}
