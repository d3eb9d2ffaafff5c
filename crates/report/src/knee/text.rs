//! A search in a terminal.

use super::{by_rate, interval, purpose, rate, value, verdict, words};
use crate::format;
use crate::terminal::Style;
use crate::terminal::text::{Align, Paint, Screen, Span};
use unblink_artifact::knee::{KneeDocument, KneeStatus, TrialVerdict};

/// Characters of the longest name of a finding.
const NAME: usize = 16;

pub(super) fn render(doc: &KneeDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if doc.header.question.simulated {
        screen.labelled(Paint::Finding, "SIMULATED", "no request was sent.");
    }
    if let Some((is_reached, word, sentence)) = words::at_least(doc) {
        let paint = match is_reached {
            Some(true) => Paint::Good,
            Some(false) => Paint::Bad,
            None => Paint::Finding,
        };
        screen.labelled(paint, word, &sentence);
    }
    let (word, sentence) = words::answer(doc);
    let paint = match doc.status {
        KneeStatus::Found | KneeStatus::AtLeast => Paint::Good,
        KneeStatus::Bracketed => Paint::Bold,
        KneeStatus::Refused => Paint::Bad,
        KneeStatus::Interrupted => Paint::Finding,
    };
    screen.labelled(paint, &word, &sentence);
    if let Some(evidence) = words::evidence(doc) {
        screen.paragraph(0, Paint::Plain, &evidence);
    }
    screen.paragraph(0, Paint::Dim, &words::about(doc));
    if !doc.trials.is_empty() {
        table(&mut screen, doc);
    }
    let findings = words::findings(doc);
    if !findings.is_empty() {
        screen.heading("The curve", "");
        for (name, figure, means) in findings {
            screen.labelled(Paint::Bold, &format!("  {name:<NAME$}"), &format!("{figure}: {means}"));
        }
    }
    screen.finish()
}

fn table(screen: &mut Screen, doc: &KneeDocument) {
    let about = match doc.capacity_per_s {
        Some(_) => "by rate; mean beside 1/(µ − λ), the simplest queue of this capacity",
        None => "by rate; without overload nobody knows µ of 1/(µ − λ)",
    };
    screen.heading("Trials", about);
    let label = format::quantile_label(doc.header.question.quantile);
    let header = ["rate/s", "ok/s", &label, "95 % interval", "mean", "1/(µ−λ)", "for", "is"];
    let mut rows: Vec<Vec<Span>> = vec![header.iter().map(|name| (Paint::Dim, name.to_string())).collect()];
    for trial in by_rate(doc) {
        let paint = match trial.verdict {
            TrialVerdict::Met => Paint::Good,
            TrialVerdict::Undecided | TrialVerdict::Generator => Paint::Finding,
            _ => Paint::Bad,
        };
        let mean = |ns: Option<f64>| ns.map_or("–".into(), |ns| format::duration(ns.round() as u64));
        rows.push(vec![
            (Paint::Plain, without_unit(rate(trial))),
            (Paint::Plain, without_unit(trial.delivered_per_s)),
            (Paint::Response, value(trial)),
            (Paint::Dim, interval(trial).unwrap_or("–".into())),
            (Paint::Plain, mean(trial.mean_ns)),
            (Paint::Dim, mean(trial.theory_mean_ns)),
            (Paint::Dim, purpose(trial.purpose).into()),
            (paint, verdict(trial.verdict).into()),
        ]);
    }
    let (left, right) = (Align::Left, Align::Right);
    screen.table(&[right, right, right, right, right, right, left, left], &rows);
}

fn without_unit(per_s: f64) -> String {
    let text = format::rate(per_s);
    text.strip_suffix("/s").map(str::to_string).unwrap_or(text)
}
