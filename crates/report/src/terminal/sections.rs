//! The sections of the report below validity, in the order in which they are printed.

use super::text::{Align, Paint, Screen, Span};
use crate::block::{Room, dim, plain, run};
use crate::{facts, format};
use unblink_artifact::document::{Distribution, Quantile, RunDocument};

/// What the columns of the latency table are.
fn latency_head(screen: &Screen, doc: &RunDocument) -> Vec<Vec<Span>> {
    let row = |response: Span, service: Span| vec![plain(""), response, plain(""), service];
    if screen.is_narrow() {
        return vec![row((Paint::Response, "response".into()), (Paint::Service, "service".into()))];
    }
    vec![
        row((Paint::Response, "response time".into()), (Paint::Service, "service time".into())),
        row(dim(facts::felt_by(doc)), dim("send to answer")),
    ]
}

/// Response and service time side by side, and why they differ.
pub(super) fn latency(screen: &mut Screen, doc: &RunDocument) {
    screen.heading("Latency", "");
    let (response, service) = (&doc.response_time, &doc.service_time);
    if response.count == 0 && service.count == 0 {
        screen.paragraph(2, Paint::Bold, &facts::difference(doc));
        return;
    }
    let mut rows = latency_head(screen, doc);
    let mut few = false;
    // A bound is a bound, however few samples lie above it.
    let is_few = |quantile: &Quantile| quantile.few_samples && !quantile.censored;
    let (shown, more) = facts::shown(response);
    for r in &response.quantiles[..shown] {
        let s = facts::quantile(service, r.q);
        few |= is_few(r) || s.is_some_and(is_few);
        // Where there is room for one interval only, that of what users feel stays.
        let mark = |quantile: &Quantile, narrow: bool| {
            let interval = if narrow { String::new() } else { facts::interval(quantile) };
            let mark = if is_few(quantile) { "~" } else { "" };
            dim(format!("{mark}{interval}"))
        };
        let narrow = screen.room() == Room::Narrow;
        let paint = |few, paint| if few { Paint::Dim } else { paint };
        rows.push(vec![
            plain(format::quantile_label(r.q)),
            (paint(is_few(r), Paint::Response), facts::value(r)),
            mark(r, screen.is_narrow()),
            s.map_or(dim("–"), |s| (paint(is_few(s), Paint::Service), facts::value(s))),
            s.map_or(dim(""), |s| mark(s, narrow)),
            // In a line of its own.
            dim(if screen.is_narrow() { facts::interval(r) } else { String::new() }),
        ]);
    }
    rows.push(vec![
        plain("max"),
        (Paint::Response, facts::max(response)),
        plain(""),
        (Paint::Service, facts::max(service)),
    ]);
    rows.push(vec![plain("mean"), plain(facts::mean(response)), plain(""), plain(facts::mean(service))]);
    rows.push(vec![
        dim("samples"),
        dim(format::count(response.count)),
        plain(""),
        dim(format::count(service.count)),
    ]);
    screen.table(&[Align::Left, Align::Right, Align::Left, Align::Right, Align::Left, Align::Left], &rows);
    if let Some(note) = facts::invalid_note(doc) {
        screen.marked(2, Paint::Bad, "✗", note);
    }
    if few {
        screen.marked(2, Paint::Dim, "~", "fewer than 10 samples lie above it");
    }
    if let Some(more) = facts::unshown(more) {
        screen.marked(2, Paint::Dim, " ", &more);
    }
    if response.quantiles.iter().chain(&service.quantiles).any(|q| !facts::interval(q).is_empty()) {
        screen.marked(2, Paint::Dim, "–", "in parentheses: the 95 % interval");
    }
    for reason in facts::without_interval(doc) {
        screen.marked(2, Paint::Dim, "·", &reason);
    }
    for sentence in facts::extremes(response).into_iter().chain(facts::with_lost(doc)) {
        screen.marked(2, Paint::Dim, "·", &sentence);
    }
    if let Some(within) = facts::answered_within(doc) {
        screen.marked(2, Paint::Dim, "·", &within);
    }
    if response.censored > 0 {
        let open = format::plural(response.censored, "arrival", "arrivals");
        let note = format!("longer than that: {open} had not ended by then");
        screen.marked(2, Paint::Dim, ">", &note);
    }
    let note = facts::closed_note(doc).unwrap_or_else(|| facts::difference(doc));
    screen.paragraph(2, Paint::Bold, &note);
}

/// Waiting in the client and what caused it.
pub(super) fn send_lag(screen: &mut Screen, doc: &RunDocument) {
    if doc.send_lag.count == 0 {
        return;
    }
    screen.heading("Send lag", "waiting between the intended time and the send");
    let mut rows = vec![header(&["", "p50", "p99", "max"])];
    rows.push(figures("all causes", &doc.send_lag));
    let own = if screen.is_narrow() { "generator" } else { "generator late" };
    rows.push(figures(own, &doc.generator_late));
    screen.table(&[Align::Left, Align::Right, Align::Right, Align::Right], &rows);
    for wait in facts::waits(doc) {
        screen.paragraph(2, Paint::Plain, &wait);
    }
    for arrivals in facts::arrivals(doc) {
        screen.paragraph(2, Paint::Dim, &arrivals);
    }
}

/// Connect, TLS, first byte, transfer.
pub(super) fn phases(screen: &mut Screen, doc: &RunDocument) {
    let parts = facts::parts(doc);
    if parts.is_empty() {
        return;
    }
    screen.heading("Phases", &facts::of_answered(doc).unwrap_or_default());
    let mut rows = vec![header(&["", "p50", "p99", "max"])];
    for (name, what, distribution) in parts {
        let mut row = values(name, distribution, true);
        row.push(dim(if screen.is_narrow() { "" } else { what }));
        rows.push(row);
    }
    screen.table(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Left], &rows);
}

/// Failed arrivals by kind, and how long they took to fail.
pub(super) fn failures(screen: &mut Screen, doc: &RunDocument) {
    let Some(section) = run::failures(doc, screen.room()) else { return };
    screen.section(&section);
    if doc.failed_response_time.count > 0 {
        let mut row = figures("until the failure", &doc.failed_response_time);
        for (cell, name) in row.iter_mut().skip(1).zip(["p50", "p99", "max"]) {
            cell.1 = format!("{name} {}", cell.1);
        }
        screen.table(&[Align::Left; 4], &[row]);
    }
}

fn header(names: &[&str]) -> Vec<Span> {
    names.iter().map(|name| dim(*name)).collect()
}

/// Name, p50, p99, max.
fn figures(name: &str, d: &Distribution) -> Vec<Span> {
    values(name, d, false)
}

fn values(name: &str, d: &Distribution, part: bool) -> Vec<Span> {
    let value = |q| match facts::quantile(d, q) {
        Some(quantile) if quantile.few_samples && !quantile.censored => {
            (Paint::Dim, facts::marked(quantile, part))
        }
        Some(quantile) => plain(facts::marked(quantile, part)),
        None => dim("–"),
    };
    let max = if part { facts::part_max(d) } else { facts::max(d) };
    vec![plain(name), value(0.5), value(0.99), plain(max)]
}
