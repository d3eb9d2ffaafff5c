//! What each tool reports in a scenario, beside the truth.

use super::words::{self, DECIDING};
use crate::block::{Align, Paint, Room, Span, Table, dim, plain};
use crate::format;
use unblink_artifact::lab::{LabDocument, LabRow};

/// In a terminal there are fewer: ranges take room.
const SHOWN: [(f64, &str, Room); 4] = [
    (0.5, "p50", Room::Narrow),
    (0.95, "p95", Room::Page),
    (0.99, "p99", Room::Narrow),
    (0.999, "p99.9", Room::Narrow),
];

/// The rows of one scenario, the truth before them. What stands on a page stands in Markdown, too.
pub(super) fn table(doc: &LabDocument, rows: &[&LabRow], room: Room) -> Table {
    let shown: Vec<(f64, &str)> =
        SHOWN.into_iter().filter(|(.., least)| room >= *least).map(|(q, name, _)| (q, name)).collect();
    let has_event = room == Room::Page;
    let line = |first: [Span; 2], figures: Vec<Span>, last: [Span; 3]| -> Vec<Span> {
        let [is, sent, event] = last;
        let event = has_event.then_some(event);
        first.into_iter().chain(figures).chain([is, sent]).chain(event).collect()
    };
    let names = shown.iter().map(|(_, name)| dim(*name)).collect();
    let head = line([dim("tool"), dim("claims")], names, [dim("p99 is"), dim("sent"), dim("in the event")]);
    let bold = |text: String| (Paint::Bold, text);
    let truth = rows.first().map(|row| {
        let figures = shown.iter().map(|(q, _)| bold(row.at(*q).map_or("–".into(), words::truth)));
        let last = [plain(""), bold(format::count(row.planned)), plain("")];
        line([bold("truth".into()), plain("")], figures.collect(), last)
    });
    let of_tool = |row: &&LabRow| {
        let decides = row.at(DECIDING);
        let paint = match decides.and_then(|line| line.is_right) {
            Some(true) => Paint::Good,
            Some(false) => Paint::Bad,
            None => Paint::Plain,
        };
        let figures = shown.iter().map(|(q, _)| plain(row.at(*q).map_or("–".into(), words::reported)));
        let cell = doc.cells.iter().find(|c| c.scenario.name == row.scenario && c.tool.name == row.tool);
        let error = (paint, decides.map_or("–".into(), words::error));
        let last = [error, plain(format::count(row.requests)), plain(words::in_the_event(cell))];
        line([plain(&row.tool), dim(words::model(row.model))], figures.collect(), last)
    };
    let align = (0..head.len()).map(|i| if i < 2 { Align::Left } else { Align::Right }).collect();
    Table { head, align, rows: truth.into_iter().chain(rows.iter().map(of_tool)).collect() }
}
