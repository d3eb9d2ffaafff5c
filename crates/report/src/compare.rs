//! `unblink compare`: a baseline and a candidate side by side.

mod bands;
mod knees;
mod lines;
mod page;
mod remarks;
mod runs;
mod text;
mod words;

pub use knees::knees;
pub(crate) use lines::{change, interval, signed, signed_bound};
pub(crate) use words::label;

use crate::svg::Picture;
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
    bands::picture(words::title(doc), doc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::compare;

    #[test]
    fn what_takes_from_the_answer_stands_beside_it() {
        let (_, doc) = compare::all().into_iter().find(|(name, _)| *name == "doubtful").expect("a fixture");
        let wide = crate::format::plain(&terminal(&doc, &Style { width: 200, color: false }));
        let page = crate::format::plain(&html(&doc));
        for part in ["3 of 10 runs are degraded: 412 of 400 000", "p99 rests on 4 arrivals above it in a run"]
        {
            assert!(wide.split("baseline ").next().unwrap_or_default().contains(part), "{part}: {wide}");
            assert!(page.contains(part), "{part}");
        }
        assert!(wide.contains("Not in the table: p99.9, p99.99;"), "{wide}");
    }

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
