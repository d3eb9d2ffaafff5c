//! GoReplay's files: records between lines of three monkeys. The first line of a record says its kind, its id and its time
//! in ns; a request follows as it was received.

use super::{Got, Seen, take_header};
use crate::Unreadable;
use crate::entry::Entry;
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
    Headers,
    /// A body, or a record that is no request.
    Rest,
}

pub(super) fn each<E: From<io::Error>>(
    input: &mut impl BufRead,
    keep: &[String],
    user: Option<&str>,
    see: &mut impl FnMut(Seen<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut line, mut first, mut entry) = (Vec::new(), Vec::new(), Entry::default());
    let (mut at, mut got) = (At::First, Ok(Got::Request));
    while let Some(kind) = lines::next(input, &mut line)? {
        if line == BETWEEN {
            if at != At::First {
                // A request ends its headers with an empty line.
                let is_cut = got == Ok(Got::Request) && at != At::Rest;
                see(Seen {
                    got: if is_cut { Err(Unreadable::Format) } else { got },
                    entry: &mut entry,
                    text: &first,
                })?;
            }
            at = At::First;
            continue;
        }
        match at {
            At::First if line.is_empty() => {}
            At::First => {
                entry.clear();
                first.clone_from(&line);
                got = begin(&line, &mut entry);
                at = if got == Ok(Got::Request) { At::RequestLine } else { At::Rest };
            }
            At::RequestLine => {
                if kind == Line::TooLong {
                    got = Err(Unreadable::TooLong);
                } else if !entry.request_line(&line) {
                    got = Ok(Got::NoRequest);
                }
                at = if got == Ok(Got::Request) { At::Headers } else { At::Rest };
            }
            At::Headers if line.is_empty() => at = At::Rest,
            At::Headers => {
                let text = String::from_utf8_lossy(&line);
                if let Some((name, value)) = text.split_once(':') {
                    let value = value.trim();
                    if name.eq_ignore_ascii_case("content-length") {
                        entry.request_bytes = digits(value.as_bytes());
                    }
                    take_header(&mut entry, keep, user, name, value);
                }
            }
            At::Rest => {}
        }
    }
    if at != At::First {
        see(Seen { got: Err(Unreadable::Cut), entry: &mut entry, text: &first })?;
    }
    Ok(())
}

/// `1 ID TIME`, with more behind it in some versions.
fn begin(line: &[u8], entry: &mut Entry) -> Result<Got, Unreadable> {
    let mut words = line.split(|byte| *byte == b' ');
    match words.next() {
        Some(b"1") => {}
        // An answer, or one to a replayed request.
        Some(b"2" | b"3") => return Ok(Got::NoRequest),
        _ => return Err(Unreadable::Format),
    }
    let time = words.nth(1).and_then(digits).and_then(|ns| i64::try_from(ns).ok());
    entry.stamp = Some(time.ok_or(Unreadable::Time)?);
    Ok(Got::Request)
}
