//! What was asked of the run and what became of it.

use crate::format;
use unblink_artifact::document::{
    OnInconclusive, RunDocument, RunStatus, SloResult, ValidityStatus, Verdict, VerdictStatus,
};

/// `PASS`, `FAIL` or `NO VERDICT`.
pub(crate) fn verdict_word(verdict: &Verdict) -> &'static str {
    match verdict.status {
        VerdictStatus::Pass => "PASS",
        VerdictStatus::Inconclusive => "NO VERDICT",
        VerdictStatus::Fail => "FAIL",
    }
}

/// How many of the objectives are met.
pub(crate) fn verdict_sentence(doc: &RunDocument, verdict: &Verdict) -> String {
    let all = verdict.slos.len();
    let with = |status| verdict.slos.iter().filter(|slo| slo.status == status).count();
    let counted =
        match (with(VerdictStatus::Pass), with(VerdictStatus::Fail), with(VerdictStatus::Inconclusive)) {
            (0, 0, _) if doc.validity.status == ValidityStatus::Invalid => {
                "What makes the run invalid can have decided every objective.".to_string()
            }
            (1, 0, 0) => "The objective is met.".to_string(),
            (2, 0, 0) => "Both objectives are met.".to_string(),
            (met, 0, 0) => format!("All {} objectives are met.", format::count(met as u64)),
            (_, 1, 0) if all == 1 => "The objective is missed.".to_string(),
            (_, 0, 1) if all == 1 => "Whether the objective is met can't be told.".to_string(),
            (met, missed, 0) => format!("{met} of {all} objectives met, {missed} missed."),
            (met, missed, open) => {
                format!("{met} of {all} objectives met, {missed} missed, {open} can't be told.")
            }
        };
    match (verdict.status, verdict.on_inconclusive) {
        (VerdictStatus::Inconclusive, Some(OnInconclusive::Pass)) => {
            format!("{counted} It counts as a pass, as was asked for.")
        }
        (VerdictStatus::Inconclusive, Some(OnInconclusive::Fail)) => {
            format!("{counted} It counts as a failure, as was asked for.")
        }
        _ => counted,
    }
}

/// The mark of an objective and its word: never colour alone.
pub(crate) fn slo_mark(slo: &SloResult) -> (&'static str, &'static str) {
    match slo.status {
        VerdictStatus::Pass => ("✓", "met"),
        VerdictStatus::Inconclusive => ("?", "not told"),
        VerdictStatus::Fail => ("✗", "missed"),
    }
}

/// An objective and what was found of it.
pub(crate) fn slo_line(slo: &SloResult) -> String {
    let (_, word) = slo_mark(slo);
    format!("{} {word}. {}", slo.slo.replace(' ', "\u{a0}"), slo.message)
}

/// Why the run was stopped.
pub(crate) fn aborted(doc: &RunDocument) -> Option<String> {
    let aborted = doc.aborted.as_ref()?;
    if doc.status == RunStatus::Complete {
        return Some(format!("{} held at the end, when no load was left to stop.", aborted.rule));
    }
    let why = if aborted.guard.is_some() { "by a guard" } else { "because it hurt" };
    let what = if super::account::stops_some(doc) { "Stopped on some of the machines" } else { "Stopped" };
    Some(format!("{what} after {} {why}: {}.", format::moment(aborted.at_ns), aborted.rule))
}
