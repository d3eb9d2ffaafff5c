//! Tables for a terminal.

use super::table::table;
use super::words::{finding, mechanism, model, problems, scenarios};
use super::{AuditDocument, LabDocument, ToolLine};
use crate::block::{Paint, Room, Table, dim, left, plain};
use crate::format;
use crate::terminal::Style;
use crate::terminal::text::Screen;
use unblink_artifact::lab::{AuditScenario, LabCell, LabRow, Passed};

pub(super) fn document(doc: &LabDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    for (i, name) in scenarios(doc).iter().enumerate() {
        if i > 0 {
            screen.blank();
        }
        let rows: Vec<&LabRow> = doc.rows.iter().filter(|row| row.scenario == *name).collect();
        let cell = doc.cells.iter().find(|cell| cell.scenario.name == *name);
        screen.labelled(Paint::Bold, name, &finding(&rows));
        if let Some(cell) = cell {
            screen.paragraph(0, Paint::Dim, &about(cell));
        }
        screen.blank();
        screen.table_of_names(&table(doc, &rows, screen.room().max(Room::Terminal)));
        for problem in problems(doc, &rows) {
            screen.marked(2, Paint::Failure, "!", &problem);
        }
    }
    if let Some(late) = super::words::lateness(doc) {
        screen.blank();
        screen.paragraph(0, Paint::Finding, &late);
    }
    if !doc.apart {
        screen.blank();
        screen.paragraph(
            0,
            Paint::Finding,
            "Server and tool, or several cells, shared processors: times are longer than they need be.",
        );
    }
    if !doc.skipped.is_empty() {
        screen.heading("Left out", "unblink lab tools");
        for skipped in &doc.skipped {
            screen.marked(2, Paint::Dim, "·", &format!("{}: {}", skipped.tool, skipped.reason));
        }
    }
    screen.finish()
}

fn about(cell: &LabCell) -> String {
    let scenario = &cell.scenario;
    format!(
        "{}. {} arrivals/s for {}; closed: {} users; timeout {}",
        scenario.description,
        format::count(scenario.rate_per_s),
        format::duration(scenario.duration_ns),
        scenario.users,
        format::duration(scenario.timeout_ns),
    )
}

pub(super) fn audit(doc: &AuditDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let (word, does) = mechanism(doc.mechanism);
    screen.labelled(Paint::Bold, word, does);
    screen.paragraph(0, Paint::Plain, &format!("{}.", doc.evidence));
    screen.blank();
    for check in &doc.checks {
        let (paint, word) = passed(check.passed);
        screen.labelled(paint, &format!("{word:<4}"), &check.question);
        screen.paragraph(6, Paint::Plain, &check.because);
    }
    screen.heading("p99 by scenario", "within 5 %, or 1 ms");
    let row = |scenario: &AuditScenario| {
        let (paint, word) = passed(scenario.p99);
        vec![plain(&scenario.name), (paint, word.into()), plain(&scenario.truth), plain(&scenario.reported)]
    };
    let columns = [left("scenario"), left("right"), left("true"), left("reported")];
    screen.table_of_names(&Table::new(columns, doc.scenarios.iter().map(row).collect()));
    screen.finish()
}

fn passed(passed: Passed) -> (Paint, &'static str) {
    match passed {
        Passed::Yes => (Paint::Good, "yes"),
        Passed::No => (Paint::Bad, "no"),
        Passed::Unknown => (Paint::Dim, "?"),
    }
}

/// What takes more room than the table has stands below it.
const INSTALL_MAX: usize = 36;

pub(super) fn tools(lines: &[ToolLine], style: &Style) -> String {
    let mut screen = Screen::new(style);
    let here = lines.iter().filter(|line| line.program.is_some()).count();
    screen.paragraph(0, Paint::Bold, &format!("{here} of {} tools and modes are here", lines.len()));
    screen.blank();
    let row = |line: &ToolLine| {
        let place = match (&line.program, &line.install) {
            (Some(_), _) => dim("here"),
            (None, Some(install)) if install.chars().count() <= INSTALL_MAX => {
                (Paint::Finding, install.clone())
            }
            (None, _) => (Paint::Finding, "see below".into()),
        };
        let version = match (&line.program, &line.version) {
            (_, Some(version)) => version.as_str(),
            (Some(_), None) => "unknown",
            (None, None) => "–",
        };
        vec![plain(&line.name), dim(model(line.model)), plain(version), place]
    };
    let columns = [left("tool"), left("claims"), left("version"), left("how to get it")];
    screen.table_of_names(&Table::new(columns, lines.iter().map(row).collect()));
    for line in lines.iter().filter(|line| line.program.is_none()) {
        let says = line.install.as_ref().filter(|install| install.chars().count() > INSTALL_MAX);
        if let Some(says) = says.or(line.missing.as_ref().filter(|_| line.install.is_none())) {
            screen.blank();
            screen.marked(2, Paint::Finding, "→", &format!("{}: {says}", line.name));
        }
    }
    screen.finish()
}
