//! A sign-off as a page: the answer, the stages in a table, and the whole report of each below.

use super::{StageDocument, words};
use crate::block::Room;
use crate::html::{self, Page};
use crate::svg::canvas::escape;
use crate::{format, knee};
use std::fmt::Write;
use unblink_artifact::harmless;
use unblink_artifact::signoff::{SignoffDocument, SignoffStage};

pub(super) fn render(doc: &SignoffDocument, parts: &[Option<StageDocument>]) -> String {
    let (tone, word, sentence) = words::answer(doc);
    let target = doc.target.as_deref().unwrap_or(&doc.plan);
    let mut page = Page::new(&format!("{word}: sign-off of {target}"));
    page.json("signoff", &harmless::json(doc).unwrap_or_else(|_| "null".into()));
    page.simulated(doc.simulated);
    let about = format!("{} · sign-off", html::moment(&doc.started_at));
    page.head(&doc.tool, &about, target, &[escape(&doc.plan)]);
    let out = &mut page.body;
    html::answer(out, tone, (word, sentence), "largest", 2);
    out.push_str("</section>");
    page.tables([words::stages(doc, Room::Page)]);
    for (place, stage) in doc.stages.iter().enumerate() {
        one(&mut page, stage, parts.get(place).and_then(Option::as_ref));
    }
    let holds =
        format!("The page holds its document ({}) and those of its stages as JSON.", escape(&doc.schema));
    let made = format!("<p>{}</p>{}", html::machine(&doc.environment), html::made(&doc.tool, &holds));
    page.finish_with(&doc.command, &made)
}

/// What a stage has to say, a link to its own page, and the same report unfolded here.
fn one(page: &mut Page, stage: &SignoffStage, part: Option<&StageDocument>) {
    let (_, word) = words::outcome(stage);
    let out = &mut page.body;
    let scope = format!("stage-{}", stage.number);
    let _ = write!(
        out,
        "<section class=\"words\" id=\"{scope}\"><h2>{} <small>{word}</small></h2>",
        escape(&words::heading(stage))
    );
    for (_, line) in words::of_stage(stage) {
        let _ = write!(out, "<p>{}</p>", escape(&format::hold_figures(&line)));
    }
    if let Some(folder) = &stage.folder {
        let folder = escape(folder);
        let _ =
            write!(out, "<p class=\"foot\"><a href=\"{folder}/report.html\">{folder}/report.html</a></p>");
    }
    out.push_str("</section>");
    let Some(part) = part else { return };
    let _ = write!(
        out,
        "<details><summary>Full report: {}{}</summary>",
        escape(&words::heading(stage)),
        words::rate(stage).map(|rate| format!(" <span>at {}</span>", escape(&rate))).unwrap_or_default(),
    );
    match part {
        StageDocument::Run(run) => {
            page.document(&scope, run);
            html::run(page, run, &scope, None, 2);
        }
        StageDocument::Knee(search) => knee::page::body(page, search, &scope, 2),
    }
    page.body.push_str("</details>");
}
