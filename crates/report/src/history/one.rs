//! A run of which nothing but the index is left.

use super::{labels, minute, word};
use crate::terminal::Style;
use crate::terminal::text::{Align, Paint, Screen, Span};
use crate::{facts, format};
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
        &format!("Run {}, {} UTC: {}", run.id, minute(&run.started_at), word(run)),
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
    latency(&mut screen, run);
    arrivals(&mut screen, run);
    screen.finish()
}

fn latency(screen: &mut Screen, run: &IndexedRun) {
    screen.heading("Latency", "");
    let head = ["", "response time", "service time"];
    let mut rows: Vec<Vec<Span>> = vec![head.iter().map(|name| (Paint::Dim, name.to_string())).collect()];
    let (response, service) = (&run.response_time, &run.service_time);
    for quantile in &response.quantiles {
        let other = facts::quantile(service, quantile.q);
        rows.push(vec![
            (Paint::Plain, format::quantile_label(quantile.q)),
            (Paint::Response, facts::value(quantile)),
            (Paint::Service, other.map_or("–".into(), facts::value)),
        ]);
    }
    rows.push(vec![
        (Paint::Plain, "max".into()),
        (Paint::Response, facts::max(response)),
        (Paint::Service, facts::max(service)),
    ]);
    screen.table(&[Align::Left, Align::Right, Align::Right], &rows);
}

fn arrivals(screen: &mut Screen, run: &IndexedRun) {
    screen.heading("Arrivals", "each ends in exactly one of these");
    let all = &run.arrivals;
    let ends = [
        ("ok", all.ok),
        ("failed", all.failed),
        ("timed out", all.timed_out),
        ("unfinished", all.unfinished),
        ("unsent", all.unsent),
        ("scheduled", all.scheduled),
    ];
    let row = |(name, n): (&str, u64)| {
        vec![
            (Paint::Plain, name.to_string()),
            (Paint::Plain, format::count(n)),
            (Paint::Plain, format::share(n, all.scheduled)),
        ]
    };
    screen.table(&[Align::Left, Align::Right, Align::Right], &ends.map(row));
}
