//! Runs, a line for each, newest first; what neighbours have in common stands above them.

use super::{labels, minute, short_id, word};
use crate::terminal::Style;
use crate::terminal::text::{Align, Paint, Screen, Span};
use crate::{facts, format};
use unblink_artifact::history::{HistoryDocument, IndexedRun};

pub(super) fn render(doc: &HistoryDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if doc.runs.is_empty() {
        screen.paragraph(0, Paint::Plain, &format!("No run that fits is in {}.", doc.store));
        screen.paragraph(0, Paint::Dim, "unblink index DIR takes in what is recorded in a folder.");
        return screen.finish();
    }
    for (number, some) in doc.runs.chunk_by(|a, b| a.series == b.series).enumerate() {
        if number > 0 {
            screen.blank();
        }
        let (target, load) = (target(&some[0]), some[0].load.clone());
        screen.line(&[(Paint::Bold, target), (Paint::Dim, format!("  {load}"))]);
        let names = ["run", "started (UTC)", "p50", "p99", "not ok", "is", ""];
        let mut rows: Vec<Vec<Span>> =
            vec![names.iter().map(|name| (Paint::Dim, name.to_string())).collect()];
        rows.extend(some.iter().map(row));
        let (left, right) = (Align::Left, Align::Right);
        screen.table(&[left, left, right, right, right, left, left], &rows);
    }
    if doc.more {
        screen.paragraph(2, Paint::Dim, "There are more; --limit shows them.");
    }
    screen.finish()
}

fn row(run: &IndexedRun) -> Vec<Span> {
    let quantile = |q| facts::quantile(&run.response_time, q).map_or("–".into(), facts::value);
    let word = word(run);
    let paint = match word {
        "pass" | "valid" => Paint::Good,
        "fail" | "invalid" | "aborted" => Paint::Bad,
        _ => Paint::Finding,
    };
    vec![
        (Paint::Bold, short_id(run).into()),
        (Paint::Plain, minute(&run.started_at)),
        (Paint::Plain, quantile(0.5)),
        (Paint::Response, quantile(0.99)),
        (Paint::Plain, run.error_share().map_or("–".into(), format::percent)),
        (paint, word.into()),
        (Paint::Plain, labels(run)),
    ]
}

/// The first request, and how many more.
fn target(run: &IndexedRun) -> String {
    let Some(first) = run.targets.first() else { return String::new() };
    let more = run.targets.len() - 1;
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{} {}{more}", first.method, first.url)
}
