//! Tables of journeys: how each ended, how long it took, how far it came.

use super::{Align, Block, Paint, Room, Section, Span, Table, dim, plain};
use crate::{facts, format};
use unblink_artifact::document::{
    Distribution, Journey, JourneyAccount, JourneyStep, Operation, RunDocument,
};

/// Every section of journeys; none where there are none.
pub(crate) fn all(doc: &RunDocument, room: Room) -> Vec<Section> {
    if doc.journeys.is_empty() {
        return Vec::new();
    }
    let mut all = vec![accounts(doc, room), journey_times(doc, room), steps(doc, room)];
    all.extend(waits(doc, room));
    all
}

const CLASS: &str = "journeys wide-block";

/// A column of counts: its name, how many, and what it means that there are some.
type Count<T> = (&'static str, fn(&T) -> u64, Paint);

const ENDS: [Count<JourneyAccount>; 6] = [
    ("completed", |of| of.completed, Paint::Plain),
    ("of which exited", |of| of.exited, Paint::Plain),
    ("failed", |of| of.failed, Paint::Failure),
    ("timed out", |of| of.timed_out, Paint::Finding),
    ("unfinished", |of| of.unfinished, Paint::Finding),
    ("unsent", |of| of.unsent, Paint::Finding),
];

const WAYS: [Count<JourneyStep>; 8] = [
    ("passed", |of| of.passed, Paint::Plain),
    ("skipped", |of| of.skipped, Paint::Plain),
    ("failed", |of| of.failed, Paint::Failure),
    ("timed out", |of| of.timed_out, Paint::Finding),
    ("unfinished", |of| of.unfinished, Paint::Finding),
    ("unsent", |of| of.unsent, Paint::Finding),
    ("thinking", |of| of.thinking, Paint::Finding),
    ("exited", |of| of.exited, Paint::Plain),
];

/// Those columns of which there is something to say; the first always.
fn said<T, const N: usize>(columns: [Count<T>; N], rows: &[&T]) -> Vec<Count<T>> {
    let first = columns[0].0;
    let is_said = |(name, of, _): &Count<T>| *name == first || rows.iter().any(|row| of(row) > 0);
    columns.into_iter().filter(is_said).collect()
}

fn counted<T>(row: &T, columns: &[Count<T>]) -> Vec<Span> {
    let cell = |(_, of, paint): &Count<T>| match of(row) {
        0 => dim("0"),
        n => (*paint, format::count(n)),
    };
    columns.iter().map(cell).collect()
}

fn table(head: Vec<&str>, rows: Vec<Vec<Span>>) -> Block {
    let align = (0..head.len()).map(|i| if i == 0 { Align::Left } else { Align::Right }).collect();
    Block::Table(Table::of(head.into_iter().map(dim).collect(), align, rows))
}

/// Where the journeys ended, as a sum.
fn accounts(doc: &RunDocument, room: Room) -> Section {
    let all: Vec<&JourneyAccount> = doc.journeys.iter().map(|journey| &journey.account).collect();
    let columns = said(ENDS, &all);
    let with_shares = room > Room::Narrow && doc.journeys.iter().any(|journey| journey.share.is_some());
    let mut head = vec!["", "per second"];
    head.extend(with_shares.then_some("planned"));
    head.push("scheduled");
    head.extend(columns.iter().map(|(name, ..)| *name));
    let row = |journey: &Journey| {
        let mut row = vec![plain(&journey.name), plain(format::rate(journey.offered))];
        row.extend(with_shares.then(|| dim(journey.share.map_or("–".into(), format::percent))));
        row.push(plain(format::count(journey.account.scheduled)));
        row.extend(counted(&journey.account, &columns));
        row
    };
    let mut blocks = vec![table(head, doc.journeys.iter().map(row).collect())];
    blocks.extend(held(doc));
    Section { class: CLASS, name: "Journeys", note: note(doc), blocks }
}

/// Journeys per second beside requests per second.
fn note(doc: &RunDocument) -> String {
    let offered: f64 = doc.journeys.iter().map(|journey| journey.offered).sum();
    let beside = doc.rate.offered.map(|rate| format!(", {} of requests in all", format::rate(rate)));
    format!("{} of them begin{}", format::rate(offered), beside.unwrap_or_default())
}

/// That some waited for their start, if some did.
fn held(doc: &RunDocument) -> Option<Block> {
    let held = doc.lag_causes.held;
    let most = doc.journeys.first()?.under_way_max;
    (held > 0).then(|| {
        let text = format!(
            "{} waited for their start, since {} were under way in a worker (--journeys-max). The wait counts.",
            format::plural(held, "journey", "journeys"),
            format::count(u64::from(most)),
        );
        Block::Line(Paint::Finding, text)
    })
}

/// From the intended start to the end of the last step.
fn journey_times(doc: &RunDocument, room: Room) -> Section {
    let note = "from the intended start to the end of the last step, thinking included".into();
    let rows = doc.journeys.iter().map(|journey| (journey.name.as_str(), &journey.time));
    Section { class: CLASS, name: "Journey times", note, blocks: vec![times(rows, room)] }
}

/// From the first request of a step that asks again and again to the answer that it waits for.
fn waits(doc: &RunDocument, room: Room) -> Option<Section> {
    let steps = doc.journeys.iter().flat_map(|journey| &journey.steps);
    let rows = steps.filter_map(|step| Some((step.plan.operation.as_str(), step.time_to_done.as_ref()?)));
    let rows: Vec<_> = rows.collect();
    let note = "from a step's first request to the answer that it waited for".into();
    let blocks = vec![times(rows.iter().copied(), room)];
    (!rows.is_empty()).then_some(Section { class: CLASS, name: "Time to done", note, blocks })
}

fn times<'a>(of: impl Iterator<Item = (&'a str, &'a Distribution)>, room: Room) -> Block {
    let of: Vec<(&str, &Distribution)> = of.collect();
    let interval = |time: &Distribution, q| facts::listed(time, q).map(facts::interval).unwrap_or_default();
    // A column in which nothing stands says nothing.
    let with_interval =
        |q: f64| room > Room::Narrow && of.iter().any(|(_, time)| !interval(time, q).is_empty());
    let mut head = vec![""];
    for (name, q) in [("p50", 0.5), ("p99", 0.99)] {
        head.push(name);
        head.extend(with_interval(q).then_some("95\u{a0}%"));
    }
    head.push("max");
    let row = |(name, time): &(&str, &Distribution)| {
        let mut row = vec![plain(*name)];
        for q in [0.5, 0.99] {
            let quantile = facts::listed(time, q);
            row.push(quantile.map_or(dim("–"), |quantile| plain(facts::marked(quantile, false))));
            row.extend(with_interval(q).then(|| dim(interval(time, q))));
        }
        row.push(plain(facts::max(time)));
        row
    };
    table(head, of.iter().map(row).collect())
}

