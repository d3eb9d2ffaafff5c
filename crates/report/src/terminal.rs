//! A run as text for a terminal: 80 columns, readable without colour.

mod bottom;
mod fit;
mod histogram;
mod strip;
pub(crate) mod text;

use crate::block::{Section, Tone, agents, apart, cross_check, events, replayed, run, setup, times, values};
use crate::facts;
use text::{Paint, Screen};
use unblink_artifact::document::RunDocument;

/// How the text is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal. Taken as 40 at least and 120 at most: longer lines are hard to read.
    pub width: u16,
    /// Colour as an addition to the words, never instead of them.
    pub color: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { width: 80, color: false }
    }
}

/// The whole report. Ends with its bottom line and a line feed; no line is wider than the style's width, counted in
/// characters.
pub fn render(doc: &RunDocument, style: &Style) -> String {
    render_with(doc, style, &[])
}

/// The same, and above the bottom line where something is: `Record  unblink-runs/…`. Such a line is to be copied, so
/// it is as long as it is.
pub fn render_with(doc: &RunDocument, style: &Style, places: &[(&str, String)]) -> String {
    let mut screen = Screen::new(style);
    simulated(&mut screen, doc);
    head(&mut screen, doc);
    validity(&mut screen, doc);
    // Of a run that did not begin there is nothing else to say.
    if doc.preflight().is_none() {
        figures(&mut screen, doc);
    }
    bottom::draw(&mut screen, doc, places);
    screen.finish()
}

/// What was measured.
fn figures(screen: &mut Screen, doc: &RunDocument) {
    all(screen, run::shape(doc));
    let has_room = !screen.is_narrow();
    screen.section(&run::account(doc, has_room));
    let room = screen.room();
    all(screen, times::percentiles(doc, room));
    all(screen, cross_check::section(doc, room));
    all(screen, run::fanout(doc));
    strip::draw(screen, doc);
    histogram::draw(screen, doc);
    all(screen, times::phases(doc, room));
    all(screen, events::all(doc));
    all(screen, run::retries(doc));
    screen.section(&run::connections(doc));
    all(screen, run::statuses(doc, room));
    all(screen, run::failures(doc, room));
    all(screen, apart::all(doc, room));
    all(screen, replayed::section(doc, room));
    all(screen, values::section(doc));
    all(screen, values::by_answers(doc));
    all(screen, setup::section(doc));
    all(screen, agents::section(doc, room));
    screen.section(&run::throughput(doc));
}

fn all(screen: &mut Screen, sections: impl IntoIterator<Item = Section>) {
    sections.into_iter().for_each(|section| screen.section(&section));
}

/// A run that was not real says so before anything else.
fn simulated(screen: &mut Screen, doc: &RunDocument) {
    let Some((whose, details)) = facts::simulated(doc) else { return };
    screen.labelled(Paint::Finding, "SIMULATED", &whose);
    for line in details {
        screen.paragraph(2, Paint::Plain, &line);
    }
    screen.blank();
}

fn head(screen: &mut Screen, doc: &RunDocument) {
    screen.paragraph(0, Paint::Bold, &facts::target(doc));
    if let Some(part) = facts::part(doc) {
        screen.paragraph(0, Paint::Finding, &part);
    }
    screen.paragraph(0, Paint::Plain, &doc.plan.summary);
    screen.paragraph(0, Paint::Dim, &facts::means(doc));
    for line in facts::extent(doc) {
        screen.paragraph(0, Paint::Finding, &line);
    }
}

fn validity(screen: &mut Screen, doc: &RunDocument) {
    let paint = Tone::from(doc.validity.status).paint();
    screen.blank();
    screen.labelled(paint, facts::validity_word(doc), &facts::validity_sentence(doc));
    verdict(screen, doc);
    run::findings(doc).iter().for_each(|finding| screen.block(finding));
}

/// What was asked of the run, beside whether it can be believed.
fn verdict(screen: &mut Screen, doc: &RunDocument) {
    let Some(verdict) = &doc.verdict else { return };
    let paint = |status| Tone::from(status).paint();
    screen.labelled(
        paint(verdict.status),
        facts::verdict_word(verdict),
        &facts::verdict_sentence(doc, verdict),
    );
    for slo in &verdict.slos {
        screen.marked(2, paint(slo.status), facts::slo_mark(slo).0, &facts::slo_line(slo));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn reports_at_80_columns() {
        for (name, doc) in fixture::all() {
            if !["two-hours", "hostile"].contains(&name) {
                let text = render(&doc, &Style::default());
                insta::assert_snapshot!(format!("{name}-80"), text);
            }
        }
    }

    #[test]
    fn a_report_at_60_columns() {
        insta::assert_snapshot!(
            "failures-60",
            render(&fixture::failures(), &Style { width: 60, color: false })
        );
        insta::assert_snapshot!(
            "saturated-60",
            render(&fixture::saturated(), &Style { width: 60, color: false })
        );
        insta::assert_snapshot!(
            "simulated-60",
            render(&fixture::simulated(), &Style { width: 60, color: false })
        );
    }

    #[test]
    fn a_report_at_40_columns() {
        insta::assert_snapshot!("fleet-40", render(&fixture::fleet(), &Style { width: 40, color: false }));
        insta::assert_snapshot!("pool-40", render(&fixture::pool(), &Style { width: 40, color: false }));
        insta::assert_snapshot!(
            "intervals-40",
            render(&fixture::intervals(), &Style { width: 40, color: false })
        );
    }

    /// Every outcome of every operation, with counts of a long run.
    #[test]
    fn operations_are_read_in_any_width() {
        let mut doc = fixture::failures();
        for (i, operation) in doc.operations.iter_mut().enumerate() {
            let arrivals = &mut operation.arrivals;
            let n = i as u64 * 1_203;
            (arrivals.ok, arrivals.failed) = (1_000_000 - 4 * n, n);
            (arrivals.timed_out, arrivals.unfinished, arrivals.unsent) = (Some(n), Some(n), Some(n));
            arrivals.scheduled = Some(1_000_000);
        }
        for width in [80, 60, 40] {
            let text = render(&doc, &Style { width, color: false });
            let (_, operations) = text.split_once("\nOutcomes by").expect("operations");
            let (operations, _) = operations.split_once("\nThroughput").expect("throughput");
            insta::assert_snapshot!(format!("operations-{width}"), format!("Outcomes by{operations}"));
        }
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        for (name, doc) in fixture::all() {
            for width in [40, 47, 60, 61, 72, 80, 99, 120] {
                let text = render(&doc, &Style { width, color: false });
                for line in text.lines() {
                    let columns = line.chars().count();
                    assert!(columns <= usize::from(width), "{name}: {columns} > {width}: {line}");
                }
                assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{name}: control characters");
            }
        }
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        for (name, doc) in fixture::all() {
            let plain = render(&doc, &Style { width: 80, color: false });
            let color = render(&doc, &Style { width: 80, color: true });
            assert_eq!(strip(&color), plain, "{name}");
        }
    }

    fn strip(text: &str) -> String {
        let mut out = String::new();
        let mut escape = false;
        for c in text.chars() {
            match c {
                '\u{1b}' => escape = true,
                'm' if escape => escape = false,
                _ if escape => {}
                _ => out.push(c),
            }
        }
        out
    }
}
