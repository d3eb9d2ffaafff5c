//! GoReplay's files: records between lines of three monkeys. The first line of a record says its kind, its id and its time
//! in ns; a request, or an answer, follows as it was received.

use super::answers::{Record, Role, Waiting};
use super::{Got, Seen, take_header};
use crate::Unreadable;
use crate::counts::AnswerIs;
use crate::lines::{self, Line};
use crate::time::digits;
use std::io::{self, BufRead};

/// Between two records.
const BETWEEN: &[u8] = "🐵🙈🙉".as_bytes();

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// The line of a record that says what it is.
    First,
    RequestLine,
    StatusLine,
    Headers,
    /// A body, or a record of something else.
    Rest,
}

/// Why records end before their input does.
enum Stopped<E> {
    Input(io::Error),
    /// Whoever sees them has had enough.
    Other(E),
}

impl<E> From<io::Error> for Stopped<E> {
    fn from(error: io::Error) -> Stopped<E> {
        Stopped::Input(error)
    }
}

pub(super) fn each<E: From<io::Error>>(
    input: &mut impl BufRead,
    keep: &[String],
    user: Option<&str>,
    see: &mut impl FnMut(Seen<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut waiting = Waiting::default();
    let mut read = Reading { keep, user, record: Record::default(), at: At::First, size: Size::default() };
    let ended = read.all(input, &mut |record| waiting.push(record, see).map_err(Stopped::Other));
    if let Err(Stopped::Other(error)) = ended {
        return Err(error);
    }
    // Those of an input that breaks off are as good as any.
    waiting.finish(see)?;
    match ended {
        Err(Stopped::Input(error)) => Err(error.into()),
        _ => Ok(()),
    }
}

struct Reading<'a> {
    keep: &'a [String],
    user: Option<&'a str>,
    record: Record,
    at: At,
    size: Size,
}

impl Reading<'_> {
    fn all<E>(
        &mut self,
        input: &mut impl BufRead,
        take: &mut impl FnMut(&mut Record) -> Result<(), Stopped<E>>,
    ) -> Result<(), Stopped<E>> {
        let mut line = Vec::new();
        while let Some((kind, bytes)) = lines::next_with_length(input, &mut line)? {
            if line == BETWEEN {
                if self.at != At::First {
                    self.end();
                    take(&mut self.record)?;
                }
                self.at = At::First;
                continue;
            }
            self.line(kind, &line, bytes);
        }
        if self.at != At::First {
            (self.record.role, self.record.got) = (Role::Other, Err(Unreadable::Cut));
            take(&mut self.record)?;
        }
        Ok(())
    }

    /// A line of a record, which takes so many bytes with its end.
    fn line(&mut self, kind: Line, line: &[u8], bytes: u64) {
        let Record { got, entry, role, .. } = &mut self.record;
        match self.at {
            At::First if line.is_empty() => {}
            At::First => {
                self.record.begin(line);
                self.size = Size::default();
                self.at = match (self.record.role, self.record.got) {
                    (Role::Request, Ok(_)) => At::RequestLine,
                    (Role::Answer { .. }, Ok(_)) => At::StatusLine,
                    _ => At::Rest,
                };
            }
            At::RequestLine | At::StatusLine => {
                if kind == Line::TooLong {
                    *got = Err(Unreadable::TooLong);
                } else if self.at == At::StatusLine {
                    entry.status = status(line);
                    let is_answer = entry.status.is_some();
                    *got = if is_answer { *got } else { Err(Unreadable::Format) };
                } else if !entry.request_line(line) {
                    *got = Ok(Got::NoRequest);
                }
                let is_one = matches!(got, Ok(Got::Request | Got::Answer(_)));
                *role = if is_one { *role } else { Role::Other };
                self.at = if is_one { At::Headers } else { At::Rest };
            }
            At::Headers if line.is_empty() => self.at = At::Rest,
            At::Headers => {
                let text = String::from_utf8_lossy(line);
                let Some((name, value)) = text.split_once(':') else { return };
                let value = value.trim();
                match role {
                    Role::Request => {
                        if name.eq_ignore_ascii_case("content-length") {
                            entry.request_bytes = digits(value.as_bytes());
                        }
                        take_header(entry, self.keep, self.user, name, value);
                    }
                    _ => self.size.header(name, value),
                }
            }
            At::Rest => self.size.body(line, bytes),
        }
    }

    /// The record is whole.
    fn end(&mut self) {
        let Record { got, entry, role, .. } = &mut self.record;
        // Headers end with an empty line.
        if *role != Role::Other && self.at != At::Rest {
            (*role, *got) = (Role::Other, Err(Unreadable::Format));
        }
        if let Role::Answer { .. } = role {
            let has_body = !matches!(entry.status, Some(100..200 | 204 | 304));
            entry.answer_bytes = if has_body { self.size.all() } else { Some(0) };
            if matches!(entry.status, Some(100 | 102..200)) {
                (*role, *got) = (Role::Other, Ok(Got::Answer(AnswerIs::Interim)));
            }
        }
    }
}

