//! The tables below the pictures.

use super::block::write;
use crate::block::{Block, Paint, Room, Section, apart, run};
use crate::svg::canvas::escape;
use crate::{facts, format};
use std::fmt::Write;
use unblink_artifact::document::{Distribution, RunDocument};

const SLOWEST: &str = "The slowest arrivals, at most five of each second";
const SLOWEST_NOTE: &str = "Of the arrivals that ended in a second, the five slowest are kept: others of that \
    second may have taken longer than some of another that are listed.";

/// Every table that has something to say.
pub(super) fn all(out: &mut String, doc: &RunDocument, level: u8) {
    out.push_str("<section class=\"tables\">");
    percentiles(out, doc, level);
    super::sections::account_table(out, doc, level);
    write(out, run::fanout(doc), level);
    phases(out, doc, level);
    slowest(out, doc, level);
    write(out, apart::all(doc, Room::Page), level);
    write(out, run::values(doc), level);
    write(out, run::statuses(doc, Room::Page), level);
    write(out, run::failures(doc, Room::Page), level);
    write(out, run::retries(doc), level);
    write(out, [run::connections(doc), run::throughput(doc), generator(doc)], level);
    out.push_str("</section>");
}

struct Rows {
    html: String,
}

impl Rows {
    /// Opens a block; a leading `<` in a column's name marks text, which stands on the left.
    fn new(class: &str, name: &str, columns: &[&str], level: u8) -> Rows {
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
        Rows { html }
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
        Rows::new("percentiles", "Percentiles", &["<", "response time", "service time", "send lag"], level);
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

fn phases(out: &mut String, doc: &RunDocument, level: u8) {
    let parts = facts::parts(doc);
    if parts.is_empty() {
        return;
    }
    let name = match facts::of_answered(doc) {
        Some(of) => format!("Parts of a request, {of}"),
        None => "Parts of a request".into(),
    };
    let mut table = Rows::new("phases", &name, &["<", "p50", "p99", "max", "count"], level);
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
    let shared =
        ["<arrival", "due at", "waited", "response time", "<outcome", "status", "connection", "<operation"];
    let has_origins = doc.slowest.iter().any(|slow| slow.origin.is_some());
    let columns: Vec<&str> = shared.into_iter().chain(has_origins.then_some("<origin")).collect();
    let mut table = Rows::new("slowest wide-block", SLOWEST, &columns, level);
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
        let mut row = vec![
            ("", format::count(slow.index)),
            ("n", format::moment(slow.intended_ns)),
            ("n", waited),
            ("n response-text", took),
            ("", outcome),
            ("n", slow.status.map_or("–".into(), |status| status.to_string())),
            ("n", slow.connection.map_or("–".into(), |connection| connection.to_string())),
            ("name", escape(&slow.operation)),
        ];
        if has_origins {
            let origin = slow.origin.and_then(|place| doc.origins.get(usize::from(place)));
            row.push(("name", origin.map_or("–".into(), |origin| escape(&origin.name.to_string()))));
        }
        table.row(&row);
    }
    table.finish(out, SLOWEST_NOTE);
}

fn generator(doc: &RunDocument) -> Section {
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
    let arrivals = facts::arrivals(doc).into_iter().map(|arrivals| Block::Line(Paint::Dim, arrivals));
    let blocks = std::iter::once(Block::Pairs(rows)).chain(arrivals).collect();
    Section { class: "pairs", name: "Load generator", note: String::new(), blocks }
}
