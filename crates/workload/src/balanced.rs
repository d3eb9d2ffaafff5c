//! CSV whose quotes are balanced: a quote that is never closed would swallow rows, and nobody would know.

use std::fmt;
use std::io::{self, Read};

/// Passes CSV on (RFC 4180), and fails with [`Unbalanced`] inside where a quoted field has no end, or is not at its end
/// when it is closed. The csv crate takes both in silence.
#[derive(Debug)]
pub struct Balanced<R> {
    reader: R,
    state: State,
    line: u64,
    /// Where the last field in quotes begins.
    opened: u64,
}

/// A field in quotes that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unbalanced {
    /// Of the quote that opens it, from 1.
    pub line: u64,
    is_closed: bool,
}

impl fmt::Display for Unbalanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.is_closed {
            true => {
                "a field begins with a quote here, and goes on after the closing quote: write a quote that is meant \
                 as it is twice"
            }
            false => "the quote at the beginning of a field in this line is never closed",
        })
    }
}

impl std::error::Error for Unbalanced {}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// So many bytes of a byte order mark have been read.
    Mark(usize),
    FieldStart,
    Plain,
    Quoted,
    /// Behind a quote in a quoted field: it ends the field, or is the first of two.
    Quote,
}

const MARK: &[u8; 3] = b"\xef\xbb\xbf";

impl<R> Balanced<R> {
    /// Of CSV from its first byte on.
    pub fn new(reader: R) -> Balanced<R> {
        Balanced { reader, state: State::Mark(0), line: 1, opened: 0 }
    }

    fn take(&mut self, byte: u8) -> Result<(), Unbalanced> {
        self.state = match (self.state, byte) {
            (State::Mark(read), byte) if MARK.get(read) == Some(&byte) => State::Mark(read + 1),
            (State::Quoted, b'"') => State::Quote,
            (State::Quoted, _) | (State::Quote, b'"') => State::Quoted,
            (_, b',' | b'\n' | b'\r') => State::FieldStart,
            (State::Quote, _) => return Err(Unbalanced { line: self.opened, is_closed: true }),
            (State::FieldStart | State::Mark(_), b'"') => {
                self.opened = self.line;
                State::Quoted
            }
            _ => State::Plain,
        };
        self.line += u64::from(byte == b'\n');
        Ok(())
    }
}

impl<R: Read> Read for Balanced<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(out)?;
        let balanced = match read {
            0 if self.state == State::Quoted && !out.is_empty() => {
                Err(Unbalanced { line: self.opened, is_closed: false })
            }
            _ => out[..read].iter().try_for_each(|&byte| self.take(byte)),
        };
        balanced.map(|()| read).map_err(|unbalanced| io::Error::new(io::ErrorKind::InvalidData, unbalanced))
    }
}

impl Unbalanced {
    /// What an error of [`Balanced`] holds, if it is no other.
    pub fn in_error(error: &io::Error) -> Option<Unbalanced> {
        error.get_ref()?.downcast_ref().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<(u64, bool)> {
        let mut read = Vec::new();
        match Balanced::new(text.as_bytes()).read_to_end(&mut read) {
            Ok(_) => {
                assert_eq!(read, text.as_bytes());
                None
            }
            Err(error) => {
                let Unbalanced { line, is_closed } = Unbalanced::in_error(&error).expect("no other error");
                Some((line, is_closed))
            }
        }
    }

    #[test]
    fn quotes_have_their_ends() {
        for text in
            ["", "a,b\n\"1\",\"2\"\n", "\u{feff}\"a\"\n", "\"a\"\"b\r\n\",\"\"", "5\",7\"\n", "\"\"\"\""]
        {
            assert_eq!(line(text), None, "{text:?}");
        }
        for (text, expected) in [
            ("a\n\"b\nc\nd\n", (2, false)),
            ("a\n1,\"ann\n2,bob\n3,\"carl\"\n", (2, true)),
            ("\u{feff}\"a\n", (1, false)),
            ("\"a\"\n\"b\" ,c\n", (2, true)),
            ("\"\"\"", (1, false)),
        ] {
            assert_eq!(line(text), Some(expected), "{text:?}");
        }
    }
}
