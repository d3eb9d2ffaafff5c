//! Exit codes: 0 pass, 1 an objective missed or a regression, 2 usage, 3 run invalid or inconclusive, 130 interrupted. 130
//! comes before 1, and 1 before 3: a verdict is given where the run's own faults can't have decided it.

use crate::errors::PreflightFailed;
use unblink_artifact::document::{OnInconclusive, RunDocument, RunStatus, ValidityStatus, VerdictStatus};

/// Everything is as it should be.
pub(crate) const OK: u8 = 0;
/// An objective is missed, the run was stopped because it hurt, or the candidate is slower than the baseline.
pub(crate) const FAILED: u8 = 1;
/// Wrong usage, nothing could be started, or all was well and a result that was asked for could not be written.
pub(crate) const USAGE: u8 = 2;
/// The run can't be believed, or an objective can't be told.
pub(crate) const INVALID: u8 = 3;
/// Ended by the user.
pub(crate) const INTERRUPTED: u8 = 130;

/// The code of a finished run.
pub(crate) fn of_run(document: &RunDocument) -> u8 {
    match document.status {
        RunStatus::Interrupted => INTERRUPTED,
        RunStatus::Running | RunStatus::Complete | RunStatus::Aborted => of_report(document),
    }
}

/// The code of a report: that a run was interrupted is long past.
pub(crate) fn of_report(document: &RunDocument) -> u8 {
    let is_invalid = document.validity.status == ValidityStatus::Invalid;
    let verdict = document.verdict.as_ref();
    match verdict.map(|verdict| (verdict.status, verdict.on_inconclusive)) {
        // What surely was the target's doing, an invalid run shows as well.
        Some((VerdictStatus::Fail, _)) => FAILED,
        // A guard says nothing of the target, and no objective is met by what was not finished.
        _ if document.aborted.as_ref().is_some_and(|by| by.guard.is_some()) => INVALID,
        // What hurt enough to be stopped did not pass, and a target that did not answer once did not either.
        _ if document.aborted.is_some() || document.preflight().is_some() => FAILED,
        Some((VerdictStatus::Pass, _)) => OK,
        Some((VerdictStatus::Inconclusive, Some(OnInconclusive::Fail))) => FAILED,
        Some((VerdictStatus::Inconclusive, Some(OnInconclusive::Pass))) if !is_invalid => OK,
        Some((VerdictStatus::Inconclusive, _)) => INVALID,
        None if is_invalid => INVALID,
        None => OK,
    }
}

/// Something could not be begun, and that says nothing about what was asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NoVerdict(pub String);

/// The code of what could not be done. A target that did not answer the request before a run has failed it; everything
/// else is for the user to mend.
pub(crate) fn of_error(error: &anyhow::Error) -> u8 {
    if error.is::<NoVerdict>() {
        return INVALID;
    }
    if error.is::<PreflightFailed>() { FAILED } else { USAGE }
}
