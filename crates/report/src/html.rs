//! A run as one self-contained page: no network, light and dark, readable without its script.

mod block;
mod inert;
mod page;
mod sections;
mod tables;

use crate::block::run as said;
use crate::facts;
use crate::svg::canvas::escape;
use crate::svg::{self, Picture};
pub(crate) use block::{answer, blocks, figure, write as sections};
pub(crate) use page::{Page, machine, made};
use std::fmt::Write;
use unblink_artifact::document::RunDocument;

/// The page of a run.
pub fn render(doc: &RunDocument) -> String {
    render_with_truth(doc, None)
}

/// The page of a run with the exact spectrum from theory, (q, nanoseconds) in ascending order, where it is
/// known.
pub fn render_with_truth(doc: &RunDocument, truth: Option<&[(f64, u64)]>) -> String {
    let part = facts::part(doc).map(|part| format!(" · {part}")).unwrap_or_default();
    let verdict = doc.verdict.as_ref().map(|verdict| format!(", {}", facts::verdict_word(verdict)));
    let word = format!("{}{}", facts::validity_word(doc), verdict.unwrap_or_default());
    let mut page = Page::new(&format!("{word}: {}{part}", facts::target(doc)));
    page.document("run", doc);
    run(&mut page, doc, "run", truth, 1);
    page.finish(doc)
}

/// A whole report, as the page or as a part of one. `scope` names the embedded document; headings start at
/// `level`.
pub(crate) fn run(page: &mut Page, doc: &RunDocument, scope: &str, truth: Option<&[(f64, u64)]>, level: u8) {
    let out = &mut page.body;
    let (h, sub) = (level, level + 1);
    let part =
        facts::part(doc).map(|part| format!("<p class=\"part\">{}</p>", escape(&part))).unwrap_or_default();
    if let Some((whose, details)) = facts::simulated(doc) {
        let details: String = details.iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
        let _ = write!(
            out,
            "<aside class=\"simulated\"><p><b>SIMULATED</b> {}</p><ul>{details}</ul></aside>",
            escape(&whose)
        );
    }
    let _ = write!(
        out,
        "<header class=\"run-header\"><p class=\"brand\"><b>{}</b> {} <span>· {}</span></p><h{h}{}>{}</h{h}>{part}<p class=\"load\">{}</p> <p class=\"means\">{}</p></header>",
        escape(&doc.tool.name),
        escape(&doc.tool.version),
        escape(&started(doc)),
        if facts::target(doc).chars().count() > 90 { " class=\"long\"" } else { "" },
        breakable(&facts::target(doc)),
        escape(&doc.plan.summary),
        escape(&facts::means(doc)),
    );
    sections::verdict(out, doc, sub);
    sections::account(out, doc, sub);
    let nothing =
        doc.series.rows.is_empty() && doc.heatmap.columns.is_empty() && doc.spectrum.response_time.is_empty();
    let pictures = if nothing { Vec::new() } else { svg::pictures(doc, scope, truth) };
    let (empty, drawn): (Vec<&Picture>, Vec<&Picture>) = pictures.iter().partition(|p| p.is_empty());
    // The first picture says the most: it stands before what explains it.
    let lead = drawn.iter().position(|picture| picture.full).map(|at| drawn[at]);
    if let Some(lead) = lead {
        out.push_str("<section class=\"pictures lead\">");
        figure(out, lead, scope, sub);
        out.push_str("</section>");
    }
    sections::difference(out, doc);
    sections::findings(out, doc, sub);
    sections(out, said::shape(doc), sub);
    if nothing {
        out.push_str("<p class=\"nothing\">Nothing was measured, so there is nothing to draw.</p>");
    } else {
        out.push_str("<section class=\"pictures\">");
        let others = drawn.iter().filter(|picture| lead.is_none_or(|lead| lead.stem != picture.stem));
        others.for_each(|picture| figure(out, picture, scope, sub));
        let mut reasons: Vec<&str> = Vec::new();
        let why = |picture: &Picture| picture.why().unwrap_or_else(|| facts::nothing(doc));
        empty.iter().map(|picture| why(picture)).for_each(|why| {
            if !reasons.contains(&why) {
                reasons.push(why);
            }
        });
        let undrawn: Vec<String> = reasons
            .iter()
            .map(|reason| {
                let of = empty.iter().filter(|picture| why(picture) == *reason);
                undrawn(&of.map(|picture| picture.shows()).collect::<Vec<_>>(), reason)
            })
            .collect();
        if !undrawn.is_empty() {
            let _ = write!(out, "<p class=\"nothing\">{}</p>", escape(&undrawn.join(" ")));
        }
        out.push_str("</section>");
    }
    tables::all(out, doc, sub);
}

