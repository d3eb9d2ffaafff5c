//! What is said of a mirror.

use crate::block::{Block, Paint, Section, Span, Table, Tone, dim, left, plain, right};
use crate::format;
use unblink_artifact::mirror::{MirrorBodies, MirrorClients, MirrorDocument, MirrorQuantile, MirrorVerdict};

/// A word, and the sentence that says why.
pub(super) fn answer(doc: &MirrorDocument) -> (Tone, &'static str, String) {
    let q = format::quantile_label(doc.decides);
    match doc.verdict {
        MirrorVerdict::FailsMore => {
            (Tone::Bad, "FAILS MORE", "The candidate fails in more pairs than chance explains.".into())
        }
        MirrorVerdict::Slower => {
            (Tone::Bad, "SLOWER", format!("The candidate's {q} is higher, by as much as counts."))
        }
        MirrorVerdict::NotSlower => (
            Tone::Good,
            "NOT SLOWER",
            format!("The candidate's {q} is not higher by {} or more.", format::percent(doc.min_effect)),
        ),
        MirrorVerdict::Unknown => (
            Tone::Doubt,
            "NO VERDICT",
            format!("These pairs can't tell whether the candidate's {q} is higher."),
        ),
    }
}

/// Whom it is about.
pub(super) fn about(doc: &MirrorDocument) -> String {
    let noise = doc.noise.as_ref().map(|noise| format!(", and {noise} as its twin")).unwrap_or_default();
    let ended = doc.aborted.as_ref().map(|by| format!(" · stopped: {}", by.rule)).unwrap_or_default();
    format!(
        "{} against {}{noise} · {} of requests to {}{ended}",
        doc.candidate,
        doc.baseline,
        format::duration(doc.length_ns),
        doc.listen
    )
}

pub(super) fn sections(doc: &MirrorDocument) -> Vec<Section> {
    let mut sections =
        vec![times(doc, "Response time", "from the moment both were asked", &doc.quantiles, "candidate")];
    if let Some(median) = &doc.pair_median {
        let ends = match (median.low_ns, median.high_ns) {
            (Some(low), Some(high)) => format!(" (95 %: {} to {})", signed(low), signed(high)),
            _ => String::new(),
        };
        let line = format!(
            "Within a compared pair the candidate takes {}{ends} at the median.",
            signed(median.value_ns)
        );
        sections[0].blocks.push(Block::Line(Paint::Plain, line));
    }
    if let Some(noise) = &doc.noise_quantiles {
        sections.push(times(doc, "By itself", "the baseline's twin against the baseline", noise, "twin"));
    }
    sections.push(account(doc));
    if let Some(bodies) = &doc.bodies {
        sections.push(section(
            "Bodies",
            "of answers with one status, by digest",
            vec![Block::Counts(of_bodies(bodies))],
        ));
    }
    sections.push(operations(doc));
    sections
}

fn section(name: &'static str, note: &str, blocks: Vec<Block>) -> Section {
    Section { class: "mirror wide-block", name, note: note.into(), blocks }
}

/// Percentiles with fewer pairs above are of few samples, as in a run.
const PAIRS_ABOVE_MIN: f64 = 10.0;

/// Up to the first percentile that rests on few pairs, which is marked, and the one that decides.
fn times(
    doc: &MirrorDocument,
    name: &'static str,
    note: &str,
    quantiles: &[MirrorQuantile],
    second: &'static str,
) -> Section {
    let pairs = doc.account.compared.saturating_add(doc.account.left_out());
    let is_of_few = |of: &MirrorQuantile| pairs as f64 * (1.0 - of.q) < PAIRS_ABOVE_MIN;
    let first_few = quantiles.iter().position(is_of_few).unwrap_or(quantiles.len());
    let decides = quantiles.iter().position(|of| of.q == doc.decides).unwrap_or(0);
    let shown = (first_few.max(decides) + 1).min(quantiles.len());
    let row = |of: &MirrorQuantile| {
        let mark = if is_of_few(of) { "~" } else { "" };
        let time =
            |ns: Option<u64>| ns.map_or(withheld(), |ns| plain(format!("{mark}{}", format::duration(ns))));
        let ends =
            |low: Option<String>, high: Option<String>| low.zip(high).map(|(low, high)| from_to(&low, &high));
        vec![
            plain(format::quantile_label(of.q)),
            time(of.baseline_ns),
            time(of.candidate_ns),
            of.difference_ns.map_or(withheld(), |ns| plain(format!("{mark}{}", signed(ns)))),
            dim(ends(of.low_ns.map(signed), of.high_ns.map(signed)).unwrap_or_else(|| "–".into())),
            dim(ends(of.change_low.map(change), of.change_high.map(change)).unwrap_or_else(|| "–".into())),
        ]
    };
    let columns = [
        left(""),
        right("baseline"),
        right(second),
        right("difference"),
        right("95 %"),
        right("relative, 95 %"),
    ];
    let table = Table::new(columns, quantiles[..shown].iter().map(row).collect());
    let more = crate::facts::unshown(quantiles.len() - shown);
    let more = more.map(|more| Block::Line(Paint::Dim, more));
    section(name, note, std::iter::once(Block::Table(table)).chain(more).collect())
}