impl Record {
    /// `1 ID TIME` of a request, `2 ID TIME LENGTH` of an answer: when it began, and how long it took to come.
    fn begin(&mut self, line: &[u8]) {
        self.clear(line);
        let mut words = line.split(|byte| *byte == b' ');
        let kind = words.next();
        let id = words.next().unwrap_or_default();
        let ns = words.next().and_then(digits).and_then(|ns| i64::try_from(ns).ok());
        (self.role, self.got) = match kind {
            Some(b"1") => (Role::Request, Ok(Got::Request)),
            Some(b"2") => {
                (Role::Answer { length: words.next().and_then(digits) }, Ok(Got::Answer(AnswerIs::Stray)))
            }
            Some(b"3") => (Role::Other, Ok(Got::Answer(AnswerIs::OfReplay))),
            _ => (Role::Other, Err(Unreadable::Format)),
        };
        if self.role == Role::Other {
            return;
        }
        self.set_id(id);
        self.entry.stamp = ns;
        if ns.is_none() {
            (self.role, self.got) = (Role::Other, Err(Unreadable::Time));
        }
    }
}

/// The status of `HTTP/1.1 200 OK`.
fn status(line: &[u8]) -> Option<u16> {
    let mut words = line.split(|byte| *byte == b' ');
    words.next().filter(|version| version.starts_with(b"HTTP/"))?;
    let status = words.next().filter(|status| status.len() == 3).and_then(digits)?;
    (100..1_000).contains(&status).then_some(status as u16)
}

/// The size of an answer's body, as far as its record tells.
#[derive(Default)]
struct Size {
    /// As announced. GoReplay may have kept less.
    length: Option<u64>,
    is_chunked: bool,
    /// Bytes of the body as it came, and of the line end behind it.
    bytes: u64,
    /// Of whole chunks.
    chunks: u64,
    /// What is left of a chunk and its line end.
    left: u64,
    /// The last chunk has come; the next line is none that a body of chunks has.
    is_over: bool,
    is_broken: bool,
}

impl Size {
    fn header(&mut self, name: &str, value: &str) {
        if name.eq_ignore_ascii_case("content-length") {
            self.length = digits(value.as_bytes());
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            self.is_chunked = value.to_ascii_lowercase().ends_with("chunked");
        }
    }

    fn body(&mut self, line: &[u8], bytes: u64) {
        self.bytes += bytes;
        if !self.is_chunked || self.is_over || self.is_broken {
            return;
        }
        if self.left > 0 {
            // A chunk ends where a line does.
            self.is_broken = bytes > self.left;
            self.left = self.left.saturating_sub(bytes);
            return;
        }
        let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let size = std::str::from_utf8(digits).ok().and_then(|text| u64::from_str_radix(text, 16).ok());
        match size.filter(|size| *size < 1 << 40) {
            Some(0) => self.is_over = true,
            Some(size) => {
                self.chunks += size;
                self.left = size + 2;
            }
            None => self.is_broken = true,
        }
    }

    fn all(&self) -> Option<u64> {
        match (self.is_chunked, self.length) {
            (true, _) => (self.is_over && !self.is_broken).then_some(self.chunks),
            (false, Some(length)) => Some(length),
            (false, None) => Some(self.bytes.saturating_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(headers: &[(&str, &str)], body: &str) -> Option<u64> {
        let mut size = Size::default();
        headers.iter().for_each(|(name, value)| size.header(name, value));
        // A record ends with a line end of its own.
        for line in format!("{body}\n").split_inclusive('\n') {
            let text = line.trim_end_matches('\n').trim_end_matches('\r');
            size.body(text.as_bytes(), line.len() as u64);
        }
        size.all()
    }

    #[test]
    fn the_size_of_a_body_is_known_however_it_is_framed() {
        assert_eq!(size(&[("Content-Length", "9")], "cut"), Some(9));
        assert_eq!((size(&[], ""), size(&[], "a\r\nbc\n")), (Some(0), Some(6)));
        let chunked = [("transfer-encoding", "gzip, Chunked")];
        assert_eq!(size(&chunked, "5\r\nab\r\nc\r\n3;x=1\r\n\n\n\n\r\n0\r\nTrailer: a\r\n\r\n"), Some(8));
        assert_eq!(size(&chunked, "0\r\n\r\n"), Some(0));
        for broken in ["", "5\r\nabc", "2\r\nabc\r\n0\r\n\r\n", "x\r\n", "fffffffffffffff\r\n"] {
            assert_eq!(size(&chunked, broken), None, "{broken:?}");
        }
    }

    #[test]
    fn a_status_stands_behind_the_version() {
        assert_eq!((status(b"HTTP/1.1 404 Not Found"), status(b"HTTP/1.0 200")), (Some(404), Some(200)));
        for none in [&b"GET / HTTP/1.1"[..], b"HTTP/1.1", b"HTTP/1.1 20", b"HTTP/1.1 099 A", b""] {
            assert_eq!(status(none), None);
        }
    }
}
