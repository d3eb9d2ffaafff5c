//! A search as a page: the answer, the two curves, the trials, what they say.

use super::{sections, tone, words};
use crate::block::Room;
use crate::format;
use crate::html::{self, Page};
use crate::svg;
use crate::svg::canvas::escape;
use std::fmt::Write;
use unblink_artifact::harmless;
use unblink_artifact::knee::KneeDocument;

pub(super) fn render(doc: &KneeDocument) -> String {
    let (word, _) = words::answer(doc);
    let mut page = Page::new(&format!("{word}: {}", doc.header.question.target));
    page.simulated(doc.header.question.simulated);
    let about =
        format!("{} · the highest rate that meets an objective", html::moment(&doc.header.started_at));
    let asked = words::about(doc).split_once(" · ").map_or(String::new(), |(_, rest)| escape(rest));
    page.head(&doc.header.tool, &about, &doc.header.question.target, &[asked]);
    body(&mut page, doc, "knee", 2);
    let holds = format!("The page holds its whole document ({}) as JSON.", escape(&doc.schema));
    let made =
        format!("<p>{}</p>{}", html::machine(&doc.header.environment), html::made(&doc.header.tool, &holds));
    page.finish_with(&doc.header.command, &made)
}

/// What stands below the head, on a page of its own or as a part of one, with the document. `scope` names the document;
/// the answer is a heading of `level`.
pub(crate) fn body(page: &mut Page, doc: &KneeDocument, scope: &str, level: u8) {
    let (word, sentence) = words::answer(doc);
    // Only a map with other keys than strings could fail, and a document has none.
    page.json(scope, &harmless::json(doc).unwrap_or_else(|_| "null".into()));
    let out = &mut page.body;
    let class = if doc.answer.is_some() { "largest" } else { "" };
    html::answer(out, tone(doc), (&word, sentence), class, level);
    if let Some((_, word, sentence)) = words::at_least(doc) {
        let _ = write!(out, "<p class=\"sentence\"><b>{word}</b> {}</p>", escape(&sentence));
    }
    answer(out, doc);
    if let Some(evidence) = words::evidence(doc) {
        let _ = write!(out, "<p class=\"extent\">{}</p>", escape(&evidence));
    }
    out.push_str("</section>");
    if !doc.trials.is_empty() {
        page.pictures(&svg::load_curve::pictures(doc), scope);
        page.tables(sections::all(doc, Room::Page));
    }
}

/// What the answer lies between.
fn answer(out: &mut String, doc: &KneeDocument) {
    let Some(answer) = &doc.answer else { return };
    let good = format::rate_asked(answer.good_per_s);
    let _ = write!(out, "<p class=\"answer\"><span><b>{good}</b> shown to meet it</span>");
    if let Some(missed) = answer.missed_from_per_s {
        let _ = write!(out, "<span><b>{}</b> shown not to</span>", format::rate_asked(missed));
    }
    out.push_str("</p>");
}
