//! What comes before the pictures: validity with its findings, and the account of arrivals.

use crate::svg::canvas::escape;
use crate::{facts, format};
use std::fmt::Write;
use unblink_artifact::document::{Finding, LoadShape, RunDocument, Severity, ValidityStatus, VerdictStatus};

/// Validity first, then what users felt in a sentence, then the findings.
pub(super) fn verdict(out: &mut String, doc: &RunDocument, level: u8) {
    let (class, icon) = match doc.validity.status {
        ValidityStatus::Valid => ("valid", "✓"),
        ValidityStatus::Degraded => ("degraded", "!"),
        ValidityStatus::Invalid => ("invalid", "✕"),
    };
    let _ = write!(
        out,
        "<section class=\"verdict {class}\"><h{level}><span class=\"icon\" aria-hidden=\"true\">{icon}</span>{}</h{level}><p class=\"sentence\">{}</p>",
        facts::validity_word(doc),
        escape(&facts::validity_sentence(doc))
    );
    objectives(out, doc, level);
    for line in facts::extent(doc) {
        let _ = write!(out, "<p class=\"extent\">{}</p>", escape(&line));
    }
    for finding in &doc.validity.findings {
        write_finding(out, finding);
    }
    out.push_str("</section><section class=\"words\">");
    if let Some(felt) = felt(doc) {
        let _ = write!(out, "<p class=\"felt\">{felt}</p>");
    }
    match facts::closed_note(doc) {
        Some(note) => {
            let _ = write!(out, "<p class=\"closed\">{}</p>", escape(&note));
        }
        None => {
            let _ = write!(out, "<p>{}</p>", escape(&facts::difference(doc)));
        }
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
        "<div class=\"objectives {}\"><h{level}><span class=\"icon\" aria-hidden=\"true\">{icon}</span>{}</h{level}><p class=\"sentence\">{}</p><ul>",
        class(verdict.status),
        facts::verdict_word(verdict),
        escape(&facts::verdict_sentence(doc, verdict)),
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

fn write_finding(out: &mut String, finding: &Finding) {
    let class = match finding.severity {
        Severity::Note => "note",
        Severity::Degrades => "degrades",
        Severity::Invalidates => "invalidates",
    };
    let _ = write!(
        out,
        "<article class=\"finding {class}\"><p class=\"message\">{}</p><p class=\"remedy\">{}</p><p class=\"evidence\"><span class=\"code\">{}</span> <span class=\"severity\">{}</span>",
        escape(&format::hold_figures(&finding.message)),
        escape(&format::hold_figures(&finding.remedy)),
        escape(&finding.code),
        facts::severity_word(finding.severity),
    );
    // What only other programs ask for.
    for (name, value) in finding.evidence.iter().filter(|(name, _)| *name != "generator_is_narrowest") {
        let (name, value) = facts::evidence(name, *value);
        let _ = write!(out, " <span>{} <b>{}</b></span>", escape(&name), escape(&value));
    }
    out.push_str("</p></article>");
}

/// The quantiles that people quote, in a sentence.
fn felt(doc: &RunDocument) -> Option<String> {
    if let Some((lead, figures)) = facts::shape_figures(doc) {
        let span = |(figure, name): (String, &str)| format!("<span><b>{}</b> {name}</span>", escape(&figure));
        let figures: String = figures.into_iter().map(span).collect();
        return Some(format!("<span class=\"lead\">{lead}</span>{figures}"));
    }
    let d = &doc.response_time;
    let mut parts = Vec::new();
    let (shown, _) = facts::shown(d);
    for q in [0.5, 0.99, 0.999] {
        let quantile = facts::quantile(d, q)?;
        if d.quantiles.iter().skip(shown).any(|unshown| unshown.q == q) {
            break;
        }
        let few = if quantile.few_samples && !quantile.censored { " (few samples)" } else { "" };
        parts.push(format!(
            "<span><b>{}</b> {}{few}</span>",
            escape(&facts::value(quantile)),
            format::quantile_label(q)
        ));
    }
    parts.push(format!("<span><b>{}</b> max</span>", escape(&facts::max(d))));
    // A load that grows on purpose, and of which nothing can be said.
    let is_mixed = matches!(doc.load.shape, Some(LoadShape::Spike | LoadShape::Stress));
    let lead = if is_mixed { "Response time, all rates mixed" } else { "Response time" };
    Some(format!("<span class=\"lead\">{lead}</span>{}", parts.join("")))
}

/// What a load of a named shape was run for.
pub(super) fn shape(out: &mut String, doc: &RunDocument, level: u8) {
    let Some(shape) = facts::shape(doc) else { return };
    let _ = write!(
        out,
        "<section class=\"account shape\"><h{level}>{}</h{level}><div class=\"scroll\"><table class=\"sum\"><tbody>",
        escape(&shape.finding)
    );
    for line in &shape.lines {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"what\">{}</td></tr>",
            line.what,
            escape(&line.figure),
            escape(&line.meant)
        );
    }
    out.push_str("</tbody></table></div>");
    if let Some(note) = facts::invalid_note(doc) {
        let _ = write!(out, "<p class=\"must-not\">{}</p>", escape(note));
    }
    out.push_str("</section>");
}

/// A bar of shares and a table that sums.
pub(super) fn account(out: &mut String, doc: &RunDocument, level: u8) {
    let scheduled = doc.arrivals.scheduled;
    let _ = write!(
        out,
        "<section class=\"account\"><h{level}>{}</h{level}>",
        escape(&facts::account_finding(doc))
    );
    if scheduled > 0 {
        out.push_str("<div class=\"bar\" role=\"img\" aria-label=\"Shares of the outcomes; the table below has the numbers\">");
        for (class, name, n) in facts::account(doc) {
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
    out.push_str("<div class=\"scroll\"><table class=\"sum\"><tbody>");
    for (i, (class, name, n)) in facts::account(doc).into_iter().enumerate() {
        let zero = if n == 0 { " class=\"zero\"" } else { "" };
        let sign = if i == 0 { "" } else { "+" };
        let share = if n == 0 { String::new() } else { format::share(n, scheduled) };
        let _ = write!(
            out,
            "<tr{zero}><th scope=\"row\"><i class=\"key {class}\"></i>{name}</th><td class=\"sign\">{sign}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"what\">{}</td></tr>",
            format::count(n),
            escape(&share),
            escape(&facts::outcome_meaning(doc, name))
        );
    }
    let all = if scheduled > 0 { format::percent(1.0) } else { String::new() };
    let note = facts::scheduled_meaning(doc);
    let _ = write!(
        out,
        "</tbody><tfoot><tr><th scope=\"row\">scheduled</th><td class=\"sign\">=</td><td class=\"n\">{}</td><td class=\"n\">{all}</td><td class=\"what\">{note}</td></tr></tfoot></table></div></section>",
        format::count(scheduled)
    );
}
