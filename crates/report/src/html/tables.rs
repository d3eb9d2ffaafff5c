//! The tables below the pictures.

use crate::svg::canvas::escape;
use crate::{facts, format};
use std::collections::BTreeMap;
use std::fmt::Write;
use unblink_artifact::document::{ConnectionMode, Distribution, RunDocument};

/// Rows of operations and failures at the most; what is left is counted in a line.
const ROWS_MAX: usize = 60;

const SLOWEST: &str = "The slowest arrivals, at most five of each second";
const SLOWEST_NOTE: &str = "Of the arrivals that ended in a second, the five slowest are kept: others of that \
    second may have taken longer than some of another that are listed.";

/// Every table that has something to say.
pub(super) fn all(out: &mut String, doc: &RunDocument, level: u8) {
    out.push_str("<section class=\"tables\">");
    percentiles(out, doc, level);
    super::sections::account_table(out, doc, level);
    pages(out, doc, level);
    phases(out, doc, level);
    slowest(out, doc, level);
    operations(out, doc, level);
    counts(out, "Status codes", &doc.codes, level);
    counts(out, "Failures by kind", &doc.failures, level);
    let to = facts::addresses(doc).unwrap_or_default();
    pairs(out, "Connections", level, &connections(doc), &to);
    pairs(out, "Throughput", level, &throughput(doc), "");
    let arrivals = facts::arrivals(doc).unwrap_or_default();
    pairs(out, "Load generator", level, &generator(doc), &arrivals);
    out.push_str("</section>");
}

struct Table {
    html: String,
}

impl Table {
    /// Opens a block; a leading `<` in a column's name marks text, which stands on the left.
    fn new(class: &str, name: &str, columns: &[&str], level: u8) -> Table {
        let mut html =
            format!("<div class=\"block {class}\"><h{level}>{name}</h{level}><div class=\"scroll\"><table>");
        if !columns.is_empty() {
            html.push_str("<thead><tr>");
            for column in columns {
                let _ = match column.strip_prefix('<') {
                    Some(text) => write!(html, "<th scope=\"col\">{text}</th>"),
                    None => write!(html, "<th scope=\"col\" class=\"n\">{column}</th>"),
                };
            }
            html.push_str("</tr></thead>");
        }
        html.push_str("<tbody>");
        Table { html }
    }

    /// Cells are HTML; the first one is the row's name.
    fn row(&mut self, cells: &[(&str, String)]) {
        self.html.push_str("<tr>");
        for (i, (class, cell)) in cells.iter().enumerate() {
            let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            let _ = match i {
                0 => write!(self.html, "<th scope=\"row\"{class}>{cell}</th>"),
                _ => write!(self.html, "<td{class}>{cell}</td>"),
            };
        }
        self.html.push_str("</tr>");
    }

    fn finish(mut self, out: &mut String, note: &str) {
        self.html.push_str("</tbody></table></div>");
        if !note.is_empty() {
            let _ = write!(self.html, "<p class=\"foot\">{}</p>", escape(note));
        }
        self.html.push_str("</div>");
        out.push_str(&self.html);
    }
}

fn value(d: &Distribution, q: f64) -> String {
    facts::quantile(d, q).map_or("–".into(), |quantile| escape(&facts::marked(quantile, false)))
}

/// The 95 % interval, on a line of its own.
fn interval(d: &Distribution, q: f64) -> String {
    match facts::quantile(d, q).map(facts::interval) {
        Some(text) if !text.is_empty() => format!("<small>{}</small>", escape(&text)),
        _ => String::new(),
    }
}

fn part_value(d: &Distribution, q: f64) -> String {
    facts::quantile(d, q).map_or("–".into(), |quantile| escape(&facts::marked(quantile, true)))
}

