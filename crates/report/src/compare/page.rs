//! A comparison as a page: the answer, both spectra, the table, every run.

use super::lines;
use super::words::{self, Tone};
use crate::format;
use crate::html::{self, Page};
use crate::svg::canvas::escape;
use std::fmt::Write;
use unblink_artifact::compare::{CompareDocument, Side};
use unblink_artifact::harmless;

pub(super) fn render(doc: &CompareDocument) -> String {
    let mut page = Page::new(&format!("{}: {}", words::verdict(doc), words::target(&doc.candidate)));
    page.json("compare", &harmless::json(doc).unwrap_or_else(|_| "null".into()));
    let out = &mut page.body;
    if doc.simulated {
        out.push_str("<aside class=\"simulated\"><p><b>SIMULATED</b> No request was sent.</p></aside>");
    }
    let _ = write!(
        out,
        "<header><p class=\"brand\"><b>{}</b> {} <span>· {}</span></p><h1>{}</h1>",
        escape(&doc.tool.name),
        escape(&doc.tool.version),
        if doc.a_a { "the noise floor" } else { "comparison" },
        if doc.a_a {
            "One target, compared with itself"
        } else {
            "Is the candidate slower than the baseline?"
        },
    );
    for (name, side) in [("Baseline", &doc.baseline), ("Candidate", &doc.candidate)] {
        let _ = write!(
            out,
            "<p class=\"load\"><b>{name}</b> {} <span class=\"means\">· {}</span></p>",
            html::breakable(&words::target(side)),
            escape(&words::runs(side))
        );
    }
    let alone =
        doc.rule.request.as_ref().map(|name| format!(" · the arrivals of {name} alone")).unwrap_or_default();
    let _ = write!(out, "<p class=\"means\">{}{}</p></header>", escape(&doc.plan.summary), escape(&alone));
    verdict(out, doc);
    out.push_str("<section class=\"pictures\">");
    html::figure(out, &super::picture(doc), "compare", 2);
    super::runs::pictures(doc).iter().for_each(|picture| html::figure(out, picture, "compare", 2));
    out.push_str("</section><section class=\"tables\">");
    html::sections(out, lines::side_by_side(doc, words::about_intervals(doc)), 2);
    for (name, side) in [("Runs of the baseline", &doc.baseline), ("Runs of the candidate", &doc.candidate)] {
        runs(out, doc, name, side);
    }
    out.push_str("</section>");
    let made = format!("<p>Made by {}. ", html::tool(&doc.tool));
    let holds = format!("The page holds its whole document ({}) as JSON.</p>", escape(&doc.schema));
    page.finish_with(&doc.command, &(made + &holds))
}

fn verdict(out: &mut String, doc: &CompareDocument) {
    let (class, icon) = match words::tone(doc) {
        Tone::Good => ("valid", "✓"),
        Tone::Doubt => ("degraded", "!"),
        Tone::Bad => ("invalid", "✕"),
    };
    let _ = write!(
        out,
        "<section class=\"verdict {class}\"><h2><span class=\"icon\" aria-hidden=\"true\">{icon}</span>{}</h2>\
         <p class=\"sentence\">{}</p>",
        words::verdict(doc),
        escape(&format::hold_figures(&words::sentence(doc)))
    );
    for note in words::doubts(doc).into_iter().chain(words::notes(doc)) {
        let _ = write!(out, "<p class=\"extent\">{}</p>", escape(&format::hold_figures(&note)));
    }
    for (side, run, why) in words::left_out(doc) {
        let _ = write!(
            out,
            "<article class=\"finding degrades\"><p class=\"message\">Left out: {side}, {}</p><p>{}</p></article>",
            html::breakable(&run.folder),
            escape(&format::hold_figures(why))
        );
    }
    out.push_str("</section>");
}

fn runs(out: &mut String, doc: &CompareDocument, name: &str, side: &Side) {
    let _ = write!(
        out,
        "<section class=\"block\"><h2>{name}</h2><div class=\"scroll\"><table><thead><tr><th scope=\"col\">run</th>\
         <th scope=\"col\">began (UTC)</th><th scope=\"col\" class=\"n\">{}</th><th scope=\"col\" class=\"n\">achieved</th>\
         <th scope=\"col\" class=\"n\">errors</th></tr></thead><tbody>",
        escape(&crate::compare::label(doc))
    );
    for run in &side.runs {
        let shown = if run.censored { format::above } else { format::duration };
        let value = run.value_ns.map_or("–".into(), shown);
        let out_class = if run.left_out.is_some() { " class=\"zero\"" } else { "" };
        let _ = write!(
            out,
            "<tr{out_class}><th scope=\"row\" class=\"name\">{}{}</th><td class=\"began\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            html::breakable(&run.folder),
            match (&run.left_out, &run.target_failed) {
                (Some(_), _) => " (left out)",
                (None, Some(_)) => " (failed)",
                (None, None) => "",
            },
            escape(&began(&run.started_at)),
            escape(&value),
            escape(&format::rate(run.achieved_per_s)),
            escape(&format::percent(run.error_share)),
        );
    }
    out.push_str("</tbody></table></div></section>");
}

/// `2026-11-20 09:15:00`, where the document holds RFC 3339.
fn began(started_at: &str) -> String {
    let whole_seconds = started_at.split(['.', 'Z']).next().unwrap_or(started_at);
    whole_seconds.replace('T', " ")
}