fn account(doc: &MirrorDocument) -> Section {
    let account = &doc.account;
    let mut rows = vec![row("compared", account.compared, Paint::Good)];
    rows.extend(account.censored.iter().map(|(cause, n)| row(&words(cause), *n, Paint::Finding)));
    rows.extend(
        account
            .skipped
            .iter()
            .map(|(cause, n)| row(&format!("not mirrored: {}", words(cause)), *n, Paint::Dim)),
    );
    rows.push(row("offered", account.offered, Paint::Bold));
    let mut blocks = vec![Block::Table(Table::new([left(""), right("requests")], rows))];
    let (left_out, all) = (account.left_out(), account.left_out() + account.compared);
    if left_out > 0 {
        let share = format::share(left_out, all);
        let line = format!(
            "{share} of the pairs were left out. They count as longer than anything known, so percentiles above the rest are \
             withheld."
        );
        blocks.push(Block::Line(Paint::Finding, line));
    }
    let MirrorClients { refused, cut_off, .. } = doc.clients;
    if refused > 0 {
        let line = format!(
            "{} connections were closed at once, since too many were open: what they brought is in no figure.",
            format::count(refused)
        );
        blocks.push(Block::Line(Paint::Finding, line));
    }
    if cut_off > 0 {
        let line = format!(
            "{} connections were closed in the middle of a request, or with answers that nobody read.",
            format::count(cut_off)
        );
        blocks.push(Block::Line(Paint::Dim, line));
    }
    section("Requests", "each in one place", blocks)
}

fn operations(doc: &MirrorDocument) -> Section {
    let mut rows = Vec::new();
    for of in &doc.operations {
        let statuses: Vec<String> =
            of.statuses.iter().map(|(pair, n)| format!("{pair} × {}", format::count(*n))).collect();
        let both = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => plain(format!("{} / {}", format::duration(a), format::duration(b))),
            _ => withheld(),
        };
        rows.push(vec![
            plain(of.name.clone()),
            plain(format::count(of.compared)),
            plain(format::count(of.left_out)),
            both(of.baseline_p50_ns, of.candidate_p50_ns),
            both(of.baseline_p99_ns, of.candidate_p99_ns),
            dim(statuses.join(", ")),
        ]);
    }
    let columns =
        [left(""), right("compared"), right("left out"), right("p50"), right("p99"), left("statuses")];
    section("By request", "baseline / candidate", vec![Block::Table(Table::new(columns, rows))])
}

fn of_bodies(bodies: &MirrorBodies) -> Vec<(String, String)> {
    [
        (bodies.compared, "compared"),
        (bodies.candidate_differs, "differ at the candidate alone"),
        (bodies.noise_differs, "differ by themselves"),
    ]
    .map(|(n, what)| (what.to_string(), format::count(n)))
    .into()
}

fn row(name: &str, n: u64, paint: Paint) -> Vec<Span> {
    vec![(paint, name.to_string()), plain(format::count(n))]
}

fn words(cause: &str) -> String {
    cause.replace('_', " ")
}

fn withheld() -> Span {
    (Paint::Finding, "withheld".into())
}

/// From one end to the other; a unit that both have stands once.
fn from_to(low: &str, high: &str) -> String {
    match (low.split_once('\u{a0}'), high.split_once('\u{a0}')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "−" } else { "+" };
    format!("{sign}{}", format::duration(ns.unsigned_abs()))
}

