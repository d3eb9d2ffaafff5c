//! What was recorded of each operation, beside what came of its replay.

use super::run::more;
use super::{Align, Block, Room, Section, Span, Table, dim, plain};
use crate::{facts, format};
use std::collections::BTreeMap;
use unblink_artifact::document::{Operation, RecordedAnswers, RunDocument};

/// A column: its name, what it says, and the least room in which it stands.
type Column = (&'static str, fn(&RecordedAnswers, &Operation) -> Option<String>, Room);

const COLUMNS: [Column; 9] = [
    ("recorded", |then, _| Some(format::count(then.requests)), Room::Page),
    ("errors then", |then, _| errors(&then.codes), Room::Narrow),
    ("now", |_, now| errors(&now.codes), Room::Narrow),
    ("p50 then", |then, _| Some(format::duration(then.took.as_ref()?.p50_ns)), Room::Narrow),
    ("now", |_, now| service(now, 0.5), Room::Narrow),
    ("p99 then", |then, _| Some(format::duration(then.took.as_ref()?.p99_ns)), Room::Narrow),
    ("now", |_, now| service(now, 0.99), Room::Narrow),
    ("size then", |then, _| Some(size(then.answer_bytes_mean?)), Room::Page),
    ("now", |_, now| Some(size(now.body_bytes_mean()?)), Room::Page),
];

/// The table, if the run replayed anything.
pub(crate) fn section(doc: &RunDocument, room: Room) -> Option<Section> {
    let replay = doc.plan.replay.as_ref()?;
    let (shown, left_out) = facts::operations(doc, room.rows_max());
    let columns: Vec<&Column> = COLUMNS.iter().filter(|(.., least)| room >= *least).collect();
    let head = std::iter::once("").chain(columns.iter().map(|(name, ..)| *name)).map(dim).collect();
    let row = |(name, now): (String, &Operation)| -> Option<Vec<Span>> {
        let place = doc.operations.iter().position(|one| std::ptr::eq(one, now))?;
        let then = replay.operations.get(place)?;
        let cell = |(_, of, _): &&Column| of(then, now).map_or_else(|| dim("–"), plain);
        Some(std::iter::once(plain(name)).chain(columns.iter().map(cell)).collect())
    };
    let rows: Vec<Vec<Span>> = shown.into_iter().filter_map(row).collect();
    let align = (0..=columns.len()).map(|i| if i == 0 { Align::Left } else { Align::Right }).collect();
    let table = Block::Table(Table::of(head, align, rows));
    Some(Section {
        class: "replayed wide-block",
        name: "Recorded and replayed",
        note: note(doc, replay.operations.iter().map(|then| then.requests).sum()),
        blocks: std::iter::once(table).chain(more(left_out)).collect(),
    })
}

/// What stands beside what. Where only a part of the record was replayed, what was recorded is still all of it.
fn note(doc: &RunDocument, recorded: u64) -> String {
    let mut note =
        "then: as the log has it, of failed requests, too, and to 1\u{a0}%; now: service time of ok answers, mean body of all"
            .to_string();
    let due = doc.arrivals.due();
    if due < recorded {
        let [due, all] = [due, recorded].map(format::count);
        note += &format!("; then has all {all} recorded requests in it, now {due}");
    }
    note
}

/// Which share of the answers that have a status says that something failed.
fn errors(codes: &BTreeMap<String, u64>) -> Option<String> {
    let sum = |is_one: fn(&str) -> bool| -> u64 {
        codes.iter().filter(|(code, _)| is_one(code)).map(|(_, n)| n).sum()
    };
    let all = sum(|_| true);
    (all > 0).then(|| format::share(sum(|code| code.starts_with(['4', '5'])), all))
}

fn size(bytes_mean: f64) -> String {
    format::bytes(bytes_mean.round() as u64)
}

fn service(now: &Operation, q: f64) -> Option<String> {
    let quantile = facts::quantile(now.service_time.as_ref()?, q)?;
    Some(facts::marked(quantile, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use unblink_artifact::document::{RecordedTimes, ReplayPlan};

    #[test]
    fn what_was_recorded_stands_beside_what_came_of_it() {
        let mut doc = fixture::failures();
        assert!(section(&doc, Room::Page).is_none());
        let took = RecordedTimes { count: 9, p50_ns: 2_000_000, p99_ns: 30_000_000, max_ns: 40_000_000 };
        let then = RecordedAnswers {
            requests: 1_000,
            codes: [("200", 990), ("404", 10)].map(|(code, n)| (code.into(), n)).into(),
            answer_bytes_mean: Some(512.0),
            took: Some(took),
        };
        doc.plan.replay = Some(ReplayPlan {
            recorded: 2_000,
            left_out_by_method: BTreeMap::new(),
            left_out_by_path: 0,
            offsets_ns: vec![0],
            by_user: None,
            made_up_ids: None,
            operations: vec![then, RecordedAnswers::default()],
        });
        let rows = |room| {
            let section = section(&doc, room).expect("a replay");
            let Some(Block::Table(table)) = section.blocks.into_iter().next() else { panic!("a table") };
            let texts = |row: &Vec<Span>| row.iter().map(|(_, text)| format::plain(text)).collect::<Vec<_>>();
            std::iter::once(&table.head).chain(&table.rows).map(texts).collect::<Vec<_>>()
        };
        // All that was recorded was replayed, or more.
        assert!(!section(&doc, Room::Page).expect("a replay").note.contains("then has all"));
        let page = rows(Room::Page);
        assert_eq!(page[0].len(), 10);
        assert_eq!(page[1][9], "–", "an earlier record has no sizes");
        assert_eq!((page[1][1].as_str(), page[1][2].as_str()), ("1 000", "1 %"));
        assert_eq!(
            (page[1][4].as_str(), page[1][6].as_str(), page[1][8].as_str()),
            ("2 ms", "30 ms", "512 B")
        );
        assert_eq!(page[1][5], service(&doc.operations[0], 0.5).map(|text| format::plain(&text)).unwrap());
        assert_eq!((page[2][2].as_str(), page[2][4].as_str()), ("–", "–"));
        assert_eq!(rows(Room::Narrow)[0].len(), 7);
        let due = doc.arrivals.scheduled;
        doc.plan.replay.as_mut().expect("a replay").operations[0].requests = due + 1;
        let note = section(&doc, Room::Page).expect("a replay").note;
        let expected = format!(
            "then has all {} recorded requests in it, now {}",
            format::count(due + 1),
            format::count(due)
        );
        assert!(note.ends_with(&expected), "{note}");
        let now = &mut doc.operations[0];
        now.codes = [("200", 3), ("404", 1)].map(|(code, n)| (code.into(), n)).into();
        now.body_bytes = Some(2_400);
        let section = section(&doc, Room::Page).expect("a replay");
        let Some(Block::Table(table)) = section.blocks.first() else { panic!("a table") };
        let sizes: Vec<String> = table.rows[0][8..].iter().map(|(_, text)| format::plain(text)).collect();
        assert_eq!(sizes, ["512 B", "600 B"]);
    }
}
