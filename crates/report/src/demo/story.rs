//! The sentences of the demo, chosen from both documents.

use super::Demo;
use crate::event;
use crate::svg::Gap;
use crate::{facts, format};
use unblink_artifact::document::{HeatColumn, RunDocument, Severity};

/// The event that both loops met, and how many requests each had in it.
pub(super) struct Stall {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) closed: u64,
    pub(super) open: u64,
}

/// The finding in one line.
pub(super) fn finding(demo: &Demo) -> String {
    match p99s(demo) {
        Some((closed, open)) if open / 2 >= closed => format!(
            "A closed loop reports a p99 of {}; users feel {}",
            format::duration(closed),
            format::duration(open)
        ),
        Some((closed, open)) => format!(
            "Asked in two ways, the server shows a p99 of {} and {}",
            format::duration(closed),
            format::duration(open)
        ),
        None => "Two ways to ask the same server".into(),
    }
}

/// Two sentences that explain it.
pub(super) fn sentences(demo: &Demo) -> Vec<String> {
    let users = match demo.closed.users() {
        Some(n) if n > 1 => format!("Its {} users", format::count(u64::from(n))),
        _ => "Its users".into(),
    };
    let mut sentences = Vec::new();
    match stall(demo) {
        Some(stall) if stall.closed > 0 && stall.open > stall.closed => sentences.push(format!(
            "While the server stood still, the closed loop sent {} where real users would have sent {}. \
             {users} were all waiting, so it asked nothing more.",
            format::plural(stall.closed, "request", "requests"),
            about(stall.open)
        )),
        _ => sentences.push(format!(
            "A closed loop sends its next request when the last one is answered. {users} stop asking whenever \
             the server stops answering."
        )),
    }
    match p99s(demo) {
        Some((closed, open)) if open / 2 >= closed => sentences.push(format!(
            "The requests that would have waited were never sent and never measured: the report says {} where \
             1 in 100 users waited {} or longer.",
            format::duration(closed),
            format::least(open)
        )),
        Some(_) => sentences.push("In this run the two agree at p99; look further into the tail.".into()),
        None => sentences.push("There is not enough data to compare the two.".into()),
    }
    sentences.extend(doubts(demo));
    sentences
}

/// What stands against one of the measurements: a busy machine must not pass for the server.
fn doubts(demo: &Demo) -> Vec<String> {
    let named = [("open", &demo.open), ("closed", &demo.closed)];
    let doubt = |(name, doc): (&str, &RunDocument)| {
        let finding = doc.validity.findings.iter().find(|f| f.severity >= Severity::Degrades)?;
        let weight = if finding.severity == Severity::Invalidates { "invalid" } else { "degraded" };
        Some(format!("The {name}-loop run is {weight}: {} {}", finding.message, finding.remedy))
    };
    named.into_iter().filter_map(doubt).collect()
}

/// A number read from bins: two digits of it, so that it doesn't look exact.
pub(super) fn about(n: u64) -> String {
    if n < 100 {
        return format::count(n);
    }
    let unit = 10u64.pow(n.ilog10() - 1);
    format!("about {}", format::count((n + unit / 2) / unit * unit))
}

/// p99 of the closed and of the open loop, where both are known.
fn p99s(demo: &Demo) -> Option<(u64, u64)> {
    let known = |d| facts::quantile(d, 0.99).filter(|q| !q.censored).map(|q| q.value);
    Some((known(&demo.closed.service_time)?, known(&demo.open.response_time)?))
}

/// The server's stall, and whom it held up.
pub(super) fn stall(demo: &Demo) -> Option<Stall> {
    let median = facts::quantile(&demo.open.response_time, 0.5).filter(|median| !median.censored)?.value;
    let (from_ns, to_ns) = demo.stall_ns;
    // Noticeably, which is not only above p99.
    let held_up = median.saturating_add(median / 5);
    let (closed, open) =
        (slower(&demo.closed, from_ns, to_ns, held_up), slower(&demo.open, from_ns, to_ns, held_up));
    // What this machine slowed down beside it was not due while the server stood still.
    let columns = demo.open.heatmap.columns.iter();
    let due =
        columns.filter(|column| (from_ns..to_ns).contains(&column.start_ns)).map(event::all).sum::<u64>();
    let open = open.min(due);
    (open > 0).then_some(Stall { from_ns, to_ns, closed, open })
}

/// Whose run it is.
pub(super) fn whose(scope: &str) -> &'static str {
    if scope == "closed" { "The closed loop" } else { "The open loop, which users feel" }
}

/// The longest stretch near the stall in which the closed loop asked nothing, and what the open loop asked in it.
pub(super) fn gap(demo: &Demo, stall: &Stall) -> Option<Gap> {
    let heat = &demo.closed.heatmap;
    let around = heat.column_ns.saturating_mul(2);
    let near = stall.from_ns.saturating_sub(around)..=stall.to_ns.saturating_add(around);
    let ends = |pair: &[HeatColumn]| (pair[0].start_ns.saturating_add(heat.column_ns), pair[1].start_ns);
    let gaps = heat.columns.windows(2).map(ends).filter(|(from, to)| from < to && near.contains(from));
    let (from_ns, to_ns) = gaps.max_by_key(|(from, to)| to - from)?;
    let asked: u64 = demo
        .open
        .heatmap
        .columns
        .iter()
        .filter(|column| (from_ns..to_ns).contains(&column.start_ns))
        .map(event::all)
        .sum();
    let says = [
        format!("{} in which nobody asked:", format::duration(to_ns - from_ns)),
        format!("{} not sent", format::plural(asked, "request", "requests")),
    ];
    (asked > 0).then_some(Gap { from_ns, to_ns, says })
}

/// Arrivals due in a stretch, give or take two columns, that took longer than `limit_ns`, to a bin.
fn slower(doc: &RunDocument, from_ns: u64, to_ns: u64, limit_ns: u64) -> u64 {
    let heat = &doc.heatmap;
    let bin = heat.bin_edges_ns.partition_point(|&edge| edge < limit_ns) as u32;
    let around = heat.column_ns.saturating_mul(2);
    let near = from_ns.saturating_sub(around)..to_ns.saturating_add(around);
    heat.columns
        .iter()
        .filter(|column| near.contains(&column.start_ns))
        .map(|column| {
            let cells = column.cells.iter().filter(|cell| cell.0 >= bin).map(|cell| u64::from(cell.1));
            cells.sum::<u64>() + u64::from(column.censored)
        })
        .sum()
}
