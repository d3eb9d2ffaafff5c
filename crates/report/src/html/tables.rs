//! The tables below the pictures.

use super::block::write;
use crate::block::{
    Block, Paint, Room, Section, Span, Table, agents, apart, cross_check, events, left, plain, replayed,
    right, run, setup, values,
};
use crate::svg::canvas::escape;
use crate::{facts, format, tried};
use std::fmt::Write;
use unblink_artifact::document::{Distribution, RunDocument, SlowArrival};

const SLOWEST: &str = "The slowest arrivals, at most five of each second";
const SLOWEST_NOTE: &str = "Of the arrivals that ended in a second, the five slowest are kept: others of that \
    second may have taken longer than some of another that are listed.";

/// Every table that has something to say.
pub(super) fn all(out: &mut String, doc: &RunDocument, level: u8) {
    out.push_str("<section class=\"tables\">");
    write(out, percentiles(doc), level);
    write(out, cross_check::section(doc, Room::Page), level);
    write(out, [run::account(doc, true)], level);
    write(out, run::fanout(doc), level);
    write(out, events::all(doc), level);
    write(out, phases(doc), level);
    write(out, slowest(doc), level);
    write(out, apart::all(doc, Room::Page), level);
    write(out, replayed::section(doc, Room::Page), level);
    write(out, values::section(doc), level);
    write(out, values::by_answers(doc), level);
    write(out, setup::section(doc), level);
    write(out, agents::section(doc, Room::Page), level);
    write(out, run::statuses(doc, Room::Page), level);
    write(out, run::failures(doc, Room::Page), level);
    write(out, run::retries(doc), level);
    write(out, [run::connections(doc), run::throughput(doc), generator(doc)], level);
    kept_failures(out, doc, level);
    out.push_str("</section>");
}

/// Requests that failed, each as it was sent and answered.
fn kept_failures(out: &mut String, doc: &RunDocument, level: u8) {
    if doc.kept_failures.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<div class=\"block kept-failures\"><h{level}>Failed requests <small>the first of each kind</small></h{level}>"
    );
    for one in &doc.kept_failures {
        let (kind, name) = (escape(&one.kind), escape(&one.request.name));
        let text = escape(&tried::failure(one));
        let _ = write!(out, "<details><summary>{kind} · {name}</summary><pre>{text}</pre></details>");
    }
    out.push_str("</div>");
}

/// A section of one table and what is to be known of it.
fn section(class: &'static str, name: &'static str, note: String, table: Table, foot: &str) -> Section {
    let foot = (!foot.is_empty()).then(|| Block::Line(Paint::Dim, foot.into()));
    Section { class, name, note, blocks: std::iter::once(Block::Table(table)).chain(foot).collect() }
}

fn value(d: &Distribution, q: f64, is_part: bool) -> String {
    facts::quantile(d, q).map_or("–".into(), |quantile| facts::marked(quantile, is_part))
}

/// The 95 % interval; may be empty.
fn interval(d: &Distribution, q: f64) -> String {
    facts::quantile(d, q).map(facts::interval).unwrap_or_default()
}

fn percentiles(doc: &RunDocument) -> Option<Section> {
    let columns = [
        (Paint::Response, &doc.response_time),
        (Paint::Service, &doc.service_time),
        (Paint::Plain, &doc.send_lag),
    ];
    let known = columns.iter().map(|(_, d)| d).find(|d| !d.quantiles.is_empty());
    let (shown, more) = known.map_or((0, 0), |d| facts::shown(d));
    let quantiles = || known.into_iter().flat_map(|d| &d.quantiles[..shown]).map(|quantile| quantile.q);
    let row = |name: String, of: &dyn Fn(&Distribution) -> String| -> Vec<Span> {
        std::iter::once(plain(name)).chain(columns.iter().map(|(paint, d)| (*paint, of(d)))).collect()
    };
    let at = |q| {
        row(format::quantile_label(q), &|d| match interval(d, q).as_str() {
            "" => value(d, q, false),
            interval => format!("{}\n{interval}", value(d, q, false)),
        })
    };
    let samples = columns.iter().map(|(_, d)| plain(format::count(d.count)));
    let last = [
        row("max".into(), &|d| facts::max(d)),
        row("mean".into(), &|d| facts::mean(d)),
        std::iter::once(plain("samples")).chain(samples).collect(),
    ];
    let head = [left(""), right("response time"), right("service time"), right("send lag")];
    let table = Table::new(head, quantiles().map(at).chain(last).collect());
    let is_few = |d: &Distribution, q| facts::quantile(d, q).is_some_and(|q| q.few_samples && !q.censored);
    let mut notes: Vec<String> = Vec::new();
    if quantiles().any(|q| columns.iter().any(|(_, d)| is_few(d, q))) {
        notes.push("~ fewer than 10 samples lie above it.".into());
    }
    notes.extend(facts::unshown(more).map(|more| format!("{more}.")));
    if quantiles().any(|q| columns.iter().any(|(_, d)| !interval(d, q).is_empty())) {
        notes.push("In parentheses: 95 % intervals.".into());
    }
    notes.extend(facts::without_interval(doc).into_iter().map(|sentence| format!("{sentence}.")));
    let bounds = facts::extremes(&doc.response_time).into_iter().chain(facts::with_lost(doc));
    // Each stands behind a full stop here.
    notes.extend(bounds.map(|words| format!("{}{}.", words[..1].to_uppercase(), &words[1..])));
    notes.extend(facts::answered_within(doc).map(|within| format!("Of{}.", within.trim_start_matches("of"))));
    if doc.response_time.censored > 0 {
        let open = format::plural(doc.response_time.censored, "arrival", "arrivals");
        notes.push(format!("> longer than that: {open} had not ended by then."));
    }
    notes.extend(facts::invalid_note(doc).map(String::from));
    let is_empty = columns.iter().all(|(_, d)| d.count == 0);
    (!is_empty).then(|| section("percentiles", "Percentiles", String::new(), table, &notes.join(" ")))
}

