//! The demo as a page: the finding, three columns, the pictures side by side, both full reports.

use super::{Demo, story, table};
use crate::block::{Block, Room};
use crate::facts::Title;
use crate::format;
use crate::html::{self, Page};
use crate::svg::{self, Picture, canvas::escape};
use std::fmt::Write;

pub(super) fn render(demo: &Demo) -> String {
    let finding = story::finding(demo);
    let mut page = Page::new(&finding);
    page.document("open", &demo.open);
    page.document("closed", &demo.closed);
    page.head(&demo.open.tool, "demonstration", &finding, &[escape(&demo.scenario)]);
    let out = &mut page.body;
    out.push_str("<section class=\"compare\">");
    html::blocks(out, &[Block::Table(table(demo, Room::Page))], "", 2);
    out.push_str("</section>");
    out.push_str("<section class=\"words story\">");
    for sentence in story::sentences(demo) {
        let _ = write!(out, "<p>{}</p>", escape(&sentence));
    }
    out.push_str("</section><section class=\"pictures\">");
    let mut spectra = comparison(demo);
    // The finding stands above already.
    spectra.title.finding = "What each loop reports, beside what is exact".into();
    html::figure(out, &spectra, "open", 2);
    for (scope, picture) in side_by_side(demo) {
        html::figure(out, &picture, scope, 2);
    }
    out.push_str("</section>");
    for (scope, name, doc) in
        [("open", "What users feel", &demo.open), ("closed", "The closed loop", &demo.closed)]
    {
        let _ = write!(
            page.body,
            "<details id=\"{scope}\"><summary>Full report: {name} <span>({})</span></summary>",
            escape(&doc.plan.summary)
        );
        let truth = if scope == "open" { Some(demo.truth.as_slice()) } else { None };
        html::run(&mut page, doc, scope, truth, 2);
        page.body.push_str("</details>");
    }
    page.finish_holding(&demo.open, "The page holds both run documents")
}

/// The three curves in one picture.
pub(super) fn comparison(demo: &Demo) -> Picture {
    let title = Title {
        finding: story::finding(demo),
        plotted: "Share of arrivals (the tail stretched) against the time they took.".into(),
    };
    svg::comparison(&demo.closed, &demo.open, &demo.truth, title)
}

/// The same stretch of time in both runs on the same axes; the whole runs where no event stands out.
fn side_by_side(demo: &Demo) -> Vec<(&'static str, svg::Picture)> {
    let Some(stall) = story::stall(demo) else {
        return [("closed", "demo-closed", &demo.closed), ("open", "demo-open", &demo.open)]
            .map(|(scope, id, doc)| {
                let mut picture = svg::heat(doc, id);
                picture.title.finding = format!("{}: {}", story::whose(scope), picture.title.finding);
                (scope, picture)
            })
            .into();
    };
    let titles = [
        format!(
            "The closed loop sent {} into the stall …",
            format::plural(stall.closed, "request", "requests")
        ),
        format!("… users who don't wait would have sent {}", story::about(stall.open)),
    ];
    let plotted = [
        "The closed loop: arrivals by the time they were due and how long they took.",
        "The open loop: the same, for arrivals that don't wait for each other. An event is a wedge.",
    ];
    let [closed, open] = [0, 1].map(|i| Title { finding: titles[i].clone(), plotted: plotted[i].into() });
    let docs = [(&demo.closed, "demo-closed", closed), (&demo.open, "demo-open", open)];
    let gap = story::gap(demo, &stall);
    let [closed, open] = svg::close_pair(docs, (stall.from_ns, stall.to_ns), gap.as_ref());
    vec![("closed", closed), ("open", open)]
}
