//! What comes before the pictures: validity with its findings, and the account of arrivals.

use super::block::{answer, blocks, severity_class};
use crate::block::run;
use crate::svg::canvas::escape;
use crate::{facts, format};
use std::fmt::Write;
use unblink_artifact::document::{LoadShape, RunDocument, Severity, VerdictStatus};

/// Validity first, then what users felt in a sentence, then the findings.
pub(super) fn verdict(out: &mut String, doc: &RunDocument, level: u8) {
    let said = (facts::validity_word(doc), facts::validity_sentence(doc));
    answer(out, doc.validity.status.into(), said, "", level);
    objectives(out, doc, level);
    for line in facts::extent(doc) {
        let _ = write!(out, "<p class=\"extent\">{}</p>", escape(&line));
    }
    claims(out, doc);
    out.push_str("</section><section class=\"words\">");
    if let Some(felt) = felt(doc) {
        let _ = write!(out, "<p class=\"felt\">{felt}</p>");
    }
    if let Some(note) = facts::closed_note(doc) {
        let _ = write!(out, "<p class=\"closed\">{}</p>", escape(&note));
    }
    if let Some(note) = facts::invalid_note(doc) {
        let _ = write!(out, "<p class=\"must-not\">{}</p>", escape(note));
    }
    out.push_str("</section>");
}

/// What was asked of the run, beside whether it can be believed.
fn objectives(out: &mut String, doc: &RunDocument, level: u8) {
    let Some(verdict) = &doc.verdict else { return };
    let class = |status| match status {
        VerdictStatus::Pass => "met",
        VerdictStatus::Inconclusive => "open",
        VerdictStatus::Fail => "missed",
    };
    let icon = match verdict.status {
        VerdictStatus::Pass => "✓",
        VerdictStatus::Inconclusive => "?",
        VerdictStatus::Fail => "✕",
    };
    let _ = write!(
        out,
        "<div class=\"objectives {}\"><h{level}><span class=\"icon\" aria-hidden=\"true\">{icon}</span>{}</h{level}><p class=\"sentence\">{}</p><ul{}>",
        class(verdict.status),
        facts::verdict_word(verdict),
        escape(&facts::verdict_sentence(doc, verdict)),
        if verdict.slos.len() > 2 { " class=\"many\"" } else { "" },
    );
    for slo in &verdict.slos {
        let (mark, word) = facts::slo_mark(slo);
        let _ = write!(
            out,
            "<li class=\"{}\"><span class=\"mark\" aria-hidden=\"true\">{mark}</span><b>{}</b> <span class=\"word\">{word}</span> {}</li>",
            class(slo.status),
            escape(&slo.slo),
            escape(&format::hold_figures(&slo.message)),
        );
    }
    out.push_str("</ul></div>");
}

/// What takes from the figures, before any of them; remedies and evidence stand below the first picture.
fn claims(out: &mut String, doc: &RunDocument) {
    let against = || doc.validity.findings.iter().filter(|finding| finding.severity != Severity::Note);
    if against().next().is_none() {
        return;
    }
    out.push_str("<ul class=\"claims\">");
    for finding in against() {
        let message = escape(&format::hold_figures(&finding.message));
        let _ = write!(out, "<li class=\"{}\">{message}</li>", severity_class(finding.severity));
    }
    out.push_str("</ul>");
}

/// Why response and service time differ, or that they don't.
pub(super) fn difference(out: &mut String, doc: &RunDocument) {
    if facts::closed_note(doc).is_none() {
        let _ = write!(out, "<p class=\"difference\">{}</p>", escape(&facts::difference(doc)));
    }
}

/// Every finding with what to do about it and the numbers behind it.
pub(super) fn findings(out: &mut String, doc: &RunDocument, level: u8) {
    if doc.validity.findings.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<section class=\"findings\"><h{level}>What was found, and what to do about it</h{level}>"
    );
    blocks(out, &run::findings(doc), "", level);
    out.push_str("</section>");
}

