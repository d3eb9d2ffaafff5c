//! `unblink lab`: what load tools report of a server whose truth is known.

mod databases;
mod markdown;
mod matrix;
mod over_time;
mod page;
mod percentiles;
mod protocols;
mod scatter;
mod table;
mod text;
pub(crate) mod words;

use crate::terminal::Style;
use unblink_artifact::document::LoadModel;
use unblink_artifact::lab::{AuditDocument, LabCell, LabDocument, LabRequest};

/// A tool that the lab knows.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolLine {
    /// Tool and mode.
    pub name: String,
    /// What this mode does.
    pub about: String,
    /// The model of load that it claims.
    pub model: LoadModel,
    /// Where its program is, if it is here.
    pub program: Option<String>,
    /// As it says itself.
    pub version: Option<String>,
    /// Why it can't be used.
    pub missing: Option<String>,
    /// What to do about that.
    pub install: Option<String>,
}

/// A table for each scenario, for a terminal.
pub fn terminal(doc: &LabDocument, style: &Style) -> String {
    text::document(doc, style)
}

/// A document with the requests that are drawn one by one, which it does not hold itself.
pub struct Drawn<'a> {
    doc: &'a LabDocument,
    scattered: Vec<scatter::Scattered>,
}

impl<'a> Drawn<'a> {
    /// `requests` reads those of a cell; without them its dots are left out.
    pub fn new(doc: &'a LabDocument, requests: impl Fn(&LabCell) -> Option<Vec<LabRequest>>) -> Drawn<'a> {
        let of = |name: &str| {
            let cells = page::dotted(doc, name);
            let tools: Vec<_> = cells.into_iter().filter_map(|cell| Some((cell, requests(cell)?))).collect();
            scatter::of(name, &tools)
        };
        Drawn { doc, scattered: words::scenarios(doc).into_iter().map(of).collect() }
    }

    /// All scenarios as one self-contained page.
    pub fn html(&self) -> String {
        page::render(self)
    }

    /// All scenarios as Markdown that shows the pictures beside it.
    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    /// Every picture of the page as a stand-alone SVG: (file stem, text).
    pub fn svg(&self) -> Vec<(String, String)> {
        page::pictures(self).iter().map(|(stem, picture)| (stem.clone(), picture.file())).collect()
    }
}

/// The scorecard of an audit, for a terminal.
pub fn audit(doc: &AuditDocument, style: &Style) -> String {
    text::audit(doc, style)
}

/// The list of tools, for a terminal.
pub fn tools(lines: &[ToolLine], style: &Style) -> String {
    text::tools(lines, style)
}

/// One cell in a line, for progress.
pub fn line(cell: &LabCell) -> String {
    crate::format::plain(&words::line(cell))
}
