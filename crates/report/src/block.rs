//! What a section says, whatever shows it: a terminal, a page, Markdown. Sections of a run stand in [`run`]
//! and [`apart`].

pub(crate) mod addresses;
pub(crate) mod agents;
pub(crate) mod apart;
pub(crate) mod cross_check;
pub(crate) mod events;
pub(crate) mod journeys;
pub(crate) mod markdown;
pub(crate) mod replayed;
pub(crate) mod run;
pub(crate) mod setup;
pub(crate) mod times;
pub(crate) mod values;

use crate::facts;
use crate::svg::Picture;
use unblink_artifact::document::{Distribution, Finding, ValidityStatus, VerdictStatus};

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

/// How an answer is to be felt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tone {
    Good,
    Doubt,
    Bad,
}

impl Tone {
    pub(crate) fn paint(self) -> Paint {
        match self {
            Tone::Good => Paint::Good,
            Tone::Doubt => Paint::Finding,
            Tone::Bad => Paint::Bad,
        }
    }
}

impl From<ValidityStatus> for Tone {
    fn from(status: ValidityStatus) -> Tone {
        match status {
            ValidityStatus::Valid => Tone::Good,
            ValidityStatus::Degraded => Tone::Doubt,
            ValidityStatus::Invalid => Tone::Bad,
        }
    }
}

impl From<VerdictStatus> for Tone {
    fn from(status: VerdictStatus) -> Tone {
        match status {
            VerdictStatus::Pass => Tone::Good,
            VerdictStatus::Inconclusive => Tone::Doubt,
            VerdictStatus::Fail => Tone::Bad,
        }
    }
}

/// A cell or a piece of a line. On a page, what stands below a line feed is small.
pub(crate) type Span = (Paint, String);

/// Where a column's text stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A heading and what stands below it.
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// A sentence, or several.
    Line(Paint, String),
    /// A sentence behind a mark of one character.
    Marked(Paint, &'static str, String),
    /// Names and their figures, a line of a terminal and a table of a page: `sent 100/s · achieved 99/s`.
    Pairs(Vec<(String, String)>),
    /// The same of counts: `50 opened · 12 peak`.
    Counts(Vec<(String, String)>),
    Table(Table),
    /// Names with their figures, and what each means.
    Named(Vec<[String; 3]>),
    /// What was found, and what to do about it; the numbers behind it.
    Finding(Finding, Vec<(String, String)>),
    /// The name of its file, and the picture. A terminal has none.
    Picture(String, Box<Picture>),
}

/// The first column has the names of the rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    /// Empty where the columns need no names.
    pub(crate) head: Vec<Span>,
    pub(crate) align: Vec<Align>,
    pub(crate) rows: Vec<Vec<Span>>,
    /// What a page says below each row, and the words for it on the command line. Each cell of such a row has its
    /// column's name, for where there is no room for a head. May be empty.
    pub(crate) below: Vec<[String; 2]>,
}

impl Table {
    /// Columns are named by [`left`] and [`right`].
    pub(crate) fn new<const N: usize>(columns: [(Align, &str); N], rows: Vec<Vec<Span>>) -> Table {
        let head = columns.iter().map(|(_, name)| dim(*name)).collect();
        Table::of(head, columns.map(|(align, _)| align).into(), rows)
    }

    /// The same of any number of columns, named in any colour or not at all.
    pub(crate) fn of(head: Vec<Span>, align: Vec<Align>, rows: Vec<Vec<Span>>) -> Table {
        Table { head, align, rows, below: Vec::new() }
    }

    /// Leaves out the column with this name.
    pub(crate) fn without(mut self, name: &str) -> Table {
        if let Some(place) = self.head.iter().position(|(_, text)| text == name) {
            self.align.remove(place);
            self.head.remove(place);
            self.rows.iter_mut().for_each(|row| drop(row.remove(place)));
        }
        self
    }

    /// The head, if there is one, in as many lines as its cells have, and the rows below it.
    pub(crate) fn lines(&self) -> Vec<Vec<Span>> {
        let parts = |text: &str| text.split('\n').map(String::from).collect::<Vec<_>>();
        let height = self.head.iter().map(|(_, text)| parts(text).len()).max().unwrap_or(0);
        let cell = |line: usize, (paint, text): &Span| {
            // What is short stands at the bottom, next to its figures.
            let mut parts = parts(text);
            let at = (line + parts.len()).checked_sub(height);
            (*paint, at.map(|at| parts.swap_remove(at)).unwrap_or_default())
        };
        let head = (0..height).map(|line| self.head.iter().map(|of| cell(line, of)).collect());
        head.chain(self.rows.iter().cloned()).collect()
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

/// A quantile in a cell, dim where few samples decide it.
pub(crate) fn time_at(of: &Distribution, q: f64, paint: Paint) -> Span {
    match facts::listed(of, q) {
        None => dim("–"),
        Some(quantile) if facts::is_few(quantile) => dim(facts::marked(quantile, false)),
        Some(quantile) => (paint, facts::marked(quantile, false)),
    }
}

/// A column of text.
pub(crate) fn left(name: &str) -> (Align, &str) {
    (Align::Left, name)
}

/// A column of figures.
pub(crate) fn right(name: &str) -> (Align, &str) {
    (Align::Right, name)
}

pub(crate) fn plain(text: impl Into<String>) -> Span {
    (Paint::Plain, text.into())
}

pub(crate) fn dim(text: impl Into<String>) -> Span {
    (Paint::Dim, text.into())
}
