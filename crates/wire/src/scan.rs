//! Finds the end of a head that arrives in pieces, looking at each byte once.
//!
//! httparse starts again at byte 0 on each call, so that a head sent byte by byte would cost quadratic
//! time. It is therefore called once, when this scanner has seen the empty line. The scanner also
//! refuses what httparse would take without limit (leading empty lines) and what is no HTTP/1 at all,
//! at the byte that shows it: a server of another protocol may never send an empty line.

use crate::ProtocolError;

/// Empty lines skipped before a status line. RFC 9112 §2.2 has servers skip at least one before a
/// request; some servers send one too many after a body, none needs more than a few.
pub(crate) const EMPTY_LINES_MAX: u8 = 4;

/// Where the scan of one head stands between two pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanner {
    state: State,
    empty_lines: u8,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before the status line, at the start of a line.
    Lead,
    /// After a CR before the status line.
    LeadCr,
    /// This many bytes (1..=7) of `HTTP/1.` and the minor version have matched.
    Version(u8),
    /// Inside a line.
    Line,
    /// At the start of a line after the status line.
    LineStart,
    /// After a CR at the start of a line.
    LineStartCr,
}

const VERSION: &[u8; 7] = b"HTTP/1.";
/// Bytes of `VERSION` before the numbers: a mismatch within is not HTTP, one after another version.
const SCHEME_LEN: u8 = 5;

impl Scanner {
    pub(crate) const fn new() -> Scanner {
        Scanner { state: State::Lead, empty_lines: 0 }
    }

    /// Goes on with the next piece. Returns the offset just after the empty line that ends the head,
    /// or `None` if the piece does not contain it.
    pub(crate) fn scan(&mut self, piece: &[u8]) -> Result<Option<usize>, ProtocolError> {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            at += 1;
            self.state = match self.state {
                State::Line => {
                    // The bulk of a head is skipped a line at a time.
                    let Some(offset) = piece[at - 1..].iter().position(|&b| b == b'\n') else {
                        return Ok(None);
                    };
                    at += offset;
                    State::LineStart
                }
                State::LineStart => match byte {
                    b'\n' => return Ok(Some(at)),
                    b'\r' => State::LineStartCr,
                    _ => State::Line,
                },
                State::LineStartCr => match byte {
                    b'\n' => return Ok(Some(at)),
                    _ => State::Line,
                },
                State::Lead => match byte {
                    b'\n' => self.empty_line()?,
                    b'\r' => State::LeadCr,
                    byte if byte == VERSION[0] => State::Version(1),
                    _ => return Err(ProtocolError::NotHttp),
                },
                State::LeadCr => match byte {
                    b'\n' => self.empty_line()?,
                    _ => return Err(ProtocolError::NotHttp),
                },
                State::Version(matched) => match VERSION.get(usize::from(matched)) {
                    Some(&expected) if byte == expected => State::Version(matched + 1),
                    Some(_) if matched < SCHEME_LEN => return Err(ProtocolError::NotHttp),
                    None if matches!(byte, b'0' | b'1') => State::Line,
                    _ => return Err(ProtocolError::UnsupportedVersion),
                },
            };
        }
        Ok(None)
    }

    fn empty_line(&mut self) -> Result<State, ProtocolError> {
        if self.empty_lines == EMPTY_LINES_MAX {
            return Err(ProtocolError::TooManyEmptyLines);
        }
        self.empty_lines += 1;
        Ok(State::Lead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Result<Option<usize>, ProtocolError>) {
        assert_eq!(Scanner::new().scan(bytes), expected);
        for cut in 0..=bytes.len() {
            let mut scanner = Scanner::new();
            let whole = match scanner.scan(&bytes[..cut]) {
                Ok(None) => scanner.scan(&bytes[cut..]).map(|end| end.map(|end| end + cut)),
                early => early,
            };
            assert_eq!(whole, expected, "cut at {cut}");
        }
    }

    #[test]
    fn finds_the_empty_line_wherever_it_is_cut() {
        check(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\n", Ok(Some(25)));
        check(b"HTTP/1.1 200 OK\nA: b\n\nbody", Ok(Some(22)));
        check(b"\r\n\nHTTP/1.0 200\r\n\n", Ok(Some(18)));
        check(b"HTTP/1.1 200 OK\r\nA: b\r\n\r", Ok(None));
        check(b"HTTP/1.1 200 OK\r\n\rA: b\r\n\r\n", Ok(Some(26)));
        check(b"", Ok(None));
    }

    #[test]
    fn refuses_another_protocol_at_the_first_byte_that_shows_it() {
        check(b"S", Err(ProtocolError::NotHttp));
        check(b"\rH", Err(ProtocolError::NotHttp));
        check(b"HTTPS", Err(ProtocolError::NotHttp));
        check(b"HTTP/2", Err(ProtocolError::UnsupportedVersion));
        check(b"HTTP/1.2", Err(ProtocolError::UnsupportedVersion));
        check(b"HTTP/1 2", Err(ProtocolError::UnsupportedVersion));
        check(b"\n\n\n\n", Ok(None));
        check(b"\n\n\n\n\n", Err(ProtocolError::TooManyEmptyLines));
    }
}
