//! What breaks first, and at which rate and stall.

use super::section;
use crate::block::{Block, Paint, Section, Table, left, plain, right};
use crate::format;
use unblink_artifact::size::{Bound, Dealt, Limit, SizeDocument};

/// A stall that is no longer than answers take anyway holds no connection for longer.
pub(super) fn is_held_by_answers(doc: &SizeDocument) -> bool {
    doc.load.stall_ns <= doc.load.latency_ns
}

/// Of what is carried: rounded down, but not to nothing.
pub(super) fn whole_rate(per_s: f64) -> String {
    format::rate(if per_s < 100.0 { per_s } else { per_s.floor() })
}

pub(super) fn limits(doc: &SizeDocument) -> Option<Section> {
    let (fleet, latency_s) = (&doc.fleet, doc.load.latency_ns as f64 / 1e9);
    let row = |bound: &Bound| {
        let stall = match bound.stall_s_max {
            None => "–".into(),
            Some(stall_s) if stall_s < latency_s => "not any".into(),
            Some(stall_s) => seconds(stall_s),
        };
        vec![
            plain(name(bound.limit)),
            plain(match bound.agents_max {
                Some(most) => format!("≤ {}", format::count(most)),
                None => format!("≥ {}", format::count(bound.agents_if_equal)),
            }),
            plain(whole_rate(bound.per_s_max)),
            plain(stall),
        ]
    };
    let columns = [left(""), right("agents"), right("holds up to"), right("stalls up to")];
    let table = Table::new(columns, fleet.bounds.iter().map(row).collect());
    let mut blocks = vec![Block::Table(table)];
    let line = |text| Block::Line(Paint::Plain, text);
    if doc.load.dealt == Dealt::Streams && fleet.agents_if_equal < u64::from(fleet.agents) {
        let equal = format::plural(fleet.agents_if_equal, "agent", "agents");
        let streams = fleet.largest.streams.unwrap_or_default();
        blocks.push(line(format!(
            "{equal} would do if shares were equal (--arrivals even). Poisson arrivals are 1\u{202f}024 streams that stay whole, and \
             the largest share, of {}, decides.",
            format::plural(streams, "stream", "streams")
        )));
    }
    if is_held_by_answers(doc) {
        let (stall, latency) = (format::duration(doc.load.stall_ns), format::duration(doc.load.latency_ns));
        blocks.push(line(format!(
            "A stall of {stall} changes nothing: answers take {latency} while all is well."
        )));
    }
    if fleet.bounds.iter().any(|bound| bound.stall_s_max.is_some_and(|stall_s| stall_s < latency_s)) {
        let latency = format::duration(doc.load.latency_ns);
        blocks
            .push(line(format!("Not any: it breaks without a stall, since answers take {latency} anyway.")));
    }
    if fleet.stall_s_max > 0.0 {
        let (stall, rate) = (seconds(fleet.stall_s_max), format::rate_asked(doc.load.per_s));
        blocks.push(line(format!("At {rate} this fleet carries stalls of up to {stall}.")));
    }
    if fleet.bounds.first().is_some_and(|bound| bound.limit == Limit::Ports) && !fleet.is_enough {
        let shorter = if is_held_by_answers(doc) { "" } else { ", a shorter stall" };
        blocks.push(line(format!(
            "More addresses of the target (--addresses){shorter} or a lower rate need fewer ports."
        )));
    }
    blocks.extend(too_many(doc).map(|text| line(text.into())));
    let busy = fleet.largest.worker_busy_in_stall;
    if busy > 1.0 {
        blocks.push(Block::Line(
            Paint::Finding,
            format!(
                "Opening a connection for each arrival of a stall takes {} of a worker's processor, so arrivals would wait for \
                 connections: open them before (run -c {}).",
                format::percent(busy),
                fleet.total.connections
            ),
        ));
    }
    section("What breaks first", String::new(), blocks)
}

/// What helps where more agents say more than can be taken in while load goes on.
fn too_many(doc: &SizeDocument) -> Option<&'static str> {
    let fleet = &doc.fleet;
    let least = fleet.agents_if_equal.max(fleet.agents.into());
    let mut bounds = fleet.bounds.iter().enumerate();
    let (_, bound) = bounds.find(|(place, bound)| {
        bound.agents_max.is_some_and(|most| *place == 0 || !fleet.is_enough && most <= least)
    })?;
    Some(match bound.limit {
        Limit::Bus => {
            "Give the bus a faster network (--set bus_bytes_per_s), use agents with more cores, which are fewer, or let fewer requests \
             be recorded apart."
        }
        _ => {
            "One processor of the coordinator merges what all agents report. Use agents with more cores, which are fewer, or fewer \
             requests that are recorded apart. Without a coordinator (run --share), folders are merged in steps, a hundred at a \
             time (unblink merge)."
        }
    })
}

pub(super) fn name(limit: Limit) -> &'static str {
    match limit {
        Limit::Processor => "processors",
        Limit::Network => "the network",
        Limit::Ports => "local ports",
        Limit::Descriptors => "descriptors",
        Limit::Bus => "the bus",
        Limit::Merge => "merging",
    }
}

fn seconds(s: f64) -> String {
    format::Bound::Lower.duration((s * 1e9) as u64)
}
