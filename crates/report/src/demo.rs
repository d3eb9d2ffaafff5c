//! `unblink demo`: the same server, asked in two ways, beside what theory says.

use crate::terminal::Style;
use unblink_artifact::document::RunDocument;

/// One column of figures.
#[derive(Clone, Debug, PartialEq)]
pub struct DemoColumn {
    /// Who says so.
    pub title: String,
    /// How it was measured.
    pub subtitle: String,
    /// (q, nanoseconds); `None` where it is not known.
    pub values: Vec<(f64, Option<u64>)>,
    /// Requests behind the figures; 0 for theory.
    pub samples: u64,
}

/// Both measurements and the truth.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Users who each wait for their answer.
    pub closed: RunDocument,
    /// Arrivals on a schedule that the server can't move.
    pub open: RunDocument,
    /// Exact, from theory: (q, nanoseconds), ascending; q = 1 is the maximum.
    pub truth: Vec<(f64, u64)>,
    /// What the server does, in a sentence.
    pub scenario: String,
}
/// Stub.
pub fn terminal(_demo: &Demo, _style: &Style) -> String { String::new() }
/// Stub.
pub fn html(_demo: &Demo) -> String { String::new() }
