//! The end of the report: whoever sees only the last screen sees the answer.

use super::text::{Paint, Screen};
use crate::block::Tone;
use crate::{facts, format};
use unblink_artifact::document::{RunDocument, RunStatus, Severity, VerdictStatus};

/// Objectives that are named again.
const AGAIN_MAX: usize = 3;

/// What decides, where the record is, and the bottom line: verdict, p50 and p99, errors, achieved.
pub(super) fn draw(screen: &mut Screen, doc: &RunDocument, places: &[(&str, String)]) {
    screen.blank();
    screen.places(places);
    reasons(screen, doc);
    let (paint, label) = label(doc);
    screen.labelled(paint, &label, &figures(doc));
}

/// What one must know of the figures: it was said further up, perhaps on a screen that is gone.
fn reasons(screen: &mut Screen, doc: &RunDocument) {
    if doc.simulated.is_some() {
        screen.marked(2, Paint::Dim, "·", "Simulated: no request was sent.");
    }
    let invalidates = |severity| severity == Severity::Invalidates;
    if let Some(finding) = doc.validity.findings.iter().find(|finding| invalidates(finding.severity)) {
        screen.marked(2, Paint::Bad, "✗", &finding.message);
    }
    let slos = doc.verdict.iter().flat_map(|verdict| &verdict.slos);
    let open: Vec<_> = slos.filter(|slo| slo.status != VerdictStatus::Pass).collect();
    for slo in open.iter().take(AGAIN_MAX) {
        screen.marked(2, Tone::from(slo.status).paint(), facts::slo_mark(slo).0, &facts::slo_line(slo));
    }
    if open.len() > AGAIN_MAX {
        screen.paragraph(4, Paint::Dim, &format!("and {} more, above", open.len() - AGAIN_MAX));
    }
}

/// `VALID`, or with objectives `FAIL · DEGRADED`.
fn label(doc: &RunDocument) -> (Paint, String) {
    let validity = facts::validity_word(doc);
    let trusted = Tone::from(doc.validity.status).paint();
    match &doc.verdict {
        None => (trusted, validity.into()),
        Some(verdict) => {
            let is_met = verdict.status == VerdictStatus::Pass;
            let paint = if is_met { trusted } else { Tone::from(verdict.status).paint() };
            (paint, format!("{} · {validity}", facts::verdict_word(verdict)))
        }
    }
}

fn figures(doc: &RunDocument) -> String {
    let mut parts: Vec<String> = Vec::new();
    match doc.status {
        RunStatus::Complete => {}
        RunStatus::Interrupted => parts.push("interrupted".into()),
        RunStatus::Aborted => parts.push("stopped early".into()),
        RunStatus::Running => parts.push("not ended".into()),
    }
    for q in [0.5, 0.99] {
        let value = facts::listed(&doc.response_time, q)
            .map_or("–".into(), |quantile| facts::marked(quantile, false));
        parts.push(format!("{}\u{a0}{value}", format::quantile_label(q)));
    }
    if facts::listed(&doc.response_time, 0.99).is_none() && doc.response_time.max.is_some() {
        parts.push(format!("max\u{a0}{}", facts::max(&doc.response_time)));
    }
    let a = &doc.arrivals;
    let errors = a.failed.saturating_add(a.timed_out);
    parts.push(format!("errors\u{a0}{}", format::share(errors, a.due())));
    let open = a.unfinished.saturating_add(a.unsent);
    if open > 0 {
        parts.push(format!("without an end\u{a0}{}", format::share(open, a.due())));
    }
    let achieved = format::rate(doc.rate.achieved);
    // What was offered stands beside it where it is another figure.
    let offered = doc.rate.offered.map(format::rate).filter(|offered| *offered != achieved);
    let of = offered.map(|offered| format!(" of\u{a0}{offered}")).unwrap_or_default();
    parts.push(format!("achieved\u{a0}{achieved}{of}"));
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::terminal::{Style, render, render_with};

    fn bottom(text: &str, lines: usize) -> String {
        let all: Vec<&str> = text.lines().collect();
        all[all.len() - lines..].join("\n")
    }

    #[test]
    fn the_last_line_is_the_answer() {
        let text = render(&fixture::stall(), &Style::default());
        assert_eq!(bottom(&text, 1), "VALID  p50 10.1 ms · p99 410 ms · errors 0 % · achieved 1 000/s");
        // A p99 that the table withholds is no answer.
        let text = render(&fixture::one_arrival(), &Style::default());
        assert!(bottom(&text, 2).contains(" · p99 – · max "), "{text}");
        for (name, doc) in fixture::all() {
            let text = render(&doc, &Style::default());
            let end = bottom(&text, 3).replace('\n', " ");
            for part in ["p50 ", "p99 ", "errors ", "achieved "] {
                assert!(end.contains(part), "{name}: {part:?} is missing in {end}");
            }
        }
    }

    /// What was missed stands on the last screen, too, and so does the place of the record.
    #[test]
    fn a_last_screen_says_what_was_missed_and_where_the_record_is() {
        let doc = fixture::objectives();
        let missed = doc.verdict.as_ref().expect("a verdict").slos.iter();
        let missed = missed.filter(|slo| slo.status != super::VerdictStatus::Pass).count();
        assert!(missed > 0);
        let folder = format!("/a/{}", "long/".repeat(30));
        let text = render_with(&doc, &Style::default(), &[("Record", folder.clone())]);
        let screen = bottom(&text, 24);
        assert!(screen.contains(&format!("Record  {folder}\n")), "{screen}");
        assert!(screen.contains("✗ p99 < 200ms missed."), "{screen}");
    }

    #[test]
    fn an_invalid_run_says_why_at_its_end() {
        let doc = fixture::saturated();
        let why = &doc.validity.findings[0].message;
        let text = render(&doc, &Style::default());
        let end = bottom(&text, 8).split_whitespace().collect::<Vec<_>>().join(" ");
        let first_words: Vec<&str> = why.split_whitespace().take(5).collect();
        assert!(end.contains("INVALID") && end.contains(&first_words.join(" ")), "{end}");
    }
}
