//! A run of which nothing but the index is left.

use super::{labels, word};
use crate::block::{Align, Block, Paint, Section, Table, left, plain, right};
use crate::terminal::Style;
use crate::terminal::text::Screen;
use crate::{facts, format};
use unblink_artifact::document::Quantile;
use unblink_artifact::history::IndexedRun;

pub(super) fn render(run: &IndexedRun, why: &str, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.labelled(Paint::Finding, "INDEX ONLY", &format!("{why} This is what the history has of it."));
    for line in facts::first_targets(&run.targets, run.targets_beyond.as_ref()) {
        screen.paragraph(0, Paint::Bold, &line);
    }
    screen.paragraph(0, Paint::Plain, &run.load);
    screen.blank();
    screen.paragraph(
        0,
        Paint::Plain,
        &format!("Run {}, {} UTC: {}", run.id, format::minute(&run.started_at), word(run)),
    );
    if !labels(run).is_empty() {
        screen.paragraph(0, Paint::Plain, &labels(run));
    }
    for finding in &run.validity.findings {
        screen.marked(2, Paint::Finding, "·", &finding.message);
    }
    for slo in run.verdict.iter().flat_map(|verdict| &verdict.slos) {
        let (mark, _) = facts::slo_mark(slo);
        screen.marked(2, Paint::Bold, mark, &facts::slo_line(slo));
    }
    [latency(run), arrivals(run)].iter().for_each(|section| screen.section(section));
    screen.finish()
}

fn latency(run: &IndexedRun) -> Section {
    let (response, service) = (&run.response_time, &run.service_time);
    let row = |name: String, response: String, service: String| {
        vec![plain(name), (Paint::Response, response), (Paint::Service, service)]
    };
    let of = |quantile: &Quantile| {
        let other = facts::quantile(service, quantile.q).map_or("–".into(), facts::value);
        row(format::quantile_label(quantile.q), facts::value(quantile), other)
    };
    let max = row("max".into(), facts::max(response), facts::max(service));
    let columns = [left(""), right("response time"), right("service time")];
    let table = Table::new(columns, response.quantiles.iter().map(of).chain([max]).collect());
    Section { class: "", name: "Latency", note: String::new(), blocks: vec![Block::Table(table)] }
}

fn arrivals(run: &IndexedRun) -> Section {
    let all = &run.arrivals;
    let mut ends = vec![
        ("ok", all.ok),
        ("failed", all.failed),
        ("timed out", all.timed_out),
        ("unfinished", all.unfinished),
        ("unsent", all.unsent),
    ];
    if all.withheld > 0 {
        ends.push(("withheld", all.withheld));
    }
    if all.lost > 0 {
        ends.push(("lost", all.lost));
    }
    ends.push(("scheduled", all.scheduled));
    let row = |(name, n)| vec![plain(name), plain(format::count(n)), plain(format::share(n, all.scheduled))];
    let align = vec![Align::Left, Align::Right, Align::Right];
    let table = Table::of(Vec::new(), align, ends.into_iter().map(row).collect());
    let note = "each ends in exactly one of these".into();
    Section { class: "", name: "Arrivals", note, blocks: vec![Block::Table(table)] }
}
