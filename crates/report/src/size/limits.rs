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

/// Each arrival of the stall opens a connection.
pub(super) fn stall_opens(doc: &SizeDocument) -> bool {
    !doc.load.open_before && !is_held_by_answers(doc)
}

pub(super) fn limits(doc: &SizeDocument) -> Option<Section> {
    let (fleet, latency_s) = (&doc.fleet, doc.load.latency_ns as f64 / 1e9);
    let breaks_without = |stall_s: f64| stall_s < latency_s * (1.0 - 1e-9);
    let row = |bound: &Bound| {
        let stall = match bound.stall_s_max {
            None => "–".into(),
            Some(stall_s) if breaks_without(stall_s) => "not any".into(),
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
    if let Some(equal) = fleet.agents_if_equal.filter(|equal| *equal < fleet.agents)
        && doc.load.dealt == Dealt::Streams
    {
        let equal = format::plural(u64::from(equal), "agent", "agents");
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
    if fleet.bounds.iter().any(|bound| bound.stall_s_max.is_some_and(breaks_without)) {
        let latency = format::duration(doc.load.latency_ns);
        blocks
            .push(line(format!("Not any: it breaks without a stall, since answers take {latency} anyway.")));
    }
    if fleet.stall_s_max > 0.0 {
        let rate = format::rate_asked(doc.load.per_s);
        let carries = match fleet.stall_s_max <= latency_s * (1.0 + 1e-9) {
            true => "no stall that is longer than answers take anyway".into(),
            false => format!("stalls of up to {}", seconds(fleet.stall_s_max)),
        };
        blocks.push(line(format!("At {rate} this fleet carries {carries}.")));
    }
    if let (Some(all), true) = (fleet.auto_max, fleet.is_enough) {
        blocks.push(line(format!(
            "A run by itself opens fewer connections on a machine than this stall takes: say how many (run -c auto:{all})."
        )));
    }
    if fleet.bounds.first().is_some_and(|bound| bound.limit == Limit::Ports) && !fleet.is_enough {
        let shorter = if is_held_by_answers(doc) { "" } else { ", a shorter stall" };
        blocks.push(line(format!(
            "More addresses of the target (--addresses){shorter} or a lower rate need fewer ports."
        )));
    }
    blocks.extend(too_many(doc).map(|text| line(text.into())));
    blocks.extend(opening(doc).map(|(paint, text)| Block::Line(paint, text)));
    section("What breaks first", String::new(), blocks)
}

/// What connections that are opened before the load would change.
fn opening(doc: &SizeDocument) -> Option<(Paint, String)> {
    let fleet = &doc.fleet;
    let busy = format::percent(fleet.largest.worker_busy_in_stall);
    let is_too_slow = fleet.largest.worker_busy_in_stall > 1.0;
    let before = fleet.if_open_before.as_ref().map(|before| {
        let agents = format::plural(u64::from(before.agents), "agent", "agents");
        (format!("run -c {}; here --open-before", before.connections), agents)
    });
    if doc.load.open_before || !is_too_slow && before.is_none() {
        return None;
    }
    if !stall_opens(doc) {
        let text = format!(
            "A longer stall would open a connection for each arrival, which takes {busy} of a worker's processor: open them before \
             (run -c; here --open-before)."
        );
        return (fleet.stall_s_max > 0.0).then_some((Paint::Plain, text));
    }
    let wait = "so arrivals would wait for connections";
    Some(match (before, is_too_slow) {
        (Some((how, agents)), true) => (
            Paint::Finding,
            format!(
                "Opening a connection for each arrival of a stall takes {busy} of a worker's processor, {wait}: open them before \
                 ({how}). Then {agents} would do."
            ),
        ),
        (Some((how, agents)), false) => (
            Paint::Plain,
            format!(
                "With connections that are opened before the load ({how}), {agents} would do: no stall opens any then."
            ),
        ),
        (None, _) => (
            Paint::Finding,
            format!(
                "Opening a connection for each arrival of a stall takes {busy} of a worker's processor, {wait}. To open them before (run \
                 -c; here --open-before) is not enough by itself."
            ),
        ),
    })
}

/// What helps where more agents say more than can be taken in while load goes on.
fn too_many(doc: &SizeDocument) -> Option<&'static str> {
    let fleet = &doc.fleet;
    let demanded = fleet.bounds.iter().map(|bound| bound.agents_if_equal).max();
    let least = demanded.unwrap_or_default().max(fleet.agents.into());
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
        Limit::Opening => "opening connections",
        Limit::Network => "the network",
        Limit::Ports => "local ports",
        Limit::Descriptors => "descriptors",
        Limit::Bus => "the bus",
        Limit::Merge => "merging",
    }
}

fn seconds(s: f64) -> String {
    format::Bound::Lower.duration((s * 1e9).round() as u64)
}
