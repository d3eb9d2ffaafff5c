//! `unblink compare`: a baseline and a candidate side by side.

mod page;
mod text;
mod words;

use crate::svg::{self, Picture};
use crate::terminal::Style;
use unblink_artifact::compare::CompareDocument;

/// The answer, then the table, for a terminal.
pub fn terminal(doc: &CompareDocument, style: &Style) -> String {
    text::render(doc, style)
}

/// The same as one self-contained page with both spectra.
pub fn html(doc: &CompareDocument) -> String {
    page::render(doc)
}

/// Both spectra as a stand-alone SVG.
pub fn svg(doc: &CompareDocument) -> String {
    picture(doc).file()
}

fn picture(doc: &CompareDocument) -> Picture {
    svg::bands(words::title(doc), doc)
}
