//! The history of runs: a list of them, one of which nothing but the index is left, and a percentile over them.

mod course;
mod knees;
mod list;
mod one;
mod picture;
#[cfg(test)]
mod tests;
mod trend;

use crate::terminal::Style;
use unblink_artifact::document::{RunStatus, ValidityStatus, VerdictStatus};
use unblink_artifact::history::{HistoryDocument, IndexedRun, KneeTrendDocument, TrendDocument};

/// Digits of a run's name that are shown; any that are enough to tell it from others can be given.
const ID_DIGITS: usize = 8;

/// The list, newest first.
pub fn list(doc: &HistoryDocument, style: &Style) -> String {
    list::render(doc, style)
}

/// What the index has of a run; `why` says why its folder can't be read.
pub fn one(run: &IndexedRun, why: &str, style: &Style) -> String {
    one::render(run, why, style)
}

/// A percentile over runs, and where its level changed.
pub fn trend(doc: &TrendDocument, style: &Style) -> String {
    trend::render(doc, style)
}

/// The same as a picture in a file of its own.
pub fn trend_picture(doc: &TrendDocument) -> String {
    picture::picture(trend::title(doc), &trend::course(doc), "95\u{a0}% interval of a run").file()
}

/// The highest rate over searches, and where its level changed.
pub fn knee_trend(doc: &KneeTrendDocument, style: &Style) -> String {
    knees::render(doc, style)
}

/// The same as a picture in a file of its own.
pub fn knee_trend_picture(doc: &KneeTrendDocument) -> String {
    picture::picture(knees::title(doc), &knees::course(doc), "shown to be good, to shown not to be").file()
}

/// The first digits of a run's name.
pub fn short_id(run: &IndexedRun) -> &str {
    short(&run.id)
}

pub(crate) fn short(id: &str) -> &str {
    id.get(..ID_DIGITS).unwrap_or(id)
}

/// Tags and baselines in a line; empty when there are none.
pub fn labels(run: &IndexedRun) -> String {
    let baselines = run.baselines.keys().map(|name| format!("baseline:{name}"));
    let tags = run.tags.iter().map(|(tag, value)| format!("{tag}={value}"));
    baselines.chain(tags).collect::<Vec<_>>().join(" ")
}

/// What became of a run, in a word.
pub(crate) fn word(run: &IndexedRun) -> &'static str {
    let verdict = run.verdict.as_ref().map(|verdict| verdict.status);
    match (run.status, run.validity.status, verdict) {
        (RunStatus::Running, ..) => "killed",
        (RunStatus::Interrupted, ..) => "interrupted",
        (_, ValidityStatus::Invalid, _) => "invalid",
        (RunStatus::Aborted, ..) => "aborted",
        (_, _, Some(VerdictStatus::Pass)) => "pass",
        (_, _, Some(VerdictStatus::Fail)) => "fail",
        (_, _, Some(VerdictStatus::Inconclusive)) => "no verdict",
        (_, ValidityStatus::Degraded, None) => "degraded",
        (_, ValidityStatus::Valid, None) => "valid",
    }
}
