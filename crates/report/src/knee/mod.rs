//! `unblink knee`: the highest rate that meets an objective, the curve, and what follows from it.

pub(crate) mod page;
mod sections;
pub(crate) mod words;

use crate::block::{Paint, Room, Tone};
use crate::format;
use crate::terminal::Style;
use crate::terminal::text::Screen;
use unblink_artifact::knee::{KneeDocument, KneeStatus, KneeTrial, Purpose, TrialVerdict};

/// The answer, the table of trials and what they say together, for a terminal.
pub fn terminal(doc: &KneeDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.simulated(doc.header.question.simulated);
    if let Some((is_reached, word, sentence)) = words::at_least(doc) {
        let tone = is_reached.map_or(Tone::Doubt, |is| if is { Tone::Good } else { Tone::Bad });
        screen.labelled(tone.paint(), word, &sentence);
    }
    let (word, sentence) = words::answer(doc);
    let paint = if doc.status == KneeStatus::Bracketed { Paint::Bold } else { tone(doc).paint() };
    screen.labelled(paint, &word, &sentence);
    if let Some(evidence) = words::evidence(doc) {
        screen.paragraph(0, Paint::Plain, &evidence);
    }
    screen.paragraph(0, Paint::Dim, &words::about(doc));
    sections::all(doc, Room::Terminal).iter().for_each(|section| screen.section(section));
    screen.finish()
}

/// The same as one self-contained page.
pub fn html(doc: &KneeDocument) -> String {
    page::render(doc)
}

fn tone(doc: &KneeDocument) -> Tone {
    match doc.status {
        KneeStatus::Found | KneeStatus::AtLeast => Tone::Good,
        KneeStatus::Refused => Tone::Bad,
        KneeStatus::Interrupted | KneeStatus::Bracketed => Tone::Doubt,
    }
}

/// A trial in one line, as it ends.
pub fn trial_line(trial: &KneeTrial, quantile: f64) -> String {
    let percentile = match trial.percentile_ns {
        None => String::new(),
        Some(_) => format!(", {} {}", format::quantile_label(quantile), value_and_interval(trial)),
    };
    format!(
        "{:>3}  {:<8} {:>9}: {}{percentile}",
        trial.number,
        purpose(trial.purpose),
        format::rate_asked(rate(trial)),
        verdict(trial.verdict)
    )
}

/// Asked for, per second.
fn rate(trial: &KneeTrial) -> f64 {
    trial.rate.per_s()
}

fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Bracket => "bracket",
        Purpose::Bisect => "bisect",
        Purpose::Repeat => "repeat",
        Purpose::Confirm => "confirm",
        Purpose::Floor => "floor",
        Purpose::Latency => "latency",
    }
}

fn verdict(verdict: TrialVerdict) -> &'static str {
    match verdict {
        TrialVerdict::Met => "good",
        TrialVerdict::NoAnswers => "no answers",
        TrialVerdict::Growing => "falls behind",
        TrialVerdict::Delivered => "undelivered",
        TrialVerdict::Percentile => "too slow",
        TrialVerdict::Undecided => "undecided",
        TrialVerdict::Generator => "generator",
    }
}

/// `46.1 ms (43.9–48.4 ms)`, `> 30 s`.
fn value_and_interval(trial: &KneeTrial) -> String {
    match interval(trial) {
        Some(interval) => format!("{} ({interval})", value(trial)),
        None => value(trial),
    }
}

fn value(trial: &KneeTrial) -> String {
    match (trial.percentile_ns, trial.percentile_censored) {
        (None, _) => "–".into(),
        (Some(ns), false) => format::duration(ns),
        (Some(ns), true) => format::above(ns),
    }
}

fn interval(trial: &KneeTrial) -> Option<String> {
    match (trial.percentile_low_ns, trial.percentile_high_ns) {
        (Some(low), Some(high)) => Some(format::between(low, high)),
        (Some(low), None) => Some(format::above(low)),
        _ => None,
    }
}

/// Trials by rate, and at one rate in the order in which they were run.
fn by_rate(doc: &KneeDocument) -> Vec<&KneeTrial> {
    let mut trials: Vec<&KneeTrial> = doc.trials.iter().collect();
    trials.sort_by(|a, b| rate(a).total_cmp(&rate(b)).then(a.number.cmp(&b.number)));
    trials
}

#[cfg(test)]
mod tests;
