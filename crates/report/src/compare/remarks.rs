//! What is said beside the lines of a comparison.

use super::words;
use crate::block::{Block, Paint, Section};
use unblink_artifact::compare::{CompareDocument, ComparedRun};

/// What takes from the answer.
pub(super) fn doubts(doc: &CompareDocument) -> Vec<Block> {
    words::doubts(doc).into_iter().map(|doubt| Block::Marked(Paint::Finding, "!", doubt)).collect()
}

/// What must be known beside it.
pub(super) fn notes(doc: &CompareDocument) -> Vec<Block> {
    words::notes(doc).into_iter().map(|note| Block::Marked(Paint::Dim, "·", note)).collect()
}

/// Runs that don't count, and why.
pub(super) fn left_out(doc: &CompareDocument) -> Option<Section> {
    let line = |(side, run, why): (&str, &ComparedRun, &str)| {
        Block::Marked(Paint::Finding, "!", format!("{side}, {}: {why}", run.folder))
    };
    let blocks: Vec<Block> = words::left_out(doc).into_iter().map(line).collect();
    (!blocks.is_empty()).then(|| Section { class: "", name: "Runs left out", note: String::new(), blocks })
}
