//! What each tool reports in a scenario, beside the truth.

use super::words::{self, DECIDING};
use crate::block::{Align, Paint, Room, Span, Table, dim, plain};
use crate::format;
use unblink_artifact::lab::{LabDocument, LabRow};

/// In a terminal there are fewer: ranges take room.
const SHOWN: [(f64, &str, Room); 5] = [
    (0.5, "p50", Room::Narrow),
    (0.95, "p95", Room::Page),
    (0.99, "p99", Room::Narrow),
    (0.999, "p99.9", Room::Narrow),
    (0.9999, "p99.99", Room::Page),
];
const UNKNOWN: &str = "–";

/// The rows of one scenario, the truth before them. What stands on a page stands in Markdown, too.
pub(super) fn table(doc: &LabDocument, rows: &[&LabRow], room: Room) -> Table {
    let shown: Vec<(f64, &str)> =
        SHOWN.into_iter().filter(|(.., least)| room >= *least).map(|(q, name, _)| (q, name)).collect();
    let is_page = room == Room::Page;
    let drops = is_page && rows.iter().any(|row| row.dropped.is_some_and(|dropped| dropped > 0));
    let line = |line: Line| -> Vec<Span> {
        let [mean, max, samples, event, dropped] = line.on_a_page;
        let [is, sent] = line.last;
        let page = |span: Span| is_page.then_some(span);
        let figures = page(mean).into_iter().chain(line.figures).chain(page(max));
        let counts = [is].into_iter().chain(page(samples)).chain([sent]).chain(page(event));
        line.first.into_iter().chain(figures).chain(counts).chain(drops.then_some(dropped)).collect()
    };
    let head = line(Line {
        first: [dim("tool"), dim("claims")],
        figures: shown.iter().map(|(_, name)| dim(*name)).collect(),
        last: [dim("p99 is"), dim("sent")],
        on_a_page: ["mean", "max", "samples", "in the event", "dropped"].map(dim),
    });
    let cell_of = |row: &LabRow| {
        doc.cells.iter().find(|cell| cell.scenario.name == row.scenario && cell.tool.name == row.tool)
    };
    let bold = |text: String| (Paint::Bold, text);
    let truth = rows.first().map(|row| {
        let exact = cell_of(row).filter(|cell| cell.observed.is_none());
        let mean = exact.and_then(|cell| cell.truth.mean_ns).map_or(UNKNOWN.into(), format::duration);
        line(Line {
            first: [bold("truth".into()), plain("")],
            figures: shown.iter().map(|(q, _)| bold(words::truth_of_all(rows, *q))).collect(),
            last: [plain(""), bold(format::count(row.planned))],
            on_a_page: [bold(mean), plain(""), plain(""), plain(""), plain("")],
        })
    });
    let of_tool = |row: &&LabRow| {
        let decides = row.at(DECIDING);
        let paint = match decides.and_then(|line| line.is_right) {
            Some(true) => Paint::Good,
            Some(false) => Paint::Bad,
            None => Paint::Plain,
        };
        let said = |ns: Option<u64>| plain(ns.map_or(UNKNOWN.into(), format::duration));
        let counted = |count: Option<u64>| plain(count.map_or(UNKNOWN.into(), format::count));
        line(Line {
            first: [plain(&row.tool), dim(words::model(row.model))],
            figures: shown
                .iter()
                .map(|(q, _)| plain(row.at(*q).map_or(UNKNOWN.into(), words::reported)))
                .collect(),
            last: [(paint, decides.map_or(UNKNOWN.into(), words::error)), plain(format::count(row.requests))],
            on_a_page: [
                said(row.mean_ns),
                said(row.max_ns),
                counted(row.samples),
                plain(words::in_the_event(row, cell_of(row))),
                counted(row.dropped),
            ],
        })
    };
    let align = (0..head.len()).map(|i| if i < 2 { Align::Left } else { Align::Right }).collect();
    Table::of(head, align, truth.into_iter().chain(rows.iter().map(of_tool)).collect())
}

/// A row of the table; what only a page has room for stands apart.
struct Line {
    first: [Span; 2],
    figures: Vec<Span>,
    last: [Span; 2],
    /// Mean, maximum, samples, requests in the event, dropped ones.
    on_a_page: [Span; 5],
}
