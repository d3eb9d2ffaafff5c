//! All scenarios as Markdown with the pictures beside it, for documentation.

use super::{Drawn, databases, page, protocols, words};
use crate::block::Block;
use crate::block::markdown::{self, escape};
use crate::format;
use std::fmt::Write;
use unblink_artifact::lab::LabRow;

/// What is said of the machine's folders and of nothing that was measured.
const PLACES: [&str; 3] = ["-o", "--output", "--installed"];

pub(super) fn render(drawn: &Drawn<'_>) -> String {
    let doc = drawn.doc;
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
    markdown::block(&mut out, &Block::Picture("matrix".into(), Box::new(page::matrix(doc))));
    for name in words::scenarios(doc) {
        let rows: Vec<&LabRow> = doc.rows.iter().filter(|row| row.scenario == name).collect();
        let cell = doc.cells.iter().find(|cell| cell.scenario.name == name);
        let what = cell.map_or(String::new(), |cell| cell.scenario.description.clone());
        let _ = write!(out, "## {name}\n\n{}. The server: {what}.\n\n", words::finding(&rows));
        page::scenario(drawn, name).iter().for_each(|block| markdown::block(&mut out, block));
        let own = databases::table(&doc.cells, &rows);
        if let Some(table) = own.or_else(|| protocols::table(&doc.cells, &rows)) {
            markdown::block(&mut out, &Block::Table(table));
        }
    }
    let pairs = page::pairs(doc);
    if !pairs.is_empty() {
        out.push_str("## The same program asked both ways\n\n");
    }
    for (stem, picture) in pairs {
        markdown::block(&mut out, &Block::Picture(stem, Box::new(picture)));
    }
    if !doc.skipped.is_empty() {
        out.push_str("## Left out\n\n");
        doc.skipped.iter().for_each(|skipped| {
            let _ = writeln!(out, "- {}: {}", escape(&skipped.tool), escape(&skipped.reason));
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
