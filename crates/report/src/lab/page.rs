//! All scenarios as one page: the matrix, then each scenario with its spectra and its table.

use super::words::{self, DECIDING};
use super::{Drawn, matrix, over_time, percentiles, table};
use crate::block::{Block, Paint, Room};
use crate::facts::Title;
use crate::format;
use crate::html::{self, Page};
use crate::svg::Picture;
use crate::svg::canvas::escape;
use std::fmt::Write;
use unblink_artifact::document::LoadModel;
use unblink_artifact::harmless;
use unblink_artifact::lab::{LabCell, LabDocument, LabRow};

/// The page.
pub(super) fn render(drawn: &Drawn<'_>) -> String {
    let doc = drawn.doc;
    let title = matrix_title(doc);
    let mut page = Page::new(&title.finding);
    page.json("lab-rows", &harmless::json(&doc.rows).unwrap_or_else(|_| "null".into()));
    let told = format!("load tools beside a known truth · {}", html::moment(&doc.finished_at));
    page.head(&doc.tool, &told, &title.finding, &[escape(&about(doc))]);
    let out = &mut page.body;
    if let Some(late) = words::lateness(doc) {
        let _ = write!(out, "<aside class=\"simulated\"><p>{}</p></aside>", escape(&late));
    }
    out.push_str("<section class=\"pictures\">");
    html::figure(out, &matrix(doc), "lab", 2);
    for name in words::scenarios(doc) {
        html::blocks(out, &scenario(drawn, name), name, 2);
    }
    pairs(doc).iter().for_each(|(stem, picture)| html::figure(out, picture, stem, 3));
    out.push_str("</section>");
    let made = html::made(&doc.tool, "The page holds its rows as JSON; lab.json beside it holds everything.");
    let made = format!("<p>{}</p>{made}", html::machine(&doc.environment));
    page.finish_with(&doc.command, &made)
}

/// What all tools say in a scenario, and what the server saw of an open load and of a closed one.
pub(super) fn scenario(drawn: &Drawn<'_>, name: &str) -> Vec<Block> {
    let doc = drawn.doc;
    let rows: Vec<&LabRow> = doc.rows.iter().filter(|row| row.scenario == name).collect();
    let problems = words::problems(doc, &rows).into_iter().map(|problem| Block::Line(Paint::Dim, problem));
    let table = Block::Table(table::table(doc, &rows, Room::Page));
    of_scenario(drawn, name)
        .into_iter()
        .map(|(stem, picture)| Block::Picture(stem, Box::new(picture)))
        .chain([table])
        .chain(problems)
        .chain(words::noise(doc, name).map(|noise| Block::Line(Paint::Dim, noise)))
        .collect()
}

/// (file stem, picture) of everything that is drawn.
pub(super) fn pictures(drawn: &Drawn<'_>) -> Vec<(String, Picture)> {
    let doc = drawn.doc;
    let scenarios = words::scenarios(doc).into_iter().flat_map(|name| of_scenario(drawn, name));
    std::iter::once(("matrix".to_string(), matrix(doc))).chain(scenarios).chain(pairs(doc)).collect()
}

fn of_scenario(drawn: &Drawn<'_>, name: &str) -> Vec<(String, Picture)> {
    let spectrum = (format!("spectrum-{name}"), spectrum(drawn.doc, name));
    let scattered = drawn.scattered.iter().filter(|scattered| scattered.scenario == name);
    let scattered = scattered.flat_map(|scattered| scattered.pictures.clone());
    std::iter::once(spectrum).chain(over_time(drawn.doc, name)).chain(scattered).collect()
}

/// One run of each tool in a scenario: the first with figures.
fn shown<'a>(doc: &'a LabDocument, name: &str) -> Vec<&'a LabCell> {
    let mut cells: Vec<&LabCell> = Vec::new();
    for cell in doc.cells.iter().filter(|cell| cell.scenario.name == name) {
        if cell.reported.is_some() && !cells.iter().any(|known| known.tool.name == cell.tool.name) {
            cells.push(cell);
        }
    }
    cells
}

/// Programs that have both an open and a closed mode, each with one of both.
fn both_ways<'a>(cells: &[&'a LabCell]) -> Vec<[&'a LabCell; 2]> {
    let program = |cell: &LabCell| cell.tool.command.first().cloned();
    let opens = cells.iter().filter(|cell| cell.tool.model == LoadModel::Open);
    let mut pairs: Vec<[&LabCell; 2]> = Vec::new();
    for open in opens.filter(|open| program(open).is_some()) {
        let closed =
            cells.iter().find(|cell| cell.tool.model == LoadModel::Closed && program(cell) == program(open));
        if let Some(closed) = closed.filter(|closed| !pairs.iter().any(|pair| pair[1].tool == closed.tool)) {
            pairs.push([open, closed]);
        }
    }
    pairs
}