/// The four figures that people quote.
fn felt(doc: &RunDocument) -> Option<String> {
    if let Some((lead, figures)) = facts::shape_figures(doc) {
        let span = |(figure, name): (String, &str)| format!("<span><b>{}</b> {name}</span>", escape(&figure));
        let figures: String = figures.into_iter().map(span).collect();
        return Some(format!("<span class=\"lead\">{lead}</span>{figures}"));
    }
    let d = &doc.response_time;
    let mut parts = Vec::new();
    let (shown, _) = facts::shown(d);
    let is_shown = |q: f64| d.quantiles.iter().take(shown).any(|quantile| quantile.q == q);
    for q in [0.5, 0.99] {
        let quantile = facts::quantile(d, q)?;
        if !is_shown(q) {
            break;
        }
        let few = if quantile.few_samples && !quantile.censored { " (few samples)" } else { "" };
        parts.push(format!(
            "<span><b>{}</b> {}{}{few}</span>",
            escape(&facts::value(quantile)),
            format::quantile_label(q),
            facts::whose(doc, q)
        ));
    }
    if parts.len() < 2 {
        parts.push(format!("<span><b>{}</b> max</span>", escape(&facts::max(d))));
    }
    parts.push(format!("<span class=\"other\"><b>{}</b> errors</span>", escape(&facts::errors(doc))));
    parts.push(format!("<span class=\"other\"><b>{}</b> achieved</span>", format::rate(doc.rate.achieved)));
    // A load that changes on purpose, and of which nothing can be said.
    let is_mixed = matches!(doc.plan.shape, Some(LoadShape::Spike | LoadShape::Stress | LoadShape::Sine));
    let lead = if is_mixed { "Response time, all rates mixed" } else { "Response time" };
    Some(format!("<span class=\"lead\">{lead}</span>{}", parts.join("")))
}

/// The account as one bar, with its numbers below.
pub(super) fn account(out: &mut String, doc: &RunDocument, level: u8) {
    let scheduled = doc.arrivals.scheduled;
    let _ = write!(
        out,
        "<section class=\"account\"><h{level}>{}</h{level}>",
        escape(&facts::account_finding(doc))
    );
    if scheduled > 0 {
        out.push_str(
            "<div class=\"bar\" role=\"img\" aria-label=\"Shares of the outcomes; the numbers stand below\">",
        );
        let never_asked = facts::never_asked(doc).map(|(omitted, _)| ("never-asked", "never asked", omitted));
        for (class, name, n) in facts::account(doc).into_iter().chain(never_asked) {
            if n > 0 {
                let _ = write!(
                    out,
                    "<i class=\"{class}\" style=\"flex-grow:{:.4}\" title=\"{name}: {}\"></i>",
                    n as f64 / scheduled as f64 * 1_000.0,
                    format::count(n)
                );
            }
        }
        out.push_str("</div>");
    }
    out.push_str("<ul class=\"outcomes\">");
    for (i, (class, name, n)) in facts::account(doc).into_iter().enumerate() {
        let zero = if n == 0 { " class=\"zero\"" } else { "" };
        let sign = if i == 0 { "" } else { "+\u{a0}" };
        let share = if n == 0 { String::new() } else { format!(" · {}", format::share(n, scheduled)) };
        let _ = write!(
            out,
            "<li{zero}>{sign}<i class=\"key {class}\"></i><b>{}</b> {name}{}</li>",
            format::count(n),
            escape(&share)
        );
    }
    let _ = write!(out, "<li class=\"total\">=\u{a0}<b>{}</b> scheduled", format::count(scheduled));
    if let Some((omitted, planned)) = facts::never_asked(doc) {
        let (omitted, planned) = (format::count(omitted), format::count(planned));
        let _ = write!(
            out,
            " of {planned} planned</li><li><i class=\"key never-asked\"></i><b>{omitted}</b> never asked"
        );
    }
    out.push_str("</li></ul></section>");
}
