//! The tables of a search.

use super::{by_rate, interval, purpose, rate, value, verdict, words};
use crate::block::{Block, Paint, Room, Section, Span, Table, Tone, dim, left, plain, right};
use crate::format;
use unblink_artifact::knee::{KneeDocument, KneeTrial, TrialVerdict};

const OF_MU: &str = "1/(µ−λ) is the mean response time of the simplest queue whose capacity µ is the most that a rate delivered, \
    the mean of its trials, empty unless the target was overloaded; a target with many workers lies above it at low load. \
    In flight: mean, by Little's law.";

/// Every trial, and what all of them say.
pub(super) fn all(doc: &KneeDocument, room: Room) -> Vec<Section> {
    [trials(doc, room), curve(doc)].into_iter().flatten().collect()
}

fn trials(doc: &KneeDocument, room: Room) -> Option<Section> {
    let is_page = room == Room::Page;
    let note = match doc.header.question.has_journeys {
        true => "by rate of arrivals; ok/s, mean and in flight are of requests",
        _ => "by rate; what a trial was offered differs from it by chance",
    };
    let label = format::quantile_label(doc.header.question.quantile);
    let is_replay = doc.header.question.replay.is_some();
    let columns = [
        right("×"),
        right("rate/s"),
        right("offered"),
        right("ok/s"),
        right(&label),
        right("95 % interval"),
        right("mean"),
        right("1/(µ−λ)"),
        right("in flight"),
        right("measured"),
        left("for"),
        left("is"),
        right("no."),
    ];
    let table = Table::new(columns, by_rate(doc).into_iter().map(|trial| row(doc, trial, is_page)).collect());
    let table = if is_replay { table } else { table.without("×") };
    let left_out: &[&str] = if is_page { &[] } else { &["1/(µ−λ)", "in flight", "measured", "no."] };
    let table = left_out.iter().fold(table, |table, name| table.without(name));
    let foot = is_page.then(|| Block::Line(Paint::Dim, OF_MU.into()));
    (!doc.trials.is_empty()).then(|| Section {
        class: "wide-block",
        name: "Trials",
        note: note.into(),
        blocks: std::iter::once(Block::Table(table)).chain(foot).collect(),
    })
}

fn row(doc: &KneeDocument, trial: &KneeTrial, is_page: bool) -> Vec<Span> {
    let (tone, mark) = match trial.verdict {
        TrialVerdict::Met => (Tone::Good, '✓'),
        TrialVerdict::Undecided | TrialVerdict::Generator => (Tone::Doubt, '?'),
        _ => (Tone::Bad, '✕'),
    };
    let is = verdict(trial.verdict);
    let is = if is_page { format!("{mark}\u{a0}{}", is.replace(' ', "\u{a0}")) } else { is.into() };
    let mean = |ns: Option<f64>| ns.map_or("–".into(), |ns| format::duration(ns.round() as u64));
    let times = words::times(doc, rate(trial)).unwrap_or_default();
    vec![
        plain(times.trim_end_matches("\u{a0}×").to_string()),
        plain(words::whole(rate(trial))),
        plain(words::whole(trial.offered_per_s)),
        plain(words::whole(trial.delivered_per_s)),
        (Paint::Response, value(trial)),
        dim(interval(trial).unwrap_or("–".into())),
        plain(mean(trial.mean_ns)),
        dim(mean(trial.theory_mean_ns)),
        plain(trial.in_flight_mean.map_or("–".into(), format::number)),
        dim(format::moment(trial.measured_ns)),
        dim(purpose(trial.purpose)),
        (tone.paint(), is),
        dim(trial.number.to_string()),
    ]
}

fn curve(doc: &KneeDocument) -> Option<Section> {
    let found = words::findings(doc).into_iter();
    let named: Vec<_> = found.map(|(name, figure, means)| [name.to_string(), figure, means]).collect();
    (!named.is_empty()).then(|| Section {
        class: "named wide-block",
        name: "The curve",
        note: String::new(),
        blocks: vec![Block::Named(named)],
    })
}
