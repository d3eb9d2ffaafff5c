//! The tables below the pictures.

use super::block::write;
use crate::block::{
    Block, Paint, Room, Section, Table, agents, apart, cross_check, events, left, plain, replayed, right,
    run, setup, times, values,
};
use crate::svg::canvas::escape;
use crate::{facts, format, tried};
use std::fmt::Write;
use unblink_artifact::document::{RunDocument, SlowArrival};

const SLOWEST: &str = "The slowest arrivals, at most five of each second";
const SLOWEST_NOTE: &str = "Of the arrivals that ended in a second, the five slowest are kept: others of that \
    second may have taken longer than some of another that are listed.";

/// Every table that has something to say.
pub(super) fn all(out: &mut String, doc: &RunDocument, level: u8) {
    out.push_str("<section class=\"tables\">");
    write(out, times::percentiles(doc, Room::Page), level);
    write(out, cross_check::section(doc, Room::Page), level);
    write(out, [run::account(doc, true)], level);
    write(out, run::fanout(doc), level);
    write(out, events::all(doc), level);
    write(out, times::phases(doc, Room::Page), level);
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
            plain(slow.machine(&doc.agents).map_or("–".into(), agents::shares)),
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
        left("share"),
        left("trace"),
    ];
    let table = Table::new(head, doc.slowest.iter().take(20).map(row).collect());
    let has_origins = doc.slowest.iter().any(|slow| slow.origin.is_some());
    let table = if has_origins { table } else { table.without("origin") };
    let has_shares = doc.slowest.iter().any(|slow| slow.machine(&doc.agents).is_some());
    let table = if has_shares { table } else { table.without("share") };
    let has_traces = doc.slowest.iter().any(|slow| slow.trace_id.is_some());
    let table = if has_traces { table } else { table.without("trace") };
    let blocks = vec![Block::Table(table), Block::Line(Paint::Dim, SLOWEST_NOTE.into())];
    (!doc.slowest.is_empty()).then(|| Section {
        class: "slowest wide-block",
        name: SLOWEST,
        note: String::new(),
        blocks,
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use serde_json::json;

    #[test]
    fn slow_arrivals_of_several_machines_say_whose_they_are() {
        let page = |doc: &RunDocument| format::plain(&crate::html::render(doc));
        let mut doc = fixture::stall_closed();
        let agents = [(1, 1), (2, 3)].map(|(first, last)| {
            json!({
                "first": first, "last": last, "of": 3, "start_at": doc.started_at,
                "command": [], "environment": doc.environment,
            })
        });
        doc.agents = serde_json::from_value(json!(agents)).expect("two machines");
        assert!(!page(&doc).contains("2–3/3"), "nobody knows whose they are");
        for slow in &mut doc.slowest {
            slow.share = Some(2);
        }
        let page = page(&doc);
        assert!(page.contains("the slowest arrival, due at 30 s in shares 2–3 of 3, took 1.01 s"));
        assert_eq!(page.matches("2–3/3").count(), doc.slowest.len());
    }
}
