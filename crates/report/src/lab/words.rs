//! Sentences and cells of tables, the same in the terminal and on the page.

use crate::format;
use unblink_artifact::document::LoadModel;
use unblink_artifact::lab::{LabCell, LabDocument, LabPercentile, LabRow, Mechanism};

/// The percentile that decides.
pub(crate) const DECIDING: f64 = 0.99;

pub(super) fn line(cell: &LabCell) -> String {
    let run = if cell.run > 1 { format!(", run {}", cell.run) } else { String::new() };
    let name = format!("{}: {}{run}", cell.scenario.name, cell.tool.name);
    if let Some(problem) = &cell.problem {
        return format!("{name}: no figures, {problem}");
    }
    let p99 = cell.percentiles.iter().find(|line| line.q == DECIDING);
    let p99 = p99.map(|line| format!("p99 {} (true {})", reported(line), truth(line))).unwrap_or_default();
    let offered = &cell.offered;
    let requests = format::plural(offered.requests, "request", "requests");
    format!("{name}: {p99}, {requests} of {}", format::count(offered.planned))
}

/// `410 ms`, `longer` than the tool knows, or `–` where it does not say.
pub(super) fn reported(line: &LabPercentile) -> String {
    match line.reported_ns {
        Some(ns) => format::duration(ns),
        None if line.is_longer => "longer".into(),
        None => "–".into(),
    }
}

/// `405–415 ms`, `10 ms`, `> 2 s`.
pub(super) fn truth(line: &LabPercentile) -> String {
    match (line.truth_low_ns, line.truth_high_ns) {
        (Some(low), Some(high)) if high as f64 <= low as f64 * 1.03 => format::duration((low + high) / 2),
        (Some(low), Some(high)) => format::between(low, high),
        (Some(low), None) => format::above(low),
        (None, _) => "–".into(),
    }
}

/// The truth of all rows at `q`, in words.
pub(super) fn truth_of_all(rows: &[&LabRow], q: f64) -> String {
    let (truth_low_ns, truth_high_ns) = bounds_of_all(rows, q);
    let first = rows.iter().find_map(|row| row.at(q));
    first.map_or("–".into(), |line| truth(&LabPercentile { truth_low_ns, truth_high_ns, ..*line }))
}

/// From the lowest truth of a row to the highest: of a server that others wrote, each tool has one of its own.
pub(super) fn bounds_of_all(rows: &[&LabRow], q: f64) -> (Option<u64>, Option<u64>) {
    // What was seen of a run without figures may be half of it.
    let are_all_without = rows.iter().all(|row| row.problem.is_some());
    let counts = |row: &&&LabRow| are_all_without || row.problem.is_none();
    let lines =
        || rows.iter().filter(counts).filter_map(|row| row.at(q)).filter(|line| line.truth_low_ns.is_some());
    let low = lines().filter_map(|line| line.truth_low_ns).min();
    // Beyond the timeout there is no bound.
    let high = lines().map(|line| line.truth_high_ns.unwrap_or(u64::MAX)).max();
    (low, high.filter(|&high| high < u64::MAX))
}

/// Too high by no more than the server's own lateness explains.
const UNCLEAR: &str = "unclear";

/// `−98 %`, `right`, `+28 %`, `unclear`.
pub(crate) fn error(line: &LabPercentile) -> String {
    let (error, is_right) = match (line.error, line.is_right) {
        (Some(error), Some(is_right)) => (error, is_right),
        (Some(_), None) => return UNCLEAR.into(),
        (None, _) => return "–".into(),
    };
    let percent = (error * 100.0).round();
    match percent {
        _ if is_right => "right".into(),
        percent if percent < 0.0 => format!("−{}\u{a0}%", format::count(-percent as u64)),
        percent => format!("+{}\u{a0}%", format::count(percent as u64)),
    }
}

/// `3 of 1 000`: requests that came during the event, and that should have.
pub(super) fn in_the_event(row: &LabRow, cell: Option<&LabCell>) -> String {
    let planned = cell.map(|cell| cell.offered.planned_in_events).filter(|&planned| planned > 0);
    planned.zip(row.seen_in_events).map_or("–".into(), |(planned, seen)| {
        format!("{} of {}", format::count(seen), format::count(planned))
    })
}

/// Tools without figures, or whose figures leave out an event, a sentence each.
pub(super) fn problems(doc: &LabDocument, rows: &[&LabRow]) -> Vec<String> {
    let problem = |row: &&LabRow| Some(format!("{}: no figures, {}", row.tool, row.problem.as_ref()?));
    rows.iter().filter_map(problem).chain(rows.iter().filter_map(|row| blind_to(doc, row))).collect()
}