/// How far they came, and how long the answers to each step took.
fn steps(doc: &RunDocument, room: Room) -> Section {
    let all: Vec<&JourneyStep> = doc.journeys.iter().flat_map(|journey| &journey.steps).collect();
    let columns = said(WAYS, &all);
    let is_repeated = |step: &JourneyStep| step.plan.repeat_max > 1 || step.plan.until.is_some();
    let with_requests = room > Room::Narrow && all.iter().any(|step| is_repeated(step));
    let mut head = vec!["", "entered"];
    head.extend(columns.iter().map(|(name, ..)| *name));
    head.extend(with_requests.then_some("requests"));
    head.extend(["p50", "p99"]);
    let row = |step: &&JourneyStep| {
        let of = |operation: &&Operation| operation.plan.name == step.plan.operation;
        let operation = doc.operations.iter().find(of);
        let mut row = vec![plain(&step.plan.operation), plain(format::count(step.entered))];
        row.extend(counted(*step, &columns));
        row.extend(with_requests.then(|| plain(format::count(step.requests))));
        row.extend([0.5, 0.99].map(|q| {
            let quantile = operation.and_then(|operation| facts::listed(&operation.response_time, q));
            quantile.map_or(dim("–"), |quantile| plain(facts::marked(quantile, false)))
        }));
        row
    };
    let rows = all.iter().take(room.rows_max()).map(row).collect();
    let mut blocks = vec![table(head, rows)];
    blocks.extend(super::run::more(all.len().saturating_sub(room.rows_max())));
    let mut note = "journeys that came to each step, and its requests' response times".to_string();
    let mut taken: Vec<&str> = Vec::new();
    for name in all.iter().flat_map(|step| &step.plan.captures) {
        if !taken.contains(&name.as_str()) {
            taken.push(name);
        }
    }
    if !taken.is_empty() {
        note += &format!("; taken from answers, whatever the seed: {}", taken.join(", "));
    }
    Section { class: CLASS, name: "Steps", note, blocks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use unblink_artifact::document::UntilPlan;

    fn tables(doc: &RunDocument, room: Room) -> Vec<Table> {
        let of = |section: Section| match section.blocks.into_iter().next() {
            Some(Block::Table(table)) => table,
            other => panic!("no table: {other:?}"),
        };
        all(doc, room).into_iter().map(of).collect()
    }

    fn numbers(row: &[Span]) -> Vec<u64> {
        row.iter().map(|(_, text)| text.replace('\u{202f}', "").parse().expect("a number")).collect()
    }

    #[test]
    fn accounts_and_steps_add_up_in_sight() {
        let doc = fixture::journeys();
        for room in [Room::Terminal, Room::Page] {
            let [accounts, times, steps] = &tables(&doc, room)[..] else { panic!("three tables") };
            let from = accounts.head.iter().position(|(_, name)| name == "scheduled").expect("a column");
            for row in &accounts.rows {
                let row = numbers(&row[from..]);
                assert_eq!(row[0], row[1..].iter().sum::<u64>(), "{row:?}");
            }
            let thinking = steps.head.iter().position(|(_, name)| name == "thinking").expect("a column");
            for row in &steps.rows {
                let row = numbers(&row[1..thinking]);
                assert_eq!(row[0], row[1..].iter().sum::<u64>(), "{row:?}");
            }
            assert_eq!(times.rows.len(), doc.journeys.len());
        }
    }

    #[test]
    fn the_wait_for_a_start_is_told_only_where_there_was_one() {
        let mut doc = fixture::journeys();
        assert_eq!(all(&doc, Room::Page)[0].blocks.len(), 1);
        doc.lag_causes.held = 3;
        let Some(Block::Line(_, text)) = all(&doc, Room::Page)[0].blocks.get(1).cloned() else {
            panic!("a line")
        };
        assert!(text.contains("3 journeys waited"), "{text}");
    }

    #[test]
    fn who_left_and_what_was_waited_for_are_told_where_there_was_any() {
        let mut doc = fixture::journeys();
        let said = |doc: &RunDocument| {
            let all = all(doc, Room::Page);
            all.iter().map(|section| section.name).collect::<Vec<_>>().join(", ")
        };
        assert!(!said(&doc).contains("Time to done"));
        doc.journeys[0].account.exited = 5;
        doc.journeys[0].steps[1].exited = 5;
        doc.journeys[0].steps[1].plan.captures = vec!["id".into()];
        doc.journeys[0].steps[1].time_to_done = Some(doc.journeys[0].time.clone());
        assert!(said(&doc).contains("Time to done"));
        let [accounts, _, steps, waits] = &tables(&doc, Room::Page)[..] else { panic!("four tables") };
        let has = |table: &Table, name: &str| table.head.iter().any(|(_, text)| text == name);
        assert!(has(accounts, "of which exited") && has(steps, "exited"));
        assert_eq!(waits.rows.len(), 1);
        assert!(all(&doc, Room::Page)[2].note.contains("whatever the seed: id"));
    }

    #[test]
    fn requests_are_told_where_a_step_may_ask_more_than_once() {
        let mut doc = fixture::journeys();
        let said = |doc: &RunDocument| -> Option<Vec<String>> {
            let tables = tables(doc, Room::Page);
            let at = tables[2].head.iter().position(|(_, name)| name == "requests")?;
            Some(tables[2].rows.iter().map(|row| row[at].1.clone()).collect())
        };
        doc.journeys.iter_mut().flat_map(|journey| &mut journey.steps).for_each(|step| {
            (step.plan.repeat_min, step.plan.repeat_max, step.plan.until) = (1, 1, None);
        });
        assert_eq!(said(&doc), None);
        let step = &mut doc.journeys[0].steps[1];
        step.plan.until = Some(UntilPlan { every_ns: 1, within_ns: 9 });
        step.requests = 987;
        assert_eq!(said(&doc).expect("a column")[1], "987");
    }

    #[test]
    fn a_run_without_journeys_says_nothing_of_them() {
        assert!(all(&fixture::stall(), Room::Page).is_empty());
    }
}
