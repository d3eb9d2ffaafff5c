//! Sections of a run that say the same everywhere.

use super::{Align, Block, Paint, Room, Section, Table, dim, plain};
use crate::{facts, format};
use std::collections::BTreeMap;
use unblink_artifact::document::{ConnectionMode, Finding, Origin, RunDocument};

/// What a load of a named shape was run for.
pub(crate) fn shape(doc: &RunDocument) -> Option<Section> {
    let shape = facts::shape(doc)?;
    let row = |line: facts::Line| vec![plain(line.what), (Paint::Bold, line.figure), dim(line.meant)];
    let rows = shape.lines.into_iter().map(row).collect();
    let table = Table::of(Vec::new(), vec![Align::Left, Align::Right, Align::Left], rows);
    let note = facts::invalid_note(doc).map(|note| Block::Line(Paint::Bad, note.into()));
    let blocks = [Block::Line(Paint::Bold, shape.finding), Block::Table(table)].into_iter().chain(note);
    Some(Section { class: "shape", name: shape.name, note: String::new(), blocks: blocks.collect() })
}

/// Where every arrival ended, as a sum; what each outcome means stands beside it where there is room.
pub(crate) fn account(doc: &RunDocument, has_room: bool) -> Section {
    let scheduled = doc.arrivals.scheduled;
    let meaning = |meaning: String| dim(if has_room { meaning } else { String::new() });
    let row = |(i, (_, name, n)): (usize, (&str, &'static str, u64))| {
        let paint = match name {
            _ if n == 0 => Paint::Dim,
            "failed" => Paint::Failure,
            "ok" => Paint::Plain,
            _ => Paint::Finding,
        };
        let sign = if i == 0 { "\u{a0}" } else { "+" };
        let share = if n == 0 { String::new() } else { format::share(n, scheduled) };
        let name_of = (paint, format!("{sign} {name}"));
        vec![name_of, (paint, format::count(n)), plain(share), meaning(facts::outcome_meaning(doc, name))]
    };
    let all = if scheduled > 0 { format::percent(1.0) } else { String::new() };
    let sum = facts::scheduled_meaning(doc);
    // That it does not add up is said at any width.
    let sum = if facts::adds_up(doc) { meaning(sum.into()) } else { (Paint::Bad, sum.into()) };
    let total =
        vec![(Paint::Bold, "= scheduled".into()), (Paint::Bold, format::count(scheduled)), plain(all), sum];
    let rows = facts::account(doc).into_iter().enumerate().map(row).chain([total]).collect();
    let align = vec![Align::Left, Align::Right, Align::Right, Align::Left];
    let table = Table::of(Vec::new(), align, rows);
    let note = "each ends in exactly one of these".into();
    Section { class: "outcomes-table", name: "Arrivals", note, blocks: vec![Block::Table(table)] }
}

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

/// What was found of it, the worst first.
pub(crate) fn findings(doc: &RunDocument) -> Vec<Block> {
    let block = |finding: &Finding| Block::Finding(finding.clone(), facts::evidence(doc, finding));
    doc.validity.findings.iter().map(block).collect()
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
        let lines =
            [facts::allowed(origin), facts::ring(origin), facts::spread(origin)].into_iter().flatten();
        let spread = lines.map(|line| Block::Line(Paint::Plain, line));
        let to = facts::addresses(doc, origin).map(|to| Block::Line(Paint::Plain, to));
        name.into_iter().chain([Block::Counts(counted.collect())]).chain(spread).chain(to)
    };
    let blocks = doc.origins.iter().flat_map(of_one).collect();
    Section { class: "pairs", name: "Connections", note: note.into(), blocks }
}

/// Attempts beside arrivals, where requests could be tried again.
pub(crate) fn retries(doc: &RunDocument) -> Option<Section> {
    let told = facts::retries(doc)?;
    let counts = told.counts.into_iter().map(|(name, n)| (name.to_string(), format::count(n))).collect();
    let lines = told.sentences.into_iter().map(|sentence| Block::Line(Paint::Plain, sentence));
    Some(Section {
        class: "pairs",
        name: "Retries",
        note: "response times cover all attempts, service times one".into(),
        blocks: std::iter::once(Block::Counts(counts)).chain(lines).collect(),
    })
}

/// Offered, sent, achieved.
pub(crate) fn throughput(doc: &RunDocument) -> Section {
    let r = &doc.rate;
    let mut pairs = vec![
        ("offered".to_string(), r.offered.map_or("as fast as answers come".into(), format::rate)),
        ("sent".into(), format::rate(r.sent)),
        ("achieved".into(), format::rate(r.achieved)),
    ];
    pairs.extend(facts::in_requests(doc).map(|rate| ("in requests".into(), format::rate(rate))));
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
    let section = counted("Failures", Paint::Failure, &doc.failures, room)?;
    Some(with_kept(section, doc, room))
}

/// Those that were kept are shown elsewhere.
fn with_kept(mut section: Section, doc: &RunDocument, room: Room) -> Section {
    let n = doc.kept_failures.len() as u64;
    if n > 0 {
        let kept = format::plural(n, "failed request is", "failed requests are");
        let seen = match room {
            Room::Page => "see below",
            Room::Narrow | Room::Terminal => "unblink show RUN --failures",
        };
        section.blocks.push(Block::Line(Paint::Dim, format!("{kept} kept with what was answered: {seen}")));
    }
    section
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
    let mut blocks = vec![Block::Table(Table::of(Vec::new(), align, rows))];
    blocks.extend(more(sorted.len().saturating_sub(room.rows_max())));
    (total > 0).then(|| Section { class: "counts", name, note: String::new(), blocks })
}

pub(super) fn more(left_out: usize) -> Option<Block> {
    (left_out > 0).then(|| Block::Line(Paint::Dim, format!("and {} more", format::count(left_out as u64))))
}