fn percentiles(out: &mut String, doc: &RunDocument, level: u8) {
    let columns = [
        ("n response-text", &doc.response_time),
        ("n service-text", &doc.service_time),
        ("n", &doc.send_lag),
    ];
    if columns.iter().all(|(_, d)| d.count == 0) {
        return;
    }
    let mut table =
        Table::new("percentiles", "Percentiles", &["<", "response time", "service time", "send lag"], level);
    let known = columns.iter().map(|(_, d)| d).find(|d| !d.quantiles.is_empty());
    let (shown, more) = known.map_or((0, 0), |d| facts::shown(d));
    let quantiles = || known.into_iter().flat_map(|d| &d.quantiles[..shown]).map(|quantile| quantile.q);
    for q in quantiles() {
        let mut cells = vec![("", format::quantile_label(q))];
        cells.extend(columns.iter().map(|(class, d)| (*class, format!("{}{}", value(d, q), interval(d, q)))));
        table.row(&cells);
    }
    for (name, of) in [("max", facts::max as fn(&Distribution) -> String), ("mean", facts::mean)] {
        let mut cells = vec![("", name.to_string())];
        cells.extend(columns.iter().map(|(class, d)| (*class, escape(&of(d)))));
        table.row(&cells);
    }
    let mut cells = vec![("", "samples".to_string())];
    cells.extend(columns.iter().map(|(_, d)| ("n", format::count(d.count))));
    table.row(&cells);
    let is_few = |d: &Distribution, q| facts::quantile(d, q).is_some_and(|q| q.few_samples && !q.censored);
    let few = quantiles().any(|q| columns.iter().any(|(_, d)| is_few(d, q)));
    let mut note = String::new();
    if few {
        note.push_str("~ fewer than 10 samples lie above it. ");
    }
    if let Some(more) = facts::unshown(more) {
        let _ = write!(note, "{more}. ");
    }
    if quantiles().any(|q| columns.iter().any(|(_, d)| !interval(d, q).is_empty())) {
        note.push_str("In parentheses: 95 % intervals. ");
    }
    for sentence in facts::without_interval(doc).into_iter().chain(facts::extremes(&doc.response_time)) {
        let _ = write!(note, "{sentence}. ");
    }
    if let Some(within) = facts::answered_within(doc) {
        let _ = write!(note, "Of{}. ", within.trim_start_matches("of"));
    }
    if doc.response_time.censored > 0 {
        let open = format::plural(doc.response_time.censored, "arrival", "arrivals");
        let _ = write!(note, "> longer than that: {open} had not ended by then. ");
    }
    note.push_str(facts::invalid_note(doc).unwrap_or(""));
    table.finish(out, note.trim());
}

/// Pages of several requests.
fn pages(out: &mut String, doc: &RunDocument, level: u8) {
    let sentences = facts::fanout(doc);
    if sentences.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<div class=\"block fanout\"><h{level}>Pages of several requests: the slowest of them decides</h{level}>"
    );
    for sentence in sentences {
        let _ = write!(out, "<p>{}</p>", escape(&sentence));
    }
    out.push_str("</div>");
}

fn phases(out: &mut String, doc: &RunDocument, level: u8) {
    let parts = facts::parts(doc);
    if parts.is_empty() {
        return;
    }
    let name = match facts::of_answered(doc) {
        Some(of) => format!("Parts of a request, {of}"),
        None => "Parts of a request".into(),
    };
    let mut table = Table::new("phases", &name, &["<", "p50", "p99", "max", "count"], level);
    let mut row = |name: &str, what: &str, d: &Distribution, part: bool| {
        let value = if part { part_value } else { value };
        table.row(&[
            ("", format!("{name}<small>{what}</small>")),
            ("n", value(d, 0.5)),
            ("n", value(d, 0.99)),
            ("n", escape(&if part { facts::part_max(d) } else { facts::max(d) })),
            ("n", format::count(d.count)),
        ]);
    };
    row("send lag", "intended time to send", &doc.send_lag, false);
    row("generator late", "part of it that the generator caused", &doc.generator_late, false);
    for (name, what, d) in parts {
        row(name, what, d, true);
    }
    if doc.failed_response_time.count > 0 {
        row("until failure", "intended time to failure", &doc.failed_response_time, false);
    }
    table.finish(out, &facts::waits(doc).join(" "));
}

fn slowest(out: &mut String, doc: &RunDocument, level: u8) {
    if doc.slowest.is_empty() {
        return;
    }
    let columns =
        ["<arrival", "due at", "waited", "response time", "<outcome", "status", "connection", "<operation"];
    let mut table = Table::new("slowest wide-block", SLOWEST, &columns, level);
    for slow in doc.slowest.iter().take(20) {
        let waited = slow
            .sent_ns
            .map_or("never sent".into(), |sent| format::duration(sent.saturating_sub(slow.intended_ns)));
        let took = match slow.is_censored() {
            true => escape(&format::above(slow.response_ns)),
            false => format::duration(slow.response_ns),
        };
        let outcome = match slow.outcome.as_str() {
            "ok" => "ok".to_string(),
            censored if slow.is_censored() => censored.replace('_', " "),
            kind => format!("<span class=\"failure-text\">{}</span>", escape(kind)),
        };
        table.row(&[
            ("", format::count(slow.index)),
            ("n", format::moment(slow.intended_ns)),
            ("n", waited),
            ("n response-text", took),
            ("", outcome),
            ("n", slow.status.map_or("–".into(), |status| status.to_string())),
            ("n", slow.connection.map_or("–".into(), |connection| connection.to_string())),
            ("name", escape(&slow.operation)),
        ]);
    }
    table.finish(out, SLOWEST_NOTE);
}

