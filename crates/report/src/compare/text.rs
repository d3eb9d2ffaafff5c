//! A comparison in a terminal.

use super::lines;
use super::words;
use crate::terminal::Style;
use crate::terminal::text::{Paint, Screen};
use unblink_artifact::compare::CompareDocument;

pub(super) fn render(doc: &CompareDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if doc.simulated {
        screen.simulated(true);
        screen.blank();
    }
    screen.line(&[(words::tone(doc).paint(), words::verdict(doc).into())]);
    screen.paragraph(0, Paint::Plain, &words::sentence(doc));
    for doubt in words::doubts(doc) {
        screen.marked(0, Paint::Finding, "!", &doubt);
    }
    screen.blank();
    for (name, side) in [("baseline ", &doc.baseline), ("candidate", &doc.candidate)] {
        screen.labelled(Paint::Bold, name, &format!("{}, {}", words::target(side), words::runs(side)));
    }
    screen.labelled(Paint::Bold, "load     ", &doc.plan.summary);
    if let Some(name) = &doc.rule.request {
        screen.labelled(Paint::Bold, "of       ", &format!("{name} alone"));
    }
    if let Some(section) = lines::side_by_side(doc, words::about_intervals(doc)) {
        screen.blank();
        section.blocks.iter().for_each(|block| screen.block(block));
    }
    if let Some(section) = lines::journeys(doc) {
        screen.heading(section.name, &section.note);
        section.blocks.iter().for_each(|block| screen.block(block));
    }
    let notes = words::notes(doc);
    if !notes.is_empty() {
        screen.blank();
    }
    for note in notes {
        screen.marked(0, Paint::Dim, "·", &note);
    }
    let left_out = words::left_out(doc);
    if !left_out.is_empty() {
        screen.heading("Runs left out", "");
        for (side, run, why) in left_out {
            screen.marked(2, Paint::Finding, "!", &format!("{side}, {}: {why}", run.folder));
        }
    }
    screen.finish()
}
