//! All clients in a terminal: a table, then a sentence for each.

use super::figures::{NAMES, milliseconds};
use super::{Explain, Figures, RIGHT, about, finding};
use crate::block::{Block, Paint, Span, Table, left, right};
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
    let rows =
        figures.iter().enumerate().map(|(i, row)| cells(row, i == 0, i == 0 && !explain.exact_ns.is_empty()));
    let [p50, p90, p99, p999, max] = NAMES.map(right);
    let [samples, omitted, is, ratio] = ["samples", "omitted", "p99 is", "ratio"].map(right);
    let columns = [left("ms"), p50, p90, p99, p999, max, samples, omitted, is, ratio];
    let mut table = Table::new(columns, rows.collect());
    for name in GIVE_WAY {
        if width(&table) > screen.width() {
            table = table.without(name);
        }
    }
    screen.block(&Block::Table(table));
    screen.paragraph(
        2,
        Paint::Dim,
        &format!(
            "ratio: the p99 of users ÷ that of the client. In the colour of what is right: what lies {RIGHT}."
        ),
    );
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

fn cells(row: &Figures, is_truth: bool, is_exact: bool) -> Vec<Span> {
    let paint = |is_right: bool| match (is_truth, is_right) {
        (true, _) => Paint::Bold,
        (_, true) => Paint::Response,
        (_, false) => Paint::Service,
    };
    let mut cells = vec![(paint(row.is_right()), row.name.clone())];
    let times = row.times.into_iter().zip(row.right);
    cells.extend(times.map(|(time, is_right)| (paint(is_right), milliseconds(time, is_exact))));
    cells.push((Paint::Plain, format::count(row.samples)));
    cells.push((if row.omitted == 0 { Paint::Dim } else { Paint::Finding }, format::count(row.omitted)));
    let (error, ratio) = if is_truth { ("true".into(), "1×".into()) } else { (row.error(), row.ratio()) };
    let plain = if is_truth { Paint::Bold } else { Paint::Plain };
    cells.extend([(plain, error), (plain, ratio)]);
    cells
}

fn width(table: &Table) -> usize {
    let lines = table.lines();
    let of_column = |i: usize| lines.iter().map(|row| row[i].1.chars().count()).max().unwrap_or(0);
    (0..table.align.len()).map(|i| GAP + of_column(i)).sum()
}
