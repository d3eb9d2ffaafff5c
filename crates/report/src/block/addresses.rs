//! A table of the addresses of a target that has several: one slow machine of a fleet shows in it.

use super::run::more;
use super::{Align, Block, Paint, Room, Section, Span, Table, dim, plain, time_at};
use crate::{facts, format};
use std::cmp::Reverse;
use unblink_artifact::document::{AddressArrivals, Origin, RunDocument};

/// An outcome: its name, and how many arrivals had it.
type Outcome = (&'static str, fn(&AddressArrivals) -> u64);

const OUTCOMES: [Outcome; 5] = [
    ("ok", |of| of.ok),
    ("failed", |of| of.failed),
    ("timed out", |of| of.timed_out),
    ("unfinished", |of| of.unfinished),
    ("tried again", |of| of.tried_again),
];

/// What came of the arrivals at each address; nothing where no origin has several.
pub(crate) fn addresses(doc: &RunDocument, room: Room) -> Option<Section> {
    let mut rows: Vec<(String, &AddressArrivals)> =
        doc.origins.iter().flat_map(|of| named(doc, of)).collect();
    if rows.is_empty() {
        return None;
    }
    let left_out = rows.len().saturating_sub(room.rows_max());
    if left_out > 0 {
        // Where not all of them have a row, the slowest do.
        rows.sort_by_key(|(_, of)| Reverse(facts::quantile(&of.response_time, 0.99).map(|p99| p99.value)));
        rows.truncate(room.rows_max());
    }
    // An outcome that none of them had has no column.
    let is_there = |(name, n): &Outcome| *name == "ok" || rows.iter().any(|(_, of)| n(of) > 0);
    let outcomes: Vec<Outcome> = OUTCOMES.into_iter().filter(is_there).collect();
    let has_max = room >= Room::Terminal;
    let times = ["p50", "p99"].into_iter().chain(has_max.then_some("max"));
    let head = std::iter::once("").chain(outcomes.iter().map(|(name, _)| *name)).chain(times).map(dim);
    let head: Vec<Span> = head.collect();
    let row = |(name, of): &(String, &AddressArrivals)| {
        let counts = outcomes.iter().map(|(name, n)| match (n(of), *name) {
            (n, "ok") => plain(format::count(n)),
            (0, _) => dim("0"),
            (n, "failed") => (Paint::Failure, format::count(n)),
            (n, _) => (Paint::Finding, format::count(n)),
        });
        let times = [0.5, 0.99].map(|q| time_at(&of.response_time, q, Paint::Plain));
        let max = has_max.then(|| plain(facts::max(&of.response_time)));
        std::iter::once(plain(name)).chain(counts).chain(times).chain(max).collect()
    };
    let align = (0..head.len()).map(|i| if i == 0 { Align::Left } else { Align::Right }).collect();
    let table = Block::Table(Table::of(head, align, rows.iter().map(row).collect()));
    Some(Section {
        class: "addresses wide-block",
        name: "Addresses",
        note: "arrivals by where their last attempt went, and their response times".into(),
        blocks: std::iter::once(table).chain(more(left_out)).collect(),
    })
}

/// The addresses of an origin that has several, with its name where there are several origins.
fn named<'a>(doc: &RunDocument, origin: &'a Origin) -> Vec<(String, &'a AddressArrivals)> {
    let all = &origin.connections.arrivals_by_address;
    if all.len() < 2 {
        return Vec::new();
    }
    let name = |address: &String| match doc.origins.len() {
        1 => address.clone(),
        _ => format!("{} at {address}", origin.name),
    };
    all.iter().map(|(address, of)| (name(address), of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn table(doc: &RunDocument, room: Room) -> (Vec<Vec<String>>, usize) {
        let section = addresses(doc, room).expect("several addresses");
        let Some(Block::Table(table)) = section.blocks.first() else { panic!("a table") };
        let text = |row: Vec<Span>| row.into_iter().map(|(_, text)| format::plain(&text)).collect();
        (table.lines().into_iter().map(text).collect(), section.blocks.len())
    }

    #[test]
    fn each_of_several_addresses_has_a_row() {
        let mut doc = fixture::fleet();
        assert_eq!(table(&doc, Room::Terminal).0[0], ["", "ok", "p50", "p99", "max"]);
        if let Some(slow) = doc.origins[0].connections.arrivals_by_address.get_mut("10.0.0.3:80") {
            slow.timed_out = 7;
        }
        let (rows, blocks) = table(&doc, Room::Terminal);
        assert_eq!(rows[0], ["", "ok", "timed out", "p50", "p99", "max"]);
        let names: Vec<&str> = rows[1..].iter().map(|row| row[0].as_str()).collect();
        assert_eq!((names, blocks), (vec!["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"], 1));
        for (row, of) in rows[1..].iter().zip(doc.origin().connections.arrivals_by_address.values()) {
            let p99 = facts::quantile(&of.response_time, 0.99).expect("a quantile");
            assert_eq!(row[4], format::plain(&facts::marked(p99, false)));
            assert_eq!(
                [&row[1], &row[2]],
                [of.ok, of.timed_out].map(|n| format::plain(&format::count(n))).each_ref()
            );
        }
        assert_eq!(table(&doc, Room::Narrow).0[0].last().map(String::as_str), Some("p99"));
    }

    #[test]
    fn one_address_has_no_table() {
        let mut doc = fixture::fleet();
        doc.origins[0].connections.arrivals_by_address.pop_first();
        assert!(addresses(&doc, Room::Page).is_some());
        doc.origins[0].connections.arrivals_by_address.pop_first();
        assert!(addresses(&doc, Room::Page).is_none());
        assert!(addresses(&fixture::stall(), Room::Page).is_none());
    }

    #[test]
    fn of_many_addresses_the_slowest_are_shown() {
        let mut doc = fixture::fleet();
        let all = &mut doc.origins[0].connections.arrivals_by_address;
        let fast = all["10.0.0.1:80"].clone();
        all.extend((10..60).map(|i| (format!("10.0.0.{i}:80"), fast.clone())));
        let (rows, blocks) = table(&doc, Room::Terminal);
        assert_eq!((rows.len(), blocks), (21, 2));
        assert_eq!([&rows[1][0], &rows[2][0]], ["10.0.0.3:80", "10.0.0.2:80"]);
    }
}