/// How late the lab's own server was in the cells of a scenario: the noise of the machine, and in an event also what it takes to
/// send all that was held back.
pub(super) fn noise(doc: &LabDocument, scenario: &str) -> Option<String> {
    let cells = doc.cells.iter().filter(|cell| cell.scenario.name == scenario && cell.observed.is_none());
    let late: Vec<u64> = cells.map(|cell| cell.log.late_p99_ns).collect();
    let (least, most) = (late.iter().min()?, late.iter().max()?);
    Some(format!(
        "The server itself was late by {} to {} at p99, cell by cell.",
        format::duration(*least),
        format::duration(*most)
    ))
}

/// A tool whose figures leave out its first seconds, and an event in them.
fn blind_to(doc: &LabDocument, row: &LabRow) -> Option<String> {
    let is_of = |cell: &&LabCell| cell.scenario.name == row.scenario && cell.tool.name == row.tool;
    let cell = doc.cells.iter().find(is_of).filter(|cell| cell.problem.is_none())?;
    let left_out_s = cell.tool.leaves_out_s?;
    let events = &cell.scenario.events;
    let missed = events.iter().filter(|event| event.from_ns < left_out_s * 1_000_000_000).count();
    (missed > 0).then(|| {
        format!(
            "{}: its first {left_out_s} s are in none of its figures, and {missed} of {} began in them",
            row.tool,
            format::plural(events.len() as u64, "event", "events")
        )
    })
}

pub(super) fn model(model: LoadModel) -> &'static str {
    match model {
        LoadModel::Open => "open",
        LoadModel::Closed => "closed",
    }
}

/// A server that is later than this at p99 is not what its model says.
const LATE_NS: u64 = 2_000_000;

/// Said when the machine was not quiet. In an event the server sends what it held back one after the other, which
/// counts as late: only scenarios without one can tell.
pub(super) fn lateness(doc: &LabDocument) -> Option<String> {
    let without_event = || doc.cells.iter().filter(|cell| cell.scenario.events.is_empty());
    let late: Vec<u64> =
        without_event().map(|cell| cell.log.late_p99_ns).filter(|&ns| ns > LATE_NS).collect();
    let Some(worst) = late.iter().max() else {
        let is_unclear = |row: &LabRow| row.at(DECIDING).is_some_and(|line| error(line) == UNCLEAR);
        return doc.rows.iter().any(is_unclear).then(|| {
            "Unclear: a report that is too high by no more than three times the server's own lateness at p99. The \
             machine was not quiet; measure again."
                .into()
        });
    };
    Some(format!(
        "The machine was not quiet: in {} of {} cells without an event the server itself was late by more than {} at \
         p99, by {} at worst. Reports that are too high by no more than three times that are unclear; measure again.",
        late.len(),
        without_event().count(),
        format::duration(LATE_NS),
        format::duration(*worst)
    ))
}

/// Names in the order of their first appearance.
pub(super) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// In the order of the rows.
pub(super) fn scenarios(doc: &LabDocument) -> Vec<&str> {
    distinct(doc.rows.iter().map(|row| row.scenario.as_str()))
}

/// The finding of a scenario in one line.
pub(super) fn finding(rows: &[&LabRow]) -> String {
    let decisive = || rows.iter().filter_map(|row| Some((row, row.at(DECIDING)?)));
    if decisive().next().is_none() {
        return "No tool gave a figure".into();
    }
    let truth_line = truth_of_all(rows, DECIDING);
    let judged: Vec<&LabPercentile> =
        decisive().map(|(_, line)| line).filter(|line| line.is_right.is_some()).collect();
    let right = judged.iter().filter(|line| line.is_right == Some(true)).count();
    let hidden = judged.iter().filter(|line| line.error.is_some_and(|error| error < -0.5)).count();
    let hiding = match hidden {
        0 => String::new(),
        1 => "; 1 reports less than half".into(),
        n => format!("; {n} report less than half"),
    };
    let tools = if judged.len() == 1 { "tool" } else { "tools" };
    let say = if right == 1 { "says" } else { "say" };
    format!("Users feel a p99 of {truth_line}: {right} of {} {tools} {say} so{hiding}", judged.len())
}

/// What a tool does, in a word and in a sentence.
pub(super) fn mechanism(mechanism: Mechanism) -> (&'static str, &'static str) {
    match mechanism {
        Mechanism::Open => ("OPEN", "It sends on a schedule and counts from it."),
        Mechanism::ClosedLoop => {
            ("CLOSED LOOP", "It asks again when it is answered: while the server stalls, it asks nothing.")
        }
        Mechanism::BackFilled => (
            "BACK-FILLED",
            "It asks again when it is answered, and makes samples up for what it did not ask.",
        ),
        Mechanism::Queueless => ("QUEUELESS", "It keeps a rate, but drops what falls due while it is busy."),
        Mechanism::SendClock => {
            ("SEND CLOCK", "It sends what is late, but counts from the send: the wait is missing.")
        }
        Mechanism::CappedCatchUp => {
            ("CAPPED CATCH-UP", "It counts from the schedule, but catches up so slowly that it overstates.")
        }
        Mechanism::Unknown => {
            ("NOT CLEAR", "What it sends and what it says do not fit any way of measuring.")
        }
    }
}
