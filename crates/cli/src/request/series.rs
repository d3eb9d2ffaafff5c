//! Requests of which one line of text is not all: several commands or statements in turn, and what must be found.

use super::Request;
use std::ops::Range;

/// What the lines of a request's text come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Series {
    /// The first line asks for something that must be there.
    pub must_find: bool,
    pub then: Then,
    /// A statement has the number of a column behind the name of it: `FIELD{{field}}` or `field{{field}}`, of so many.
    pub columns: u32,
}

/// What follows the first line, once it is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    Nothing,
    /// The second line.
    Line,
    /// `HGETALL` of each value of the answer.
    Each,
}

impl Series {
    /// Nothing is asked twice that may change something.
    pub(super) fn is_reading(self) -> bool {
        self.then != Then::Line
    }

    /// The first line of `text`, and the second if there is one.
    pub(super) fn lines(text: &str) -> (&str, Option<&str>) {
        text.split_once('\n').map_or((text, None), |(first, second)| (first, Some(second)))
    }
}

/// The place behind the name of a column, and where it stands.
pub(super) fn column_in(line: &str) -> Option<(u32, Range<usize>)> {
    let name = ["FIELD{{", "field{{"].into_iter().find_map(|name| Some(line.find(name)? + name.len()))?;
    let end = name + line[name..].find("}}")?;
    Some((line[name..end].parse().ok()?, name - 2..end + 2))
}

/// The request may be several in turn, of which one changes something.
pub(super) fn may_change(request: &Request) -> bool {
    request.parts.series.is_some_and(|series| !series.is_reading())
}
