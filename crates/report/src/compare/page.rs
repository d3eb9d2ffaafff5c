//! A comparison as a page: the answer, both spectra, the table, every run.

use super::{lines, remarks, words};
use crate::block::{Block, Paint, Section, Table, dim, left, right};
use crate::format;
use crate::html::{self, Page};
use crate::svg::canvas::escape;
use unblink_artifact::compare::{CompareDocument, ComparedRun, Side};
use unblink_artifact::harmless;

pub(super) fn render(doc: &CompareDocument) -> String {
    let mut page = Page::new(&format!("{}: {}", words::verdict(doc), words::target(&doc.candidate)));
    page.json("compare", &harmless::json(doc).unwrap_or_else(|_| "null".into()));
    page.simulated(doc.simulated);
    let (about, title) = if doc.a_a {
        ("the noise floor", "One target, compared with itself")
    } else {
        ("comparison", "Is the candidate slower than the baseline?")
    };
    let asked = words::asked(doc);
    let asked: Vec<String> =
        asked.iter().map(|(name, what)| format!("<b>{name}</b> {}", html::breakable(what))).collect();
    page.head(&doc.tool, about, title, &asked);
    let out = &mut page.body;
    verdict(out, doc);
    let picture = super::picture(doc);
    page.pictures(std::iter::once(&picture).chain(&super::runs::pictures(doc)), "compare");
    let side_by_side = lines::side_by_side(doc, words::about_intervals(doc));
    let sides = [("Runs of the baseline", &doc.baseline), ("Runs of the candidate", &doc.candidate)];
    let side_by_side = side_by_side.into_iter().chain(lines::journeys(doc));
    page.tables(side_by_side.chain(sides.map(|(name, side)| runs(doc, name, side))));
    let holds = format!("The page holds its whole document ({}) as JSON.", escape(&doc.schema));
    page.finish_with(&doc.command, &html::made(&doc.tool, &holds))
}

fn verdict(out: &mut String, doc: &CompareDocument) {
    html::answer(out, words::tone(doc), (words::verdict(doc), words::sentence(doc)), "", 2);
    html::blocks(out, &remarks::doubts(doc), "", 2);
    html::blocks(out, &remarks::notes(doc), "", 2);
    html::sections(out, remarks::left_out(doc), 3);
    out.push_str("</section>");
}

/// Every run of a side.
fn runs(doc: &CompareDocument, name: &'static str, side: &Side) -> Section {
    let row = |run: &ComparedRun| {
        let shown = if run.censored { format::above } else { format::duration };
        let (paint, aside) = match (&run.left_out, &run.target_failed) {
            (Some(_), _) => (Paint::Dim, " (left out)"),
            (None, Some(_)) => (Paint::Plain, " (failed)"),
            (None, None) => (Paint::Plain, ""),
        };
        vec![
            (paint, format!("{}{aside}", run.folder)),
            dim(began(&run.started_at)),
            (paint, run.value_ns.map_or("–".into(), shown)),
            (paint, format::rate(run.achieved_per_s)),
            (paint, format::percent(run.error_share)),
        ]
    };
    let label = crate::compare::label(doc);
    let columns = [left("run"), right("began (UTC)"), right(&label), right("achieved"), right("errors")];
    let table = Table::new(columns, side.runs.iter().map(row).collect());
    Section { class: "", name, note: String::new(), blocks: vec![Block::Table(table)] }
}

/// `2026-11-20 09:15:00`, where the document holds RFC 3339.
fn began(started_at: &str) -> String {
    let whole_seconds = started_at.split(['.', 'Z']).next().unwrap_or(started_at);
    whole_seconds.replace('T', " ")
}