fn change(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}", format::percent(share.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::terminal::Style;
    use std::collections::BTreeMap;
    use unblink_artifact::mirror::{MirrorAccount, MirrorConnections, MirrorOperation, SCHEMA};

    fn document() -> MirrorDocument {
        let run = fixture::objectives();
        let line = |q, candidate_ns: Option<u64>| MirrorQuantile {
            q,
            baseline_ns: Some(1_000_000),
            candidate_ns,
            difference_ns: candidate_ns.map(|ns| ns as i64 - 1_000_000),
            low_ns: candidate_ns.map(|ns| ns as i64 - 1_100_000),
            high_ns: candidate_ns.map(|ns| ns as i64 - 900_000),
            change_low: candidate_ns.map(|_| 0.4),
            change_high: candidate_ns.map(|_| 0.6),
        };
        MirrorDocument {
            schema: SCHEMA.into(),
            tool: run.tool,
            started_at: run.started_at,
            command: vec!["unblink".into(), "mirror".into()],
            environment: run.environment,
            listen: "127.0.0.1:9000".into(),
            baseline: "http://127.0.0.1:1".into(),
            candidate: "http://127.0.0.1:2".into(),
            noise: None,
            length_ns: 60_000_000_000,
            account: MirrorAccount {
                offered: 1_000,
                compared: 900,
                censored: BTreeMap::from([("queue_full".into(), 60)]),
                skipped: BTreeMap::from([("mutating".into(), 40)]),
            },
            quantiles: vec![line(0.5, Some(1_500_000)), line(0.99, None)],
            pair_median: None,
            noise_quantiles: None,
            bodies: None,
            operations: vec![MirrorOperation {
                name: "GET /items/{id}".into(),
                compared: 900,
                left_out: 60,
                statuses: BTreeMap::from([("200/500".into(), 3)]),
                ..MirrorOperation::default()
            }],
            decides: 0.99,
            min_effect: 0.05,
            verdict: MirrorVerdict::Unknown,
            aborted: None,
            clients: MirrorClients { accepted: 3, refused: 2, cut_off: 1 },
            connections: vec![MirrorConnections::default(); 2],
            handed_over_p99_ns: 1,
            handed_over_max_ns: 2,
            open_max: 3,
        }
    }

    /// A column more stood alone under the first ones.
    #[test]
    fn a_unit_stands_once_and_rows_fit_a_screen() {
        assert_eq!(from_to("+2.96\u{a0}ms", "+2.99\u{a0}ms"), "+2.96 to +2.99\u{a0}ms");
        assert_eq!(from_to("−900\u{a0}µs", "+1\u{a0}ms"), "−900\u{a0}µs to +1\u{a0}ms");
        let mut doc = document();
        for of in &mut doc.quantiles {
            (of.baseline_ns, of.candidate_ns) = (Some(5_090_000), Some(8_060_000));
            (of.difference_ns, of.low_ns, of.high_ns) = (Some(2_970_000), Some(2_960_000), Some(2_990_000));
            (of.change_low, of.change_high) = (Some(0.578), Some(0.59));
        }
        let text = crate::format::plain(&super::super::terminal(&doc, &Style { width: 80, color: false }));
        let row = text.lines().find(|line| line.starts_with("  p50 ")).expect("a row");
        assert!(row.ends_with("+2.96 to +2.99 ms  +57.8 to +59 %"), "{text}");
        assert!(super::super::html(&doc).contains("slower than"), "the question is asked");
    }

    #[test]
    fn what_is_not_known_is_withheld_and_what_was_left_out_is_told() {
        let doc = document();
        let text = crate::format::plain(&super::super::terminal(&doc, &Style { width: 100, color: false }));
        for part in ["NO VERDICT", "withheld", "queue full", "not mirrored: mutating", "200/500", "6.25"] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(text.contains("2 connections were closed at once") && !text.contains("stopped:"), "{text}");
        // Five pairs lie above p99.9, and fewer above p99.99.
        let mut few = doc.clone();
        let like = few.quantiles[0].clone();
        few.quantiles.extend([0.999, 0.9999].map(|q| MirrorQuantile { q, ..like.clone() }));
        few.account.compared = 4_940;
        let text = crate::format::plain(&super::super::terminal(&few, &Style { width: 100, color: false }));
        assert!(text.contains("~1.50 ms"), "{text}");
        assert!(!text.contains("p99.99") && text.contains("1 more percentile needs more samples"), "{text}");
        let page = super::super::html(&doc);
        assert!(page.starts_with("<!doctype html>") && page.contains("GET /items/{id}"));
    }
}
