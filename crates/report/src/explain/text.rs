//! All clients in a terminal: a table, then a sentence for each.

use super::{Explain, about, finding, table};
use crate::block::{Block, Paint, Table};
use crate::format;
use crate::terminal::Style;
use crate::terminal::text::Screen;

/// What gives way where there is little room, the first first.
const GIVE_WAY: [&str; 3] = ["p99 is", "p90", "max"];
/// Between two columns, and before the first.
const GAP: usize = 2;

/// Characters of the longest name.
const NAME: usize = 12;

pub(super) fn render(explain: &Explain, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let figures = explain.figures();
    screen.simulated(true);
    screen.paragraph(0, Paint::Bold, &finding(&figures));
    screen.paragraph(0, Paint::Plain, &about(explain));
    screen.blank();
    let mut table = table::table(explain, &figures, screen.room());
    for name in GIVE_WAY {
        if width(&table) > screen.width() {
            table = table.without(name);
        }
    }
    screen.block(&Block::Table(table));
    screen.paragraph(2, Paint::Dim, &table::meaning());
    screen.heading("What each of them does", "alone: unblink sim --client '…'");
    for row in &figures {
        let invented = match row.invented {
            0 => String::new(),
            n => format!(" {} of its samples are made up.", format::count(n)),
        };
        screen.labelled(Paint::Bold, &format!("  {:<NAME$}", row.name), &format!("{}{invented}", row.does));
        if row.client != "ideal" {
            screen.paragraph(NAME + 4, Paint::Dim, &row.client);
        }
    }
    screen.finish()
}

fn width(table: &Table) -> usize {
    let lines = table.lines();
    let of_column = |i: usize| lines.iter().map(|row| row[i].1.chars().count()).max().unwrap_or(0);
    (0..table.align.len()).map(|i| GAP + of_column(i)).sum()
}
