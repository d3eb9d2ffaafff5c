//! How long users waited, and in which parts of a request.

use super::{Align, Block, Paint, Room, Section, Span, Table, dim, left, plain, right};
use crate::{facts, format};
use unblink_artifact::document::{Distribution, RunDocument};

/// A column: its name, its colour, and what it counts.
type Column<'a> = (&'static str, Paint, &'a Distribution);

/// Response and service time side by side, and what is to be known of them.
pub(crate) fn percentiles(doc: &RunDocument, room: Room) -> Option<Section> {
    let columns = [
        ("response time", Paint::Response, &doc.response_time),
        ("service time", Paint::Service, &doc.service_time),
        ("send lag", Paint::Plain, &doc.send_lag),
    ];
    // There is no room in a terminal for what stands among the parts of a request as well.
    let columns = &columns[..if room == Room::Page { 3 } else { 2 }];
    let is_measured = columns.iter().any(|(.., of)| of.count > 0);
    let mut blocks = Vec::new();
    if is_measured {
        let of: Vec<&Distribution> = columns.iter().map(|(.., of)| *of).collect();
        let notes = facts::notes(doc, &of).into_iter().map(|(mark, says)| {
            let paint = if mark == facts::INVALID { Paint::Bad } else { Paint::Dim };
            Block::Marked(paint, mark, says)
        });
        blocks.push(Block::Table(table(doc, columns, room)));
        blocks.extend(notes);
    }
    // A page says it beside its pictures.
    if room < Room::Page {
        let closed = facts::closed_note(doc).filter(|_| is_measured);
        blocks.push(Block::Line(Paint::Bold, closed.unwrap_or_else(|| facts::difference(doc))));
    }
    let note = format!("response time: {}; service time: from send to answer", facts::felt_by(doc));
    let note = if is_measured { note } else { String::new() };
    (!blocks.is_empty()).then_some(Section { class: "percentiles", name: "Latency", note, blocks })
}

fn table(doc: &RunDocument, columns: &[Column<'_>], room: Room) -> Table {
    let row = |name: Span, of: &dyn Fn(&Column<'_>) -> [Span; 2]| {
        let both = columns.iter().map(of);
        let cells: Vec<Span> = match room {
            Room::Page => both.map(below).collect(),
            Room::Terminal => both.flatten().collect(),
            // Of two intervals, that of what users feel.
            Room::Narrow => {
                let (values, intervals): (Vec<Span>, Vec<Span>) = both.map(|[at, of]| (at, of)).unzip();
                values.into_iter().chain(intervals.into_iter().take(1)).collect()
            }
        };
        std::iter::once(name).chain(cells).collect::<Vec<Span>>()
    };
    let (quantiles, _) = facts::rows(doc);
    let at = |q: f64| row(plain(format::quantile_label(q)), &|(_, paint, d)| with_interval(d, q, *paint));
    let mut rows: Vec<Vec<Span>> = quantiles.iter().map(|quantile| at(quantile.q)).collect();
    rows.push(row(plain("max"), &|(_, paint, d)| [(*paint, facts::max(d)), dim("")]));
    rows.push(row(plain("mean"), &|(_, paint, d)| [(*paint, facts::mean(d)), dim("")]));
    rows.push(row(dim("samples"), &|(.., d)| [dim(format::count(d.count)), dim("")]));
    let right = Align::Right;
    let align = match room {
        Room::Page => vec![Align::Left, right, right, right],
        Room::Terminal => vec![Align::Left, right, Align::Left, right, Align::Left],
        Room::Narrow => vec![Align::Left, right, right, Align::Left],
    };
    // Where it stands in another line than what it is of.
    let has_interval = room == Room::Narrow && rows.iter().any(|row| !row[3].1.is_empty());
    let interval = if has_interval { "response, 95\u{a0}%" } else { "" };
    let head = row(plain(""), &|(name, paint, _)| [(*paint, (*name).into()), dim(interval)]);
    Table::of(head, align, rows)
}

/// A percentile and its 95 % interval, which may be empty.
fn with_interval(of: &Distribution, q: f64, paint: Paint) -> [Span; 2] {
    let Some(at) = facts::quantile(of, q) else { return [dim("–"), dim("")] };
    [(if facts::is_few(at) { Paint::Dim } else { paint }, facts::marked(at, false)), dim(facts::interval(at))]
}

/// The second as the small part of the first.
fn below([(paint, text), (_, small)]: [Span; 2]) -> Span {
    (paint, if small.is_empty() { text } else { format!("{text}\n{small}") })
}

/// From the intended time to the last byte.
pub(crate) fn phases(doc: &RunDocument, room: Room) -> Option<Section> {
    let parts = facts::parts(doc);
    let sent = [
        ("send lag", "intended time to send", &doc.send_lag, false),
        ("generator late", "by the generator alone", &doc.generator_late, false),
    ];
    let failed = ("until failure", "intended time to failure", &doc.failed_response_time, false);
    let of_parts = parts.iter().map(|&(name, what, d)| (name, what, d, true));
    let all = sent.into_iter().chain(of_parts).chain([failed]);
    let rows: Vec<Vec<Span>> = all.filter(|(.., d, _)| d.count > 0).map(|part| row(part, room)).collect();
    if rows.is_empty() {
        return None;
    }
    let columns = [left(""), right("p50"), right("p99"), right("max"), right("count"), left("")];
    let mut table = Table::new(columns, rows);
    let columns = match room {
        Room::Narrow => 4,
        Room::Terminal => 6,
        Room::Page => 5,
    };
    table.rows.iter_mut().chain([&mut table.head]).for_each(|row| row.truncate(columns));
    table.align.truncate(columns);
    let one_read = facts::in_one_read(doc).then(|| "of the transfer: it came in one read".to_string());
    let waits = facts::waits(doc).into_iter().map(|wait| Block::Line(Paint::Plain, wait));
    // A page has them with the load generator.
    let arrivals = facts::arrivals(doc).into_iter().filter(|_| room < Room::Page);
    let arrivals = arrivals.map(|arrivals| Block::Line(Paint::Dim, arrivals));
    let blocks = std::iter::once(Block::Table(table))
        .chain(one_read.map(|says| Block::Marked(Paint::Dim, "–", says)))
        .chain(waits)
        .chain(arrivals)
        .collect();
    let answered = facts::of_answered(doc).filter(|_| !parts.is_empty());
    let note = answered.map(|answered| format!("first byte and transfer {answered}")).unwrap_or_default();
    Some(Section { class: "phases", name: "Parts of a request", note, blocks })
}

/// A part: its name, what it is, how long it took, and whether it is one that may be too short to be measured.
fn row((name, what, d, is_part): (&str, &str, &Distribution, bool), room: Room) -> Vec<Span> {
    let name = match (room, name) {
        (Room::Page, name) => format!("{name}\n{what}"),
        // So that all times stand in 40 columns.
        (Room::Narrow, "generator late") => "generator".into(),
        (Room::Narrow, "until failure") => "to failure".into(),
        (_, name) => name.into(),
    };
    let at = |q| match facts::quantile(d, q) {
        None => dim("–"),
        Some(at) => (if facts::is_few(at) { Paint::Dim } else { Paint::Plain }, facts::marked(at, is_part)),
    };
    let max = if is_part { facts::part_max(d) } else { facts::max(d) };
    vec![plain(name), at(0.5), at(0.99), plain(max), plain(format::count(d.count)), dim(what)]
}
