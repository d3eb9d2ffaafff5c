//! All scenarios as Markdown with the pictures beside it, for documentation.

use super::table::table;
use super::{LabDocument, page, words};
use crate::block::{Room, markdown};
use crate::format;
use std::fmt::Write;
use unblink_artifact::lab::LabRow;

/// What is said of the machine's folders and of nothing that was measured.
const PLACES: [&str; 3] = ["-o", "--output", "--installed"];

pub(super) fn render(doc: &LabDocument) -> String {
    let pictures: Vec<String> = page::pictures(doc).into_iter().map(|(stem, _)| stem).collect();
    let mut out = format!("# Figures of the lab\n\n{}.\n", page::about(doc));
    let e = &doc.environment;
    let cores = format::plural(u64::from(e.cores), "core", "cores");
    let _ = write!(
        out,
        "{} {}, {}; {}, {}, {cores}:\n\n```sh\n{}\n```\n\n",
        doc.tool.name,
        doc.tool.version,
        doc.finished_at.split('T').next().unwrap_or_default(),
        e.kernel,
        e.cpu,
        command(&doc.command)
    );
    if let Some(late) = words::lateness(doc) {
        let _ = write!(out, "> {late}\n\n");
    }
    picture(&mut out, &pictures, "matrix", "How far each p99 lies from the truth");
    for name in words::scenarios(doc) {
        let rows: Vec<&LabRow> = doc.rows.iter().filter(|row| row.scenario == name).collect();
        let cell = doc.cells.iter().find(|cell| cell.scenario.name == name);
        let what = cell.map_or(String::new(), |cell| cell.scenario.description.clone());
        let _ = write!(out, "## {name}\n\n{}. The server: {what}.\n\n", words::finding(&rows));
        picture(&mut out, &pictures, &format!("spectrum-{name}"), "What each tool reports");
        out.push_str(&markdown::table(&table(doc, &rows, Room::Page)));
        out.push('\n');
        for line in words::problems(&rows) {
            let _ = write!(out, "{}\n\n", plain(&line));
        }
        picture(&mut out, &pictures, &format!("latency-{name}"), "The slowest request of each moment");
        picture(&mut out, &pictures, &format!("completions-{name}"), "Answers per second");
    }
    let pairs: Vec<&String> = pictures.iter().filter(|stem| stem.starts_with("pair-")).collect();
    if !pairs.is_empty() {
        out.push_str("## The same program asked both ways\n\n");
        pairs.iter().for_each(|stem| picture(&mut out, &pictures, stem, "Open and closed"));
    }
    if !doc.skipped.is_empty() {
        out.push_str("## Left out\n\n");
        doc.skipped.iter().for_each(|skipped| {
            let _ = writeln!(out, "- {}: {}", plain(&skipped.tool), plain(&skipped.reason));
        });
    }
    out.trim_end().to_string() + "\n"
}

/// As it was called, without the folders of one machine.
fn command(words: &[String]) -> String {
    let mut all = vec!["unblink".to_string()];
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        match PLACES.contains(&word.as_str()) {
            true => {
                words.next();
            }
            false => all.push(word.clone()),
        }
    }
    all.join(" ")
}

fn picture(out: &mut String, all: &[String], stem: &str, says: &str) {
    if all.iter().any(|known| known == stem) {
        let _ = write!(out, "![{says}]({stem}.svg)\n\n");
    }
}

/// Text of a tool's own breaks neither the table nor the page.
fn plain(text: &str) -> String {
    let is_mark = |c: char| matches!(c, '|' | '<' | '>' | '`' | '*' | '[' | ']' | '\\');
    crate::format::plain(text).replace(is_mark, " ")
}
