//! Runs, a line for each, newest first; what neighbours have in common stands above them.

use super::{labels, short_id, word};
use crate::block::{Block, Paint, Span, Table, left, plain, right};
use crate::terminal::Style;
use crate::terminal::text::Screen;
use crate::{facts, format};
use unblink_artifact::document::TargetsBeyond;
use unblink_artifact::history::{HistoryDocument, IndexedRun};

/// Columns that every figure of a row takes.
const WIDE_MIN: usize = 72;

pub(super) fn render(doc: &HistoryDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if doc.runs.is_empty() {
        screen.paragraph(0, Paint::Plain, &format!("No run that fits is in {}.", doc.store));
        screen.paragraph(0, Paint::Dim, "unblink index DIR takes in what is recorded in a folder.");
        return screen.finish();
    }
    for (number, some) in by_series(&doc.runs).into_iter().enumerate() {
        if number > 0 {
            screen.blank();
        }
        let (target, load) = (target(some[0]), format::plain(&some[0].load));
        // A series is known by its head: none of it is cut.
        if target.chars().count() + 2 + load.chars().count() <= screen.width() {
            screen.line(&[(Paint::Bold, target), (Paint::Dim, format!("  {load}"))]);
        } else {
            screen.paragraph(0, Paint::Bold, &target);
            screen.paragraph(2, Paint::Dim, &load);
        }
        // A row stays in its line: where there is little room, the year and the median go.
        let is_narrow = screen.width() < WIDE_MIN;
        let columns = [
            left("run"),
            left("started (UTC)"),
            right("p50"),
            right("p99"),
            right("not ok"),
            left("is"),
            left(""),
        ];
        let table = Table::new(columns, some.into_iter().map(|run| row(run, is_narrow)).collect());
        screen.block(&Block::Table(if is_narrow { table.without("p50") } else { table }));
    }
    if doc.more {
        screen.paragraph(2, Paint::Dim, "There are more; --limit shows them.");
    }
    screen.finish()
}

/// The runs of a series stand together, also where those of another were measured between them; the series of the newest
/// run comes first.
fn by_series(runs: &[IndexedRun]) -> Vec<Vec<&IndexedRun>> {
    let mut all: Vec<Vec<&IndexedRun>> = Vec::new();
    for run in runs {
        match all.iter_mut().find(|some| some[0].series == run.series) {
            Some(some) => some.push(run),
            None => all.push(vec![run]),
        }
    }
    all
}

fn row(run: &IndexedRun, is_narrow: bool) -> Vec<Span> {
    let quantile = |q| facts::quantile(&run.response_time, q).map_or("–".into(), facts::value);
    let word = word(run);
    let paint = match word {
        "pass" | "valid" => Paint::Good,
        "fail" | "invalid" | "aborted" => Paint::Bad,
        _ => Paint::Finding,
    };
    let started = format::minute(&run.started_at);
    let started = if is_narrow { started.chars().skip("2026-".len()).collect() } else { started };
    vec![
        (Paint::Bold, short_id(run).into()),
        plain(started),
        plain(quantile(0.5)),
        (Paint::Response, quantile(0.99)),
        plain(run.error_share().map_or("–".into(), format::percent)),
        (paint, word.into()),
        plain(labels(run)),
    ]
}

/// The first request, and how many more.
fn target(run: &IndexedRun) -> String {
    let Some(first) = run.targets.first() else { return String::new() };
    let more = run.targets.len() as u64 - 1 + TargetsBeyond::count_of(run.targets_beyond.as_ref());
    let more = if more == 0 { String::new() } else { format!(" and {} more", format::count(more)) };
    format!("{} {}{more}", first.method, first.url)
}
