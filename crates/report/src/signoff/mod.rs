//! `unblink signoff`: all stages of a plan on one page, with one answer.

mod page;
mod suites;
mod words;

use crate::block::{Block, Paint, Room};
use crate::terminal::Style;
use crate::terminal::text::Screen;
use unblink_artifact::document::RunDocument;
use unblink_artifact::knee::KneeDocument;
use unblink_artifact::signoff::{SignoffDocument, SignoffStage};

/// The document of a stage.
pub enum StageDocument {
    /// Of a run.
    Run(Box<RunDocument>),
    /// Of a search.
    Knee(Box<KneeDocument>),
}

/// The answer, and each stage with its key figures, for a terminal.
pub fn terminal(doc: &SignoffDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.simulated(doc.simulated);
    let (tone, word, sentence) = words::answer(doc);
    screen.labelled(tone.paint(), word, &sentence);
    screen.paragraph(0, Paint::Dim, &words::about(doc));
    let section = words::stages(doc, Room::Terminal);
    screen.section(&section);
    for stage in &doc.stages {
        let lines = words::of_stage(stage);
        if !lines.is_empty() {
            screen.heading(&words::heading(stage), "");
            lines.iter().for_each(|(paint, line)| screen.block(&Block::Line(*paint, line.clone())));
        }
    }
    screen.finish()
}

/// The same as one self-contained page, with the whole report of each stage. `parts` are the stages' documents, as far as
/// there are any.
pub fn html(doc: &SignoffDocument, parts: &[Option<StageDocument>]) -> String {
    page::render(doc, parts)
}

/// A test suite for each stage.
pub fn junit(doc: &SignoffDocument, parts: &[Option<StageDocument>]) -> String {
    suites::render(doc, parts)
}

/// What came of a stage, as it ends.
pub fn stage_line(stage: &SignoffStage) -> String {
    let (_, word) = words::outcome(stage);
    let figures = words::key_figures(stage);
    if figures.is_empty() { word.to_string() } else { format!("{word}, {figures}") }
}

#[cfg(test)]
mod tests;
