//! A run as one self-contained page: no network, light and dark, readable without its script.

mod page;
mod sections;
mod tables;

use crate::facts;
use crate::svg::canvas::escape;
use crate::svg::{self, Picture};
pub(crate) use page::Page;
use std::fmt::Write;
use unblink_artifact::document::RunDocument;

/// The page of a run.
pub fn render(doc: &RunDocument) -> String {
    render_with_truth(doc, None)
}

/// The page of a run with the exact spectrum from theory, (q, nanoseconds) in ascending order, where it is
/// known.
pub fn render_with_truth(doc: &RunDocument, truth: Option<&[(f64, u64)]>) -> String {
    let mut page = Page::new(&format!("{}: {}", facts::validity_word(doc), facts::target(doc)));
    page.document("run", doc);
    run(&mut page, doc, "run", truth, 1);
    page.finish(doc)
}

/// A whole report, as the page or as a part of one. `scope` names the embedded document; headings start at
/// `level`.
pub(crate) fn run(page: &mut Page, doc: &RunDocument, scope: &str, truth: Option<&[(f64, u64)]>, level: u8) {
    let out = &mut page.body;
    let (h, sub) = (level, level + 1);
    let _ = write!(
        out,
        "<header><p class=\"brand\"><b>{}</b> {} <span>· {}</span></p><h{h}{}>{}</h{h}><p class=\"load\">{}</p><p class=\"means\">{}</p></header>",
        escape(&doc.tool.name),
        escape(&doc.tool.version),
        escape(&started(doc)),
        if facts::target(doc).chars().count() > 90 { " class=\"long\"" } else { "" },
        breakable(&facts::target(doc)),
        escape(&doc.load.summary),
        escape(&facts::means(doc)),
    );
    sections::verdict(out, doc, sub);
    sections::account(out, doc, sub);
    if doc.series.rows.is_empty() && doc.heatmap.columns.is_empty() && doc.spectrum.response_time.is_empty() {
        out.push_str("<p class=\"nothing\">Nothing was measured, so there is nothing to draw.</p>");
    } else {
        out.push_str("<section class=\"pictures\">");
        for picture in &svg::pictures(doc, scope, truth) {
            figure(out, picture, scope, sub);
        }
        out.push_str("</section>");
    }
    tables::all(out, doc, sub);
}

/// A picture with its words; `scope` names the document that its tooltips read.
pub(crate) fn figure(out: &mut String, picture: &Picture, scope: &str, level: u8) {
    let class = if picture.full { "full" } else { "half" };
    let _ = write!(
        out,
        "<figure class=\"{class}\" data-scope=\"{scope}\"><figcaption><h{level}>{}</h{level}><p>{}</p>",
        escape(&picture.title.finding),
        escape(&picture.title.plotted)
    );
    if !picture.legend.is_empty() {
        out.push_str("<ul class=\"legend\">");
        for (i, (mark, name)) in picture.legend.iter().enumerate() {
            let id = format!("{scope}{}-k{i}", picture.stem);
            let _ = write!(
                out,
                "<li><svg width=\"24\" height=\"12\" viewBox=\"0 0 24 12\" aria-hidden=\"true\">{}{}</svg>{}</li>",
                if *mark == "unknown" { hatch(&id) } else { String::new() },
                svg::swatch(mark, &id),
                escape(name)
            );
        }
        out.push_str("</ul>");
    }
    let _ = write!(out, "</figcaption><div class=\"plot\">{}</div>", picture.inline());
    if let Some(lines) = &picture.lines {
        let _ =
            write!(out, "<script type=\"application/json\" class=\"lines\">{}</script>", page::inert(lines));
    }
    out.push_str("</figure>");
}

fn hatch(id: &str) -> String {
    let mut canvas = svg::canvas::Canvas::new(id, svg::canvas::Size { width: 24.0, height: 12.0 });
    canvas.hatching();
    canvas.body
}

/// `2026-11-20 09:15:00 UTC`, where the document holds RFC 3339.
fn started(doc: &RunDocument) -> String {
    let (date, time) = doc.started_at.split_once('T').unwrap_or((&doc.started_at, ""));
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
