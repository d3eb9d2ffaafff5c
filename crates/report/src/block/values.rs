//! What requests were filled in with: the laws, and what was sent.

use super::{Block, Paint, Section, Span, Table, left, plain, right};
use crate::format;
use unblink_artifact::document::{ByAnswers, RunDocument, SizeFigures, ValuePlan, ValueSent};

/// The laws, each with how often it was drawn from, and the figures of those that can be held against what was sent.
pub(crate) fn section(doc: &RunDocument) -> Option<Section> {
    let sent = |value: &ValuePlan| doc.values_sent.iter().find(|sent| sent.name == value.name);
    let line = |value: &ValuePlan| {
        let drawn =
            sent(value).map(|sent| format!(" · drawn {}", format::plural(sent.draws, "time", "times")));
        Block::Line(Paint::Plain, format!("{}: {}{}", value.name, value.law, drawn.unwrap_or_default()))
    };
    let rows: Vec<_> = doc.values_sent.iter().flat_map(beside).collect();
    let head = [left(""), right("by its law"), right("as sent")];
    let table = (!rows.is_empty()).then(|| Block::Table(Table::new(head, rows)));
    (!doc.plan.values.is_empty()).then(|| Section {
        class: "values",
        name: "Values",
        note: "drawn for each request".into(),
        blocks: doc.plan.values.iter().map(line).chain(table).collect(),
    })
}

/// What another run of the same seed may bring otherwise.
pub(crate) fn by_answers(doc: &RunDocument) -> Option<Section> {
    let line = |what: &ByAnswers| Block::Line(Paint::Plain, said(*what).to_string());
    (!doc.plan.by_answers.is_empty()).then(|| Section {
        class: "by-answers",
        name: "By answers",
        note: "not by the seed: another run of it may bring something else".into(),
        blocks: doc.plan.by_answers.iter().map(line).collect(),
    })
}

fn said(what: ByAnswers) -> &'static str {
    match what {
        ByAnswers::ClosedLoad => "closed load: when each user asks next, and how far it comes",
        ByAnswers::Retries => "retries: what is tried again, and when",
        ByAnswers::Setup => "setup: what is taken from its answers",
        ByAnswers::Captures => "captures: what steps of journeys take from answers",
        ByAnswers::Until => "until: how often a step asks until it has its answer",
        ByAnswers::Redirects => "redirects: where they lead",
        ByAnswers::AcknowledgedInserts => "inserts=acknowledged: which keys are there",
        ByAnswers::Script => "script: what it makes of the answers that it is told of",
    }
}

/// The figures of one value.
fn beside(of: &ValueSent) -> Vec<Vec<Span>> {
    let popularity = of.popularity.iter().map(|keys| {
        let name = match keys.keys {
            1 => format!("{}: the most popular key", of.name),
            n => format!("{}: the {} most popular keys", of.name, format::count(n)),
        };
        vec![plain(name), plain(format::percent(keys.by_law)), plain(format::percent(keys.sent))]
    });
    let size = of.size.iter().flat_map(|size| {
        let figures =
            |of: &SizeFigures| [of.mean.round() as u64, of.p50, of.p99].map(|n| plain(format::count(n)));
        let names = ["mean", "p50", "p99"].map(|name| plain(format!("{}: {name}", of.name)));
        let rows = names.into_iter().zip(figures(&size.by_law)).zip(figures(&size.sent));
        rows.map(|((name, law), sent)| vec![name, law, sent])
    });
    popularity.chain(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use unblink_artifact::document::{PopularitySent, SizeSent};

    #[test]
    fn what_answers_decide_is_named() {
        let mut doc = fixture::stall();
        assert!(by_answers(&doc).is_none());
        doc.plan.by_answers = vec![ByAnswers::Retries, ByAnswers::Until];
        let section = by_answers(&doc).expect("a section");
        let lines: Vec<_> = section.blocks.iter().map(|block| format!("{block:?}")).collect();
        assert!(
            lines.len() == 2 && lines[0].contains("retries: ") && lines[1].contains("until: "),
            "{lines:?}"
        );
        for page in [
            crate::terminal::render(&doc, &crate::terminal::Style { width: 80, color: false }),
            crate::html::render(&doc),
        ] {
            assert!(page.contains("By answers") && page.contains("retries: what is tried again"), "{page}");
        }
    }

    #[test]
    fn what_was_sent_stands_beside_its_law() {
        let mut doc = fixture::stall();
        assert!(section(&doc).is_none());
        let law = |name: &str, law: &str| ValuePlan { name: name.into(), law: law.into() };
        doc.plan.values =
            vec![law("item", "zipf over 10 keys"), law("size", "lognormal"), law("user", "rows")];
        let keys = |keys, by_law, sent| PopularitySent { keys, by_law, sent };
        let size = |mean, p50, p99| SizeFigures { mean, p50, p99 };
        doc.values_sent = vec![
            ValueSent {
                name: "item".into(),
                draws: 1_000,
                popularity: vec![keys(1, 0.25, 0.24), keys(5, 0.75, 0.76)],
                size: None,
            },
            ValueSent {
                name: "size".into(),
                draws: 1,
                popularity: Vec::new(),
                size: Some(SizeSent { by_law: size(12.4, 10, 60), sent: size(11.6, 9, 64) }),
            },
        ];
        let section = section(&doc).expect("values");
        let (mut lines, mut rows) = (Vec::new(), Vec::new());
        for block in section.blocks {
            match block {
                Block::Line(_, text) => lines.push(format::plain(&text)),
                Block::Table(table) => {
                    let texts = |row: &Vec<Span>| row.iter().map(|(_, text)| format::plain(text)).collect();
                    rows.extend(table.rows.iter().map(texts).map(|row: Vec<String>| row.join(" | ")));
                }
                other => panic!("{other:?}"),
            }
        }
        let expected =
            ["item: zipf over 10 keys · drawn 1 000 times", "size: lognormal · drawn 1 time", "user: rows"];
        assert_eq!(lines, expected);
        let expected = [
            "item: the most popular key | 25 % | 24 %",
            "item: the 5 most popular keys | 75 % | 76 %",
            "size: mean | 12 | 12",
            "size: p50 | 10 | 9",
            "size: p99 | 60 | 64",
        ];
        assert_eq!(rows, expected);
    }
}
