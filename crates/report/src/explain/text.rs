//! All clients in a terminal: a table, then a sentence for each.

use super::figures::{NAMES, milliseconds};
use super::{Explain, Figures, RIGHT, about, finding};
use crate::format;
use crate::terminal::Style;
use crate::terminal::text::{Align, Paint, Screen, Span};

/// What gives way where there is little room, the first first.
const GIVE_WAY: [&str; 3] = ["p99 is", "p90", "max"];
/// Between two columns, and before the first.
const GAP: usize = 2;

/// Characters of the longest name.
const NAME: usize = 12;

pub(super) fn render(explain: &Explain, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let figures = explain.figures();
    screen.labelled(Paint::Finding, "SIMULATED", "no request was sent.");
    screen.paragraph(0, Paint::Bold, &finding(&figures));
    screen.paragraph(0, Paint::Plain, &about(explain));
    screen.blank();
    let head = ["ms"].into_iter().chain(NAMES).chain(["samples", "omitted", "p99 is", "ratio"]);
    let mut rows: Vec<Vec<Span>> = vec![head.map(|name| (Paint::Dim, name.to_string())).collect()];
    rows.extend(figures.iter().enumerate().map(|(i, row)| {
        let exact = i == 0 && !explain.exact_ns.is_empty();
        cells(row, i == 0, exact)
    }));
    for name in GIVE_WAY {
        let Some(place) = rows[0].iter().position(|(_, text)| text == name) else { continue };
        if width(&rows) > screen.width() {
            rows.iter_mut().for_each(|row| drop(row.remove(place)));
        }
    }
    let align: Vec<Align> =
        (0..rows[0].len()).map(|i| if i == 0 { Align::Left } else { Align::Right }).collect();
    screen.table(&align, &rows);
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

fn width(rows: &[Vec<Span>]) -> usize {
    let of_column = |i: usize| rows.iter().map(|row| row[i].1.chars().count()).max().unwrap_or(0);
    (0..rows[0].len()).map(|i| GAP + of_column(i)).sum()
}
