//! The demo in a terminal.

use super::{Demo, columns, story};
use crate::format;
use crate::terminal::Style;
use crate::terminal::text::{Align, Paint, Screen, Span};

/// Widest column of figures: three of them and the labels fit 60 columns.
const COLUMN: usize = 15;
const PAINTS: [Paint; 3] = [Paint::Service, Paint::Response, Paint::Bold];

pub(super) fn render(demo: &Demo, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let columns = columns(demo);
    screen.paragraph(0, Paint::Bold, &story::finding(demo));
    screen.paragraph(0, Paint::Plain, &demo.scenario);
    screen.blank();

    let titles = columns.each_ref().map(|column| narrow(&column.title));
    let height = titles.iter().map(Vec::len).max().unwrap_or(0);
    let mut rows: Vec<Vec<Span>> = Vec::new();
    for line in 0..height {
        let mut row = vec![(Paint::Plain, String::new())];
        for (title, paint) in titles.iter().zip(PAINTS) {
            // Short titles stand at the bottom, next to their figures.
            let from_top = (line + title.len()).checked_sub(height);
            row.push((paint, from_top.and_then(|i| title.get(i)).cloned().unwrap_or_default()));
        }
        rows.push(row);
    }
    for i in 0..columns[0].values.len() {
        let q = columns[0].values[i].0;
        let mut row = vec![(Paint::Plain, label(q))];
        for (column, paint) in columns.iter().zip(PAINTS) {
            row.push((paint, column.values[i].1.map_or("–".into(), format::duration)));
        }
        rows.push(row);
    }
    let mut row = vec![(Paint::Dim, "samples".to_string())];
    for column in &columns {
        let samples = if column.samples == 0 { String::new() } else { format::count(column.samples) };
        row.push((Paint::Dim, samples));
    }
    rows.push(row);
    let right = Align::Right;
    screen.table(&[Align::Left, right, right, right], &rows);
    screen.blank();
    for sentence in story::sentences(demo) {
        screen.paragraph(0, Paint::Plain, &sentence);
    }
    screen.finish()
}

/// `p99`, or `max` for q = 1.
pub(super) fn label(q: f64) -> String {
    if q == 1.0 { "max".into() } else { format::quantile_label(q) }
}

/// A title in lines of [`COLUMN`] characters.
fn narrow(title: &str) -> Vec<String> {
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
    lines
}