fn phases(doc: &RunDocument) -> Option<Section> {
    let parts = facts::parts(doc);
    if parts.is_empty() {
        return None;
    }
    let row = |name: &str, what: &str, d: &Distribution, is_part: bool| {
        vec![
            plain(format!("{name}\n{what}")),
            plain(value(d, 0.5, is_part)),
            plain(value(d, 0.99, is_part)),
            plain(if is_part { facts::part_max(d) } else { facts::max(d) }),
            plain(format::count(d.count)),
        ]
    };
    let mut rows = vec![
        row("send lag", "intended time to send", &doc.send_lag, false),
        row("generator late", "part of it that the generator caused", &doc.generator_late, false),
    ];
    rows.extend(parts.into_iter().map(|(name, what, d)| row(name, what, d, true)));
    if doc.failed_response_time.count > 0 {
        rows.push(row("until failure", "intended time to failure", &doc.failed_response_time, false));
    }
    let table = Table::new([left(""), right("p50"), right("p99"), right("max"), right("count")], rows);
    let note = facts::of_answered(doc).unwrap_or_default();
    Some(section("phases", "Parts of a request", note, table, &facts::waits(doc).join(" ")))
}

fn slowest(doc: &RunDocument) -> Option<Section> {
    let row = |slow: &SlowArrival| {
        let waited = slow.sent_ns.map(|sent| format::duration(sent.saturating_sub(slow.intended_ns)));
        let took = if slow.is_censored() { format::above } else { format::duration };
        let outcome = match slow.outcome.as_str() {
            "ok" => plain("ok"),
            censored if slow.is_censored() => plain(censored.replace('_', " ")),
            kind => (Paint::Failure, kind.to_string()),
        };
        let origin = slow.origin.and_then(|place| doc.origins.get(usize::from(place)));
        vec![
            plain(format::count(slow.index)),
            plain(format::moment(slow.intended_ns)),
            plain(waited.unwrap_or("never sent".into())),
            (Paint::Response, took(slow.response_ns)),
            outcome,
            plain(slow.status.map(|status| status.to_string()).or(slow.code.clone()).unwrap_or("–".into())),
            plain(slow.connection.map_or("–".into(), |connection| connection.to_string())),
            plain(&slow.operation),
            plain(origin.map_or("–".into(), |origin| origin.name.to_string())),
            plain(slow.trace_link.as_ref().or(slow.trace_id.as_ref()).map_or("–", String::as_str)),
        ]
    };
    let head = [
        right("arrival"),
        right("due at"),
        right("waited"),
        right("response time"),
        left("outcome"),
        right("status"),
        right("connection"),
        left("operation"),
        left("origin"),
        left("trace"),
    ];
    let table = Table::new(head, doc.slowest.iter().take(20).map(row).collect());
    let has_origins = doc.slowest.iter().any(|slow| slow.origin.is_some());
    let table = if has_origins { table } else { table.without("origin") };
    let has_traces = doc.slowest.iter().any(|slow| slow.trace_id.is_some());
    let table = if has_traces { table } else { table.without("trace") };
    (!doc.slowest.is_empty())
        .then(|| section("slowest wide-block", SLOWEST, String::new(), table, SLOWEST_NOTE))
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
