//! `unblink lab`: what load tools report of a server whose truth is known.

mod markdown;
mod matrix;
mod over_time;
mod page;
mod percentiles;
mod protocols;
mod table;
mod text;
pub(crate) mod words;

use crate::terminal::Style;
use unblink_artifact::document::LoadModel;
use unblink_artifact::lab::{AuditDocument, LabCell, LabDocument};

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

/// All scenarios as one self-contained page.
pub fn html(doc: &LabDocument) -> String {
    page::render(doc)
}

/// All scenarios as Markdown that shows the pictures beside it.
pub fn markdown(doc: &LabDocument) -> String {
    markdown::render(doc)
}

/// Every picture of the page as a stand-alone SVG: (file stem, text).
pub fn svg(doc: &LabDocument) -> Vec<(String, String)> {
    page::pictures(doc).iter().map(|(stem, picture)| (stem.clone(), picture.file())).collect()
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