fn operations(out: &mut String, doc: &RunDocument, level: u8) {
    if doc.operations.len() < 2 {
        return;
    }
    let columns = ["<operation", "arrivals", "failed", "p50", "p99", "p99.9", "max", "service p99"];
    let mut table = Table::new("operations wide-block", "Response time by operation", &columns, level);
    let (shown, left_out) = facts::operations(doc, ROWS_MAX);
    for (name, operation) in shown {
        let d = &operation.response_time;
        let failed = if operation.arrivals.failed > 0 { "n failure-text" } else { "n zero" };
        table.row(&[
            ("name", escape(&name)),
            ("n", format::count(facts::arrivals_of(operation))),
            (failed, format::count(operation.arrivals.failed)),
            ("n", value(d, 0.5)),
            ("n", value(d, 0.99)),
            ("n", value(d, 0.999)),
            ("n", escape(&facts::max(d))),
            ("n", operation.service_time.as_ref().map_or("–".into(), |service| value(service, 0.99))),
        ]);
    }
    table.finish(out, &more(ROWS_MAX + left_out));
}

fn counts(out: &mut String, name: &str, counts: &BTreeMap<String, u64>, level: u8) {
    let total = counts.values().fold(0u64, |sum, n| sum.saturating_add(*n));
    if total == 0 {
        return;
    }
    let mut sorted: Vec<(&String, u64)> = counts.iter().map(|(name, n)| (name, *n)).collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let mut table = Table::new("counts", name, &[], level);
    for (name, n) in sorted.iter().take(ROWS_MAX) {
        table.row(&[
            ("name", escape(name)),
            ("n", format::count(*n)),
            ("n zero", escape(&format::share(*n, total))),
        ]);
    }
    table.finish(out, &more(sorted.len()));
}

fn more(rows: usize) -> String {
    if rows > ROWS_MAX { format!("And {} more.", rows - ROWS_MAX) } else { String::new() }
}

fn pairs(out: &mut String, name: &str, level: u8, rows: &[(String, String)], note: &str) {
    let mut table = Table::new("pairs", name, &[], level);
    for (name, value) in rows {
        table.row(&[("", escape(name)), ("n", escape(value))]);
    }
    table.finish(out, note);
}

fn connections(doc: &RunDocument) -> Vec<(String, String)> {
    let mode =
        if doc.origin().connections.mode == ConnectionMode::Fixed { "a fixed pool" } else { "as needed" };
    let mut rows = vec![("opened".to_string(), mode.to_string())];
    rows.extend(facts::connections(doc).into_iter().map(|(name, n)| {
        let name = if name == "opened" { "opened in all" } else { name };
        (name.to_string(), format::count(n))
    }));
    rows
}

fn throughput(doc: &RunDocument) -> Vec<(String, String)> {
    let r = &doc.rate;
    let mut rows = vec![
        ("offered".into(), r.offered.map_or("as fast as answers come".into(), format::rate)),
        ("sent".into(), format::rate(r.sent)),
        ("achieved".into(), format::rate(r.achieved)),
    ];
    if doc.simulated.is_none() {
        rows.push(("received".into(), format::bytes(doc.bytes_received)));
    }
    rows
}

fn generator(doc: &RunDocument) -> Vec<(String, String)> {
    let g = &doc.generator;
    let mut rows = vec![
        ("busy".to_string(), format::percent(g.busy_share)),
        ("busy, worst interval".into(), format::percent(g.busy_share_max)),
        ("longest pause of its own".into(), format::duration(g.pause_max_ns)),
        ("processor time stolen".into(), g.steal_share.map_or("not known".into(), format::percent)),
        ("involuntary switches".into(), g.involuntary_switches.map_or("not known".into(), format::count)),
    ];
    // Nothing is handed over in a simulation.
    if g.handover_max_ns > 0 {
        rows.push(("longest handing over of a second's record".into(), format::duration(g.handover_max_ns)));
    }
    if g.double_intervals > 0 {
        rows.push(("intervals handed over late".into(), format::count(g.double_intervals)));
    }
    rows
}
