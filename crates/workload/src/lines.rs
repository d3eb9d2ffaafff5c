//! A file, line by line.

use std::io::{BufRead, BufReader, Read};

use crate::error::Fault;

/// Reads lines and knows their numbers.
pub(crate) struct Lines<'a> {
    reader: BufReader<Box<dyn Read + 'a>>,
    line: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(reader: Box<dyn Read + 'a>) -> Lines<'a> {
        Lines { reader: BufReader::with_capacity(1 << 16, reader), line: Vec::new(), number: 0 }
    }

    /// The next line that is not blank, with its number from 1 and without its end (LF or CR LF). A mark at the file's start
    /// that says "UTF-8" is no part of the first line.
    ///
    /// # Errors
    /// The file can't be read, or the line is not UTF-8.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &str)>, Fault> {
        loop {
            self.line.clear();
            if self.reader.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            let start = if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            self.line.drain(..start);
            if !self.line.iter().all(u8::is_ascii_whitespace) {
                break;
            }
        }
        let line = std::str::from_utf8(&self.line).map_err(|_| Fault::at(self.number, NOT_UTF8))?;
        let line = line.strip_suffix('\n').unwrap_or(line);
        Ok(Some((self.number, line.strip_suffix('\r').unwrap_or(line))))
    }
}

pub(crate) const NOT_UTF8: &str = "this is not UTF-8; convert the file, with `iconv -t UTF-8` for instance";
