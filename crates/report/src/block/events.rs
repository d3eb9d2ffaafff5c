//! Answers that come event by event: the first event, and the gaps between them.

use super::{Block, Paint, Section, Span, Table, left, plain, right};
use crate::{facts, format};
use unblink_artifact::document::{Distribution, Events, RunDocument};

const SHOWN: [f64; 3] = [0.5, 0.99, 0.999];

/// Of all answers, and of each request where there are several; nothing where none came event by event.
pub(crate) fn all(doc: &RunDocument) -> Vec<Section> {
    let Some(events) = &doc.events else { return Vec::new() };
    let by_operation: Vec<Vec<Span>> = doc
        .operations
        .iter()
        .filter_map(|operation| Some((&operation.plan.name, operation.events.as_ref()?)))
        .flat_map(|(name, of)| {
            [row(format!("{name}: first event"), &of.first), row(format!("{name}: gap"), &of.gap)]
        })
        .collect();
    let apart = (!by_operation.is_empty()).then(|| Section {
        class: "events wide-block",
        name: "Events by operation",
        note: "first from the intended start".into(),
        blocks: vec![table(by_operation)],
    });
    std::iter::once(of_all(events)).chain(apart).collect()
}

fn of_all(events: &Events) -> Section {
    let rows = vec![
        row("first event".into(), &events.first),
        row("… from the send".into(), &events.first_service),
        row("gap between events".into(), &events.gap),
    ];
    let pieces = [
        Some(format::plural(events.events, "event", "events")),
        events.per_s.map(|n| format!("{} a second", format::number(n))),
        events.per_answer.map(|n| format!("{} an answer", format::number(n))),
        (events.keep_alives > 0).then(|| {
            format!("beside them {} without data", format::plural(events.keep_alives, "block", "blocks"))
        }),
    ];
    let counts: Vec<String> = pieces.into_iter().flatten().collect();
    let mut blocks = vec![table(rows), Block::Line(Paint::Plain, counts.join(" · "))];
    if events.gap.censored > 0 {
        let open = format::plural(events.gap.censored, "gap was", "gaps were");
        blocks.push(Block::Line(
            Paint::Dim,
            format!("{open} still open when the answer was given up: known only to be longer"),
        ));
    }
    Section {
        class: "events",
        name: "Events",
        note: "first event from the intended start: what users feel".into(),
        blocks,
    }
}

fn table(rows: Vec<Vec<Span>>) -> Block {
    let columns = [left(""), right("p50"), right("p99"), right("p99.9"), right("max"), right("count")];
    Block::Table(Table::new(columns, rows))
}

fn row(name: String, of: &Distribution) -> Vec<Span> {
    let at = |q| facts::quantile(of, q).map_or("–".into(), |quantile| facts::marked(quantile, false));
    let quantiles = SHOWN.map(|q| plain(at(q)));
    let rest = [plain(facts::max(of)), plain(format::count(of.count))];
    std::iter::once(plain(name)).chain(quantiles).chain(rest).collect()
}