/// Programs whose requests are drawn one by one, if they are here: those of the published experiment.
const DOTTED: [&str; 2] = ["ab", "vegeta"];

/// Whose requests are drawn one by one: a closed load and an open one, where the server misbehaves for a while.
pub(super) fn dotted<'a>(doc: &'a LabDocument, name: &str) -> Vec<&'a LabCell> {
    let cells = shown(doc, name);
    let has_event = cells.iter().any(|cell| !cell.scenario.events.is_empty());
    let known = |program: &str| {
        cells.iter().copied().find(|cell| cell.tool.command.first().is_some_and(|word| word == program))
    };
    match (known(DOTTED[0]), known(DOTTED[1])) {
        _ if !has_event => Vec::new(),
        (Some(closed), Some(open)) => vec![closed, open],
        _ => both_ways(&cells).into_iter().next().map_or(Vec::new(), |[open, closed]| vec![closed, open]),
    }
}

/// What the server saw of an open load and of a closed one.
fn over_time(doc: &LabDocument, name: &str) -> Vec<(String, Picture)> {
    let cells = shown(doc, name);
    let Some(pair) = both_ways(&cells).into_iter().next() else { return Vec::new() };
    let who = format!("{} and {}", pair[0].tool.name, pair[1].tool.name);
    let latency = Title {
        finding: "Who comes while it is slow".into(),
        plotted: format!("{who}: the slowest of the requests that came at that moment."),
    };
    let completions =
        Title { finding: "What the server got done".into(), plotted: format!("{who}: requests that ended.") };
    vec![
        (format!("latency-{name}"), over_time::latency(&format!("{name}-"), latency, &pair)),
        (format!("completions-{name}"), over_time::completions(&format!("{name}-"), completions, &pair)),
    ]
}

/// The scenario that shows best what asking late does to a report.
const PAIRED: &str = "stall";

/// The same program asked both ways.
pub(super) fn pairs(doc: &LabDocument) -> Vec<(String, Picture)> {
    let cells = shown(doc, PAIRED);
    let picture = |pair: [&LabCell; 2]| {
        let p99 = |cell: &LabCell| {
            let line = cell.percentiles.iter().find(|line| line.q == DECIDING);
            line.map_or("–".into(), words::reported)
        };
        let program = pair[0].tool.command.first().cloned().unwrap_or_default();
        let title = Title {
            finding: format!("{program}: the same stall, asked two ways"),
            plotted: format!("p99 {} when open, {} when closed.", p99(pair[0]), p99(pair[1])),
        };
        let stem = format!("pair-{program}");
        let picture = percentiles::pair(&format!("{stem}-"), title, &pair);
        (stem, picture)
    };
    both_ways(&cells).into_iter().map(picture).collect()
}

pub(super) fn matrix(doc: &LabDocument) -> Picture {
    let title = Title { finding: "The error of each p99".into(), ..matrix_title(doc) };
    matrix::matrix(title, &doc.rows, DECIDING)
}

fn matrix_title(doc: &LabDocument) -> Title {
    let judged = || doc.rows.iter().filter_map(|row| row.at(DECIDING)?.is_right);
    let (right, all) = (judged().filter(|right| *right).count(), judged().count());
    Title {
        finding: format!(
            "{right} of {all} {} of p99 {} right",
            if all == 1 { "report" } else { "reports" },
            if right == 1 { "is" } else { "are" }
        ),
        plotted: "How far each tool's p99 lies from what users feel; right within 5\u{a0}% or 1\u{a0}ms."
            .into(),
    }
}

/// What all tools say in a scenario.
fn spectrum(doc: &LabDocument, name: &str) -> Picture {
    let cells = shown(doc, name);
    let rows: Vec<&LabRow> = doc.rows.iter().filter(|row| row.scenario == name).collect();
    let what = cells.first().map_or(String::new(), |cell| cell.scenario.description.clone());
    let title = Title { finding: format!("{name}: {}", words::finding(&rows)), plotted: format!("{what}.") };
    percentiles::dots(name, title, &rows)
}

/// How much of what was run, and how.
pub(super) fn about(doc: &LabDocument) -> String {
    let Some(cell) = doc.cells.first() else { return "Nothing was run.".into() };
    let tools = words::distinct(doc.rows.iter().map(|row| row.tool.as_str())).len();
    let apart = if doc.apart { "with processors of their own" } else { "on processors shared with others" };
    format!(
        "{} in {}, {} each, {apart}",
        format::plural(tools as u64, "tool or mode", "tools and modes"),
        format::plural(words::scenarios(doc).len() as u64, "scenario", "scenarios"),
        format::duration(cell.scenario.duration_ns),
    )
}
