//! The demo in a terminal.

use super::{Demo, story, table};
use crate::block::Block;
use crate::terminal::Style;
use crate::terminal::text::{Paint, Screen};

/// Widest column of figures: three of them and the labels fit 60 columns.
const COLUMN: usize = 15;

pub(super) fn render(demo: &Demo, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.paragraph(0, Paint::Bold, &story::finding(demo));
    screen.paragraph(0, Paint::Plain, &demo.scenario);
    screen.blank();
    screen.block(&Block::Table(table(demo, screen.room())));
    screen.blank();
    for sentence in story::sentences(demo) {
        screen.paragraph(0, Paint::Plain, &sentence);
    }
    screen.finish()
}

/// A title in lines of [`COLUMN`] characters.
pub(super) fn narrow(title: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in title.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMN => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines.join("\n")
}
