//! Formats of logs: text by a pattern, JSON Lines, HAR, GoReplay. Each turns its input into entries, one at a time.

mod answers;
mod apache;
mod error;
mod field;
mod fixed;
mod gor;
mod har;
mod json;
mod map;
mod nginx;
mod pattern;

pub use apache::apache;
pub use error::FormatError;
pub use fixed::{alb, combined_or_common, envoy};
pub use json::JsonLines;
pub use map::Map;
pub use nginx::nginx;
pub use pattern::Pattern;

use crate::Unreadable;
use crate::counts::AnswerIs;
use crate::entry::Entry;
use crate::lines::{self, Line};
use std::io::{self, BufRead};

/// What the time of a line is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Edge {
    /// Not known.
    Unknown,
    /// The end of the answer.
    End,
    /// The start of the request.
    Start,
}

/// A format.
#[derive(Clone, Debug)]
pub enum Source {
    /// Lines of text.
    Lines(Pattern),
    /// An object in each line.
    Json(JsonLines),
    /// An HTTP archive, as browsers save it. The header tells users apart, if there is one.
    Har(Option<String>),
    /// Requests that GoReplay recorded; likewise.
    Gor(Option<String>),
}

/// What a line, or a record, came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Got {
    /// The entry is a request.
    Request,
    /// It is of a connection that sent none, or a record of something else.
    NoRequest,
    /// It is empty or a comment.
    Blank,
    /// It is an answer, which a request has taken over or not.
    Answer(AnswerIs),
}

/// A record, and the text that it was read from, as far as there is one.
pub(crate) struct Seen<'a> {
    pub(crate) got: Result<Got, Unreadable>,
    pub(crate) entry: &'a mut Entry,
    pub(crate) text: &'a [u8],
}

impl Source {
    /// HAR, with the header that tells users apart.
    ///
    /// # Errors
    /// The map names something else.
    pub fn har(map: &Map) -> Result<Source, FormatError> {
        Ok(Source::Har(map.user_header()?))
    }

    /// GoReplay, likewise.
    ///
    /// # Errors
    /// The map names something else.
    pub fn gor(map: &Map) -> Result<Source, FormatError> {
        Ok(Source::Gor(map.user_header()?))
    }

    /// What the time of a line is.
    pub fn edge(&self) -> Edge {
        match self {
            Source::Lines(pattern) => pattern.edge(),
            Source::Json(json) => json.edge(),
            Source::Har(_) | Source::Gor(_) => Edge::Start,
        }
    }

    /// Calls `see` with every record of the input until it fails. `keep` names the headers that entries shall have.
    pub(crate) fn each<E: From<io::Error>>(
        &mut self,
        input: &mut impl BufRead,
        keep: &[String],
        see: &mut impl FnMut(Seen<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Source::Lines(pattern) => {
                let ends_itself = pattern.ends_itself();
                each_line(input, ends_itself, |line, entry| pattern.read(line, entry), see)
            }
            // An object is closed or it is none.
            Source::Json(json) => each_line(input, true, |line, entry| json.read(line, entry), see),
            Source::Har(user) => har::each(input, keep, user.as_deref(), see),
            Source::Gor(user) => gor::each(input, keep, user.as_deref(), see),
        }
    }
}

/// Reads lines. The last one without an end is taken only where a cut one can't be mistaken for a whole one.
fn each_line<E: From<io::Error>>(
    input: &mut impl BufRead,
    ends_itself: bool,
    mut read: impl FnMut(&[u8], &mut Entry) -> Result<Got, Unreadable>,
    see: &mut impl FnMut(Seen<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut line, mut entry) = (Vec::new(), Entry::default());
    while let Some(kind) = lines::next(input, &mut line)? {
        entry.clear();
        let got = match kind {
            Line::TooLong => Err(Unreadable::TooLong),
            _ if line.iter().all(u8::is_ascii_whitespace) || line[0] == b'#' => Ok(Got::Blank),
            Line::Unended if !ends_itself => Err(Unreadable::Cut),
            Line::Unended => read(&line, &mut entry).map_err(|_| Unreadable::Cut),
            Line::Whole => read(&line, &mut entry),
        };
        see(Seen { got, entry: &mut entry, text: &line })?;
    }
    Ok(())
}

/// A header of a whole request, as HAR and GoReplay have them.
fn take_header(entry: &mut Entry, keep: &[String], user: Option<&str>, name: &str, value: &str) {
    const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    entry.has_credentials |= CREDENTIALS.into_iter().any(is);
    if user.is_some_and(is) {
        entry.address.extend_from_slice(value.as_bytes());
    }
    if keep.iter().any(|kept| is(kept)) {
        entry.headers.push((name.to_ascii_lowercase(), value.to_string()));
    }
}
