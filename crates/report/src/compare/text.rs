//! A comparison in a terminal.

use super::{lines, remarks, words};
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
    remarks::doubts(doc).iter().for_each(|doubt| screen.block(doubt));
    screen.blank();
    for (name, what) in words::asked(doc) {
        screen.labelled(Paint::Bold, &format!("{name:<9}"), &what);
    }
    if let Some(section) = lines::side_by_side(doc, words::about_intervals(doc)) {
        screen.blank();
        section.blocks.iter().for_each(|block| screen.block(block));
    }
    lines::journeys(doc).iter().for_each(|section| screen.section(section));
    let notes = remarks::notes(doc);
    if !notes.is_empty() {
        screen.blank();
    }
    notes.iter().for_each(|note| screen.block(note));
    remarks::left_out(doc).iter().for_each(|section| screen.section(section));
    screen.finish()
}
