//! What a section says, whatever shows it: a terminal, a page, Markdown. Sections of a run stand in [`run`]
//! and [`apart`].

pub(crate) mod apart;
pub(crate) mod journeys;
pub(crate) mod markdown;
pub(crate) mod run;

/// What a stretch of text means; its colour follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Paint {
    Plain,
    Bold,
    Dim,
    Response,
    Service,
    Finding,
    Failure,
    Good,
    Bad,
}

/// A cell or a piece of a line.
pub(crate) type Span = (Paint, String);

/// Where a column's text stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A heading and what stands below it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    /// Its class on a page.
    pub(crate) class: &'static str,
    /// The heading.
    pub(crate) name: &'static str,
    /// What is said beside the heading; may be empty.
    pub(crate) note: String,
    pub(crate) blocks: Vec<Block>,
}

/// One thing in a section.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    /// A sentence, or several.
    Line(Paint, String),
    /// Names and their figures, a line of a terminal and a table of a page: `sent 100/s · achieved 99/s`.
    Pairs(Vec<(String, String)>),
    /// The same of counts: `50 opened · 12 peak`.
    Counts(Vec<(String, String)>),
    Table(Table),
}

/// The first column has the names of the rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    /// Empty where the columns need no names.
    pub(crate) head: Vec<Span>,
    pub(crate) align: Vec<Align>,
    pub(crate) rows: Vec<Vec<Span>>,
}

impl Table {
    /// The head, if there is one, and the rows below it.
    pub(crate) fn lines(&self) -> Vec<Vec<Span>> {
        let head = (!self.head.is_empty()).then(|| self.head.clone());
        head.into_iter().chain(self.rows.iter().cloned()).collect()
    }
}

/// How much stands beside each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Room {
    /// A terminal of less than 78 columns.
    Narrow,
    /// A terminal.
    Terminal,
    /// A page, whose tables can be moved sideways.
    Page,
}

impl Room {
    /// Rows of a table of which there may be any number; what is left out is counted in a line.
    pub(crate) fn rows_max(self) -> usize {
        if self == Room::Page { 60 } else { 20 }
    }
}

pub(crate) fn plain(text: impl Into<String>) -> Span {
    (Paint::Plain, text.into())
}

pub(crate) fn dim(text: impl Into<String>) -> Span {
    (Paint::Dim, text.into())
}
