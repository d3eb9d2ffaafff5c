//! A search as a page: the answer, the two curves, what they say, the trials.

use super::{by_rate, interval, purpose, rate, value, verdict, words};
use crate::format;
use crate::html::{self, Page};
use crate::svg;
use crate::svg::canvas::escape;
use std::fmt::Write;
use unblink_artifact::harmless;
use unblink_artifact::knee::{KneeDocument, KneeStatus, TrialVerdict};

pub(super) fn render(doc: &KneeDocument) -> String {
    let (word, sentence) = words::answer(doc);
    let mut page = Page::new(&format!("{word}: {}", doc.header.question.target));
    // Only a map with other keys than strings could fail, and a document has none.
    page.json("knee", &harmless::json(doc).unwrap_or_else(|_| "null".into()));
    let out = &mut page.body;
    if doc.header.question.simulated {
        out.push_str("<aside class=\"simulated\"><p><b>SIMULATED</b> No request was sent.</p></aside>");
    }
    let (class, icon) = match doc.status {
        KneeStatus::Found | KneeStatus::AtLeast => ("valid", "✓"),
        KneeStatus::Refused => ("invalid", "✕"),
        KneeStatus::Interrupted | KneeStatus::Bracketed => ("degraded", "!"),
    };
    let _ = write!(
        out,
        "<header><p class=\"brand\"><b>{}</b> {} <span>· {} · the highest rate that meets an objective</span></p>\
         <h1>{}</h1><p class=\"load\">{}</p></header>\
         <section class=\"verdict {class}\"><h2{}><span class=\"icon\" aria-hidden=\"true\">{icon}</span>{}</h2>\
         <p class=\"sentence\">{}</p>",
        escape(&doc.header.tool.name),
        escape(&doc.header.tool.version),
        escape(&html::moment(&doc.header.started_at)),
        html::breakable(&doc.header.question.target),
        escape(&words::about(doc).split_once(" · ").map_or(String::new(), |(_, rest)| rest.to_string())),
        if doc.answer.is_some() { " class=\"largest\"" } else { "" },
        escape(&word),
        escape(&sentence),
    );
    if let Some((_, word, sentence)) = words::at_least(doc) {
        let _ = write!(out, "<p class=\"sentence\"><b>{word}</b> {}</p>", escape(&sentence));
    }
    answer(out, doc);
    if let Some(evidence) = words::evidence(doc) {
        let _ = write!(out, "<p class=\"extent\">{}</p>", escape(&evidence));
    }
    out.push_str("</section>");
    if !doc.trials.is_empty() {
        out.push_str("<section class=\"pictures\">");
        for picture in svg::load_curve::pictures(doc) {
            html::figure(out, &picture, "knee", 2);
        }
        out.push_str("</section>");
        findings(out, doc);
        trials(out, doc);
    }
    let environment = &doc.header.environment;
    let made = format!(
        "<p>{} · {} · {}</p><p>Made by {}. The page holds its whole document ({}) as JSON.</p>",
        escape(&environment.kernel),
        escape(&environment.cpu),
        format::plural(u64::from(environment.cores), "core", "cores"),
        html::tool(&doc.header.tool),
        escape(&doc.schema),
    );
    page.finish_with(&doc.header.command, &made)
}

/// What the answer lies between.
fn answer(out: &mut String, doc: &KneeDocument) {
    let Some(answer) = &doc.answer else { return };
    let good = format::rate(answer.good_per_s);
    let _ = write!(out, "<p class=\"answer\"><span><b>{good}</b> shown to meet it</span>");
    if let Some(missed) = answer.missed_from_per_s {
        let _ = write!(out, "<span><b>{}</b> shown not to</span>", format::rate(missed));
    }
    out.push_str("</p>");
}

fn findings(out: &mut String, doc: &KneeDocument) {
    let findings = words::findings(doc);
    if findings.is_empty() {
        return;
    }
    out.push_str(
        "<section class=\"tables\"><div class=\"block wide-block\"><h2>The curve</h2><div class=\"scroll\"><table><tbody>",
    );
    for (name, figure, means) in findings {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"whole\">{}</td><td class=\"what\">{}</td></tr>",
            escape(name),
            escape(&figure),
            escape(&means)
        );
    }
    out.push_str("</tbody></table></div></div></section>");
}

fn trials(out: &mut String, doc: &KneeDocument) {
    let label = format::quantile_label(doc.header.question.quantile);
    let _ = write!(
        out,
        "<section class=\"tables\"><div class=\"block wide-block\"><h2>Trials, by rate</h2><div class=\"scroll\"><table>\
         <thead><tr><th scope=\"col\" class=\"n\">offered</th><th scope=\"col\" class=\"n\">delivered</th>\
         <th scope=\"col\" class=\"n\">{label}</th><th scope=\"col\" class=\"n\">95\u{a0}% interval</th>\
         <th scope=\"col\" class=\"n\">mean</th><th scope=\"col\" class=\"n\">1/(µ−λ)</th>\
         <th scope=\"col\" class=\"n\">in flight</th><th scope=\"col\" class=\"n\">measured</th>\
         <th scope=\"col\">for</th><th scope=\"col\">is</th><th scope=\"col\" class=\"n\">no.</th></tr></thead><tbody>",
    );
    for trial in by_rate(doc) {
        let mean = |ns: Option<f64>| ns.map_or("–".into(), |ns| format::duration(ns.round() as u64));
        let mark = match trial.verdict {
            TrialVerdict::Met => '✓',
            TrialVerdict::Undecided | TrialVerdict::Generator => '?',
            _ => '✕',
        };
        let _ = write!(
            out,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n response-text\">{}</td><td class=\"n what\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n what\">{}</td><td class=\"n\">{}</td><td class=\"n what\">{}</td>\
             <td class=\"what\">{}</td><td class=\"whole\">{mark}\u{a0}{}</td><td class=\"n what\">{}</td></tr>",
            format::rate(rate(trial)),
            format::rate(trial.delivered_per_s),
            value(trial),
            interval(trial).unwrap_or("–".into()),
            mean(trial.mean_ns),
            mean(trial.theory_mean_ns),
            trial.in_flight_mean.map_or("–".into(), format::number),
            format::moment(trial.measured_ns),
            purpose(trial.purpose),
            verdict(trial.verdict),
            trial.number,
        );
    }
    out.push_str(
        "</tbody></table></div><p class=\"foot\">1/(µ−λ) is the mean response time of the simplest queue whose capacity \
         µ is the most that was delivered, empty unless the target was overloaded; a target with many workers lies above it at low load. In flight: mean, by \
         Little's law.</p></div></section>",
    );
}
