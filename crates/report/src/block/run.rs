//! Sections of a run that say the same everywhere.

use super::{Align, Block, Paint, Room, Section, Span, Table, dim, plain};
use crate::{facts, format};
use std::collections::BTreeMap;
use unblink_artifact::document::{
    ConnectionMode, Distribution, Operation, OperationArrivals, Origin, RunDocument,
};

/// Pages of several requests.
pub(crate) fn fanout(doc: &RunDocument) -> Option<Section> {
    let sentences = facts::fanout(doc);
    (!sentences.is_empty()).then(|| Section {
        class: "fanout",
        name: "Pages",
        note: "the slowest of their requests decides".into(),
        blocks: sentences.into_iter().map(|sentence| Block::Line(Paint::Plain, sentence)).collect(),
    })
}

/// The pool of each origin: asked for, reached, broken; and where connections went.
pub(crate) fn connections(doc: &RunDocument) -> Section {
    let note = match doc.origin().connections.mode {
        ConnectionMode::Fixed => "a fixed pool",
        ConnectionMode::Auto => "opened as needed",
    };
    let of_one = |origin: &Origin| {
        let name = (doc.origins.len() > 1).then(|| Block::Line(Paint::Plain, origin.name.to_string()));
        let counted = facts::connections(origin).into_iter();
        let counted = counted.map(|(name, n)| (name.to_string(), format::count(n)));
        let to = facts::addresses(doc, origin).map(|to| Block::Line(Paint::Plain, to));
        name.into_iter().chain([Block::Counts(counted.collect())]).chain(to)
    };
    let blocks = doc.origins.iter().flat_map(of_one).collect();
    Section { class: "pairs", name: "Connections", note: note.into(), blocks }
}

/// Offered, sent, achieved.
pub(crate) fn throughput(doc: &RunDocument) -> Section {
    let r = &doc.rate;
    let mut pairs = vec![
        ("offered".to_string(), r.offered.map_or("as fast as answers come".into(), format::rate)),
        ("sent".into(), format::rate(r.sent)),
        ("achieved".into(), format::rate(r.achieved)),
    ];
    if doc.simulated.is_none() {
        pairs.push(("received".into(), format::bytes(doc.bytes_received)));
    }
    Section { class: "pairs", name: "Throughput", note: String::new(), blocks: vec![Block::Pairs(pairs)] }
}

/// Answers by status.
pub(crate) fn statuses(doc: &RunDocument, room: Room) -> Option<Section> {
    counted("Status codes", Paint::Plain, &doc.codes, room)
}

/// Failed arrivals by kind.
pub(crate) fn failures(doc: &RunDocument, room: Room) -> Option<Section> {
    counted("Failures", Paint::Failure, &doc.failures, room)
}

fn counted(name: &'static str, paint: Paint, counts: &BTreeMap<String, u64>, room: Room) -> Option<Section> {
    let total = counts.values().fold(0u64, |sum, n| sum.saturating_add(*n));
    let mut sorted: Vec<(&String, u64)> = counts.iter().map(|(name, n)| (name, *n)).collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let row = |(name, n): &(&String, u64)| {
        vec![(paint, name.to_string()), plain(format::count(*n)), dim(format::share(*n, total))]
    };
    let rows = sorted.iter().take(room.rows_max()).map(row).collect();
    let align = vec![Align::Left, Align::Right, Align::Right];
    let mut blocks = vec![Block::Table(Table { head: Vec::new(), align, rows })];
    blocks.extend(more(sorted.len().saturating_sub(room.rows_max())));
    (total > 0).then(|| Section { class: "counts", name, note: String::new(), blocks })
}

fn more(left_out: usize) -> Option<Block> {
    (left_out > 0).then(|| Block::Line(Paint::Dim, format!("and {} more", format::count(left_out as u64))))
}

