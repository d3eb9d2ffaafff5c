//! A run for GitHub Actions: a summary in Markdown, and annotations.

use crate::block::addresses::addresses;
use crate::block::markdown::{self, escape};
use crate::block::{Align, Room, Table, journeys, plain};
use crate::{facts, format};
use std::fmt::Write;
use unblink_artifact::document::{Quantile, RunDocument, Severity, SloResult, ValidityStatus, VerdictStatus};
use unblink_artifact::harmless;

/// A short summary: validity, verdict, the account and the percentiles.
pub fn summary(doc: &RunDocument) -> String {
    let mut out = format!("### {}\n\n", escape(&facts::target(doc)));
    let _ = writeln!(out, "{}\n", escape(&doc.plan.summary));
    for line in facts::extent(doc) {
        let _ = writeln!(out, "*{}*\n", escape(&line));
    }
    let _ = writeln!(out, "**{}** {}", facts::validity_word(doc), escape(&facts::validity_sentence(doc)));
    for finding in doc.validity.findings.iter().filter(|f| f.severity != Severity::Note) {
        let _ = writeln!(out, "- {} {}", escape(&finding.message), escape(&finding.remedy));
    }
    out.push('\n');
    if let Some(verdict) = &doc.verdict {
        let sentence = facts::verdict_sentence(doc, verdict);
        let _ = writeln!(out, "**{}** {}\n", facts::verdict_word(verdict), escape(&sentence));
        let row = |slo: &SloResult| {
            let (mark, word) = facts::slo_mark(slo);
            vec![plain(format!("{mark} {word}")), plain(&slo.slo), plain(&slo.message)]
        };
        let head = ["", "objective", "found"].map(plain).to_vec();
        let rows = verdict.slos.iter().map(row).collect();
        out.push_str(&markdown::table(&Table::of(head, vec![Align::Left; 3], rows)));
        out.push('\n');
    }
    let (shown, _) = facts::shown(&doc.response_time);
    let row = |quantile: &Quantile| {
        let service = facts::quantile(&doc.service_time, quantile.q);
        let service = service.map_or("–".into(), |service| facts::marked(service, false));
        vec![plain(format::quantile_label(quantile.q)), plain(facts::marked(quantile, false)), plain(service)]
    };
    let max = vec![plain("max"), plain(facts::max(&doc.response_time)), plain(facts::max(&doc.service_time))];
    let head = ["", "response time", "service time"].map(plain).to_vec();
    let rows = doc.response_time.quantiles[..shown].iter().map(row).chain([max]).collect();
    let align = vec![Align::Left, Align::Right, Align::Right];
    out.push_str(&markdown::table(&Table::of(head, align, rows)));
    out.push('\n');
    for section in addresses(doc, Room::Page).into_iter().chain(journeys::all(doc, Room::Page)) {
        let _ = writeln!(out, "**{}**, {}\n", section.name, escape(&section.note));
        section.blocks.iter().for_each(|block| markdown::block(&mut out, block));
    }
    let parts: Vec<String> = facts::account(doc)
        .into_iter()
        .filter(|(_, name, n)| *n > 0 || *name == "ok")
        .map(|(_, name, n)| format!("{} {name}", format::count(n)))
        .collect();
    let _ = writeln!(out, "{} scheduled: {}", format::count(doc.arrivals.scheduled), parts.join(", "));
    out
}

/// Workflow commands, one a line, for what a reviewer must see.
pub fn annotations(doc: &RunDocument) -> String {
    let mut out = String::new();
    let mut add = |level: &str, title: &str, message: &str| {
        let _ = writeln!(out, "::{level} title={}::{}", property(title), data(message));
    };
    if doc.validity.status == ValidityStatus::Invalid {
        let why = doc.validity.findings.first().map_or("", |finding| finding.message.as_str());
        add("error", "unblink: the run is invalid", why);
    }
    if let Some(aborted) = facts::aborted(doc) {
        add("error", "unblink: the run was stopped", &aborted);
    }
    for slo in doc.verdict.iter().flat_map(|verdict| &verdict.slos) {
        let told = |slo: &SloResult| format!("unblink: {}", slo.slo);
        match slo.status {
            VerdictStatus::Pass => {}
            VerdictStatus::Inconclusive => add("warning", &told(slo), &slo.message),
            VerdictStatus::Fail => add("error", &told(slo), &slo.message),
        }
    }
    out
}

/// As the runner decodes the message of a command.
fn data(text: &str) -> String {
    harmless::escaped(&text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A"))
}

/// As the runner decodes a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_summary_in_markdown() {
        insta::assert_snapshot!("summary-objectives", summary(&fixture::objectives()));
        insta::assert_snapshot!("summary-saturated", summary(&fixture::saturated()));
        let journeys = summary(&fixture::journeys());
        assert!(
            journeys.contains("**Steps**") && journeys.contains("| buy: cart | 595 | 587 |"),
            "{journeys}"
        );
        let fleet = summary(&fixture::fleet());
        assert!(fleet.contains("**Addresses**") && fleet.contains("| 10.0.0.3:80 | "), "{fleet}");
    }

    #[test]
    fn annotations_are_commands_of_one_line_each() {
        let found = annotations(&fixture::objectives());
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines.len(), 2, "{found}");
        assert!(lines[0].starts_with("::error title=unblink%3A p99 < 200ms::p99 is"), "{found}");
        assert!(lines[1].starts_with("::warning title=unblink%3A errors < 0.1%25::"), "{found}");
        assert!(found.contains("95\u{a0}%25"), "a per cent sign would be an escape: {found}");
        assert_eq!(annotations(&fixture::stall()), "");
        assert!(
            annotations(&fixture::saturated()).starts_with("::error title=unblink%3A the run is invalid::")
        );
    }

    #[test]
    fn nothing_leaves_its_cell() {
        let mut doc = fixture::objectives();
        doc.verdict.as_mut().unwrap().slos[0].slo = "a|b<i>\nc: p99 < 1ms".into();
        let text = summary(&doc);
        assert!(text.contains("a\\|b&lt;i&gt; c: p99 &lt; 1ms"), "{text}");
    }
}
