//! `unblink compare`: a baseline and a candidate side by side.

mod page;
mod text;
mod words;

pub(crate) use words::signed;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::compare;

    #[test]
    fn every_answer_comes_first_and_fits() {
        for (name, doc) in compare::all() {
            for width in [60, 80] {
                let text = terminal(&doc, &Style { width, color: false });
                assert!(
                    text.lines().all(|line| line.chars().count() <= usize::from(width)),
                    "{name}:\n{text}"
                );
                let first = text.lines().next().unwrap_or_default();
                assert!(!first.is_empty() && first.to_uppercase() == first, "{name}:\n{text}");
            }
            insta::assert_snapshot!(format!("{name}-80"), terminal(&doc, &Style::default()));
        }
    }
}