/// An outcome of an operation's arrivals: its name, and how often, where that is known.
type Outcome = (&'static str, fn(&OperationArrivals) -> Option<u64>);

const OUTCOMES: [Outcome; 5] = [
    ("ok", |a| Some(a.ok)),
    ("failed", |a| Some(a.failed)),
    ("timed out", |a| a.timed_out),
    ("unfinished", |a| a.unfinished),
    ("unsent", |a| a.unsent),
];

/// Where the arrivals of each operation ended, as a sum. An outcome that none of them had has no column.
pub(crate) fn operation_accounts(doc: &RunDocument, room: Room) -> Option<Section> {
    let (shown, left_out) = several_operations(doc, room)?;
    let all = || doc.operations.iter().map(|operation| &operation.arrivals);
    let is_there = |(name, of): &Outcome| *name == "ok" || all().any(|arrivals| of(arrivals) > Some(0));
    let outcomes: Vec<Outcome> = OUTCOMES.into_iter().filter(is_there).collect();
    // Documents of the first version know of those that ended alone.
    let is_known = all().all(|arrivals| arrivals.scheduled.is_some());
    let first = if is_known { "scheduled" } else { "ended" };
    let planned = has_shares(doc, room).then_some(["share", "planned"]).into_iter().flatten();
    let head = ["", first].into_iter().chain(planned);
    let head = head.chain(outcomes.iter().map(|(name, _)| *name)).map(dim).collect();
    let total = all().fold(0u64, |sum, arrivals| sum.saturating_add(arrivals.scheduled.unwrap_or(0)));
    let row = |(name, operation): (String, &Operation)| {
        let cell = |(name, of): &Outcome| match (of(&operation.arrivals), *name) {
            (None, _) => dim("–"),
            (Some(0), _) => dim("0"),
            (Some(n), "ok") => plain(format::count(n)),
            (Some(n), "failed") => (Paint::Failure, format::count(n)),
            (Some(n), _) => (Paint::Finding, format::count(n)),
        };
        let arrivals = facts::arrivals_of(operation);
        let shares = has_shares(doc, room).then(|| {
            let planned = operation.plan.share.map_or("–".into(), format::percent);
            [plain(format::share(arrivals, total)), dim(planned)]
        });
        let first = [plain(name), plain(format::count(arrivals))].into_iter();
        first.chain(shares.into_iter().flatten()).chain(outcomes.iter().map(cell)).collect()
    };
    let note = "each arrival ends in one of these";
    Some(operations("Outcomes by operation", note, head, shown.into_iter().map(row).collect(), left_out))
}

/// Is the share of the load that each operation had held against the one that was planned? Several loads may each ask for
/// some operations only, so that no share of all is planned.
fn has_shares(doc: &RunDocument, room: Room) -> bool {
    room > Room::Narrow && doc.loads.len() == 1 && doc.operations.iter().any(|of| of.plan.share.is_some())
}

/// A time of an operation: its name, of the service time or of the response time, and the quantile; `None`: the maximum.
type Column = (&'static str, bool, Option<f64>, Room);

const TIMES: [Column; 6] = [
    ("p50", false, Some(0.5), Room::Narrow),
    ("p99", false, Some(0.99), Room::Narrow),
    ("p99.9", false, Some(0.999), Room::Page),
    ("max", false, None, Room::Narrow),
    ("service p50", true, Some(0.5), Room::Terminal),
    ("service p99", true, Some(0.99), Room::Narrow),
];

/// Response time of each operation, and its service time.
pub(crate) fn operation_times(doc: &RunDocument, room: Room) -> Option<Section> {
    let (shown, left_out) = several_operations(doc, room)?;
    let columns: Vec<Column> = TIMES.into_iter().filter(|(.., least)| room >= *least).collect();
    let head = std::iter::once("").chain(columns.iter().map(|(name, ..)| *name)).map(dim).collect();
    let row = |(name, operation): (String, &Operation)| {
        let cell = |(_, is_service, q, _): &Column| match (is_service, &operation.service_time) {
            (true, None) => dim("–"),
            (true, Some(service)) => time(service, *q, Paint::Service),
            (false, _) => time(&operation.response_time, *q, Paint::Plain),
        };
        std::iter::once(plain(name)).chain(columns.iter().map(cell)).collect()
    };
    let rows = shown.into_iter().map(row).collect();
    let note = "response time, and service time from the send";
    Some(operations("Times by operation", note, head, rows, left_out))
}

fn time(of: &Distribution, q: Option<f64>, paint: Paint) -> Span {
    match q.map(|q| facts::quantile(of, q)) {
        None => (paint, facts::max(of)),
        Some(None) => dim("–"),
        Some(Some(quantile)) if quantile.few_samples && !quantile.censored => {
            dim(facts::marked(quantile, false))
        }
        Some(Some(quantile)) => (paint, facts::marked(quantile, false)),
    }
}

fn several_operations(doc: &RunDocument, room: Room) -> Option<(Vec<(String, &Operation)>, usize)> {
    (doc.operations.len() > 1).then(|| facts::operations(doc, room.rows_max()))
}

fn operations(
    name: &'static str,
    note: &str,
    head: Vec<Span>,
    rows: Vec<Vec<Span>>,
    left_out: usize,
) -> Section {
    let align = (0..head.len()).map(|i| if i == 0 { Align::Left } else { Align::Right }).collect();
    let table = Block::Table(Table { head, align, rows });
    let blocks = std::iter::once(table).chain(more(left_out)).collect();
    Section { class: "operations wide-block", name, note: note.into(), blocks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// Rows of numbers as they are printed.
    fn numbers(section: &Section) -> Vec<Vec<u64>> {
        let Some(Block::Table(table)) = section.blocks.first() else { panic!("a table") };
        let number = |(_, text): &Span| text.replace('\u{202f}', "").parse().expect("a number");
        table.rows.iter().map(|row| row[1..].iter().map(number).collect()).collect()
    }

    #[test]
    fn the_outcomes_of_each_operation_add_up_in_sight() {
        let mut doc = fixture::failures();
        for (i, operation) in doc.operations.iter_mut().enumerate() {
            let arrivals = &mut operation.arrivals;
            let n = i as u64;
            arrivals.ok -= 6 * n;
            (arrivals.timed_out, arrivals.unfinished, arrivals.unsent) = (Some(3 * n), Some(2 * n), Some(n));
        }
        for room in [Room::Narrow, Room::Terminal, Room::Page] {
            let section = operation_accounts(&doc, room).expect("several operations");
            for row in numbers(&section) {
                assert_eq!(row.len(), 6);
                assert_eq!(row[0], row[1..].iter().sum::<u64>(), "{row:?}");
            }
        }
    }

    #[test]
    fn a_planned_share_stands_beside_the_measured_one() {
        let mut doc = fixture::failures();
        doc.operations.truncate(2);
        for (operation, (scheduled, share)) in doc.operations.iter_mut().zip([(801, 0.8), (199, 0.2)]) {
            operation.arrivals.scheduled = Some(scheduled);
            operation.plan.share = Some(share);
        }
        let shares = |doc: &RunDocument, room| {
            let section = operation_accounts(doc, room).expect("several operations");
            let Some(Block::Table(table)) = section.blocks.first() else { panic!("a table") };
            let cells = |row: &Vec<Span>| row[2..4].iter().map(|(_, text)| text.clone()).collect::<Vec<_>>();
            std::iter::once(&table.head).chain(&table.rows).map(cells).collect::<Vec<_>>()
        };
        let expected = [["share", "planned"], ["80.1\u{a0}%", "80\u{a0}%"], ["19.9\u{a0}%", "20\u{a0}%"]];
        assert_eq!(shares(&doc, Room::Terminal), expected);
        assert_ne!(shares(&doc, Room::Narrow)[0], expected[0]);
        doc.operations.iter_mut().for_each(|operation| operation.plan.share = None);
        assert_ne!(shares(&doc, Room::Page)[0], expected[0]);
    }

    #[test]
    fn an_outcome_that_no_operation_had_has_no_column() {
        let mut doc = fixture::failures();
        doc.operations.iter_mut().for_each(|operation| operation.arrivals.failed = 0);
        let section = operation_accounts(&doc, Room::Page).expect("several operations");
        assert!(numbers(&section).iter().all(|row| row.len() == 2), "{section:?}");
        doc.operations[1].arrivals.scheduled = None;
        let Some(Section { blocks, .. }) = operation_accounts(&doc, Room::Page) else { panic!("a section") };
        assert!(matches!(&blocks[0], Block::Table(table) if table.head[1].1 == "ended"));
    }
}
