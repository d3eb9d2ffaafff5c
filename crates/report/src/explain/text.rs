//! All clients in a terminal: a table, then a sentence for each.

use super::{Explain, about, finding, milliseconds};
use crate::format;
use crate::terminal::Style;
use crate::terminal::text::{Align, Paint, Screen, Span};

/// Columns of a terminal from which on the whole table fits.
const WHOLE_TABLE_WIDTH_MIN: usize = 78;
/// p90 and the maximum give way in a narrower one.
const NOT_IN_NARROW: [usize; 2] = [2, 5];

/// Characters of the longest name.
const NAME: usize = 12;

pub(super) fn render(explain: &Explain, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.labelled(Paint::Finding, "SIMULATED", "no request was sent.");
    screen.paragraph(0, Paint::Bold, &finding(explain));
    screen.paragraph(0, Paint::Plain, &about(explain));
    screen.blank();
    let narrow = screen.width() < WHOLE_TABLE_WIDTH_MIN;
    let fits = |i: &usize| !narrow || !NOT_IN_NARROW.contains(i);
    let header = ["ms", "p50", "p90", "p99", "p99.9", "max", "samples", "omitted", "p99 is"];
    let columns: Vec<usize> = (0..header.len()).filter(fits).collect();
    let mut rows: Vec<Vec<Span>> =
        vec![columns.iter().map(|&i| (Paint::Dim, header[i].to_string())).collect()];
    let figures = explain.figures();
    for (i, row) in figures.iter().enumerate() {
        let exact = i == 0 && !explain.exact_ns.is_empty();
        let paint = match (i, row.is_felt) {
            (0, _) => Paint::Bold,
            (_, true) => Paint::Response,
            (_, false) => Paint::Service,
        };
        let mut cells = vec![(paint, row.name.clone())];
        cells.extend(row.values().map(|ns| (paint, milliseconds(ns, exact))));
        cells.push((Paint::Plain, format::count(row.samples)));
        cells.push((if row.omitted == 0 { Paint::Dim } else { Paint::Finding }, format::count(row.omitted)));
        let error = if i == 0 { "true".to_string() } else { row.error() };
        cells.push((if i == 0 { Paint::Bold } else { Paint::Plain }, error));
        rows.push(columns.iter().map(|&i| cells[i].clone()).collect());
    }
    let align: Vec<Align> =
        columns.iter().map(|&i| if i == 0 { Align::Left } else { Align::Right }).collect();
    screen.table(&align, &rows);
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