/// Why there are no pictures of some things, in a line instead of empty boxes.
fn undrawn(of: &[&str], why: &str) -> String {
    let mut of = of.to_vec();
    of.dedup();
    let list = match of.split_last() {
        Some((last, [])) => last.to_string(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    };
    format!("There is no picture of {list}: {why}.")
}

/// `2026-11-20 09:15:00 UTC`, where the document holds RFC 3339.
fn started(doc: &RunDocument) -> String {
    moment(&doc.started_at)
}

/// The same of any time.
pub(crate) fn moment(started_at: &str) -> String {
    let (date, time) = started_at.split_once('T').unwrap_or((started_at, ""));
    format!("{date} {}", time.replace('Z', " UTC")).trim().to_string()
}

/// Escaped, with places to break after the punctuation of a URL.
pub(crate) fn breakable(text: &str) -> String {
    let mut out = String::new();
    for piece in text.split_inclusive(['/', '?', '&', '=', ',']) {
        out.push_str(&escape(piece));
        out.push_str("<wbr/>");
    }
    out.strip_suffix("<wbr/>").unwrap_or(&out).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::format;

    #[test]
    fn a_line_stands_where_nothing_can_be_drawn() {
        let page = render(&fixture::all_failed());
        let line = "There is no picture of response times and the parts of a request: no answer was ok.";
        assert!(page.contains(line) && !page.contains("Nothing was measured"));
        assert_eq!(page.matches("<p class=\"nothing\">").count(), 1, "one footnote");
        let (before, _) = page.split_once("class=\"difference\"").expect("a page");
        assert!(before.contains("class=\"line failure\""), "the failures over time lead");
        assert!(page.contains("id=\"runrates-wide\"") || page.matches("<figure").count() >= 2);
        assert!(!render(&fixture::stall()).contains("There is no picture"));
    }

    #[test]
    fn a_simulated_run_says_so_before_anything_else() {
        let page = render(&fixture::simulated());
        let (_, body) = page.split_once("<main>").expect("a page");
        let (banner, _) = body.split_once("<header").expect("a header");
        insta::assert_snapshot!("simulated-banner", banner);
        assert!(!render(&fixture::stall()).contains("SIMULATED"));
    }

    #[test]
    fn pages_of_several_requests_and_failures_have_their_words() {
        let page = render(&fixture::simulated());
        assert!(page.contains("Half of the pages that need 100 requests take"));
        let page = render(&fixture::failures());
        assert!(page.contains("of all arrivals, including failed ones, "));
    }

    #[test]
    fn what_a_client_never_asked_is_no_green_bar() {
        let doc = fixture::simulated();
        let planned = doc.simulated.as_ref().and_then(|s| s.world.planned).expect("a plan");
        let omitted = planned - doc.arrivals.scheduled;
        let page = format::plain(&render(&doc));
        assert!(omitted > 0 && !page.contains(" arrivals were answered<"));
        assert!(page.contains(&format::plain(&format!("{} were never asked", format::count(omitted)))));
        let (_, bar) = page.split_once("<i class=\"never-asked\" style=\"flex-grow:").expect("a segment");
        let grow: f64 = bar.split('"').next().and_then(|n| n.parse().ok()).expect("a number");
        assert!((grow - omitted as f64 / doc.arrivals.scheduled as f64 * 1_000.0).abs() < 0.001, "{grow}");
        assert!(page.contains(" scheduled of 60 000 planned<"));
        assert!(!render(&fixture::stall()).contains("class=\"never-asked\""));
    }

    #[test]
    fn a_part_stands_in_the_header() {
        let page = render(&fixture::two_pauses());
        assert!(page.contains("<p class=\"part\">Part from 0\u{a0}s to 10\u{a0}s, whole intervals</p>"));
        assert!(!render(&fixture::stall()).contains("class=\"part\""));
    }
}
