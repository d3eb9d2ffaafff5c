//! What each tool reports in a scenario, by what it speaks, for documentation: where not all of them speak HTTP/1.1.

use super::words::{self, DECIDING};
use crate::block::{Align, Span, Table, plain};
use crate::format;
use unblink_artifact::document::Protocol;
use unblink_artifact::lab::{LabCell, LabRow, LabTool};

const SHOWN: [(f64, &str); 3] = [(0.5, "p50"), (DECIDING, "p99"), (0.999, "p99.9")];
/// Columns of words, before those of figures.
const OF_WORDS: usize = 3;

/// The rows of one scenario. `None`: all are of HTTP/1.1, and of answers that come whole.
pub(super) fn table(cells: &[LabCell], rows: &[&LabRow]) -> Option<Table> {
    let cell_of = |row: &LabRow| {
        cells.iter().find(|cell| cell.scenario.name == row.scenario && cell.tool.name == row.tool)
    };
    let with_cells: Vec<(&LabRow, &LabCell)> =
        rows.iter().filter_map(|row| Some((*row, cell_of(row)?))).collect();
    let is_plain = |tool: &LabTool| tool.protocol == Protocol::Http11 && tool.events.is_none();
    if with_cells.iter().all(|(_, cell)| is_plain(&cell.tool)) {
        return None;
    }
    let names = SHOWN.map(|(_, name)| name);
    let last = ["p99 by the log", "sent", "in the event", "connections", "p99 is"];
    let head = ["protocol", "tool", "version"].into_iter().chain(names).chain(last);
    let head: Vec<Span> = head.map(plain).collect();
    let align = (0..head.len()).map(|i| if i < OF_WORDS { Align::Left } else { Align::Right }).collect();
    let rows = with_cells.iter().map(|(row, cell)| line(row, cell)).collect();
    Some(Table::of(head, align, rows))
}

fn line(row: &LabRow, cell: &LabCell) -> Vec<Span> {
    let version = cell.tool.version.clone().unwrap_or_else(|| "–".into());
    let figures = SHOWN.map(|(q, _)| row.at(q).map_or("–".into(), words::reported));
    let decides = row.at(DECIDING);
    let by_log = decides.and_then(|line| line.log_ns).map_or("–".into(), format::duration);
    let last = [
        by_log,
        format::count(row.requests),
        words::in_the_event(row, Some(cell)),
        format::count(row.connections),
        decides.map_or("–".into(), words::error),
    ];
    let first = [speaks(&cell.tool).into(), row.tool.clone(), version];
    first.into_iter().chain(figures).chain(last).map(plain).collect()
}

/// In words.
fn speaks(tool: &LabTool) -> &'static str {
    match (tool.protocol, tool.events) {
        (Protocol::Grpc, Some(_)) => "gRPC, streams",
        (Protocol::Http2, Some(_)) => "event streams, HTTP/2",
        (_, Some(_)) => "event streams",
        (Protocol::Http11, None) => "HTTP/1.1",
        (Protocol::Http2, None) => "HTTP/2",
        (Protocol::Grpc, None) => "gRPC",
        (Protocol::WebSocket, None) => "WebSocket",
        // Databases have a table of their own, and the lab serves no other.
        (_, None) => "–",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::block::markdown;
    use unblink_artifact::document::LoadModel;
    use unblink_artifact::lab::{CELL_SCHEMA, LabLog, LabOffered, LabPercentile, LabScenario, LabTruth};

    const MS: u64 = 1_000_000;

    pub(in crate::lab) fn of(tool: &str, protocol: Protocol, events: Option<u32>) -> (LabRow, LabCell) {
        let line = |q: f64, ms: u64| LabPercentile {
            q,
            truth_low_ns: Some(100 * MS),
            truth_high_ns: Some(110 * MS),
            log_ns: Some((ms + 1) * MS),
            reported_ns: Some(ms * MS),
            is_longer: false,
            error: Some(-0.75),
            is_right: Some(false),
        };
        let percentiles = vec![line(0.5, 10), line(0.99, 25), line(0.999, 240)];
        let row = LabRow {
            scenario: "stall".into(),
            tool: tool.into(),
            model: LoadModel::Open,
            runs: 1,
            problem: None,
            percentiles: percentiles.clone(),
            requests: 14_990,
            planned: 15_000,
            connections: 3,
            seen_in_events: Some(240),
            mean_ns: None,
            max_ns: None,
            samples: None,
            dropped: None,
        };
        let cell = LabCell {
            schema: CELL_SCHEMA.into(),
            scenario: LabScenario {
                name: "stall".into(),
                description: String::new(),
                rate_per_s: 1_000,
                duration_ns: 15_000 * MS,
                users: 10,
                timeout_ns: 8_000 * MS,
                events: Vec::new(),
            },
            tool: LabTool {
                name: tool.into(),
                version: (tool != "mute").then(|| "7.1".into()),
                model: LoadModel::Open,
                protocol,
                events,
                is_poisson: false,
                leaves_out_s: None,
                command: Vec::new(),
                definition: None,
            },
            run: 1,
            started_at: String::new(),
            processors: None,
            problem: None,
            reported: None,
            truth: LabTruth::default(),
            observed: None,
            log: LabLog::default(),
            offered: LabOffered { planned_in_events: 250, seen_in_events: 240, ..LabOffered::default() },
            percentiles,
        };
        (row, cell)
    }

    /// The lines of Markdown, with plain spaces; empty where there is no table.
    fn lines(all: &[(LabRow, LabCell)]) -> Vec<String> {
        let rows: Vec<&LabRow> = all.iter().map(|(row, _)| row).collect();
        let cells: Vec<LabCell> = all.iter().map(|(_, cell)| cell.clone()).collect();
        let text = table(&cells, &rows).map(|table| markdown::table(&table)).unwrap_or_default();
        text.replace(['\u{a0}', '\u{202f}', '\u{2009}'], " ").lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_tool_is_shown_with_what_it_speaks() {
        let all = [
            of("a", Protocol::Http11, None),
            of("b", Protocol::Http2, None),
            of("c", Protocol::Grpc, None),
            of("d", Protocol::Http11, Some(5)),
            of("e", Protocol::Http2, Some(5)),
            of("mute", Protocol::WebSocket, None),
        ];
        let lines = lines(&all);
        assert_eq!(
            lines[0],
            "| protocol | tool | version | p50 | p99 | p99.9 | p99 by the log | sent | in the event | connections | p99 is |"
        );
        assert_eq!(
            lines[3],
            "| HTTP/2 | b | 7.1 | 10 ms | 25 ms | 240 ms | 26 ms | 14 990 | 240 of 250 | 3 | −75 % |"
        );
        let first = |line: &String| line.split(" | ").take(3).collect::<Vec<_>>().join(" | ");
        assert_eq!(
            lines.iter().skip(2).map(first).collect::<Vec<_>>(),
            [
                "| HTTP/1.1 | a | 7.1",
                "| HTTP/2 | b | 7.1",
                "| gRPC | c | 7.1",
                "| event streams | d | 7.1",
                "| event streams, HTTP/2 | e | 7.1",
                "| WebSocket | mute | –",
            ]
        );
    }

    #[test]
    fn tools_of_http_1_1_alone_have_no_such_table() {
        assert!(lines(&[of("a", Protocol::Http11, None)]).is_empty());
    }
}
