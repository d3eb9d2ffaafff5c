//! What each tool reports of a database beside what was seen on the wire, for documentation: each has a truth of its own.

use super::words::{self, DECIDING};
use crate::block::{Align, Span, Table, plain};
use crate::format;
use unblink_artifact::lab::{LabCell, LabObserved, LabRow, LabTruthFrom};

const SHOWN: [(f64, &str); 3] = [(0.5, "p50"), (DECIDING, "p99"), (0.999, "p99.9")];
/// Columns of words, before those of figures.
const OF_WORDS: usize = 3;

/// The rows of one scenario. `None`: the server was the lab's own.
pub(super) fn table(cells: &[LabCell], rows: &[&LabRow]) -> Option<Table> {
    let line = |row: &&LabRow| {
        let is_of = |cell: &&LabCell| cell.scenario.name == row.scenario && cell.tool.name == row.tool;
        let cell = cells.iter().find(is_of)?;
        Some(line(row, cell, cell.observed.as_ref()?))
    };
    let rows: Vec<Vec<Span>> = rows.iter().filter_map(line).collect();
    if rows.is_empty() {
        return None;
    }
    let figures = SHOWN.iter().flat_map(|(_, name)| [(*name).to_owned(), format!("true {name}")]);
    let last = ["p99 on the wire", "sent", "in the event", "connections", "truth from"];
    let head = ["server", "tool", "version"].into_iter().map(str::to_owned).chain(figures);
    let head: Vec<Span> = head.chain(last.map(str::to_owned)).map(plain).collect();
    let align = (0..head.len()).map(|i| if i < OF_WORDS { Align::Left } else { Align::Right }).collect();
    Some(Table::of(head, align, rows))
}

fn line(row: &LabRow, cell: &LabCell, observed: &LabObserved) -> Vec<Span> {
    let version = cell.tool.version.clone().unwrap_or_else(|| "–".into());
    let both = |(q, _)| {
        let both = row.at(q).map(|line| [words::reported(line), words::truth(line)]);
        both.unwrap_or_else(|| ["–".into(), "–".into()])
    };
    let on_the_wire = row.at(DECIDING).and_then(|line| line.log_ns).map_or("–".into(), format::duration);
    let last = [
        on_the_wire,
        format::count(row.requests),
        words::in_the_event(row, Some(cell)),
        format::count(row.connections),
        match observed.truth_from {
            LabTruthFrom::Arrivals => "its arrivals".into(),
            LabTruthFrom::Silence => "the silence".into(),
        },
    ];
    let first = [observed.server.clone(), row.tool.clone(), version];
    first.into_iter().chain(SHOWN.into_iter().flat_map(both)).chain(last).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::super::protocols::tests::of;
    use super::*;
    use crate::block::markdown;
    use unblink_artifact::document::Protocol;

    #[test]
    fn each_tool_stands_beside_a_truth_of_its_own() {
        let (row, mut cell) = of("pgbench", Protocol::Postgres, None);
        assert!(table(std::slice::from_ref(&cell), &[&row]).is_none(), "a server of the lab's own");
        cell.observed = Some(LabObserved {
            server: "PostgreSQL 15.1".into(),
            packets: 60_000,
            lost: 0,
            truth_from: LabTruthFrom::Silence,
        });
        let shown = table(&[cell], &[&row]).expect("a table");
        let text = markdown::table(&shown).replace(['\u{a0}', '\u{202f}', '\u{2009}'], " ");
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "| server | tool | version | p50 | true p50 | p99 | true p99 | p99.9 | true p99.9 | p99 on the wire | sent | in the event | connections | truth from |",
                "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
                "| PostgreSQL 15.1 | pgbench | 7.1 | 10 ms | 100–110 ms | 25 ms | 100–110 ms | 240 ms | 100–110 ms | 26 ms | 14 990 | 240 of 250 | 3 | the silence |",
            ]
        );
    }
}
